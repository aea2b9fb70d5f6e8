#include <gtest/gtest.h>

#include "base/document.h"
#include "base/error.h"
#include "base/yaml.h"
#include "station/diff.h"
#include "station/impact.h"

namespace requal::station {
namespace {

std::vector<std::string> steps_of(const Json& impact) {
    std::vector<std::string> steps;
    for (const Json& item : impact.at("rerun").as_array())
        steps.push_back(item.at("step").as_string());
    return steps;
}

Json diff_of(const std::vector<std::string>& classes) {
    Json diff = new_document("diff", 1);
    diff["before"] = Json::object({{"l4t", "35.4.1"}});
    diff["after"] = Json::object({{"l4t", "35.4.1"}});
    diff["differences"] = Json::array();
    for (const std::string& name : classes)
        diff["differences"].push_back(Json::object({{"class", name}, {"path", "x." + name}}));
    return diff;
}

struct Row {
    const char* words;
    const char* class_name;
    const char* id;
    const char* level;
    std::vector<std::string> steps;
};

/// The seven rows of the matrix "what a change invalidates, and what to re-run", each by words and by class.
TEST(Impact, TheSevenRows) {
    const Row rows[] = {
        {"new weights",
         "new-weights",
         "new-weights-or-preprocessing",
         "requalification",
         {"conversion-check", "accuracy", "timing"}},
        {"TensorRT version",
         "runtime-version",
         "tensorrt-version",
         "requalification",
         {"rebuild-engine", "recalibrate-int8", "equivalence-full", "timing"}},
        {"jetpack major",
         "jetpack-major",
         "jetpack-major",
         "requalification",
         {"rebuild-engine", "recalibrate-int8", "requalification"}},
        {"L4T point release",
         "l4t-point-release",
         "l4t-point-release",
         "re-verification",
         {"snapshot-diff", "rebuild-drivers", "equivalence-reference", "timing"}},
        {"engine rebuild",
         "engine-rebuilt",
         "engine-rebuild",
         "re-verification",
         {"equivalence-reference", "timing"}},
        {"re-flash",
         "engine-restored",
         "reflash-same-engine",
         "re-verification",
         {"snapshot-diff", "equivalence-reference"}},
        {"other unit", "other-unit", "other-unit", "re-verification", {"timing-on-unit"}}};
    const ImpactRules rules = load_impact_rules();
    for (const Row& row : rows) {
        ImpactRequest planned, found;
        planned.changes = {row.words};
        found.diffs = {diff_of({row.class_name})};
        for (const ImpactRequest& request : {planned, found}) {
            const Json impact = impact_document(rules, request);
            ASSERT_EQ(impact.at("changes").size(), 1U) << row.words;
            EXPECT_EQ(impact.at("changes").as_array()[0].at("change").as_string(), row.id);
            EXPECT_EQ(impact.at("level").as_string(), row.level) << row.words;
            EXPECT_EQ(steps_of(impact), row.steps) << row.words;
            EXPECT_GT(impact.at("invalidates").size(), 0U);
        }
    }
}

TEST(Impact, EveryClassHasARowButUnknown) {
    const ImpactRules rules = load_impact_rules();
    for (const DifferenceClass& known : difference_classes())
        EXPECT_EQ(rules.row_of_class(std::string(known.name)) != nullptr, known.name != "unknown")
            << known.name;
}

TEST(Impact, SeveralChangesAreUnited) {
    ImpactRequest request;
    request.changes = {"point release", "camera"};
    request.diffs = {diff_of({"power-mode", "power-mode", "hold-added"})};
    const Json impact = impact_document(load_impact_rules(), request);
    EXPECT_EQ(steps_of(impact),
              (std::vector<std::string>{"snapshot-diff", "rebuild-drivers", "equivalence-reference",
                                        "timing", "trigger-audit"}));
    EXPECT_EQ(impact.at("rerun").as_array()[3].at("why"),
              Json::array({"l4t-point-release", "power-mode"}));
    // the branch that is involved, and what is known of its end
    ASSERT_EQ(impact.at("end_of_life").size(), 1U);
    EXPECT_EQ(impact.at("end_of_life").as_array()[0].at("end_of_life").as_string(), "Q3 2026");
}

TEST(Impact, WhatIsNotKnownIsNotHarmless) {
    ImpactRequest request;
    request.diffs = {diff_of({"unknown"})};
    const Json impact = impact_document(load_impact_rules(), request);
    EXPECT_EQ(impact.at("level").as_string(), "unknown");
    EXPECT_EQ(impact.at("undecided").size(), 1U);
    request.diffs = {diff_of({})};
    EXPECT_EQ(impact_document(load_impact_rules(), request).at("level").as_string(), "nothing");
    request.changes = {"tensorrt versoin"};
    try {
        impact_document(load_impact_rules(), request);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(error.next().find("tensorrt version"), std::string::npos) << error.next();
    }
}

TEST(Impact, MigrationIsPlannedFromEveryDeployedState) {
    const auto station = [](const char* release, const char* revision, const char* runtime) {
        return Json::object(
            {{"l4t", Json::object({{"release", release}, {"revision", revision}})},
             {"device", Json::object({{"model", "Orin"}})},
             {"libraries", Json::array({Json::object(
                               {{"soname", "libnvinfer.so.10"}, {"version", runtime}})})}});
    };
    ImpactRequest request;
    request.to = "r36.4.4";
    request.deployed = {station("35", "4.1", "8.5.2.2"), station("36", "4.3", "10.3.0.30"),
                        station("36", "4.3", "10.3.0.30")};
    const Json impact = impact_document(load_impact_rules(), request);
    ASSERT_EQ(impact.at("migrations").size(), 2U);
    const Json& old = impact.at("migrations").as_array()[0];
    const Json& near = impact.at("migrations").as_array()[1];
    EXPECT_NE(old.at("steps").as_array()[0].as_string().find("reflash"), std::string::npos);
    EXPECT_NE(old.at("steps").as_array()[2].as_string().find("rebuild the engine"),
              std::string::npos);
    EXPECT_EQ(near.at("count").as_integer(), 2);
    EXPECT_NE(near.at("steps").as_array()[0].as_string().find("apt"), std::string::npos);
    EXPECT_NE(near.at("steps").as_array()[2].as_string().find("do not rebuild"), std::string::npos);
    EXPECT_EQ(impact.at("level").as_string(), "requalification");
    request.to = "r99.1";
    EXPECT_THROW(impact_document(load_impact_rules(), request), Error);
}

TEST(Impact, WrongRulesAreRefusedByLine) {
    const std::string head = "sources: [{key: S, title: t, date: \"2026-11-30\"}]\nsteps: [{step: "
                             "a, says: b}]\nend_of_life: []\nchanges:\n";
    const std::string row = "  - {id: x, says: s, why: w, classes: [kernel], words: [k], "
                            "invalidates: [], rerun: [a], level: nothing, source: S}\n";
    EXPECT_EQ(read_impact_rules(parse_yaml(head + row, "r.yaml")).rows.size(), 1U);
    for (const auto& [from, to] : {std::pair<const char*, const char*>{"kernel", "no-class"},
                                   {"[a]", "[z]"},
                                   {"nothing", "maybe"},
                                   {"source: S", "source: Z"},
                                   {"id: x", "idd: x"}}) {
        std::string wrong = row;
        wrong.replace(wrong.find(from), std::string(from).size(), to);
        EXPECT_THROW(read_impact_rules(parse_yaml(head + wrong, "r.yaml")), Error) << to;
    }
    EXPECT_THROW(read_impact_rules(parse_yaml(head + row + row, "r.yaml")), Error);
}

}  // namespace
}  // namespace requal::station
