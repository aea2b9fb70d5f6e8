// Records of COCO files, as they were read, brought into the order and the indices that the metrics need.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/accuracy/labelled_boxes.h"

namespace requal::measure {

struct RawImage {
    LabelledImage image;
    std::uint64_t record = 0;
};
struct RawBox {
    LabelledBox box;
    std::int64_t image_id = 0, category_id = 0;
};

/// `set` has categories as they stood in the file, attributes by record, and nothing else yet. Error(input) naming FILE and record for
/// ids that stand twice, annotations without image, unknown categories, two categories of one name.
LabelledBoxes arrange_records(LabelledBoxes set, std::vector<RawImage> images,
                              std::vector<RawBox> boxes, const std::string& path);

/// By (category, image), then score from high to low, equal scores as they stood: what numpy's mergesort of -score gives. Of a group
/// DetectedBoxes::most_per_group stay.
void arrange_detections(DetectedBoxes& detections, std::size_t categories);

}  // namespace requal::measure
