// Latency statistics: percentiles with distribution-free intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/json.h"

namespace requal::measure {

/// A percentile with its two-sided confidence interval from order statistics (binomial; no assumption on the distribution).
/// Source: Hahn and Meeker, "Statistical Intervals", section 5.2 (distribution-free confidence intervals for percentiles).
struct Percentile {
    double value_ms = 0;
    std::optional<double> ci_low_ms;  ///< absent when the samples cannot bear the bound
    std::optional<double> ci_high_ms;
};

/// Statistics of a series of durations.
class LatencyStatistics {
public:
    explicit LatencyStatistics(std::span<const std::int64_t> durations_ns);
    std::uint64_t samples() const { return sorted_.size(); }
    double mean_ms() const;
    double min_ms() const;
    double max_ms() const;
    double standard_deviation_ms() const;
    /// `q` in (0, 1), by the nearest-rank definition. Empty when the samples cannot bear it (samples * (1 - q) < 1).
    std::optional<Percentile> percentile(double q, double confidence = 0.95) const;
    /// p50_ms, p50_ci_low_ms, p50_ci_high_ms, and the same for p90, p99 where they can be borne; mean_ms, min_ms, max_ms,
    /// standard_deviation_ms, samples; `unknown` lists percentiles that were not printed, with the reason.
    Json to_json() const;
    const std::vector<std::int64_t>& sorted_ns() const { return sorted_; }

private:
    std::vector<std::int64_t> sorted_;
};

}  // namespace requal::measure
