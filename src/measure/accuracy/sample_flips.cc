#include "measure/accuracy/sample_flips.h"

#include <algorithm>

namespace requal::measure {

namespace {

const char* change_of(const SampleDecisions& d, std::size_t i) {
    const bool before = d.reference[i] == d.labels[i], after = d.candidate[i] == d.labels[i];
    return before ? "lost" : after ? "gained" : "changed-wrong";
}

Json side_json(const SampleDecisions& d, std::size_t i, bool reference) {
    const auto& scores = reference ? d.reference_score : d.candidate_score;
    Json side = Json::object({{"class", d.classes[(reference ? d.reference : d.candidate)[i]]}});
    if (!scores.empty()) {
        side["score"] = scores[i];
    }
    return side;
}

}  // namespace

Json sample_flips(const SampleDecisions& decisions, std::size_t most_samples, double confidence) {
    std::uint64_t gained = 0, lost = 0, changed_wrong = 0;
    std::vector<std::uint32_t> changed;
    for (std::uint32_t i = 0; i < decisions.labels.size(); ++i) {
        if (decisions.reference[i] == decisions.candidate[i]) {
            continue;
        }
        changed.push_back(i);
        const char kind = *change_of(decisions, i);
        (kind == 'l' ? lost : kind == 'g' ? gained : changed_wrong) += 1;
    }
    const auto order = [&](std::uint32_t i) {
        const char kind = *change_of(decisions, i);
        const double score = decisions.candidate_score.empty() ? 0 : decisions.candidate_score[i];
        return std::pair(kind == 'l' ? 0 : kind == 'c' ? 1 : 2, -score);
    };
    std::stable_sort(changed.begin(), changed.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return order(a) < order(b); });
    const std::uint64_t all = decisions.labels.size(), gross = changed.size();
    Json flips =
        Json::object({{"gained", gained},
                      {"lost", lost},
                      {"changed_wrong", changed_wrong},
                      {"net", static_cast<std::int64_t>(gained) - static_cast<std::int64_t>(lost)},
                      {"gross", gross},
                      {"decisions", all},
                      {"samples_total", gross},
                      {"samples", Json::array()}});
    flips["mcnemar"] =
        Json::object({{"p_value", mcnemar_p(gained, lost)}, {"method", "exact, two-sided"}});
    const Interval share = share_interval(lost, all, confidence);
    if (share.known()) {
        flips["lost_share"] = static_cast<double>(lost) / static_cast<double>(all);
        flips["lost_share_ci_low"] = share.low;
        flips["lost_share_ci_high"] = share.high;
        const Interval gross_share = share_interval(gross, all, confidence);
        flips["gross_share"] = static_cast<double>(gross) / static_cast<double>(all);
        flips["gross_share_ci_low"] = gross_share.low;
        flips["gross_share_ci_high"] = gross_share.high;
    }
    for (std::size_t k = 0; k < changed.size() && k < most_samples; ++k) {
        const std::uint32_t i = changed[k];
        flips["samples"].push_back(Json::object({{"change", change_of(decisions, i)},
                                                 {"sample", decisions.names[i]},
                                                 {"label", decisions.classes[decisions.labels[i]]},
                                                 {"reference", side_json(decisions, i, true)},
                                                 {"candidate", side_json(decisions, i, false)}}));
    }
    return flips;
}

FlipCounts count_flips(const SampleDecisions& decisions, std::span<const std::uint32_t> members) {
    FlipCounts counts;
    for (const std::uint32_t i : members) {
        const bool before = decisions.reference[i] == decisions.labels[i];
        const bool after = decisions.candidate[i] == decisions.labels[i];
        counts.gained += !before && after ? 1U : 0U;
        counts.lost += before && !after ? 1U : 0U;
    }
    return counts;
}

}  // namespace requal::measure
