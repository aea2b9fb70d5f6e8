#include "measure/accuracy/metric_table.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>

namespace requal::measure {

namespace {

void set_optional(Json& entry, std::string_view key, double value) {
    entry[key] = std::isfinite(value) ? Json(value) : Json(nullptr);
}

void set_interval(Json& entry, const std::string& prefix, const Interval& interval) {
    set_optional(entry, prefix + "ci_low", interval.low);
    set_optional(entry, prefix + "ci_high", interval.high);
    if (!interval.known() && !interval.why_not.empty()) {
        entry["no_interval"] = interval.why_not;
    }
}

}  // namespace

Json MetricEstimate::to_json() const {
    Json entry = Json::object({{"n", n}});
    if (paired) {
        set_optional(entry, "reference", reference);
        set_optional(entry, "candidate", candidate);
        set_optional(entry, "drop", drop);
        set_optional(entry, "retention", retention);
        set_interval(entry, "", drop_interval);
        set_interval(entry, "retention_", retention_interval);
    } else {
        set_optional(entry, "value", candidate);
        set_interval(entry, "", value_interval);
    }
    if (!why_not.empty()) {
        entry["undefined"] = why_not;
    }
    return entry;
}

MetricEstimate estimate(std::string name, const MetricSeries* reference,
                        const MetricSeries& candidate, std::uint64_t n, double confidence) {
    MetricEstimate result;
    result.name = std::move(name);
    result.n = n;
    result.candidate = candidate.value;
    result.value_interval = percentile_interval(candidate.replicates, confidence);
    if (!std::isfinite(candidate.value)) {
        result.why_not = n == 0 ? "nothing in this slice" : "not defined on this slice";
    }
    if (reference == nullptr) {
        return result;
    }
    result.paired = true;
    result.reference = reference->value;
    result.drop = reference->value - candidate.value;
    if (reference->value != 0) {
        result.retention = candidate.value / reference->value;
    } else if (result.why_not.empty()) {
        result.why_not = "the reference is 0: no retention";
    }
    std::vector<double> drops, retentions;
    for (std::size_t i = 0; i < candidate.replicates.size(); ++i) {
        const double before = reference->replicates[i], after = candidate.replicates[i];
        drops.push_back(before - after);
        retentions.push_back(before != 0 ? after / before
                                         : std::numeric_limits<double>::quiet_NaN());
    }
    result.drop_interval = percentile_interval(std::move(drops), confidence);
    result.retention_interval = percentile_interval(std::move(retentions), confidence);
    return result;
}

const MetricEstimate* SliceResult::find(std::string_view metric) const {
    const auto found = std::find_if(metrics.begin(), metrics.end(),
                                    [&](const MetricEstimate& m) { return m.name == metric; });
    return found == metrics.end() ? nullptr : &*found;
}

std::string SliceResult::text() const {
    return name.empty() ? "overall" : by_of(name) + " " + value_of(name);
}

Json SliceResult::to_json() const {
    Json entry = Json::object({{"n", n}, {"samples", samples}});
    if (!name.empty()) {
        entry["by"] = by_of(name);
        entry["value"] = value_of(name);
        if (name.size() > 1) {
            for (const auto& [by, value] : name) {
                entry["parts"].push_back(Json::object({{"by", by}, {"value", value}}));
            }
        }
    }
    if (paired) {
        entry["flips"] = Json::object({{"gained", flips.gained}, {"lost", flips.lost}});
    }
    entry["metrics"] = Json::object();
    for (const MetricEstimate& metric : metrics) {
        entry["metrics"][metric.name] = metric.to_json();
    }
    return entry;
}

const SliceResult* Evaluation::find_slice(std::string_view by, std::string_view value) const {
    const auto found = std::find_if(slices.begin(), slices.end(), [&](const SliceResult& slice) {
        return by_of(slice.name) == by && value_of(slice.name) == value;
    });
    return found == slices.end() ? nullptr : &*found;
}

Json score_histogram(std::span<const double> reference, std::span<const double> candidate,
                     bool paired) {
    constexpr std::size_t bins = 20;
    // scores of most models lie in [0, 1]; others get the range that they have
    double low = 0, high = 1;
    for (const auto& side : {reference, candidate}) {
        for (const double score : side) {
            low = std::min(low, score);
            high = std::max(high, score);
        }
    }
    if (reference.empty() && candidate.empty()) {
        return nullptr;
    }
    const double width = (high - low) / static_cast<double>(bins);
    const auto counts = [&](std::span<const double> scores) {
        std::vector<std::uint64_t> count(bins, 0);
        for (const double score : scores) {
            ++count[std::min(bins - 1, static_cast<std::size_t>((score - low) / width))];
        }
        Json list = Json::array();
        for (const std::uint64_t n : count) {
            list.push_back(n);
        }
        return list;
    };
    Json json = Json::object({{"low", low}, {"width", width}, {"candidate", counts(candidate)}});
    if (paired) {
        json["reference"] = counts(reference);
    }
    return json;
}

Interval share_interval(std::uint64_t k, std::uint64_t n, double confidence) {
    Interval interval;
    if (n == 0) {
        interval.why_not = "nothing was counted";
        return interval;
    }
    const double tail = (1 - confidence) / 2;
    const auto hits = static_cast<double>(k), all = static_cast<double>(n);
    using boost::math::beta_distribution;
    interval.low =
        k == 0 ? 0 : boost::math::quantile(beta_distribution<>(hits, all - hits + 1), tail);
    interval.high = k == n ? 1
                           : boost::math::quantile(boost::math::complement(
                                 beta_distribution<>(hits + 1, all - hits), tail));
    return interval;
}

double mcnemar_p(std::uint64_t gained, std::uint64_t lost) {
    const std::uint64_t changed = gained + lost;
    if (changed == 0) {
        return 1;
    }
    const boost::math::binomial_distribution<> fair(static_cast<double>(changed), 0.5);
    return std::min(1.0, 2 * boost::math::cdf(fair, static_cast<double>(std::min(gained, lost))));
}

}  // namespace requal::measure
