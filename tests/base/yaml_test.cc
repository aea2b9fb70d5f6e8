#include <cstring>

#include "base/yaml.h"
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

class RefusedYaml : public testing::TestWithParam<Refused> {};

TEST_P(RefusedYaml, ByFileAndLine) {
    const Error error = error_of([] { parse_yaml(GetParam().text, "a.yaml"); });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.where(), GetParam().where) << error.what();
    EXPECT_NE(error.message().find(GetParam().part_of_message), std::string::npos) << error.what();
}

std::string repeated(std::string_view text, int times) {
    std::string result;
    for (int i = 0; i < times; ++i)
        result += text;
    return result;
}

INSTANTIATE_TEST_SUITE_P(
    , RefusedYaml,
    testing::Values(
        Refused{"duplicate", "a: 1\nb: 2\na: 3\n", "a.yaml:3", "duplicate key 'a'"},
        Refused{"duplicate_quoted", "a: 1\n'a': 3\n", "a.yaml:2", "duplicate key 'a'"},
        Refused{"duplicate_below", "x:\n  - b: 1\n    b: 2\n", "a.yaml:3", "duplicate key 'b'"},
        Refused{"duplicate_flow", "x: {b: 1,\n  b: 2}\n", "a.yaml:2", "duplicate key 'b'"},
        Refused{"anchor", "a: 1\nb: &x 1\n", "a.yaml:2", "anchors"},
        Refused{"anchor_on_map", "a: 1\nb: &x\n  c: 1\n", "a.yaml:2", "anchors"},
        Refused{"anchor_on_nothing", "a: 1\nb: &x\n", "a.yaml:2", "anchors"},
        Refused{"alias", "a: &x 1\nb: *x\n", "a.yaml:1", "anchors"},
        Refused{"alias_without_anchor", "a: 1\nb: *x\n", "a.yaml:2", "anchor"},
        Refused{"tag", "a: 1\nb: !!str 1\n", "a.yaml:2", "tags"},
        Refused{"tag_local", "b: !x 1\n", "a.yaml:1", "tags"},
        Refused{"tag_verbatim", "b: !<x> 1\n", "a.yaml:1", "tags"},
        Refused{"tag_on_quoted", "b: ! 'x'\n", "a.yaml:1", "tags"},
        Refused{"tag_on_quoted_behind_wide_characters", "é: '日本'\nb: ! 'x'\n", "a.yaml:2",
                "tags"},
        Refused{"tag_on_map", "b: !!map {a: 1}\n", "a.yaml:1", "tags"},
        Refused{"tag_on_sequence", "b:\n  - !!seq []\n", "a.yaml:2", "tags"},
        Refused{"tag_on_nothing", "- a\n- !\n", "a.yaml:2", "tags"},
        Refused{"tag_named_on_nothing", "- a\n- !!null\n", "a.yaml:2", "tags"},
        Refused{"tag_on_key", "a: 1\n!!str b: 1\n", "a.yaml:2", "tags"},
        Refused{"merge", "a: 1\n<<: {b: 1}\n", "a.yaml:2", "merge"},
        Refused{"second_document", "a: 1\n---\nb: 1\n", "a.yaml:2", "second document"},
        Refused{"second_document_behind_end", "a: 1\n...\n---\nb: 1\n", "a.yaml:3",
                "second document"},
        Refused{"text_behind", "- a\nb: 1\n", "a.yaml:2", "second document"},
        Refused{"directive", "%YAML 1.1\n---\na: 1\n", "a.yaml:1", "directives"},
        Refused{"tab", "a:\n\tb: 1\n", "a.yaml:2", "tab"},
        Refused{"tab_behind_spaces", "a:\n  \tb: 1\n", "a.yaml:2", "tab"},
        Refused{"map_as_key", "? {a: 1}\n: 1\n", "a.yaml:1", "as a key"},
        Refused{"sequence_as_key", "a: 1\n? [a]\n: 1\n", "a.yaml:2", "as a key"},
        Refused{"key_without_name", "a: 1\n: 1\n", "a.yaml:2", "without a name"},
        Refused{"null_as_key", "a: 1\n~: 1\n", "a.yaml:2", "without a name"},
        Refused{"yes_as_key", "a: 1\nyes: 1\n", "a.yaml:2", "'yes'"},
        Refused{"unclosed_sequence", "a: 1\nb: [1, 2\n", "a.yaml:3", "not valid YAML"},
        Refused{"unclosed_quotes", "a: 1\nb: 'it''s\n", "a.yaml:2", "not closed"},
        Refused{"unclosed_double_quotes", "a: 1\nb: \"x\\\"\n", "a.yaml:2", "not closed"},
        Refused{"unclosed_quotes_at_end", "a: 1\nb: 'x", "a.yaml:2", "not valid YAML"},
        Refused{"map_in_line", "a: b: c\n", "a.yaml:1", "not valid YAML"},
        Refused{"bad_indentation", "a:\n  b: 1\n c: 1\n", "a.yaml:3", "not valid YAML"},
        Refused{"reserved", "a: 1\nb: @x\n", "a.yaml:2", "not valid YAML"},
        Refused{"nul", std::string("a: 1\nb: \0\n", 11), "a.yaml:2", "control character"},
        Refused{"escape", "a: 1\nb: \"\x1b[2J\"\n", "a.yaml:2", "control character"},
        Refused{"old_line_end", "a: 1\rb: 2\n", "a.yaml:1", "control character"},
        Refused{"separator", "a: 1\nb: x\xe2\x80\xa8y\n", "a.yaml:2", "line separator"},
        Refused{"bad_utf8", "a: 1\nb: \xff\n", "a.yaml:2", "UTF-8"},
        Refused{"utf16",
                std::string("\xff\xfe"
                            "a\0",
                            4),
                "a.yaml:1", "UTF-8"},
        Refused{"deep_flow", repeated("[", 100000), "a.yaml:1", ""},
        Refused{"deep_flow_closed", repeated("[\n", 1000) + repeated("]", 1000), "a.yaml:51",
                "deeper than 50"},
        Refused{"deep_block", repeated("- ", 100000), "a.yaml:1", "deeper than 50"},
        Refused{"deep_maps", repeated("{a: ", 100000), "a.yaml:1", ""},
        Refused{"deep_keys", repeated("? ", 100000), "a.yaml:1", "as a key"}),
    [](const auto& param_info) { return param_info.param.name; });

