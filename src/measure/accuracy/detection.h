// Detection metrics of one or two sets of boxes on one labelled set: COCO's twelve numbers, slices, intervals, flips.
#pragma once

#include <string>
#include <vector>

#include "measure/accuracy/labelled_boxes.h"
#include "measure/accuracy/metric_table.h"
#include "measure/accuracy/slices.h"
#include "measure/accuracy/weights.h"

namespace requal::measure {

struct DetectionOptions {
    BootstrapOptions bootstrap;
    std::vector<SliceSpec> slices;
    double score_threshold = 0.5;  ///< from which a box is a decision; for flips only
    std::size_t flip_samples = 100;
};

/// `reference` may be null. The overall metrics and those of class slices are ap50_95 ap50 ap75 ap_small ap_medium ap_large ar1 ar10
/// ar100 ar_small ar_medium ar_large, of other slices those without a size. Values are in [0, 1] and equal pycocotools'; what is -1
/// there is NaN here. Error(input) for a slice of an attribute or tag that the set does not have.
Evaluation evaluate_detection(const LabelledBoxes& set, const DetectedBoxes* reference,
                              const DetectedBoxes& candidate, const DetectionOptions& options);

}  // namespace requal::measure
