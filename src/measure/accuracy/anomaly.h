// Anomaly inspection: does the score tell defective pictures and pixels from good ones?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/accuracy/metric_table.h"
#include "measure/accuracy/slices.h"
#include "measure/accuracy/weights.h"

namespace requal::measure {

struct AnomalyOptions {
    BootstrapOptions bootstrap;
    std::optional<double>
        threshold;  ///< from which a picture is called defective; without it no F1 and no flips
    std::size_t flip_samples = 100;
    std::vector<SliceSpec> slices;  ///< `class` is good and defective; `size` is none
};

/// Labelled set (.npz): `masks/NAME`, height x width, not 0 where defective (a picture with such a pixel is defective), or `labels` (0
/// good, 1 defective) with `samples` (names). Predictions (.npz): `maps/NAME`, height x width, and `scores` of pictures in the order of
/// the labelled set (without it: the map's maximum); higher is more defective. Overall: image_auroc (resampled), with a threshold
/// image_f1, image_precision, image_recall; with maps pixel_auroc and aupro (area under per-region overlap up to a false positive
/// rate of 0.3, divided by 0.3; regions are 8-connected; Bergmann et al., IJCV 2021), which have no interval.
/// Slices by `attributes/NAME` of the labelled set (samples.h) have the numbers of pictures; those by class count and have flips.
/// Pixel scores are kept as counts in 2^20 steps of a float32's leading bits, so that memory does not grow with the pictures;
/// `pixel_resolution` bounds what that can change in pixel_auroc. Error(input) names the picture: NaN, other shapes, missing ones.
Evaluation evaluate_anomaly(const std::string& annotations,
                            const std::optional<std::string>& reference,
                            const std::optional<std::string>& candidate,
                            const AnomalyOptions& options);

/// Area under the ROC curve of weighed samples, ties counted half; NaN when one kind is missing. `order`: samples by score,
/// the highest first.
double weighed_auroc(const std::vector<double>& scores, const std::vector<std::uint8_t>& positive,
                     const std::vector<std::uint32_t>& order,
                     std::span<const std::uint32_t> weights);

/// 8-connected regions of what is not 0: 0, or 1 + the region's index, by pixel; returns the regions' sizes.
std::vector<std::uint64_t> label_regions(const std::vector<std::uint8_t>& mask, std::size_t height,
                                         std::size_t width, std::vector<std::uint32_t>& regions);

}  // namespace requal::measure
