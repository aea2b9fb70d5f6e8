// Gates on task metrics: three outcomes, never one for another.
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "qualify/accuracy/accuracy_gates.h"
#include "qualify/accuracy/accuracy_plan.h"

namespace requal::qualify {
namespace {

using measure::Evaluation;
using measure::MetricEstimate;
using measure::SliceResult;

const std::string head =
    "schema: accuracy-gates/1\nparts: [{name: test, samples: 100, used_for: []}, "
    "{name: calib, samples: 50, used_for: [calibration]}]\n";
const std::string who = "    reference: fp16\n    part: test\n    set_by: me\n";

AccuracyGates read(const std::string& text) {
    return read_accuracy_gates(parse_yaml(text, "gates.yaml"), {});
}
AccuracyGates gate(const std::string& limit, const std::string& decides_on = "bound",
                   const std::string& more = "") {
    return read(head + "gates:\n  - id: g\n" + who + "    decides_on: " + decides_on +
                "\n    min_count: 20\n    " + limit + "\n" + more);
}

MetricEstimate metric(const std::string& name, double reference, double candidate, double half) {
    MetricEstimate result;
    result.name = name;
    result.n = 200;
    result.paired = true;
    result.reference = reference;
    result.candidate = candidate;
    result.drop = reference - candidate;
    result.retention = candidate / reference;
    result.value_interval = {candidate - half, candidate + half, {}};
    result.drop_interval = {result.drop - half, result.drop + half, {}};
    result.retention_interval = {result.retention - half, result.retention + half, {}};
    return result;
}

Evaluation evaluation() {
    Evaluation result;
    result.paired = true;
    result.samples = 100;
    result.overall.n = 200;
    result.overall.flips = {3, 4};
    result.overall.metrics = {metric("ap50_95", 0.5, 0.49, 0.01), metric("ece", 0.02, 0.05, 0.01)};
    result.overall.metrics[1].lower_is_better = true;
    for (const char* name : {"screw", "nut"}) {
        SliceResult slice;
        slice.name = {{"class", name}};
        slice.n = 100;
        slice.metrics = {metric("ap50_95", 0.5, name[0] == 's' ? 0.48 : 0.1, 0.02)};
        slice.metrics[0].n = 100;
        result.slices.push_back(slice);
    }
    result.flips = Json::object({{"gross", 9}, {"decisions", 210}});
    return result;
}

Verdict verdict_of(const AccuracyGates& gates, const Evaluation& of) {
    const auto decisions = decide_accuracy(gates, of);
    EXPECT_EQ(decisions.size(), 1U);
    return decisions.at(0).verdict;
}

std::string error_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(AccuracyGates, Drop) {
    const auto drop = [](const std::string& limit, const std::string& on) {
        return verdict_of(gate("metric: ap50_95\n    max_drop: " + limit, on), evaluation());
    };
    EXPECT_EQ(drop("0.021", "bound"), Verdict::pass);
    EXPECT_EQ(drop("0.015", "bound"), Verdict::undecidable);
    EXPECT_EQ(drop("0.005", "bound"), Verdict::undecidable);
    EXPECT_EQ(drop("-0.001", "bound"), Verdict::fail);
    EXPECT_EQ(drop("0.015", "point"), Verdict::pass);
    EXPECT_EQ(drop("0.005", "point"), Verdict::fail);
}

TEST(AccuracyGates, RetentionAndValues) {
    // the retention is 0.98 in [0.97, 0.99], the value 0.49 in [0.48, 0.50]
    EXPECT_EQ(verdict_of(gate("metric: ap50_95\n    min_retention: 0.96"), evaluation()),
              Verdict::pass);
    EXPECT_EQ(verdict_of(gate("metric: ap50_95\n    min_retention: 0.975"), evaluation()),
              Verdict::undecidable);
    EXPECT_EQ(verdict_of(gate("metric: ap50_95\n    min_retention: 0.995"), evaluation()),
              Verdict::fail);
    EXPECT_EQ(verdict_of(gate("metric: ap50_95\n    min_value: 0.47"), evaluation()),
              Verdict::pass);
    EXPECT_EQ(verdict_of(gate("metric: ap50_95\n    max_value: 0.47"), evaluation()),
              Verdict::fail);
}

TEST(AccuracyGates, TheRiseOfAnErrorIsItsLoss) {
    // from 0.02 to 0.05: a rise of 0.03 in [0.02, 0.04]
    EXPECT_EQ(verdict_of(gate("metric: ece\n    max_drop: 0.045"), evaluation()), Verdict::pass);
    EXPECT_EQ(verdict_of(gate("metric: ece\n    max_drop: 0.025"), evaluation()),
              Verdict::undecidable);
    EXPECT_EQ(verdict_of(gate("metric: ece\n    max_drop: 0.01"), evaluation()), Verdict::fail);
}

TEST(AccuracyGates, Flips) {
    // 4 of 200 lost: 2 % in [0.5 %, 5 %]; 9 of 210 changed
    EXPECT_EQ(verdict_of(gate("max_lost_share: 0.06"), evaluation()), Verdict::pass);
    EXPECT_EQ(verdict_of(gate("max_lost_share: 0.03"), evaluation()), Verdict::undecidable);
    EXPECT_EQ(verdict_of(gate("max_lost_share: 0.001"), evaluation()), Verdict::fail);
    EXPECT_EQ(verdict_of(gate("max_gross_share: 0.1"), evaluation()), Verdict::pass);
    Evaluation none = evaluation();
    none.flips = {};
    EXPECT_NE(error_of([&] {
                  decide_accuracy(gate("max_lost_share: 0.1"), none);
              }).find("on flips, which were not counted"),
              std::string::npos);
}

TEST(AccuracyGates, TooFewAndASubsetPassNothing) {
    const AccuracyGates easy = gate("metric: ap50_95\n    max_drop: 0.5", "point");
    EXPECT_EQ(verdict_of(easy, evaluation()), Verdict::pass);
    Evaluation subset = evaluation();
    subset.samples = 99;
    EXPECT_EQ(verdict_of(easy, subset), Verdict::undecidable);
    Evaluation few = evaluation();
    few.overall.metrics[0].n = 19;
    EXPECT_EQ(verdict_of(easy, few), Verdict::undecidable);
    Evaluation more = evaluation();
    more.samples = 101;
    EXPECT_THROW(decide_accuracy(easy, more), Error);
    Evaluation blind = evaluation();
    blind.overall.metrics[0].drop_interval = {};
    EXPECT_EQ(verdict_of(gate("metric: ap50_95\n    max_drop: 0.5"), blind), Verdict::undecidable);
    Evaluation undefined = evaluation();
    undefined.overall.metrics[0].drop = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(verdict_of(easy, undefined), Verdict::undecidable);
}

TEST(AccuracyGates, NoCollapseNamesTheClass) {
    const AccuracyGates gates =
        read(head + "gates:\n  - id: g\n" + who +
             "    decides_on: bound\n    no_collapse: {classes: [screw, nut], min_ap: 0.3, "
             "min_retention: 0.8, min_count: 50}\n");
    const auto decisions = decide_accuracy(gates, evaluation());
    ASSERT_EQ(decisions.size(), 2U);
    EXPECT_EQ(decisions[0].slice, "class screw");
    EXPECT_EQ(decisions[0].verdict, Verdict::pass);
    EXPECT_EQ(decisions[1].slice, "class nut");
    EXPECT_EQ(decisions[1].verdict, Verdict::fail);
    Evaluation few = evaluation();
    few.slices[1].metrics[0].n = 49;
    EXPECT_EQ(decide_accuracy(gates, few)[1].verdict, Verdict::undecidable);
    const AccuracyGates unknown =
        read(head + "gates:\n  - id: g\n" + who +
             "    decides_on: bound\n    no_collapse: {classes: [scrow], min_ap: 0.3, "
             "min_retention: 0.8, min_count: 50}\n");
    EXPECT_NE(
        error_of([&] { decide_accuracy(unknown, evaluation()); }).find("did you mean 'screw'"),
        std::string::npos);
}

TEST(AccuracyGates, EverySliceOfAKind) {
    const AccuracyGates gates =
        gate("metric: ap50_95\n    max_drop: 0.1\n    slice: {by: class, value: \"*\"}");
    const auto decisions = decide_accuracy(gates, evaluation());
    ASSERT_EQ(decisions.size(), 2U);
    EXPECT_EQ(decisions[0].verdict, Verdict::pass);
    EXPECT_EQ(decisions[1].verdict, Verdict::fail);
}

TEST(AccuracyGates, ThePresetBringsItsSourceAndDecidesOnThePoint) {
    const AccuracyGates gates =
        read(head + "gates:\n  - preset: agrijetsonbench\n    reference: fp16\n    part: test\n"
                    "    min_count: 20\n    no_collapse: {classes: [screw], min_ap: 0.1, "
                    "min_retention: 0.5, min_count: 20}\n");
    ASSERT_EQ(gates.gates.size(), 4U);
    EXPECT_EQ(gates.gates[0].id, "agrijetsonbench-ap50_95");
    EXPECT_EQ(gates.gates[2].metric, "ar100");
    EXPECT_EQ(gates.gates[0].limit, 0.03);
    EXPECT_FALSE(gates.gates[0].by_bound);
    EXPECT_NE(gates.gates[0].source.find("AgriJetsonBench"), std::string::npos);
    EXPECT_EQ(gates.gates[3].kind, AccuracyGateKind::no_collapse);
    EXPECT_NE(error_of([] {
                  read(head + "gates:\n  - preset: agrijetsonbench\n    reference: fp16\n"
                              "    part: test\n    min_count: 20\n");
              }).find("no_collapse"),
              std::string::npos);
}

TEST(AccuracyGates, LimitsThatDecideNothingAreRefused) {
    for (const std::string limit :
         {"metric: ap50\n    max_drop: 2", "metric: ap50\n    max_drop: -1.5",
          "metric: ap50\n    min_value: 1.5", "metric: ap50\n    max_value: -1",
          "metric: ap50\n    min_retention: -0.1", "max_lost_share: 2", "max_gross_share: -0.5"}) {
        EXPECT_NE(error_of([&] { gate(limit); }).find("write 0.02 for 2 %"), std::string::npos)
            << limit;
    }
    EXPECT_NO_THROW(gate("metric: ap50\n    max_drop: -0.5"));  // must gain
}

TEST(AccuracyGates, NothingThatDecidesHasADefault) {
    const std::string whole = head + "gates:\n  - id: g\n    metric: ap50\n    max_drop: 0.1\n"
                                     "    reference: fp16\n    part: test\n    set_by: me\n"
                                     "    decides_on: bound\n    min_count: 20\n";
    EXPECT_NO_THROW(read(whole));
    for (const std::string key :
         {"id", "metric", "max_drop", "reference", "part", "set_by", "decides_on", "min_count"}) {
        std::string text = whole;
        const std::size_t at = text.find(" " + key + ": ", text.find("gates:"));
        const std::size_t end = text.find('\n', at);
        text.replace(at + 1, end - at - 1, "expected_drop: 0");
        EXPECT_THROW(read(text), Error) << key;
    }
    const std::string collapse = "classes: [a], min_ap: 0.3, min_retention: 0.8, min_count: 50";
    for (const std::string key : {"classes", "min_ap", "min_retention", "min_count"}) {
        std::string text = collapse;
        const std::size_t at = text.find(key);
        text.erase(at, text.find(", ", at) == std::string::npos ? std::string::npos
                                                                : text.find(", ", at) + 2 - at);
        EXPECT_THROW(read(head + "gates:\n  - id: g\n" + who +
                          "    decides_on: bound\n    no_collapse: {" + text + "}\n"),
                     Error)
            << text;
    }
}

TEST(AccuracyGates, APartThatMadeTheEngineCarriesNone) {
    const std::string error = error_of([] {
        read(head + "gates:\n  - id: g\n    metric: ap50\n    max_drop: 0.1\n    reference: fp16\n"
                    "    part: calib\n    set_by: me\n    decides_on: point\n    min_count: 1\n");
    });
    EXPECT_NE(error.find("which was used for calibration"), std::string::npos) << error;
    EXPECT_NE(error.find("gates.yaml:4"), std::string::npos) << error;
}

TEST(AccuracyPlan, NumbersAndRefusals) {
    const SliceCounts nobody = [](const auto&, const auto&, const auto&) {
        return std::vector<std::pair<std::string, std::uint64_t>>{};
    };
    const auto needed = [&](const std::string& limit, const std::string& on = "bound") {
        const auto plans = plan_accuracy(gate(limit, on), nobody);
        EXPECT_EQ(plans.size(), 1U);
        return plans.at(0);
    };
    // (1.96 / 0.02)^2 * 0.05 = 480.2
    EXPECT_EQ(needed("metric: top1\n    max_drop: 0.02").needed, 481U);
    EXPECT_EQ(needed("metric: top1\n    max_drop: 0.02", "point").needed, 20U);
    // ln(0.025) / ln(0.99) = 367.04
    EXPECT_EQ(needed("max_lost_share: 0.01").needed, 368U);
    EXPECT_TRUE(needed("max_lost_share: 0.01").can_decide());
    EXPECT_FALSE(needed("metric: top1\n    max_drop: 0").can_decide());
    EXPECT_FALSE(needed("metric: top1\n    max_drop: 0").never.empty());
    EXPECT_FALSE(needed("max_lost_share: 0").never.empty());
    EXPECT_FALSE(needed("metric: top1\n    min_retention: 1").never.empty());
    EXPECT_FALSE(needed("metric: top1\n    max_drop: 0.02\n    expected_drop: 0.03").never.empty());
    const SliceCounts few = [](const auto&, const auto&, const auto&) {
        return std::vector<std::pair<std::string, std::uint64_t>>{{"overall", 100}};
    };
    const auto plan = plan_accuracy(gate("metric: top1\n    max_drop: 0.02"), few);
    EXPECT_TRUE(plan[0].never.empty());
    EXPECT_FALSE(plan[0].can_decide());
    // what the plan says about shares is what the decision does: at n with no flip the upper end is inside, below it is not
    EXPECT_LE(measure::share_interval(0, 368, 0.95).high, 0.01);
    EXPECT_GT(measure::share_interval(0, 367, 0.95).high, 0.01);
}

}  // namespace
}  // namespace requal::qualify
