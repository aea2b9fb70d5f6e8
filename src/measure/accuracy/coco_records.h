// Records of COCO files, as they were read, brought into the order and the indices that the metrics need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "measure/accuracy/labelled_boxes.h"

namespace requal::measure {

/// Where a reader is, for messages: "FILE: annotation 17" (records count from 0).
struct RecordPlace {
    const std::string& path;
    std::string_view what;
    std::uint64_t record = 0;

    std::string text() const {
        return what.empty() ? path : path + ": " + std::string(what) + " " + std::to_string(record);
    }
    [[noreturn]] void fail(std::string message, std::string next = {}) const {
        throw Error(ErrorKind::input, std::move(message), text(), std::move(next));
    }
};

/// Notes that a key of the record was seen; a second time is refused.
class SeenKeys {
public:
    void mark(unsigned bit, std::string_view key, const RecordPlace& place) {
        if ((bits_ >> bit & 1U) != 0) {
            place.fail("key '" + std::string(key) + "' stands twice");
        }
        bits_ |= 1U << bit;
    }
    bool has(unsigned bit) const { return (bits_ >> bit & 1U) != 0; }
    void need(unsigned bit, std::string_view key, const RecordPlace& place) const {
        if (!has(bit)) {
            place.fail("key '" + std::string(key) + "' is missing");
        }
    }

private:
    unsigned bits_ = 0;
};

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
