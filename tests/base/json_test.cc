#include <cmath>
#include <limits>

#include "base/json.h"
#include "error_of.h"

namespace requal {
namespace {

struct Refused {
    const char* name;
    std::string text;
    const char* where;
    const char* part_of_message;
};

void PrintTo(const Refused& refused, std::ostream* out) {
    *out << refused.name;
}

class RefusedJson : public testing::TestWithParam<Refused> {};

TEST_P(RefusedJson, ByFileAndLine) {
    const Error error = error_of([] { parse_json(GetParam().text, "a.json"); });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.where(), GetParam().where) << error.what();
    EXPECT_NE(error.message().find(GetParam().part_of_message), std::string::npos) << error.what();
    EXPECT_LT(error.message().size(), 400U);
}

INSTANTIATE_TEST_SUITE_P(
    , RefusedJson,
    testing::Values(
        Refused{"duplicate", "{\"a\": 1,\n\"b\": {},\n\"a\": 2}", "a.json:3", "duplicate key 'a'"},
        Refused{"duplicate_escaped", "{\"a\": 1,\n\"\\u0061\": 2}", "a.json:2",
                "duplicate key 'a'"},
        Refused{"duplicate_before_line_end", "{\"a\": 1, \"a\"\n\n: 2}", "a.json:1",
                "duplicate key"},
        Refused{"empty", "", "a.json:1", "unexpected end"},
        Refused{"blank", "\n\n", "a.json:3", "unexpected end"},
        Refused{"trailing", "{}\n{}", "a.json:2", "expected end of input"},
        Refused{"trailing_nul", std::string("{}\n\0{}", 6), "a.json:2", "NUL"},
        Refused{"nul_in_string", std::string("\"\0\"", 3), "a.json:1", "NUL"},
        Refused{"comment", "// x\n1", "a.json:1", "invalid literal"},
        Refused{"comma_at_end", "[1,\n]", "a.json:2", "unexpected ']'"},
        Refused{"nan", "[\nNaN]", "a.json:2", "invalid literal"},
        Refused{"infinity", "-Infinity", "a.json:1", "invalid number"},
        Refused{"too_large", "[1,\n1e999\n]", "a.json:2", "1e999"},
        Refused{"integer_above_int64", "\n9223372036854775808\n", "a.json:2", "64 bits"},
        Refused{"integer_above_uint64", "\n99999999999999999999\n", "a.json:2", "64 bits"},
        Refused{"integer_below_int64", "-9223372036854775809", "a.json:1", "64 bits"},
        Refused{"octal", "010", "a.json:1", "expected end of input"},
        Refused{"plus", "+1", "a.json:1", "invalid literal"},
        Refused{"single_quotes", "{'a': 1}", "a.json:1", "expected string literal"},
        Refused{"line_end_in_string", "[\n\"x\n\"]", "a.json:2", "control character"},
        Refused{"bad_utf8", "[\"\xff\"]", "a.json:1", "UTF-8"},
        Refused{"overlong_utf8", "\"\xc0\xaf\"", "a.json:1", "UTF-8"},
        Refused{"raw_surrogate", "\"\xed\xa0\x80\"", "a.json:1", "UTF-8"},
        Refused{"lone_surrogate", "\"\\ud800\"", "a.json:1", "surrogate"},
        Refused{"utf16", std::string("\xff\xfe{\0", 4), "a.json:1", "NUL"},
        Refused{"too_deep", std::string(100000, '['), "a.json:1", "deeper than 100"},
        Refused{"too_deep_objects",
                [] {
                    std::string text;
                    for (int i = 0; i < 101; ++i)
                        text += "{\"a\":\n";
                    return text;
                }(),
                "a.json:101", "deeper than 100"},
        Refused{"long_token", "[\"" + std::string(100000, 'x'), "a.json:1", "not valid JSON"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(JsonTest, LimitsAreExact) {
    EXPECT_EQ(parse_json(std::string(100, '[') + std::string(100, ']'), "f").size(), 1U);
    EXPECT_EQ(error_of([] { parse_json("[1, 2]", "f", {.size_bytes = 5}); }).kind(),
              ErrorKind::input);
    EXPECT_EQ(parse_json("[1,2]", "f", {.size_bytes = 5}).size(), 2U);
    EXPECT_EQ(error_of([] { parse_json("[1,\n2]", "f", {.values = 2}); }).where(), "f:2");
}

TEST(JsonTest, NumbersKeepTheirType) {
    const Json numbers =
        parse_json("[1, 1.0, 1e0, -0, -0.0, 9223372036854775807, 5e-324, 1e-999]", "f");
    const Json::Array& items = numbers.as_array();
    EXPECT_EQ(items[0].type(), Json::Type::integer);
    EXPECT_EQ(items[1].type(), Json::Type::real);
    EXPECT_EQ(items[2].type(), Json::Type::real);
    EXPECT_EQ(items[3].type(), Json::Type::integer);
    EXPECT_TRUE(std::signbit(items[4].as_number()));
    EXPECT_EQ(items[5].as_integer(), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(items[6].as_number(), 5e-324);
    EXPECT_EQ(items[7].as_number(), 0.0);
    EXPECT_EQ(write_json_compact(numbers), "[1,1.0,1.0,0,-0.0,9223372036854775807,5e-324,0.0]");
    for (const double value :
         {1e22, 1e21, 123456789012345680.0, 0.1, 1.0 / 3, 1.7976931348623157e308}) {
        const Json back = parse_json(write_json(value), "f");
        EXPECT_EQ(back, Json(value)) << value;
    }
}

TEST(JsonTest, WritesDeterministically) {
    Json value =
        Json::object({{"b", Json::array({1, 2.5, "x", nullptr, true})}, {"a", Json::object()}});
    value["c"].push_back(Json::object({{"z", 1}}));
    value["d"] = Json::array();
    EXPECT_EQ(write_json(value), "{\n"
                                 "  \"a\": {},\n"
                                 "  \"b\": [1, 2.5, \"x\", null, true],\n"
                                 "  \"c\": [\n"
                                 "    {\n"
                                 "      \"z\": 1\n"
                                 "    }\n"
                                 "  ],\n"
                                 "  \"d\": []\n"
                                 "}\n");
    EXPECT_EQ(write_json_compact(value),
              R"({"a":{},"b":[1,2.5,"x",null,true],"c":[{"z":1}],"d":[]})");
    EXPECT_EQ(parse_json(write_json(value), "f"), value);
}

TEST(JsonTest, ArraysAreBrokenPastTheWidth) {
    Json fits = Json::array();
    for (int i = 0; i < 33; ++i)
        fits.push_back(7);  // "[7, 7, ..., 7]" has 99 bytes, and a comma may follow
    EXPECT_EQ(write_json(fits).size(), 100U);
    Json wide = fits;
    wide.push_back(7);
    const std::string text = write_json(wide);
    EXPECT_TRUE(text.starts_with("[\n  7,\n  7,"));
    EXPECT_EQ(parse_json(text, "f"), wide);
}

TEST(JsonTest, StringsAreEscaped) {
    EXPECT_EQ(write_json_compact(std::string("\"\\\b\f\n\r\t\x01\x7f/é\0", 13)),
              "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f/é\\u0000\"");
    EXPECT_EQ(write_json_compact("a\xff\xc3"), R"("a\\xff\\xc3")");
    EXPECT_EQ(parse_json("\"\\ud83d\\ude00\"", "f").as_string(), "😀");
    EXPECT_EQ(parse_json("\xef\xbb\xbf[]", "f"), Json::array());
}

TEST(JsonTest, NumbersThatAreNotFinite) {
    Json value;
    value.set_number("a", 1.5);
    value.set_number("b", std::nan(""));
    value.set_number("c", -HUGE_VAL);
    EXPECT_EQ(write_json_compact(value),
              R"({"a":1.5,"b":null,"c":null,"nonfinite":{"b":"nan","c":"-inf"}})");
    EXPECT_EQ(write_json_compact(HUGE_VAL), "null");
}

TEST(JsonTest, LargeIntegersAreStrings) {
    EXPECT_EQ(write_json_compact(std::uint64_t{9007199254740991}), "9007199254740991");
    EXPECT_EQ(write_json_compact(std::uint64_t{9007199254740992}), "\"9007199254740992\"");
    EXPECT_EQ(Json(std::uint64_t{9007199254740992}).as_integer(), 9007199254740992);
    for (const char* wrong : {"", "-", "1.5", "+1", "x", "99999999999999999999"})
        EXPECT_EQ(error_of([&] { static_cast<void>(Json(wrong).as_integer()); }).kind(),
                  ErrorKind::input)
            << wrong;
}

TEST(JsonTest, WrongTypesAndMissingKeys) {
    const Json value = parse_json(R"({"a": "x", "n": null})", "f");
    EXPECT_EQ(error_of([&] { static_cast<void>(value.at("a").as_number()); }).message(),
              "expected a number, found a string");
    EXPECT_EQ(error_of([&] { static_cast<void>(value.at("zz")); }).message(), "missing key 'zz'");
    EXPECT_EQ(error_of([&] { static_cast<void>(value.at("a").get("b")); }).kind(),
              ErrorKind::input);
    EXPECT_TRUE(value.get("zz").is_null());
    EXPECT_FALSE(value.has("zz"));
    EXPECT_TRUE(value.has("n"));
    EXPECT_EQ(value.at("a").size(), 0U);
}

}  // namespace
}  // namespace requal
