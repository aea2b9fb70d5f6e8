// Semantic segmentation: intersection over union of classes, from label maps in npz, one picture at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/accuracy/metric_table.h"
#include "measure/accuracy/slices.h"
#include "measure/accuracy/weights.h"

namespace requal::measure {

struct SegmentationOptions {
    BootstrapOptions bootstrap;
    std::vector<SliceSpec> slices;
    std::int64_t ignore_label = 255;  ///< pixels of this label count nowhere
    std::size_t flip_samples = 100;
};

/// Files are .npz with one array of integers a picture, height x width, of the same names and shapes on all sides; the labelled set also
/// has `attributes/NAME` (samples.h). Overall and of slices without class: miou (mean over classes that are labelled or predicted
/// somewhere), pixel_accuracy; of class slices: iou. `n` is the number of pictures (that hold the class). With two sides also
/// lost_share and gross_share, of pixels: right before and wrong now, and changed at all; their intervals are resampled over pictures,
/// because pixels of one picture change together. Flips count pixels; their samples are the pictures that lost most. Kept for each
/// picture are its counts, never its pixels. Error(input) names the picture: other shapes, labels below 0 or above 65535, pictures that
/// one side lacks. `candidate` empty: the labelled set is only counted.
Evaluation evaluate_segmentation(const std::string& annotations,
                                 const std::optional<std::string>& reference,
                                 const std::optional<std::string>& candidate,
                                 const SegmentationOptions& options);

}  // namespace requal::measure
