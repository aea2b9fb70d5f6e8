// A gate is a value and a criterion; the table of what comes out.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qualify/gates.h"

namespace requal::qualify {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float inf_value = std::numeric_limits<float>::infinity();

Tensor tensor(const std::vector<float>& values) {
    Tensor made(ElementType::float32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), made.mutable_values<float>().begin());
    return made;
}

measure::Difference difference(const ParityGate& gate, const std::vector<float>& reference,
                               const std::vector<float>& candidate) {
    measure::Difference made(gate.tolerance);
    made.add(tensor(reference), tensor(candidate));
    return made;
}

TEST(ParityGateTest, Table) {
    const double none = -1;
    struct Case {
        const char* what;
        double atol, rtol, drop;
        std::vector<float> reference, candidate;
        Verdict verdict;
    };
    const Case cases[] = {
        {"equal", 0, 0, none, {1, 2}, {1, 2}, Verdict::pass},
        {"inside", 0.1, 0, none, {1, 2}, {1.05F, 2}, Verdict::pass},
        {"outside", 0.01, 0, none, {1, 2}, {1.05F, 2}, Verdict::fail},
        {"relative inside", 0, 0.1, none, {100, 2}, {105, 2}, Verdict::pass},
        {"NaN of the engine", 1e30, 0, none, {1, 2}, {1, nan_value}, Verdict::fail},
        {"Inf of the engine", 1e30, 0, none, {1, 2}, {1, inf_value}, Verdict::fail},
        {"NaN on both sides", 1, 0, none, {1, nan_value}, {1, nan_value}, Verdict::undecidable},
        {"NaN of the reference only", 1, 0, none, {1, nan_value}, {1, 2}, Verdict::fail},
        {"cosine inside", 10, 0, 1e-3, {1, 1}, {1.001F, 1}, Verdict::pass},
        {"cosine outside", 10, 0, 1e-3, {1, 1}, {1, -1}, Verdict::fail},
        {"both zero have no drop", 10, 0, 1e-3, {0, 0}, {0, 0}, Verdict::pass},
        {"one zero has no cosine", 10, 0, 1e-3, {0, 0}, {1, 0}, Verdict::fail},
    };
    for (const Case& one : cases) {
        ParityGate criterion;
        criterion.tolerance = {one.atol, one.rtol, measure::ToleranceRule::sum};
        if (one.drop >= 0) {
            criterion.max_cosine_drop = one.drop;
        }
        const Decision decision = decide_parity(
            {"parity", criterion}, {{"y", difference(criterion, one.reference, one.candidate)}});
        EXPECT_EQ(decision.verdict, one.verdict) << one.what << ": " << decision.reason;
        EXPECT_FALSE(decision.reason.empty()) << one.what;
    }
}

TEST(ParityGateTest, FailureOfOneOutputIsNotHiddenByAnother) {
    ParityGate criterion;
    criterion.tolerance = {0.1, 0, measure::ToleranceRule::sum};
    const auto good = difference(criterion, {1}, {1});
    const auto bad = difference(criterion, {1}, {2});
    const auto open = difference(criterion, {nan_value}, {nan_value});
    const Decision decision =
        decide_parity({"p", criterion}, {{"a", good}, {"b", open}, {"c", bad}});
    EXPECT_EQ(decision.verdict, Verdict::fail);
    EXPECT_NE(decision.reason.find("output c"), std::string::npos) << decision.reason;
    EXPECT_EQ(decide_parity({"p", criterion}, {{"a", good}, {"b", open}}).verdict,
              Verdict::undecidable);
}

TEST(ParityGateTest, NothingComparedIsUndecidable) {
    EXPECT_EQ(decide_parity({"p", ParityGate{}}, {}).verdict, Verdict::undecidable);
    EXPECT_EQ(decide_parity({"p", ParityGate{}}, {{"y", measure::Difference({})}}).verdict,
              Verdict::undecidable);
}

TEST(FiniteGateTest, Table) {
    const ParityGate loose{"", {1e30, 0, measure::ToleranceRule::sum}, std::nullopt};
    const Gate gate{"finite", FiniteGate{}};
    EXPECT_EQ(decide_finite(gate, {{"y", difference(loose, {1, 2}, {1, 2})}}).verdict,
              Verdict::pass);
    EXPECT_EQ(decide_finite(gate, {{"y", difference(loose, {1, 2}, {1, nan_value})}}).verdict,
              Verdict::fail);
    EXPECT_EQ(
        decide_finite(gate, {{"y", difference(loose, {1, inf_value}, {1, inf_value})}}).verdict,
        Verdict::fail);
    EXPECT_EQ(decide_finite(gate, {{"y", difference(loose, {1, nan_value}, {1, 2})}}).verdict,
              Verdict::pass);
    EXPECT_EQ(decide_finite(gate, {}).verdict, Verdict::undecidable);
}