class Ambiguous : public testing::TestWithParam<const char*> {};

TEST_P(Ambiguous, RefusedWithoutQuotesAndTextWithThem) {
    const std::string scalar = GetParam();
    const Error error = error_of([&] { parse_yaml("a: 1\nb: " + scalar + "\n", "a.yaml"); });
    EXPECT_EQ(error.where(), "a.yaml:2") << error.what();
    EXPECT_NE(error.message().find("'" + scalar + "' without quotes"), std::string::npos)
        << error.what();
    EXPECT_EQ(parse_yaml("b: '" + scalar + "'", "f").to_json().at("b"), Json(scalar));
}

INSTANTIATE_TEST_SUITE_P(, Ambiguous,
                         testing::Values("yes", "No", "ON", "off", "y", "N", "True", "FALSE", "010",
                                         "-07", "007.5", "0o17", "0x1F", "0b101", "+0x1", "1:30",
                                         "12:30:45", "-1:30.5", "1_000", "1_0.5", ".inf", "-.INF",
                                         "+.inf", ".NaN", "="));

class Text : public testing::TestWithParam<const char*> {};

TEST_P(Text, IsText) {
    EXPECT_EQ(parse_yaml(GetParam(), "f").to_json(), Json(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(, Text,
                         testing::Values("onnxruntime:cpu", "1x3x320x320", "127.0.0.1:80",
                                         "2026-11-30", "8.6.1", "a_1", "0abc", "x:1", "1e", "e5",
                                         "1-2", "ssh://host:22", "nan", "inf", "0x", "1:2x",
                                         "yesterday", "1:300", "sha256:00"));

TEST(YamlTest, Typing) {
    const Yaml root = parse_yaml("i: -12\nr: 1e-3\ns: .5\np: +5\nt: true\nq: '5'\nz: ~\ne:\nd: "
                                 "\"a\\nb\"\nb: |\n  x\n  0\nf: >-\n  1\n",
                                 "f");
    EXPECT_EQ(root.at("i").integer(), -12);
    EXPECT_EQ(root.at("i").number(), -12.0);
    EXPECT_EQ(root.at("i").text(), "-12");
    EXPECT_EQ(root.at("r").number(), 1e-3);
    EXPECT_EQ(root.at("s").number(), 0.5);
    EXPECT_EQ(root.at("p").integer(), 5);
    EXPECT_TRUE(root.at("t").boolean());
    EXPECT_TRUE(root.at("z").is_null());
    EXPECT_TRUE(root.at("e").is_null());
    EXPECT_EQ(
        write_json_compact(root.to_json()),
        R"({"b":"x\n0\n","d":"a\nb","e":null,"f":"1","i":-12,"p":5,"q":"5","r":0.001,"s":0.5,"t":true,"z":null})");
}

TEST(YamlTest, WrongTypesNameTheirPlace) {
    const Yaml root = parse_yaml("gates:\n  - id: a\n    limit: '5'\n    on_fail: [x]\n    big: "
                                 "1e999\n    long: 99999999999999999999\n    none:\n",
                                 "p.yaml");
    const Yaml& gate = root.at("gates").items()[0];
    EXPECT_STREQ(error_of([&] { static_cast<void>(gate.at("limit").number()); }).what(),
                 "p.yaml:3: gates[0].limit: expected a number, found the text '5'; take the "
                 "quotes away");
    EXPECT_STREQ(error_of([&] { static_cast<void>(gate.at("id").integer()); }).what(),
                 "p.yaml:2: gates[0].id: expected an integer, found 'a'");
    EXPECT_STREQ(error_of([&] { static_cast<void>(gate.at("on_fail").text()); }).what(),
                 "p.yaml:4: gates[0].on_fail: expected text, found a sequence");
    EXPECT_EQ(error_of([&] { static_cast<void>(gate.at("big").number()); }).where(), "p.yaml:5");
    EXPECT_EQ(error_of([&] { static_cast<void>(gate.at("long").integer()); }).where(), "p.yaml:6");
    EXPECT_STREQ(error_of([&] { static_cast<void>(gate.at("none").text()); }).what(),
                 "p.yaml:7: gates[0].none: expected text, found nothing");
    EXPECT_STREQ(error_of([&] { static_cast<void>(root.at("gates").members()); }).what(),
                 "p.yaml:2: gates: expected a map, found a sequence");
    EXPECT_STREQ(error_of([&] { static_cast<void>(gate.at("kind")); }).what(),
                 "p.yaml:2: gates[0]: missing key 'kind'; add it");
    EXPECT_EQ(error_of([&] { static_cast<void>(root.to_json()); }).where(), "p.yaml:5");
    EXPECT_EQ(error_of([&] { static_cast<void>(parse_yaml("", "empty.yaml").at("a")); }).where(),
              "empty.yaml:1");
}

TEST(YamlTest, UnknownKeysNameTheNearest) {
    const Yaml root = parse_yaml("id: a\nlimt:\n  deep: 1\n", "p.yaml");
    EXPECT_STREQ(error_of([&] {
                     root.allow_keys({"id", "limit"});
                 }).what(),
                 "p.yaml:2: unknown key 'limt'; did you mean 'limit'?");
    EXPECT_STREQ(error_of([&] {
                     root.allow_keys({"id", "other"});
                 }).what(),
                 "p.yaml:2: unknown key 'limt'; known here: id, other");
    EXPECT_NO_THROW(root.allow_keys({"id", "limt"}));
}

TEST(YamlTest, Fallbacks) {
    const Yaml root = parse_yaml("a: 1\nb: x\n", "f");
    EXPECT_EQ(root.integer_or("a", 7), 1);
    EXPECT_EQ(root.integer_or("c", 7), 7);
    EXPECT_EQ(root.text_or("b", "z"), "x");
    EXPECT_EQ(root.number_or("c", 0.5), 0.5);
    EXPECT_TRUE(root.boolean_or("c", true));
    EXPECT_EQ(error_of([&] { static_cast<void>(root.boolean_or("b", true)); }).where(), "f:2");
}

TEST(YamlTest, LineEndsMarksAndEmptyFiles) {
    EXPECT_EQ(parse_yaml("\xef\xbb\xbf"
                         "a: 'q'\r\nb: 2\r\n",
                         "f")
                  .to_json(),
              Json::object({{"a", "q"}, {"b", 2}}));
    EXPECT_TRUE(parse_yaml("", "f").is_null());
    EXPECT_TRUE(parse_yaml("# only a comment\n", "f").is_null());
    EXPECT_EQ(parse_yaml("---\na: 1\n...\n", "f").at("a").integer(), 1);
}

TEST(YamlTest, LimitsAreExact) {
    EXPECT_NO_THROW(parse_yaml("a: 1", "f", {.size_bytes = 4}));
    EXPECT_EQ(error_of([] { parse_yaml("a: 10", "f", {.size_bytes = 4}); }).kind(),
              ErrorKind::input);
    EXPECT_NO_THROW(parse_yaml("- [1]", "f", {.depth = 2}));
    EXPECT_EQ(error_of([] { parse_yaml("- [1]", "f", {.depth = 1}); }).kind(), ErrorKind::input);
    EXPECT_EQ(error_of([] { parse_yaml("- 1\n- 2\n- 3", "f", {.nodes = 3}); }).where(), "f:3");
}

}  // namespace
}  // namespace requal
