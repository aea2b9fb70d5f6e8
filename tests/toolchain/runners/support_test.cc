#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "toolchain/runners/support/inputs.h"
#include "toolchain/runners/support/options.h"
#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain {
namespace {

const std::array<OptionSpec, 6> specs = {{
    {.name = "threads", .type = OptionType::integer, .help = "threads", .low = 1, .high = 64},
    {.name = "arena", .type = OptionType::flag, .help = "arena"},
    {.name = "level", .type = OptionType::word, .help = "level", .values = {"low", "high"}},
    {.name = "note", .type = OptionType::text, .help = "free text"},
    {.name = "config.", .type = OptionType::text, .help = "entries"},
    {.name = "shape.", .type = OptionType::shape, .help = "shapes"},
}};

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        return error.what();
    }
    return "no error";
}

TEST(Options, ReadAsJsonAndAsText) {
    const Json typed = Json::object({{"threads", 4}, {"arena", false}, {"level", "high"}});
    const OptionReader reader(typed, specs, "tool:x");
    EXPECT_EQ(reader.integer("threads"), 4);
    EXPECT_EQ(reader.flag("arena"), false);
    EXPECT_EQ(reader.word("level"), "high");
    EXPECT_FALSE(reader.text("note").has_value());
    const Json text =
        Json::object({{"threads", "4"}, {"arena", "on"}, {"config.a.b", "1"}, {"config.c", 7}});
    const OptionReader other(text, specs, "tool:x");
    EXPECT_EQ(other.integer("threads"), 4);
    EXPECT_EQ(other.flag("arena"), true);
    EXPECT_EQ(other.family("config."),
              (std::map<std::string, std::string>{{"a.b", "1"}, {"c", "7"}}));
}

TEST(Options, UnknownIsRefusedByNameWithTheNearest) {
    const Json options = Json::object({{"thread", 4}});
    const auto text = message_of([&] { OptionReader(options, specs, "tool:x"); });
    EXPECT_NE(text.find("'thread'"), std::string::npos) << text;
    EXPECT_NE(text.find("'threads'"), std::string::npos) << text;
    // a family needs something after its dot
    const Json empty = Json::object({{"config.", "1"}});
    EXPECT_NE(message_of([&] { OptionReader(empty, specs, "tool:x"); }).find("unknown option"),
              std::string::npos);
    const Json list = Json::array();
    EXPECT_NE(message_of([&] { OptionReader(list, specs, "tool:x"); }).find("object"),
              std::string::npos);
}

TEST(Options, IllTypedValuesAreRefusedByName) {
    for (const Json& value : {Json("0"), Json(65), Json("4x"), Json(" 4"), Json(""), Json(4.5),
                              Json("99999999999999999999"), Json(Json::Array{}), Json()}) {
        const Json options = Json::object({{"threads", value}});
        const OptionReader reader(options, specs, "tool:x");
        EXPECT_NE(message_of([&] { reader.integer("threads"); }).find("option threads"),
                  std::string::npos);
    }
    const Json flags = Json::object({{"arena", "maybe"}, {"level", "middle"}});
    const OptionReader reader(flags, specs, "tool:x");
    EXPECT_NE(message_of([&] { reader.flag("arena"); }).find("neither on nor off"),
              std::string::npos);
    EXPECT_NE(message_of([&] { reader.word("level"); }).find("low, high"), std::string::npos);
}

TEST(Options, ShapesAreReadAndChecked) {
    const Json options = Json::object({{"shape.x", "1x3x320x320"}});
    EXPECT_EQ(OptionReader(options, specs, "t").shapes("shape.").at("x"), (Shape{1, 3, 320, 320}));
    for (const char* text : {"", "1x", "axb", "-1x3", "4611686018427387904x4611686018427387904"}) {
        const Json wrong = Json::object({{"shape.x", text}});
        const OptionReader reader(wrong, specs, "t");
        EXPECT_NE(message_of([&] { reader.shapes("shape."); }).find("option shape.x"),
                  std::string::npos)
            << text;
    }
}

