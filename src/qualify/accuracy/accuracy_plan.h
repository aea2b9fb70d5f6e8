// Before any run: how many samples each gate needs, and which gates can never pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "qualify/accuracy/accuracy_gates.h"

namespace requal::qualify {

/// What one gate needs in one slice.
struct GatePlan {
    std::string id, slice;
    std::uint64_t needed = 0;            ///< labelled objects (detection) or samples, in the slice
    std::optional<std::uint64_t> there;  ///< what the labelled set has; not known without one
    std::string basis;                   ///< the assumption and the formula
    std::string never;                   ///< why it can never pass; empty: it can

    bool can_decide() const { return never.empty() && (!there || *there >= needed); }
    Json to_json() const;
};

/// The slices that a gate's (by, value) means ("", "": overall), with their names for people and their numbers of labelled objects or
/// samples; empty when nobody counted. Error(input) for a slice that is not there.
using SliceCounts = std::function<std::vector<std::pair<std::string, std::uint64_t>>(
    const AccuracyGate& gate, const std::string& by, const std::string& value)>;

/// The least n at which the unfavourable end of a 95 % interval is inside of the limit when the truth is what the gate expects
/// (`expected_drop`, by default 0; `expected_flips`, by default 5 % of the decisions change):
///   drop:      n = (1.96 / (max_drop - expected_drop))^2 * expected_flips, the variance of a paired difference of decisions
///   retention: as the drop expected_reference * (1 - min_retention)
///   shares:    no flip seen and Clopper-Pearson's upper end inside: n = ln(0.025) / ln(1 - limit)
///   values:    n = (1.96 / margin)^2 / 4 with no expectation: margin 1 - limit or the limit
/// Gates on the point, and no_collapse, need at least min_count. AP is not a mean of decisions: for it this is a planning
/// approximation, and the basis says so.
std::vector<GatePlan> plan_accuracy(const AccuracyGates& gates, const SliceCounts& counts);

}  // namespace requal::qualify
