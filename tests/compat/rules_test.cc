// The rule files: as they are, and with mistakes in them.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "compat/rule_set.h"

namespace requal::compat {
namespace {

constexpr const char* head = R"(topic: t
collected: "2026-11-30"
review_by: "2027-05-31"
sources:
  - {key: S, title: a document, product: tensorrt, version: 11.4.0, date: 2026-10-05}
products:
  - name: tensorrt
    match: M
    axes:
      - {name: version, same: built.version same-build target.version, meaning: version}
rules:
  - id: M
    topic: t
    product: tensorrt
    effect: match
    says: all agree
    sources: [S]
    certainty: stated
)";

std::vector<std::string> problems_of(const std::string& more) {
    std::vector<std::string> problems;
    try {
        read_rule_set(parse_yaml(head + more, "rules.yaml"),
                      parse_yaml("topic: stacks\n", "stacks.yaml"), &problems);
    } catch (const Error& error) {
        problems.push_back(error.what());
    }
    return problems;
}

std::string rule_with(const std::string& lines) {
    return "  - id: R\n    topic: t\n    product: tensorrt\n    says: something\n    sources: "
           "[S]\n    certainty: "
           "stated\n" +
           lines;
}

TEST(Rules, EmbeddedOnesHaveNoMistakes) {
    EXPECT_EQ(check_rules(), std::vector<std::string>{});
    const RuleSet rules = load_rules();
    EXPECT_GT(rules.rules.size(), 150U);
    EXPECT_GE(rules.tables.stacks.size(), 31U);
    for (const Rule& rule : rules.rules) {
        EXPECT_TRUE(is_date(rule.collected)) << rule.id;
        EXPECT_TRUE(is_date(rule.review_by)) << rule.id;
        EXPECT_TRUE(!rule.sources.empty() || rule.certainty == Certainty::not_found) << rule.id;
    }
}

TEST(Rules, MistakesAreNamedByFileAndLine) {
    struct Case {
        std::string lines, expected;
    };
    const std::vector<Case> cases = {
        {rule_with("    effect: forbids\n"), "rules.yaml:25: rules[1].effect: 'forbids'"},
        {rule_with("    effect: note\n    certainty: stated\n"), "rules.yaml:26"},
        {rule_with("    effect: note\n    wehn: []\n"), "wehn"},
        {rule_with("    effect: excludes\n    when: ['target.version > 1']\n"), "nobody described"},
        {rule_with("    effect: excludes\n    when: ['built.verison > 1']\n"),
         "is it built.version?"},
        {rule_with("    effect: excludes\n    when: ['built.version newer 1']\n"),
         "unknown operator"},
        {rule_with("    effect: excludes\n    when: ['built.version >= ten']\n"),
         "'ten' is no version"},
        {rule_with("    effect: excludes\n    when: ['built.version >=']\n"),
         "nothing stands behind"},
        {rule_with("    effect: excludes\n    when: ['version > 1']\n"),
         "built.FACT or target.FACT"},
        {rule_with("    effect: excludes\n    when: ['built.version same-build 10.3']\n"),
         "compares two facts"},
        {rule_with("    effect: allows\n    when: ['built.version > 1']\n"), "add 'axis'"},
        {rule_with("    effect: allows\n    axis: version\n"), "would allow everything"},
        {rule_with("    effect: allows\n    axis: colour\n    when: ['built.version > 1']\n"),
         "no axis 'colour'"},
        {"  - id: M\n    topic: t\n    product: tensorrt\n    effect: note\n    says: again\n    "
         "sources: [S]\n    certainty: stated\n",
         "a second rule 'M'"},
        {"  - id: X\n    topic: t\n    product: tensorrt\n    effect: note\n    says: x\n    "
         "sources: [T]\n    certainty: stated\n",
         "no source 'T'"},
        {"  - id: X\n    topic: t\n    product: tensorrt\n    effect: note\n    says: x\n    "
         "sources: []\n    certainty: stated\n",
         "a rule without a source"},
        {"  - id: X\n    topic: t\n    product: tensorrt\n    effect: match\n    says: x\n    "
         "sources: []\n    certainty: not found\n",
         "cannot decide"},
        {"  - id: X\n    topic: t\n    product: tensorrt\n    effect: note\n    says: x\n    "
         "sources: [S]\n    certainty: sure\n",
         "none of stated"},
        {"  - id: X\n    topic: t\n    product: tensorrt\n    effect: note\n    says: x\n    "
         "sources: [S]\n    certainty: stated\n    review_by: soon\n",
         "'soon' is no date"},
        {"  - id: X\n    topic: t\n    product: other\n    effect: match\n    says: x\n    "
         "sources: [S]\n    certainty: stated\n",
         "no product 'other'"},
    };
    for (const Case& one : cases) {
        const auto problems = problems_of(one.lines);
        ASSERT_FALSE(problems.empty()) << one.lines;
        EXPECT_NE(problems.front().find(one.expected), std::string::npos)
            << problems.front() << "\nexpected: " << one.expected;
        EXPECT_EQ(problems.front().rfind("rules.yaml:", 0), 0U) << problems.front();
    }
}

TEST(Rules, AllMistakesOfAFileAreCollected) {
    const auto problems = problems_of(
        rule_with("    effect: forbids\n") +
        "  - id: X\n    topic: t\n    product: tensorrt\n    effect: note\n    says: x\n    "
        "sources: [T]\n    certainty: stated\n");
    EXPECT_EQ(problems.size(), 2U);
}

TEST(Rules, AFolderWithoutTheFilesIsAnError) {
    const TemporaryFolder folder;
    EXPECT_THROW(check_rules(folder.path()), Error);
    EXPECT_THROW(load_rules(folder.path()), Error);
}

TEST(Rules, AFolderTakesThePlaceOfTheEmbeddedOnes) {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() + "/engine-compatibility.yaml", head);
    write_file_atomically(folder.path() + "/stacks.yaml", "topic: stacks\n");
    const RuleSet rules = load_rules(folder.path());
    EXPECT_EQ(rules.rules.size(), 1U);
    EXPECT_EQ(rules.described.at("origin").as_string(), folder.path());
    write_file_atomically(folder.path() + "/stacks.yaml",
                          "topic: stacks\ngpus:\n  - {name: X, cc: high, source: S}\n");
    const auto problems = check_rules(folder.path());
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_NE(problems.front().find("stacks.yaml:3"), std::string::npos) << problems.front();
}

