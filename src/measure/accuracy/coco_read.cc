// COCO files through simdjson's on-demand reader: a file of 10^6 detections is read in one pass without a tree.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <simdjson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/accuracy/coco_records.h"
#include "measure/accuracy/labelled_boxes.h"

namespace requal::measure {

namespace {

namespace sj = simdjson::ondemand;

/// simdjson counts in 32 bits.
constexpr std::uint64_t largest_file = (std::uint64_t{1} << 32) - 4096;

simdjson::padded_string load(const std::string& path) {
    const FileDescriptor file = open_regular_file(path);
    struct stat status {};
    if (fstat(file.get(), &status) != 0) {
        throw_errno(errno, "cannot look at", path);
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > largest_file) {
        throw Error(ErrorKind::input, "larger than 4 GiB", path, "split the images into parts");
    }
    simdjson::padded_string text(static_cast<std::size_t>(size));
    std::size_t have = 0;
    while (have < size) {
        const ssize_t got = read(file.get(), text.data() + have, size - have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw_errno(errno, "cannot read", path);
        }
        if (got == 0) {
            throw Error(ErrorKind::input, "became shorter while it was read", path);
        }
        have += static_cast<std::size_t>(got);
    }
    return text;
}

using Place = RecordPlace;
using Seen = SeenKeys;

[[noreturn]] void damaged(simdjson::error_code code, const Place& place) {
    if (code == simdjson::UTF8_ERROR) {
        place.fail("not UTF-8", "write the file as UTF-8");
    }
    place.fail(std::string("no whole JSON here (") + simdjson::error_message(code) + ")",
               "the file may be cut short; write it again");
}

template <typename T>
T take(simdjson::simdjson_result<T> result, const Place& place) {
    if (result.error() != simdjson::SUCCESS) {
        damaged(result.error(), place);
    }
    return std::move(result).value_unsafe();
}

/// The token as it stands, short enough for a message.
std::string token_of(sj::value& value) {
    std::string text(value.raw_json_token());
    text.erase(text.find_last_not_of(" \t\r\n,]}") + 1);
    return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

void refuse_more(sj::document& document, const Place& place) {
    const char* at = nullptr;
    if (document.current_location().get(at) == simdjson::SUCCESS) {
        place.fail("text follows the JSON document", "the file holds more than one");
    }
}

double number_of(sj::value value, std::string_view key, const Place& place) {
    double number = 0;
    const std::string_view token = value.raw_json_token();
    const simdjson::error_code code = value.get_double().get(number);
    if (code != simdjson::SUCCESS || !std::isfinite(number)) {
        std::string text(token.substr(0, 40));
        text.erase(text.find_last_not_of(" \t\r\n,]}") + 1);
        place.fail("'" + std::string(key) + "' is " + (text.empty() ? "nothing" : text) +
                       ", not a finite number",
                   "leave the record out or mend what wrote it");
    }
    return number;
}

std::int64_t id_of(sj::value value, std::string_view key, const Place& place) {
    std::int64_t number = 0;
    if (value.get_int64().get(number) == simdjson::SUCCESS) {
        return number;
    }
    double real = 0;
    if (value.get_double().get(real) == simdjson::SUCCESS && std::abs(real) < 9e15 &&
        real == std::floor(real)) {
        return static_cast<std::int64_t>(real);
    }
    place.fail("'" + std::string(key) + "' is " + token_of(value) + ", not an integer",
               "COCO's ids are integers");
}

std::string string_of(sj::value value, std::string_view key, const Place& place) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) {
        place.fail("'" + std::string(key) + "' is not text");
    }
    return std::string(text);
}

std::array<double, 4> box_of(sj::value value, const Place& place) {
    std::array<double, 4> box{};
    std::size_t count = 0;
    sj::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) {
        place.fail("'bbox' is no array", "COCO's bbox is [x, y, width, height]");
    }
    for (auto element : array) {
        if (count == 4) {
            ++count;
            break;
        }
        box[count] = number_of(take(element, place), "bbox", place);
        if (std::abs(box[count]) > largest_coordinate) {
            place.fail("'bbox' holds " + shortest(box[count]) + ", beyond 1e12");
        }
        ++count;
    }
    if (count != 4) {
        place.fail("'bbox' does not hold four numbers", "COCO's bbox is [x, y, width, height]");
    }
    if (box[2] < 0 || box[3] < 0) {
        place.fail("'bbox' has a negative size (" + shortest(box[2]) + " x " + shortest(box[3]) +
                       ")",
                   "COCO's bbox is [x, y, width, height], not two corners");
    }
    return box;
}

