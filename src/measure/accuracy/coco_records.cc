#include "measure/accuracy/coco_records.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "base/error.h"

namespace requal::measure {

namespace {

class Arranger {
public:
    Arranger(LabelledBoxes set, std::vector<RawImage> images, std::vector<RawBox> boxes,
             const std::string& path)
        : path_(path), set_(std::move(set)), images_(std::move(images)), boxes_(std::move(boxes)) {}

    LabelledBoxes arrange() {
        arrange_images();
        std::sort(set_.categories.begin(), set_.categories.end(),
                  [](const auto& a, const auto& b) { return a.id < b.id; });
        for (std::size_t i = 1; i < set_.categories.size(); ++i) {
            if (set_.categories[i].id == set_.categories[i - 1].id) {
                throw Error(ErrorKind::input,
                            "category id " + std::to_string(set_.categories[i].id) +
                                " stands twice",
                            path_, "give every category an id of its own");
            }
        }
        std::vector<std::string_view> names;
        for (const LabelledCategory& category : set_.categories) {
            names.push_back(category.name);
        }
        std::sort(names.begin(), names.end());
        const auto twice = std::adjacent_find(names.begin(), names.end());
        if (twice != names.end()) {
            throw Error(ErrorKind::input, "two categories are called '" + std::string(*twice) + "'",
                        path_, "a class is named by its name; give each its own");
        }
        arrange_boxes();
        return std::move(set_);
    }

private:
    [[noreturn]] void fail(const char* what, std::uint64_t record, std::string message,
                           std::string next) const {
        RecordPlace{path_, what, record}.fail(std::move(message), std::move(next));
    }

    void arrange_images() {
        std::vector<std::uint32_t> order(images_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return images_[a].image.id < images_[b].image.id;
        });
        std::vector<std::uint32_t> to(order.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            to[order[i]] = i;
            if (i > 0 && images_[order[i]].image.id == images_[order[i - 1]].image.id) {
                fail("image", images_[order[i]].record,
                     "image id " + std::to_string(images_[order[i]].image.id) +
                         " stands twice (first at image " +
                         std::to_string(images_[order[i - 1]].record) + ")",
                     "give every image an id of its own");
            }
        }
        set_.images.reserve(order.size());
        for (const std::uint32_t index : order) {
            set_.images.push_back(std::move(images_[index].image));
        }
        set_.image_attributes.renumber(to);
    }

    void arrange_boxes() {
        std::unordered_map<std::int64_t, std::uint32_t> image_index, category_index, ids;
        for (std::uint32_t i = 0; i < set_.images.size(); ++i) {
            image_index.emplace(set_.images[i].id, i);
        }
        for (std::uint32_t i = 0; i < set_.categories.size(); ++i) {
            category_index.emplace(set_.categories[i].id, i);
        }
        for (std::uint32_t i = 0; i < boxes_.size(); ++i) {
            RawBox& raw = boxes_[i];
            const auto image = image_index.find(raw.image_id);
            if (image == image_index.end()) {
                fail("annotation", i,
                     "image_id " + std::to_string(raw.image_id) + " is no image of the file",
                     "add the image or remove the annotation");
            }
            const auto category = category_index.find(raw.category_id);
            if (category == category_index.end()) {
                fail("annotation", i,
                     "category_id " + std::to_string(raw.category_id) +
                         " is no category of the file",
                     "add the category or remove the annotation");
            }
            const auto [first, fresh] = ids.emplace(raw.box.id, i);
            if (!fresh) {
                fail("annotation", i,
                     "id " + std::to_string(raw.box.id) + " stands twice (first at annotation " +
                         std::to_string(first->second) + ")",
                     "give every annotation an id of its own");
            }
            raw.box.image = image->second;
            raw.box.category = category->second;
        }
        std::vector<std::uint32_t> order(boxes_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            const LabelledBox& x = boxes_[a].box;
            const LabelledBox& y = boxes_[b].box;
            return x.category != y.category ? x.category < y.category : x.image < y.image;
        });
        std::vector<std::uint32_t> to(order.size());
        set_.boxes.reserve(order.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) {
            to[order[i]] = i;
            set_.boxes.push_back(boxes_[order[i]].box);
        }
        set_.box_attributes.renumber(to);
    }

    const std::string& path_;
    LabelledBoxes set_;
    std::vector<RawImage> images_;
    std::vector<RawBox> boxes_;
};

}  // namespace

LabelledBoxes arrange_records(LabelledBoxes set, std::vector<RawImage> images,
                              std::vector<RawBox> boxes, const std::string& path) {
    return Arranger(std::move(set), std::move(images), std::move(boxes), path).arrange();
}

void arrange_detections(DetectedBoxes& detections, std::size_t categories) {
    // categories are brought together first: files go by image, and a sort within a category stays in the cache
    std::vector<std::size_t> first(categories + 1, 0);
    for (const DetectedBox& box : detections.boxes) {
        ++first[box.category + 1];
    }
    for (std::size_t c = 0; c < categories; ++c) {
        first[c + 1] += first[c];
    }
    std::vector<DetectedBox> boxes(detections.boxes.size());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (const DetectedBox& box : detections.boxes) {
        boxes[next[box.category]++] = box;
    }
    detections.boxes = {};
    std::size_t kept = 0;
    for (std::size_t c = 0; c < categories; ++c) {
        const auto begin = boxes.begin() + static_cast<std::ptrdiff_t>(first[c]);
        const auto end = boxes.begin() + static_cast<std::ptrdiff_t>(first[c + 1]);
        std::stable_sort(begin, end, [](const DetectedBox& a, const DetectedBox& b) {
            return a.image != b.image ? a.image < b.image : a.score > b.score;
        });
        std::size_t run = 0;
        const std::size_t kept_before = kept;
        for (auto it = begin; it != end; ++it) {
            run = kept > kept_before && it->image == boxes[kept - 1].image ? run + 1 : 0;
            if (run < DetectedBoxes::most_per_group) {
                boxes[kept++] = *it;
            }
        }
    }
    boxes.resize(kept);
    boxes.shrink_to_fit();
    detections.boxes = std::move(boxes);
}

}  // namespace requal::measure