TEST(Rules, StackTablesAreChecked) {
    std::vector<std::string> problems;
    read_rule_set(
        parse_yaml(head, "rules.yaml"),
        parse_yaml(
            "topic: stacks\njetpack:\n"
            "  - {jetpack: '6.1', l4t: [r36.4.0], tensorrt: 10.3.0.30, state: x, sources: [S]}\n"
            "  - {jetpack: '6.2', l4t: [R36.4.0], tensorrt: new, state: x, sources: [S]}\n"
            "cuda_driver:\n"
            "  - {cuda: '12', driver: recent, source: S}\n",
            "stacks.yaml"),
        &problems);
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_NE(problems[0].find("is JetPack 6.1 already"), std::string::npos) << problems[0];
    EXPECT_NE(problems[1].find("'recent' is no version"), std::string::npos) << problems[1];
}

TEST(Rules, AsOfLeavesOutWhatWasWrittenLater) {
    const RuleSet rules = load_rules();
    const RuleSet before = as_of(rules, "11.3.0");
    EXPECT_TRUE(rules.rule("VC-CROSS-10-11"));
    EXPECT_FALSE(before.rule("VC-CROSS-10-11"));
    EXPECT_TRUE(before.rule("VC-OLDTEXT-11"));
    EXPECT_TRUE(before.rule("HEF-8L-ON-8"))
        << "other products are not touched by a TensorRT version";
    EXPECT_FALSE(as_of(rules, "2026-10-04").rule("VC-CROSS-10-11"));
    EXPECT_TRUE(as_of(rules, "2026-10-05").rule("VC-CROSS-10-11"));
    EXPECT_THROW(as_of(rules, "yesterday"), Error);
}