/// Calls `record(object, place)` for each object of an array.
template <typename Record>
void each_record(sj::array array, std::string_view what, const std::string& path, Record record) {
    Place place{path, what, 0};
    for (auto element : array) {
        sj::value value = take(element, place);
        sj::object object;
        if (value.get_object().get(object) != simdjson::SUCCESS) {
            place.fail("not an object");
        }
        record(object, place);
        ++place.record;
        if (place.record > std::numeric_limits<std::uint32_t>::max() - 1) {
            place.fail("too many records");
        }
    }
}

/// A member of a record that COCO does not define: numbers become attributes. Texts there are digests, dates and names of files as
/// often as properties, so that they must stand below `attributes` to become tags.
void add_number(sj::value value, const std::string& key, std::uint32_t owner, AttributeTable& table,
                const Place& place) {
    if (take(value.type(), place) == sj::json_type::number) {
        table.add_number(table.number_name(key, place.text()), owner, number_of(value, key, place));
    }
}

/// A member of `attributes`: number, flag, text.
void add_attribute(sj::value value, const std::string& key, std::uint32_t owner,
                   AttributeTable& table, const Place& place) {
    switch (take(value.type(), place)) {
    case sj::json_type::number:
        table.add_number(table.number_name(key, place.text()), owner, number_of(value, key, place));
        break;
    case sj::json_type::boolean:
        if (take(value.get_bool(), place)) {
            table.add_tag(table.tag_name(key, place.text()), owner);
        }
        break;
    case sj::json_type::string:
        table.add_tag(table.tag_name(key + "=" + string_of(value, key, place), place.text()),
                      owner);
        break;
    default:
        break;  // polygons, masks, null: nothing that a slice could be made of
    }
}

void add_tags(sj::value value, std::uint32_t owner, AttributeTable& table, const Place& place) {
    sj::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) {
        place.fail("'tags' is no array of texts");
    }
    for (auto element : array) {
        table.add_tag(table.tag_name(string_of(take(element, place), "tags", place), place.text()),
                      owner);
    }
}

/// Members of `attributes`.
void add_attributes(sj::value value, std::uint32_t owner, AttributeTable& table,
                    const Place& place) {
    sj::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) {
        place.fail("'attributes' is no object");
    }
    for (auto field : object) {
        const std::string key(take(field.unescaped_key(), place));
        add_attribute(take(field.value(), place), key, owner, table, place);
    }
}

class AnnotationReader {
public:
    explicit AnnotationReader(const std::string& path) : path_(path) {}

    LabelledBoxes read() {
        const simdjson::padded_string text = load(path_);
        sj::parser parser;
        const Place top{path_, {}, 0};
        sj::document document = take(parser.iterate(text), top);
        sj::object object;
        if (document.get_object().get(object) != simdjson::SUCCESS) {
            top.fail("no JSON object", "COCO annotations are {images, categories, annotations}");
        }
        Seen seen;
        for (auto field : object) {
            const sj::raw_json_string key = take(field.key(), top);
            if (key == "images") {
                seen.mark(0, "images", top);
                each_record(array_of(field, "images", top), "image", path_,
                            [&](sj::object& o, const Place& p) { image(o, p); });
            } else if (key == "categories") {
                seen.mark(1, "categories", top);
                each_record(array_of(field, "categories", top), "category", path_,
                            [&](sj::object& o, const Place& p) { category(o, p); });
            } else if (key == "annotations") {
                seen.mark(2, "annotations", top);
                each_record(array_of(field, "annotations", top), "annotation", path_,
                            [&](sj::object& o, const Place& p) { annotation(o, p); });
            }
        }
        refuse_more(document, top);
        seen.need(0, "images", top);
        seen.need(1, "categories", top);
        seen.need(2, "annotations", top);
        return arrange_records(std::move(set_), std::move(images_), std::move(boxes_), path_);
    }

private:
    template <typename Field>
    static sj::array array_of(Field& field, std::string_view key, const Place& place) {
        sj::array array;
        sj::value value = take(field.value(), place);
        if (value.get_array().get(array) != simdjson::SUCCESS) {
            place.fail("'" + std::string(key) + "' is no array");
        }
        return array;
    }

