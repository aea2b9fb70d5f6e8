#include "measure/accuracy/weights.h"

#include <algorithm>
#include <cmath>

namespace requal::measure {

namespace {

std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ULL;

double at_quantile(const std::vector<double>& sorted, double q) {
    const double place = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

std::uint64_t counter_random(std::uint64_t seed, std::uint64_t replicate, std::uint64_t index) {
    const std::uint64_t stream = mix(mix(seed + golden) + (replicate + 1) * golden);
    return mix(stream + (index + 1) * golden);
}

void draw_weights(std::uint64_t seed, std::uint64_t replicate, std::span<std::uint32_t> weights) {
    std::fill(weights.begin(), weights.end(), 0U);
    // the upper half of a 32 x 32 bit product: fewer than 2^32 samples, bias below 2^-32 times their number
    const std::uint64_t count = weights.size();
    for (std::uint64_t i = 0; i < count; ++i) {
        ++weights[(counter_random(seed, replicate, i) >> 32) * count >> 32];
    }
}

Interval percentile_interval(std::vector<double> values, double confidence) {
    Interval interval;
    if (values.empty()) {
        interval.why_not = "no resampling was asked for";
        return interval;
    }
    const std::size_t all = values.size();
    values.erase(
        std::remove_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); }),
        values.end());
    if (values.size() * 20 < all * 19) {
        interval.why_not = "undefined in " + std::to_string(all - values.size()) + " of " +
                           std::to_string(all) + " resamples";
        return interval;
    }
    std::sort(values.begin(), values.end());
    interval.low = at_quantile(values, (1 - confidence) / 2);
    interval.high = at_quantile(values, (1 + confidence) / 2);
    return interval;
}

}  // namespace requal::measure
