// COCO JSON: categories, pictures, annotations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/label_reader.h"

namespace requal::data {

namespace {

constexpr double id_limit = 9007199254740992.0;

class CocoReader {
public:
    explicit CocoReader(LabelReader& reader) : reader_(reader) {}

    void read() {
        const std::string text = read_file(reader_.part.source.labels, label_limits.size_bytes);
        reader_.part.labels_digest = digest_of(text);
        const Json root = parse_json(text, reader_.part.source.labels, label_limits);
        if (!root.is_object()) {
            throw Error(ErrorKind::input, "is no COCO data set", reader_.part.source.labels,
                        "give COCO JSON with images, annotations, categories");
        }
        read_categories(list_of(root, "categories"));
        read_images(list_of(root, "images"));
        const Json::Array& annotations = list_of(root, "annotations");
        std::unordered_set<std::int64_t> ids;
        for (std::size_t i = 0; i < annotations.size(); ++i) {
            read_annotation(annotations[i], i, ids);
        }
        std::stable_sort(reader_.part.objects.begin(), reader_.part.objects.end(),
                         [](const auto& a, const auto& b) { return a.sample < b.sample; });
    }

private:
    static std::optional<std::int64_t> id_of(const Json& object, std::string_view key) {
        const Json& value = object.get(key);
        if (value.type() == Json::Type::real && std::abs(value.as_number()) < id_limit &&
            value.as_number() == std::floor(value.as_number())) {
            return static_cast<std::int64_t>(value.as_number());
        }
        return value.is_integer() ? std::optional(value.as_integer()) : std::nullopt;
    }

    void tags_of(const Json& object, std::vector<std::string>& tags, const std::string& where) {
        const Json& list = object.get("tags");
        if (list.is_null()) {
            return;
        }
        if (!list.is_array()) {
            reader_.error("wrong-type", where, "tags is no list of words");
            return;
        }
        for (const Json& tag : list.as_array()) {
            if (!tag.is_string() || tag.as_string().empty()) {
                reader_.error("wrong-type", where, "tags is no list of words");
                return;
            }
            if (std::find(tags.begin(), tags.end(), tag.as_string()) == tags.end()) {
                tags.push_back(tag.as_string());
            }
        }
    }

    /// Numbers among the further members of an object are its attributes.
    static void attributes_of(const Json& object, std::initializer_list<std::string_view> known,
                              std::map<std::string, double>& attributes) {
        const auto take = [&](const Json::Object& members) {
            for (const auto& [key, value] : members) {
                if (value.is_number() &&
                    std::find(known.begin(), known.end(), key) == known.end()) {
                    attributes[key] = value.as_number();
                }
            }
        };
        take(object.as_object());
        if (object.get("attributes").is_object()) {
            take(object.at("attributes").as_object());
        }
    }

    const Json::Array& list_of(const Json& root, std::string_view key) {
        const Json& list = root.get(key);
        if (!list.is_array()) {
            throw Error(ErrorKind::input, "has no list '" + std::string(key) + "'",
                        reader_.part.source.labels,
                        "give COCO JSON with images, annotations, categories");
        }
        return list.as_array();
    }

    void read_categories(const Json::Array& list) {
        std::set<std::string> names;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string where =
                reader_.part.source.labels + ", categories[" + std::to_string(i) + "]";
            const auto id = list[i].is_object() ? id_of(list[i], "id") : std::nullopt;
            if (!id || !list[i].get("name").is_string()) {
                reader_.error("wrong-type", where, "is no category with an id and a name");
                continue;
            }
            if (reader_.part.category(*id) != nullptr) {
                reader_.error("duplicate-id", where,
                              "category id " + std::to_string(*id) + " is given a second time");
                continue;
            }
            if (!names.insert(list[i].at("name").as_string()).second) {
                reader_.warning("duplicate-name", where,
                                "two categories are called '" + list[i].at("name").as_string() +
                                    "'");
            }
            reader_.part.categories.push_back({*id, list[i].at("name").as_string()});
        }
    }

    void read_images(const Json::Array& list) {
        std::unordered_set<std::string> names;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string place =
                reader_.part.source.labels + ", images[" + std::to_string(i) + "]";
            const Json& image = list[i];
            const auto id = image.is_object() ? id_of(image, "id") : std::nullopt;
            if (!id || !image.get("file_name").is_string()) {
                reader_.error("wrong-type", place, "is no picture with an id and a file_name");
                continue;
            }
            LabelledSample sample;
            sample.id = *id;
            sample.name = image.at("file_name").as_string();
            const std::string where = place + " '" + sample.name + "'";
            if (by_id_.contains(*id)) {
                reader_.error("duplicate-id", where,
                              "picture id " + std::to_string(*id) + " is given a second time");
                continue;
            }
            if (!names.insert(sample.name).second) {
                reader_.error("duplicate-name", where, "the same file is listed a second time");
                continue;
            }
            const auto path = reader_.path_of(sample.name, where);
            if (!path) {
                continue;
            }
            sample.path = *path;
            sample.width = id_of(image, "width").value_or(0);
            sample.height = id_of(image, "height").value_or(0);
            if (sample.width < 1 || sample.height < 1) {
                reader_.error("wrong-type", where,
                              "width and height are no positive whole numbers");
                continue;
            }
            if (image.get("sha256").is_string()) {
                try {
                    sample.digest = parse_digest(image.at("sha256").as_string());
                } catch (const Error& failure) {
                    reader_.error("wrong-type", where, failure.message());
                }
            }
            tags_of(image, sample.tags, where);
            attributes_of(image, {"id", "width", "height", "license", "licence", "category_id"},
                          sample.attributes);
            if (reader_.part.task == Task::classification) {
                sample.category_id = id_of(image, "category_id");
            }
            by_id_[*id] = reader_.part.samples.size();
            reader_.part.samples.push_back(std::move(sample));
        }
    }