TEST(Rules, PastTheReviewDateTheyAreMarked) {
    const RuleSet rules = load_rules();
    const Rule& rule = *rules.rule("TRT-DEFAULT-MATCH");
    EXPECT_FALSE(is_overdue(rule, rule.review_by));
    EXPECT_TRUE(is_overdue(rule, "2031-01-01"));
    EXPECT_TRUE(rule_json(rules, rule, "2031-01-01").at("overdue").as_boolean());
}

TEST(Rules, BothStatementsOfAContradictionAreKept) {
    const RuleSet rules = load_rules();
    const Json same = rule_json(rules, *rules.rule("VC-CROSS-10-11"), "").at("same_group");
    ASSERT_EQ(same.size(), 1U);
    EXPECT_EQ(same.as_array().front().as_string(), "VC-OLDTEXT-11");
    EXPECT_GT(rule_json(rules, *rules.rule("TRT-CONTRA-SKILL"), "").at("same_group").size(), 0U);
}

TEST(Rules, DatesAreReal) {
    EXPECT_TRUE(is_date("2026-11-30"));
    for (const char* text : {"2026-13-01", "2026-00-10", "2026-1-01", "30.11.2026", "",
                             "2026-11-32", "2026-02-29", "0000-01-01"})
        EXPECT_FALSE(is_date(text)) << text;
}

TEST(Facts, GpuNamesAreKeptAndNeverGuessed) {
    const Tables tables = load_rules().tables;
    EXPECT_EQ(same_gpu("NVIDIA GeForce RTX 4090", "rtx 4090", tables).same, Truth::yes);
    EXPECT_EQ(same_gpu("H100", "B200", tables).same, Truth::no);
    EXPECT_EQ(same_gpu("H100", "H100 PCIe", tables).same, Truth::unknown);
    EXPECT_TRUE(same_gpu("H100", "H100 PCIe", tables).looser);
    EXPECT_EQ(same_gpu("Foo 9000", "H100", tables).same, Truth::unknown);
    EXPECT_EQ(same_gpu("Foo 9000", "foo  9000", tables).same, Truth::yes);
    EXPECT_EQ(tables.gpu("Foo 9000"), nullptr);
    EXPECT_EQ(tables.gpu("NVIDIA L40S")->cc, "8.9");
    EXPECT_EQ(tables.gpu("L4")->key, "l4") << "L40 does not begin with the word L4";
    EXPECT_EQ(tables.gpu("NVIDIA A100-SXM4-80GB")->cc, "8.0");
    EXPECT_EQ(tables.gpu("A1000"), nullptr);
}

TEST(Facts, DerivedFromL4tAndSaid) {
    const Tables tables = load_rules().tables;
    Facts facts = {{"l4t", {"r38.2.1"}}, {"product", {"tensorrt"}}};
    const auto notes = derive(facts, tables);
    EXPECT_EQ(word_of(facts, "version"), "10.13.2.6");
    EXPECT_EQ(word_of(facts, "jetpack"), "7.0");
    EXPECT_EQ(word_of(facts, "platform"), "linux-aarch64");
    EXPECT_GE(notes.size(), 4U);
    Facts newer = {{"l4t", {"R38.2.2"}}, {"product", {"tensorrt"}}};
    derive(newer, tables);
    EXPECT_EQ(word_of(newer, "version"), "10.13.3.9")
        << "one JetPack name, two builds (JP-SAME-NAME)";
    Facts name = {{"jetpack", {"7.0"}}, {"product", {"tensorrt"}}};
    derive(name, tables);
    EXPECT_FALSE(name.contains("version")) << "a JetPack name is no key";
}

}  // namespace
}  // namespace requal::compat
