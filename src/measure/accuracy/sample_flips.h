// Decisions about whole samples that differ between two sides: flips with the samples, gross beside net, McNemar's test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "measure/accuracy/samples.h"

namespace requal::measure {

/// One sample on both sides. Classes are indices into `classes`.
struct SampleDecisions {
    const std::vector<std::string>& names;
    const std::vector<std::string>& classes;
    const std::vector<std::uint32_t>& labels;
    const std::vector<std::uint32_t>& reference;
    const std::vector<std::uint32_t>& candidate;
    const std::vector<double>& reference_score;  ///< empty: none
    const std::vector<double>& candidate_score;
};

/// `flips`: gained (wrong, then right), lost (right, then wrong), changed between wrong classes; `mcnemar` within. Lost ones come first
/// in `samples`, the surest candidate before the others.
Json sample_flips(const SampleDecisions& decisions, std::size_t most_samples, double confidence);

/// Of the members of a slice.
FlipCounts count_flips(const SampleDecisions& decisions, std::span<const std::uint32_t> members);

}  // namespace requal::measure
