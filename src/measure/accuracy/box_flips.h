// Decisions that differ between two sets of boxes on the same images.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "measure/accuracy/labelled_boxes.h"
#include "measure/accuracy/metric_table.h"

namespace requal::measure {

/// +1: found by the candidate only; -1: by the reference only; 0: no difference. One entry a labelled box; crowds stay 0.
struct BoxFlips {
    std::vector<std::int8_t> of_object;
    std::uint64_t objects = 0;  ///< labelled boxes that are no crowds
    Json document;              ///< the `flips` member
};

/// A box is a decision when its score reaches `threshold`. An object is found when a decision of its class overlaps it by half (each
/// decision finds one object, the highest score first). Decisions of the two sides are paired with each other by overlap of half or
/// more, those of one class first; what stays alone appeared or disappeared, a pair of two classes changed class.
BoxFlips find_box_flips(const LabelledBoxes& set, const DetectedBoxes& reference,
                        const DetectedBoxes& candidate, double threshold, std::size_t most_samples,
                        double confidence);

}  // namespace requal::measure