    static double size_of(sj::value value, std::string_view key, const Place& place) {
        const double size = number_of(value, key, place);
        if (size < 0) {
            place.fail("'" + std::string(key) + "' is negative");
        }
        return size;
    }

    void image(sj::object& object, const Place& place) {
        const auto owner = static_cast<std::uint32_t>(images_.size());
        RawImage raw;
        raw.record = place.record;
        Seen seen;
        for (auto field : object) {
            const sj::raw_json_string key = take(field.key(), place);
            if (key == "id") {
                seen.mark(0, "id", place);
                raw.image.id = id_of(take(field.value(), place), "id", place);
            } else if (key == "file_name") {
                seen.mark(1, "file_name", place);
                raw.image.name = string_of(take(field.value(), place), "file_name", place);
            } else if (key == "tags") {
                seen.mark(2, "tags", place);
                add_tags(take(field.value(), place), owner, set_.image_attributes, place);
            } else if (key == "attributes") {
                seen.mark(3, "attributes", place);
                add_attributes(take(field.value(), place), owner, set_.image_attributes, place);
            } else if (key == "width") {
                seen.mark(4, "width", place);
                raw.image.width = size_of(take(field.value(), place), "width", place);
            } else if (key == "height") {
                seen.mark(5, "height", place);
                raw.image.height = size_of(take(field.value(), place), "height", place);
            } else if (!(key == "license") && !(key == "flickr_url") && !(key == "coco_url") &&
                       !(key == "date_captured")) {
                const std::string name(take(field.unescaped_key(), place));
                add_number(take(field.value(), place), name, owner, set_.image_attributes, place);
            }
        }
        seen.need(0, "id", place);
        if (raw.image.name.empty()) {
            raw.image.name = std::to_string(raw.image.id);
        }
        images_.push_back(std::move(raw));
    }

    void category(sj::object& object, const Place& place) {
        LabelledCategory category;
        Seen seen;
        for (auto field : object) {
            const sj::raw_json_string key = take(field.key(), place);
            if (key == "id") {
                seen.mark(0, "id", place);
                category.id = id_of(take(field.value(), place), "id", place);
            } else if (key == "name") {
                seen.mark(1, "name", place);
                category.name = string_of(take(field.value(), place), "name", place);
            }
        }
        seen.need(0, "id", place);
        if (category.name.empty()) {
            category.name = std::to_string(category.id);
        }
        set_.categories.push_back(std::move(category));
    }

    void annotation(sj::object& object, const Place& place) {
        const auto owner = static_cast<std::uint32_t>(boxes_.size());
        RawBox raw;
        Seen seen;
        for (auto field : object) {
            const sj::raw_json_string key = take(field.key(), place);
            if (key == "id") {
                seen.mark(0, "id", place);
                raw.box.id = id_of(take(field.value(), place), "id", place);
            } else if (key == "image_id") {
                seen.mark(1, "image_id", place);
                raw.image_id = id_of(take(field.value(), place), "image_id", place);
            } else if (key == "category_id") {
                seen.mark(2, "category_id", place);
                raw.category_id = id_of(take(field.value(), place), "category_id", place);
            } else if (key == "bbox") {
                seen.mark(3, "bbox", place);
                const auto box = box_of(take(field.value(), place), place);
                raw.box.x = box[0];
                raw.box.y = box[1];
                raw.box.width = box[2];
                raw.box.height = box[3];
            } else if (key == "area") {
                seen.mark(4, "area", place);
                raw.box.area = number_of(take(field.value(), place), "area", place);
                if (raw.box.area < 0) {
                    place.fail("'area' is negative");
                }
            } else if (key == "iscrowd") {
                seen.mark(5, "iscrowd", place);
                raw.box.crowd = flag_of(take(field.value(), place), place);
            } else if (key == "tags") {
                seen.mark(6, "tags", place);
                add_tags(take(field.value(), place), owner, set_.box_attributes, place);
            } else if (key == "attributes") {
                seen.mark(7, "attributes", place);
                add_attributes(take(field.value(), place), owner, set_.box_attributes, place);
            } else if (!(key == "segmentation") && !(key == "ignore") && !(key == "keypoints") &&
                       !(key == "num_keypoints")) {
                const std::string name(take(field.unescaped_key(), place));
                add_number(take(field.value(), place), name, owner, set_.box_attributes, place);
            }
        }
        seen.need(0, "id", place);
        seen.need(1, "image_id", place);
        seen.need(2, "category_id", place);
        seen.need(3, "bbox", place);
        if (!seen.has(4)) {
            raw.box.area = raw.box.width * raw.box.height;
            ++set_.areas_from_boxes;
        }
        boxes_.push_back(raw);
    }

