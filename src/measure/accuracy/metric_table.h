// Metrics of one or two sides in every slice, with their intervals: what every task hands on to gates and documents.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "measure/accuracy/slices.h"
#include "measure/accuracy/weights.h"

namespace requal::measure {

/// A metric's value on the whole slice and on each replicate; NaN where it does not exist.
struct MetricSeries {
    double value = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> replicates;
};

/// One metric in one slice. With one side only `candidate` and `value_interval` are there.
struct MetricEstimate {
    std::string name;
    std::uint64_t n = 0;  ///< objects or samples it was computed from
    bool paired = false;
    bool lower_is_better = false;  ///< calibration error: `drop` is still reference minus candidate
    double reference = std::numeric_limits<double>::quiet_NaN();
    double candidate = std::numeric_limits<double>::quiet_NaN();
    double drop = std::numeric_limits<double>::quiet_NaN();
    double retention = std::numeric_limits<double>::quiet_NaN();
    Interval value_interval;  ///< of the candidate
    Interval drop_interval, retention_interval;
    std::string why_not;  ///< why there is no value

    Json to_json() const;
};

/// `reference` null: one side.
MetricEstimate estimate(std::string name, const MetricSeries* reference,
                        const MetricSeries& candidate, std::uint64_t n, double confidence);

/// Objects (detection) or samples (else) whose decision changed.
struct FlipCounts {
    std::uint64_t gained = 0, lost = 0;
};

struct SliceResult {
    SliceName name;             ///< empty: everything
    std::uint64_t n = 0;        ///< labelled objects (detection) or samples
    std::uint64_t samples = 0;  ///< images or samples
    bool paired = false;
    FlipCounts flips;
    std::vector<MetricEstimate> metrics;

    const MetricEstimate* find(std::string_view metric) const;
    std::string text() const;  ///< "overall", "class bolt"
    Json to_json() const;
};

/// What a task measured.
struct Evaluation {
    std::string task;
    bool paired = false;
    double confidence = 0.95;  ///< of all intervals
    std::uint64_t samples = 0;
    SliceResult overall;
    std::vector<SliceResult> slices;
    Json flips;                   ///< null with one side
    std::uint64_t decisions = 0;  ///< of which flips are counted: objects or samples
    std::vector<std::string>
        notes;  ///< what a reader must know: "area of 3 boxes taken from width and height"
    Json extra = Json::
        object();  ///< members of the document that only this task has (confusion, mcnemar, ...)

    const SliceResult* find_slice(std::string_view by, std::string_view value) const;
};

/// Score histogram of one or two sides in 20 equal bins: {"low", "width", "reference"?, "candidate"}; null when there is no score.
Json score_histogram(std::span<const double> reference, std::span<const double> candidate,
                     bool paired);

/// Share `k` of `n` with its exact interval (Clopper and Pearson, by Boost.Math); NaN when n is 0.
Interval share_interval(std::uint64_t k, std::uint64_t n, double confidence);

/// Exact two-sided McNemar test: probability of so uneven or more uneven a split of the changed samples when neither side is better.
double mcnemar_p(std::uint64_t gained, std::uint64_t lost);

}  // namespace requal::measure
