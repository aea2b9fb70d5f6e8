// Gates decide; they never measure. Each takes a criterion and measured values and gives a verdict with its reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/json.h"
#include "measure/numerics/difference.h"
#include "measure/timing/latency.h"
#include "qualify/protocol.h"

namespace requal::qualify {

/// A decided gate, as it stands in the record.
struct Decision {
    std::string id;
    std::string kind;  ///< "engine", "parity", "finite", "repeatability", "latency", "accuracy"
    Json criterion = Json::object();  ///< to_json(Gate)
    Json value = Json::object();      ///< what was measured; empty when nothing was
    Verdict verdict = Verdict::undecidable;
    std::string reason;  ///< one line for people

    /// {"id", "kind", "criterion", "value", "verdict", "reason"}.
    Json to_json() const;
};

/// What the repeatability run saw. `runs` times `samples` runs were made in one process and each compared, byte by byte, with the
/// first run of its sample; `other_process` says for each sample whether the parity run's outputs were the same bytes.
struct Repeatability {
    std::uint64_t runs = 0;
    std::uint64_t samples = 0;
    std::uint64_t differing_runs = 0;          ///< of runs * samples
    std::uint64_t other_process_compared = 0;  ///< samples compared with another process's outputs
    std::uint64_t other_process_differing = 0;
    std::string first_difference;  ///< "output y of sample 3, run 2", empty when none
};

/// Differences of the outputs, in the reference's order, as measured with the criterion's own tolerance.
using OutputDifferences = std::vector<std::pair<std::string, measure::Difference>>;

/// What became of the engine itself.
struct EngineOutcome {
    bool built = false;
    bool ran = false;     ///< at least one measurement came out of it
    std::string failure;  ///< empty, or what the toolchain refused or how it broke
    std::string precision_requested = "default";
    std::string precision_executed;  ///< "f32", ..., "unknown" or empty when it was not learned
};

/// The gate that every run has: the engine builds, loads, runs, and executes the precision that was asked for.
/// Undecidable when the executed precision cannot be learned.
Decision decide_engine(const EngineOutcome& outcome);

/// `outputs`: those that the gate judges. Fails on an element outside (a NaN or Inf where the reference is finite is one), on a cosine
/// drop above the limit or one that is not a number; undecidable when nothing was compared or the reference itself is not finite.
Decision decide_parity(const Gate& gate, const OutputDifferences& outputs);

/// `outputs`: all. Fails on one NaN or Inf of the engine.
Decision decide_finite(const Gate& gate, const OutputDifferences& outputs);

/// Fails on one differing run. Undecidable when fewer runs than asked for were made.
Decision decide_repeatability(const Gate& gate, const Repeatability& measured);

/// Passes when the upper bound of the 95 % interval is at or below the limit, fails when the lower bound is above it, undecidable when
/// the limit lies inside the interval, when a bound cannot be borne by the samples, or when fewer runs were made than asked for.
Decision decide_latency(const Gate& gate, const measure::LatencyStatistics& measured);

/// A gate whose value could not be measured.
Decision not_measured(const Gate& gate, std::string reason);

/// One failed gate fails, else one undecided gate leaves it undecided; undecidable for no gates.
Verdict combined(const std::vector<Decision>& decisions);

}  // namespace requal::qualify