    static bool flag_of(sj::value value, const Place& place) {
        bool flag = false;
        if (value.get_bool().get(flag) == simdjson::SUCCESS) {
            return flag;
        }
        const std::int64_t number = id_of(value, "iscrowd", place);
        if (number != 0 && number != 1) {
            place.fail("'iscrowd' is neither 0 nor 1");
        }
        return number == 1;
    }

    const std::string& path_;
    LabelledBoxes set_;
    std::vector<RawImage> images_;
    std::vector<RawBox> boxes_;
};

}  // namespace

LabelledBoxes read_coco_annotations(const std::string& path) {
    return AnnotationReader(path).read();
}

DetectedBoxes read_coco_results(const std::string& path, const LabelledBoxes& set) {
    std::unordered_map<std::int64_t, std::uint32_t> image_index, category_index;
    for (std::uint32_t i = 0; i < set.images.size(); ++i) {
        image_index.emplace(set.images[i].id, i);
    }
    for (std::uint32_t i = 0; i < set.categories.size(); ++i) {
        category_index.emplace(set.categories[i].id, i);
    }
    DetectedBoxes detections;
    {
        const simdjson::padded_string text = load(path);
        sj::parser parser;
        const Place top{path, {}, 0};
        sj::document document = take(parser.iterate(text), top);
        sj::array array;
        if (document.get_array().get(array) != simdjson::SUCCESS) {
            top.fail("no whole JSON array: cut short, or something else",
                     "COCO results are [{image_id, category_id, bbox, score}]");
        }
        each_record(array, "record", path, [&](sj::object& object, const Place& place) {
            DetectedBox box;
            Seen seen;
            for (auto field : object) {
                const sj::raw_json_string key = take(field.key(), place);
                if (key == "image_id") {
                    seen.mark(0, "image_id", place);
                    const std::int64_t id = id_of(take(field.value(), place), "image_id", place);
                    const auto found = image_index.find(id);
                    if (found == image_index.end()) {
                        place.fail("image_id " + std::to_string(id) +
                                       " is no image of the annotations",
                                   "judge predictions by the annotations of the same images");
                    }
                    box.image = found->second;
                } else if (key == "category_id") {
                    seen.mark(1, "category_id", place);
                    const std::int64_t id = id_of(take(field.value(), place), "category_id", place);
                    const auto found = category_index.find(id);
                    if (found == category_index.end()) {
                        place.fail("category_id " + std::to_string(id) +
                                       " is no category of the annotations",
                                   "the model's class list and the data's must be the same");
                    }
                    box.category = found->second;
                } else if (key == "bbox") {
                    seen.mark(2, "bbox", place);
                    const auto values = box_of(take(field.value(), place), place);
                    box.x = values[0];
                    box.y = values[1];
                    box.width = values[2];
                    box.height = values[3];
                } else if (key == "score") {
                    seen.mark(3, "score", place);
                    box.score = number_of(take(field.value(), place), "score", place);
                }
            }
            seen.need(0, "image_id", place);
            seen.need(1, "category_id", place);
            seen.need(2, "bbox", place);
            seen.need(3, "score", place);
            if (detections.total == 0) {
                detections.least_score = detections.greatest_score = box.score;
            }
            detections.least_score = std::min(detections.least_score, box.score);
            detections.greatest_score = std::max(detections.greatest_score, box.score);
            ++detections.total;
            detections.boxes.push_back(box);
        });
        refuse_more(document, top);
    }
    arrange_detections(detections, set.categories.size());
    return detections;
}

}  // namespace requal::measure
