// A labelled detection set and the detections on it, in the order that the metrics need: by category, image, place in the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace requal::measure {

/// Numbers and tags of images or boxes. Names are kept once.
class AttributeTable {
public:
    /// Index of a name, made when it is new; Error(input) past 4096 names.
    std::uint32_t number_name(std::string_view name, const std::string& where);
    std::uint32_t tag_name(std::string_view name, const std::string& where);
    void add_number(std::uint32_t name, std::uint32_t owner, double value);
    void add_tag(std::uint32_t name, std::uint32_t owner);

    const std::vector<std::string>& numbers() const { return number_names_; }
    const std::vector<std::string>& tags() const { return tag_names_; }
    /// One value an owner, NaN where it has none; an empty vector when nobody has the attribute.
    std::vector<double> values(std::string_view name, std::size_t owners) const;
    /// 1 where the owner has the tag; an empty vector when nobody has it.
    std::vector<std::uint8_t> has_tag(std::string_view name, std::size_t owners) const;
    /// Owners get new indices: `to[old]`.
    void renumber(std::span<const std::uint32_t> to);

private:
    std::vector<std::string> number_names_, tag_names_;
    std::vector<std::vector<std::pair<std::uint32_t, double>>> numbers_;
    std::vector<std::vector<std::uint32_t>> tags_;
};

struct LabelledImage {
    std::int64_t id = 0;
    std::string name;              ///< file_name, or the id as text
    double width = 0, height = 0;  ///< 0: the file does not say
};

struct LabelledCategory {
    std::int64_t id = 0;
    std::string name;  ///< the id as text when the file gives none
};

/// A ground-truth box in pixels: corner x, y and size.
struct LabelledBox {
    double x = 0, y = 0, width = 0, height = 0;
    double area = 0;  ///< the file's `area` (of the mask, where there is one), else width * height
    std::int64_t id = 0;
    std::uint32_t image = 0;  ///< index into images
    std::uint32_t category = 0;
    bool crowd = false;
};

/// Images and categories are sorted by id; boxes by (category, image, place in the file).
struct LabelledBoxes {
    std::vector<LabelledImage> images;
    std::vector<LabelledCategory> categories;
    std::vector<LabelledBox> boxes;
    AttributeTable image_attributes, box_attributes;
    std::uint64_t areas_from_boxes = 0;  ///< boxes whose record has no `area`
};

/// A detection in pixels.
struct DetectedBox {
    double x = 0, y = 0, width = 0, height = 0;
    double score = 0;
    std::uint32_t image = 0;
    std::uint32_t category = 0;
};

/// Sorted by (category, image), then by score from high to low; equal scores in the order of the file. At most `most_per_group`
/// of a category and image are kept; `total` counts all.
struct DetectedBoxes {
    static constexpr std::size_t most_per_group = 100;
    std::vector<DetectedBox> boxes;
    std::uint64_t total = 0;
    double least_score = 0, greatest_score = 0;  ///< 0, 0 when there is none
};

/// Largest absolute coordinate that is taken, so that no product overflows.
inline constexpr double largest_coordinate = 1e12;

/// COCO annotations: `images`, `categories`, `annotations` in any order; polygons and masks are skipped (boxes are what is
/// judged). Numbers beside COCO's own keys and those under `attributes` become attributes; true and texts under `attributes`, and
/// `tags`, become tags. Error(input) "FILE: annotation 17: ..." for ids given twice, unknown images and categories, negative sizes,
/// numbers that are not finite, keys given twice, text cut short.
LabelledBoxes read_coco_annotations(const std::string& path);

/// COCO results: an array of {image_id, category_id, bbox, score}. An empty array is a result. Errors as above, by record.
DetectedBoxes read_coco_results(const std::string& path, const LabelledBoxes& set);

}  // namespace requal::measure
