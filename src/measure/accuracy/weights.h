// Resampling of samples with replacement: how often each sample is drawn, the same for both sides and on every machine.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace requal::measure {

/// Random number `index` of replicate `replicate` under `seed`: SplitMix64's finaliser over a counter (Steele, Lea, Flood:
/// "Fast splittable pseudorandom number generators", OOPSLA 2014). No state, so that any replicate can be made at any time.
std::uint64_t counter_random(std::uint64_t seed, std::uint64_t replicate, std::uint64_t index);

/// How often each of `weights.size()` samples is drawn in this replicate; the weights sum up to their number.
void draw_weights(std::uint64_t seed, std::uint64_t replicate, std::span<std::uint32_t> weights);

struct BootstrapOptions {
    std::uint64_t replicates = 1000;  ///< 0: no intervals
    std::uint64_t seed = 0;
    double confidence = 0.95;
    int threads = 1;
};

/// Ends of an interval; NaN when there is none, `why_not` says why.
struct Interval {
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
    std::string why_not;
    bool known() const { return low == low && high == high; }
};

/// Percentile interval of the replicates' values (numpy's linear rule). NaN values are replicates in which the statistic did not
/// exist; with more than one in twenty of them there is no interval.
Interval percentile_interval(std::vector<double> values, double confidence);

}  // namespace requal::measure
