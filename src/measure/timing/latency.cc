#include "measure/timing/latency.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <boost/math/distributions/binomial.hpp>

#include "base/error.h"

namespace requal::measure {

namespace {

constexpr double ns_to_ms = 1e-6;

/// P(B <= k) for B ~ Binomial(n, q); 0 below zero.
double binomial_cdf(std::uint64_t n, double q, std::int64_t k) {
    if (k < 0) {
        return 0;
    }
    return boost::math::cdf(boost::math::binomial_distribution<double>(static_cast<double>(n), q),
                            static_cast<double>(k));
}

/// Smallest k in [0, n] whose P(B <= k) reaches `probability`; n + 1 when none does.
std::int64_t smallest_reaching(std::uint64_t n, double q, double probability) {
    std::int64_t low = 0;
    auto high = static_cast<std::int64_t>(n) + 1;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (binomial_cdf(n, q, middle) >= probability) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

std::string sample_text(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " sample" : " samples");
}

}  // namespace

LatencyStatistics::LatencyStatistics(std::span<const std::int64_t> durations_ns)
    : sorted_(durations_ns.begin(), durations_ns.end()) {
    std::sort(sorted_.begin(), sorted_.end());
}

double LatencyStatistics::mean_ms() const {
    if (sorted_.empty()) {
        return 0;
    }
    double sum = 0;
    for (const std::int64_t duration : sorted_) {
        sum += static_cast<double>(duration);
    }
    return sum / static_cast<double>(sorted_.size()) * ns_to_ms;
}

double LatencyStatistics::min_ms() const {
    return sorted_.empty() ? 0 : static_cast<double>(sorted_.front()) * ns_to_ms;
}

double LatencyStatistics::max_ms() const {
    return sorted_.empty() ? 0 : static_cast<double>(sorted_.back()) * ns_to_ms;
}

double LatencyStatistics::standard_deviation_ms() const {
    if (sorted_.size() < 2) {
        return 0;
    }
    const double mean = mean_ms();
    double sum = 0;
    for (const std::int64_t duration : sorted_) {
        const double distance = static_cast<double>(duration) * ns_to_ms - mean;
        sum += distance * distance;
    }
    return std::sqrt(sum / static_cast<double>(sorted_.size() - 1));
}

std::optional<Percentile> LatencyStatistics::percentile(double q, double confidence) const {
    if (!(q > 0 && q < 1) || !(confidence > 0 && confidence < 1)) {
        throw Error(ErrorKind::internal, "percentile and confidence lie between 0 and 1");
    }
    const std::uint64_t n = sorted_.size();
    // Half an ulp of slack: 1 - 0.99 is a little more than a hundredth.
    if (static_cast<double>(n) * (1 - q) < 1 - 1e-9) {
        return std::nullopt;
    }
    const auto at = [&](std::uint64_t rank) {
        return static_cast<double>(sorted_[rank - 1]) * ns_to_ms;
    };
    Percentile result;
    const double exact_rank = std::ceil(static_cast<double>(n) * q - 1e-9);
    result.value_ms =
        at(static_cast<std::uint64_t>(std::clamp(exact_rank, 1.0, static_cast<double>(n))));
    // Lower rank l: the largest with P(B <= l - 1) <= alpha / 2. Upper rank u: the smallest with P(B <= u - 1) >= 1 - alpha / 2.
    const double tail = (1 - confidence) / 2;
    std::int64_t lower = smallest_reaching(n, q, tail);
    if (lower <= static_cast<std::int64_t>(n) && binomial_cdf(n, q, lower) <= tail) {
        ++lower;
    }
    if (lower >= 1) {
        result.ci_low_ms = at(static_cast<std::uint64_t>(lower));
    }
    const std::int64_t upper = smallest_reaching(n, q, 1 - tail) + 1;
    if (upper <= static_cast<std::int64_t>(n)) {
        result.ci_high_ms = at(static_cast<std::uint64_t>(upper));
    }
    return result;
}

Json LatencyStatistics::to_json() const {
    Json result = Json::object();
    Json unknown = Json::array();
    result["samples"] = samples();
    result["mean_ms"] = mean_ms();
    result["min_ms"] = min_ms();
    result["max_ms"] = max_ms();
    result["standard_deviation_ms"] = standard_deviation_ms();
    result["confidence"] = 0.95;
    struct Named {
        const char* name;
        double q;
    };
    for (const Named& wanted : {Named{"p50", 0.5}, Named{"p90", 0.9}, Named{"p99", 0.99}}) {
        const std::string name = wanted.name;
        const std::optional<Percentile> found = percentile(wanted.q);
        if (!found) {
            result[name + "_ms"] = nullptr;
            result[name + "_ci_low_ms"] = nullptr;
            result[name + "_ci_high_ms"] = nullptr;
            unknown.push_back(name + "_ms: " + sample_text(samples()) +
                              " cannot bear it; it needs " +
                              std::to_string(static_cast<int>(std::lround(1 / (1 - wanted.q)))));
            continue;
        }
        result[name + "_ms"] = found->value_ms;
        const auto bound = [&](const std::string& key, const std::optional<double>& value) {
            result[key] = value ? Json(*value) : Json();
            if (!value) {
                unknown.push_back(key + ": " + sample_text(samples()) +
                                  " cannot bound it with 95 % confidence");
            }
        };
        bound(name + "_ci_low_ms", found->ci_low_ms);
        bound(name + "_ci_high_ms", found->ci_high_ms);
    }
    result["unknown"] = std::move(unknown);
    return result;
}

}  // namespace requal::measure
