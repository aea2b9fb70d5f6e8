// Detections matched to ground truth as pycocotools does it, once; sums are made from the records afterwards, with any weights.
// Source of the rules: cocodataset/cocoapi, PythonAPI/pycocotools/cocoeval.py (evaluateImg, accumulate) and common/maskApi.c (bbIou).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "measure/accuracy/labelled_boxes.h"

namespace requal::measure {

inline constexpr std::size_t iou_count = 10;  ///< 0.50, 0.55 ... 0.95, as numpy.linspace gives them
inline constexpr std::size_t recall_count = 101;
const std::array<double, iou_count>& iou_thresholds();

/// Which objects and images are asked about. Objects outside are ignored, as crowds are: they count neither as found nor as missed.
/// A detection that matches nothing is ignored when its own area lies outside the range, else it is a false positive: it has no
/// attribute but its size, so that it counts in every range of an attribute of objects.
struct BoxView {
    double least_area = 0;
    double greatest_area = 1e10;           ///< both ends belong to it (COCO's "all" is 0 to 1e5^2)
    std::vector<std::uint8_t> keep_box;    ///< by box; empty: all
    std::vector<std::uint8_t> keep_image;  ///< by image; empty: all
};

/// One detection of a category, from the highest score to the lowest.
struct MatchRecord {
    std::uint32_t image = 0;
    std::uint16_t matched = 0;  ///< bit t: matched at threshold t
    std::uint16_t ignored = 0;  ///< bit t: counts as neither
    std::uint8_t rank = 0;      ///< among those of its category and image
};

/// Objects that count, of one category in one image.
struct PositiveCount {
    std::uint32_t image = 0;
    std::uint32_t count = 0;
};

struct CategoryMatches {
    std::vector<MatchRecord> records;
    std::vector<PositiveCount> positives;
    std::uint64_t objects = 0;  ///< sum of the counts
};

/// Records of one category in one or more views of the same boxes (views share the sorting and the overlaps).
std::vector<CategoryMatches> match_category(const LabelledBoxes& set,
                                            const DetectedBoxes& detections, std::uint32_t category,
                                            std::span<const BoxView> views);

/// Average precision (area under the interpolated precision at 101 recalls) and recall of a category; NaN without any object.
struct CategoryScores {
    static constexpr double none = std::numeric_limits<double>::quiet_NaN();
    double ap50_95 = none, ap50 = none, ap75 = none;
    double ar1 = none, ar10 = none, ar100 = none;
};

/// Buffers of score_category(), kept between calls.
struct ScoreScratch {
    std::vector<double> found, precision;
};

/// `weights`: how often each image counts; empty: once each.
CategoryScores score_category(const CategoryMatches& matches,
                              std::span<const std::uint32_t> weights, ScoreScratch& scratch);

/// Overlap of two boxes: intersection over union, over the detection's own area when the object is a crowd.
double overlap(const DetectedBox& detection, const LabelledBox& object);

}  // namespace requal::measure
