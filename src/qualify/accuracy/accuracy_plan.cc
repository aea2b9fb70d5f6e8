#include "qualify/accuracy/accuracy_plan.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace requal::qualify {

namespace {

constexpr double z = 1.959963984540054;  // 97.5 % of a normal distribution

struct Need {
    double n = 0;
    std::string basis, never;
};

Need by_margin(double margin, double variance, const std::string& what) {
    Need need;
    if (!(margin > 0)) {
        need.never = "what is expected reaches the limit: an interval around it can never lie "
                     "inside";
        return need;
    }
    need.n = z * z * variance / (margin * margin);
    need.basis = what;
    return need;
}

Need of_drop(const AccuracyGate& gate, double limit) {
    return by_margin(limit - gate.expected_drop, gate.expected_flips,
                     "normal approximation of a paired difference, drop " +
                         shortest(gate.expected_drop) + " expected, " +
                         shortest(gate.expected_flips * 100) + " % of the decisions change");
}

Need need_of(const AccuracyGate& gate) {
    const bool share = gate.kind == AccuracyGateKind::max_lost_share ||
                       gate.kind == AccuracyGateKind::max_gross_share;
    if (!gate.by_bound) {
        Need need;
        need.basis = "decided on the point: the minimum count";
        return need;
    }
    switch (gate.kind) {
    case AccuracyGateKind::max_drop:
        return of_drop(gate, gate.limit);
    case AccuracyGateKind::min_retention:
    case AccuracyGateKind::no_collapse: {
        const double least =
            gate.kind == AccuracyGateKind::no_collapse ? gate.min_retention : gate.limit;
        if (!gate.expected_reference) {
            Need need;
            need.basis = "the minimum count; give expected_reference for more";
            if (least >= 1) {
                need.never = "a retention of 1 or more leaves an interval no room";
            }
            return need;
        }
        return of_drop(gate, *gate.expected_reference * (1 - least));
    }
    case AccuracyGateKind::min_value:
        return by_margin(gate.expected_reference.value_or(1.0) - gate.limit, 0.25,
                         "normal approximation of a share, " +
                             shortest(gate.expected_reference.value_or(1.0)) + " expected");
    case AccuracyGateKind::max_value:
        return by_margin(gate.limit - gate.expected_reference.value_or(0.0), 0.25,
                         "normal approximation of a share, " +
                             shortest(gate.expected_reference.value_or(0.0)) + " expected");
    default:
        break;
    }
    Need need;
    if (share && !(gate.limit > 0)) {
        need.never = "no number of samples shows a share of exactly 0";
    } else if (gate.limit < 1) {
        need.n = std::log(0.025) / std::log1p(-gate.limit);
        need.basis = "Clopper-Pearson's upper end with no flip seen";
    }
    return need;
}

GatePlan plan_one(const AccuracyGate& gate, const std::string& slice,
                  std::optional<std::uint64_t> there) {
    GatePlan plan;
    plan.id = gate.id;
    plan.slice = slice;
    plan.there = there;
    Need need = need_of(gate);
    plan.never = std::move(need.never);
    plan.basis = std::move(need.basis);
    if (gate.metric.rfind("ap", 0) == 0 && gate.by_bound && need.n > 0) {
        plan.basis += "; AP is no mean of decisions, so this is an approximation";
    }
    plan.needed =
        std::max(gate.min_count, need.n < 1e15 ? static_cast<std::uint64_t>(std::ceil(need.n))
                                               : std::uint64_t{1'000'000'000'000'000});
    if (plan.never.empty() && there && *there < plan.needed) {
        plan.basis += "; the labelled set has too few";
    }
    return plan;
}

}  // namespace

Json GatePlan::to_json() const {
    Json json = Json::object({{"id", id},
                              {"slice", slice},
                              {"needed", needed},
                              {"basis", basis},
                              {"can_decide", can_decide()}});
    if (there) {
        json["there"] = *there;
    }
    if (!never.empty()) {
        json["never"] = never;
    }
    return json;
}

std::vector<GatePlan> plan_accuracy(const AccuracyGates& gates, const SliceCounts& counts) {
    std::vector<GatePlan> plans;
    const auto add = [&](const AccuracyGate& gate, const std::string& by,
                         const std::string& value) {
        const auto counted = counts(gate, by, value);
        if (counted.empty()) {
            plans.push_back(plan_one(gate, by.empty() ? "overall" : by + " " + value, {}));
        }
        for (const auto& [slice, count] : counted) {
            plans.push_back(plan_one(gate, slice, count));
        }
    };
    for (const AccuracyGate& gate : gates.gates) {
        if (gate.kind == AccuracyGateKind::no_collapse) {
            for (const std::string& name : gate.classes) {
                add(gate, "class", name);
            }
        } else {
            add(gate, gate.slice_by, gate.slice_value);
        }
    }
    return plans;
}

}  // namespace requal::qualify