TEST(RepeatabilityGateTest, Table) {
    const Gate gate{"again", RepeatabilityGate{5}};
    Repeatability seen;
    EXPECT_EQ(decide_repeatability(gate, seen).verdict, Verdict::undecidable);
    seen.runs = 4;
    seen.samples = 2;
    EXPECT_EQ(decide_repeatability(gate, seen).verdict, Verdict::undecidable);
    seen.runs = 5;
    EXPECT_EQ(decide_repeatability(gate, seen).verdict, Verdict::pass);
    seen.other_process_compared = 2;
    EXPECT_EQ(decide_repeatability(gate, seen).verdict, Verdict::pass);
    seen.other_process_differing = 1;
    EXPECT_EQ(decide_repeatability(gate, seen).verdict, Verdict::fail);
    seen.other_process_differing = 0;
    seen.differing_runs = 1;
    seen.first_difference = "output y of sample 0, run 2";
    const Decision decision = decide_repeatability(gate, seen);
    EXPECT_EQ(decision.verdict, Verdict::fail);
    EXPECT_NE(decision.reason.find("run 2"), std::string::npos) << decision.reason;
}

Decision latency(double limit_ms, std::uint64_t needed,
                 const std::vector<std::int64_t>& durations_ns, double quantile = 0.5) {
    LatencyGate criterion;
    criterion.percentile = quantile == 0.5 ? "p50" : "p99";
    criterion.quantile = quantile;
    criterion.limit_ms = limit_ms;
    criterion.runs = needed;
    return decide_latency({"latency", criterion}, measure::LatencyStatistics(durations_ns));
}

TEST(LatencyGateTest, Table) {
    // 1.000, 1.001, ... 1.999 ms: the 95 % interval of the median lies within 1.45 to 1.55.
    std::vector<std::int64_t> spread;
    for (int i = 0; i < 1000; ++i) {
        spread.push_back(1'000'000 + i * 1000);
    }
    EXPECT_EQ(latency(2.0, 1000, spread).verdict, Verdict::pass);
    EXPECT_EQ(latency(1.56, 1000, spread).verdict, Verdict::pass);
    EXPECT_EQ(latency(1.50, 1000, spread).verdict, Verdict::undecidable);
    EXPECT_EQ(latency(1.44, 1000, spread).verdict, Verdict::fail);
    EXPECT_EQ(latency(2.0, 1001, spread).verdict, Verdict::undecidable);
    EXPECT_EQ(latency(1.9999, 1000, spread, 0.99).verdict, Verdict::pass);
    EXPECT_EQ(latency(1.9, 1000, spread, 0.99).verdict, Verdict::fail);
    // Too few for the percentile, and too few for its interval: never a pass, however fast.
    EXPECT_EQ(latency(1000, 1, {1'000'000, 1'000'000}, 0.99).verdict, Verdict::undecidable);
    EXPECT_EQ(latency(1000, 1, std::vector<std::int64_t>(120, 1'000'000), 0.99).verdict,
              Verdict::undecidable);
    EXPECT_EQ(latency(1000, 1, {}).verdict, Verdict::undecidable);
}

TEST(LatencyGateTest, TheFewestRunsOfAProtocolCanBeDecided) {
    for (const double quantile : {0.5, 0.99}) {
        const std::vector<std::int64_t> durations(fewest_runs(quantile), 1'000'000);
        EXPECT_EQ(latency(2, 1, durations, quantile).verdict, Verdict::pass) << quantile;
    }
}

TEST(EngineGateTest, Table) {
    EngineOutcome outcome;
    EXPECT_EQ(decide_engine(outcome).verdict, Verdict::undecidable);
    outcome.built = true;
    EXPECT_EQ(decide_engine(outcome).verdict, Verdict::undecidable);
    outcome.ran = true;
    EXPECT_EQ(decide_engine(outcome).verdict, Verdict::pass);
    outcome.precision_requested = "f16";
    outcome.precision_executed = "unknown";
    EXPECT_EQ(decide_engine(outcome).verdict, Verdict::undecidable);
    outcome.precision_executed = "f32";
    EXPECT_EQ(decide_engine(outcome).verdict, Verdict::fail);
    outcome.precision_executed = "f16";
    EXPECT_EQ(decide_engine(outcome).verdict, Verdict::pass);
    outcome.failure = "it crashed";
    EXPECT_EQ(decide_engine(outcome).verdict, Verdict::fail);
}

TEST(Combined, OneFailureFailsElseOneOpenLeavesItOpen) {
    const auto made = [](std::vector<Verdict> verdicts) {
        std::vector<Decision> decisions;
        for (const Verdict verdict : verdicts) {
            Decision decision;
            decision.verdict = verdict;
            decisions.push_back(decision);
        }
        return combined(decisions);
    };
    EXPECT_EQ(made({}), Verdict::undecidable);
    EXPECT_EQ(made({Verdict::pass, Verdict::pass}), Verdict::pass);
    EXPECT_EQ(made({Verdict::pass, Verdict::undecidable}), Verdict::undecidable);
    EXPECT_EQ(made({Verdict::undecidable, Verdict::fail, Verdict::pass}), Verdict::fail);
}

}  // namespace
}  // namespace requal::qualify