    void read_annotation(const Json& annotation, std::size_t index,
                         std::unordered_set<std::int64_t>& ids) {
        std::string where =
            reader_.part.source.labels + ", annotations[" + std::to_string(index) + "]";
        // plain numbers: GCC takes optionals here for uninitialised
        constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
        std::array<std::int64_t, 3> numbers{none, none, none};
        for (std::size_t i = 0; annotation.is_object() && i < numbers.size(); ++i) {
            constexpr std::array<std::string_view, 3> keys{"id", "image_id", "category_id"};
            numbers[i] = id_of(annotation, keys[i]).value_or(none);
        }
        const auto [id, image, category] = numbers;
        if (id == none || image == none || category == none) {
            reader_.error("wrong-type", where,
                          "is no annotation with id, image_id and category_id");
            return;
        }
        where += " (id " + std::to_string(id) + ")";
        if (!ids.insert(id).second) {
            reader_.error("duplicate-id", where,
                          "annotation id " + std::to_string(id) + " is given a second time");
            return;
        }
        const auto sample = by_id_.find(image);
        if (sample == by_id_.end()) {
            reader_.error("annotation-without-picture", where,
                          "its image_id " + std::to_string(image) + " is no usable picture");
            return;
        }
        if (reader_.part.category(category) == nullptr) {
            reader_.error("unknown-category", where,
                          "category " + std::to_string(category) + " is not among the categories");
            return;
        }
        if (reader_.part.task == Task::classification) {
            auto& label = reader_.part.samples[sample->second].category_id;
            if (label && *label != category) {
                reader_.error("two-labels", where, "the picture has another class already");
            }
            label = category;
            return;
        }
        LabelledObject object;
        object.id = id;
        object.sample = sample->second;
        object.category_id = category;
        if (!read_box(annotation, reader_.part.samples[sample->second], object, where)) {
            return;
        }
        const Json& crowd = annotation.get("iscrowd");
        object.crowd = (crowd.is_integer() && crowd.as_integer() != 0) ||
                       (crowd.is_boolean() && crowd.as_boolean());
        tags_of(annotation, object.tags, where);
        attributes_of(annotation, {"id", "image_id", "category_id", "iscrowd", "area", "bbox"},
                      object.attributes);
        reader_.part.objects.push_back(std::move(object));
    }

    bool read_box(const Json& annotation, const LabelledSample& sample, LabelledObject& object,
                  const std::string& where) {
        const Json& box = annotation.get("bbox");
        if (!box.is_array() || box.size() != 4 ||
            !std::all_of(box.as_array().begin(), box.as_array().end(),
                         [](const Json& v) { return v.is_number(); })) {
            reader_.error("wrong-type", where, "bbox is no list of four numbers");
            return false;
        }
        for (std::size_t i = 0; i < 4; ++i) {
            object.box[i] = box.as_array()[i].as_number();
        }
        const auto [x, y, w, h] = object.box;
        if (w <= 0 || h <= 0) {
            reader_.error("box-no-area", where, "the box is " + shortest(w) + " by " + shortest(h));
            return false;
        }
        const auto width = static_cast<double>(sample.width);
        const auto height = static_cast<double>(sample.height);
        if (x >= width || y >= height || x + w <= 0 || y + h <= 0) {
            reader_.error("box-outside", where, "the box lies wholly outside of its picture");
            return false;
        }
        // one pixel of rounding is what labelling tools do
        if (x < -1 || y < -1 || x + w > width + 1 || y + h > height + 1) {
            reader_.warning("box-over-edge", where, "the box reaches over the edge of its picture");
        }
        const Json& area = annotation.get("area");
        object.area = area.is_number() ? area.as_number() : w * h;
        if (!area.is_null() && !(area.is_number() && area.as_number() > 0)) {
            reader_.error("box-no-area", where, "area is no positive number");
            return false;
        }
        return true;
    }

    LabelReader& reader_;
    std::unordered_map<std::int64_t, std::size_t> by_id_;
};

}  // namespace

void read_coco(LabelReader& reader) {
    CocoReader(reader).read();
}

}  // namespace requal::data