TEST(Options, AreDescribed) {
    const auto described = describe_options(specs);
    EXPECT_EQ(described.at("threads").at("high").as_integer(), 64);
    EXPECT_EQ(described.at("level").at("values").size(), 2U);
    EXPECT_TRUE(described.has("config.NAME"));
}

TEST(Inputs, AreOrderedAndChecked) {
    const std::vector<Port> ports = {{"a", ElementType::float32, {-1, 2}},
                                     {"b", ElementType::int64, {1}}};
    const NamedTensors good = {{"b", Tensor(ElementType::int64, {1})},
                               {"a", Tensor(ElementType::float32, {3, 2})}};
    const auto matched = match_inputs(ports, good);
    EXPECT_EQ(matched[0], &good[1].second);
    EXPECT_EQ(matched[1], &good[0].second);
    const auto refused = [&](NamedTensors inputs) {
        return message_of([&] { match_inputs(ports, inputs); });
    };
    EXPECT_NE(refused({good[0]}).find("input a"), std::string::npos);
    EXPECT_NE(refused({good[0], good[1], {"c", Tensor(ElementType::int64, {1})}}).find("input c"),
              std::string::npos);
    EXPECT_NE(refused({good[0], good[1], good[0]}).find("given twice"), std::string::npos);
    EXPECT_NE(refused({good[0], {"a", Tensor(ElementType::float32, {3, 4})}}).find("3x4"),
              std::string::npos);
    EXPECT_NE(refused({good[0], {"a", Tensor(ElementType::float16, {3, 2})}}).find("float16"),
              std::string::npos);
    Tensor strings(ElementType::string, {1});
    strings.strings().resize(3);
    EXPECT_NE(message_of([&] {
                  match_inputs({{"s", ElementType::string, {1}}}, {{"s", strings}});
              }).find("input s"),
              std::string::npos);
}

TEST(Inputs, ShapesFixDynamicAxesOnly) {
    std::vector<Port> ports = {{"a", ElementType::float32, {-1, 2}}};
    EXPECT_FALSE(all_static(ports));
    EXPECT_NE(message_of([&] {
                  fix_shapes(ports, {{"b", {1}}}, "shape.");
              }).find("shape.b"),
              std::string::npos);
    EXPECT_NE(message_of([&] {
                  fix_shapes(ports, {{"a", {1, 3}}}, "shape.");
              }).find("1x3"),
              std::string::npos);
    EXPECT_NE(message_of([&] {
                  fix_shapes(ports, {{"a", {1}}}, "shape.");
              }).find("shape.a"),
              std::string::npos);
    fix_shapes(ports, {{"a", {4, 2}}}, "shape.");
    EXPECT_TRUE(all_static(ports));
    EXPECT_EQ(zero_inputs(ports).front().second.shape(), (Shape{4, 2}));
}

TEST(Inputs, MisalignedBytesAreCopiedAndOthersShared) {
    alignas(64) static std::array<std::byte, 132> bytes{};
    const Tensor fine(ElementType::float32, {16}, std::span(bytes).subspan(0, 64), nullptr);
    EXPECT_EQ(aligned(fine).bytes().data(), fine.bytes().data());
    const Tensor crooked(ElementType::float32, {16}, std::span(bytes).subspan(4, 64), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned(crooked).bytes().data()) % 64, 0U);
}

TEST(ProcessFacts, LibrariesAreNamedWithTheirSonames) {
    constexpr std::array<std::string_view, 1> parts = {"libstdc++"};
    const auto libraries = mapped_libraries(parts);
    ASSERT_EQ(libraries.size(), 1U);
    EXPECT_EQ(libraries.as_array()[0].at("soname").as_string(), "libstdc++.so.6");
    EXPECT_EQ(libraries.as_array()[0].at("path").as_string().front(), '/');
    EXPECT_GE(thread_count(), 1U);
    EXPECT_EQ(one_line("  a \n\n b\tc "), "a b c");
}

}  // namespace
}  // namespace requal::toolchain
