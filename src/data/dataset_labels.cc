// Labels of one part, format by format. What cannot be used is named and left out, so that one pass finds everything.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/preprocess.h"
#include "tensor/npy.h"

namespace requal::data {

namespace {

constexpr JsonLimits coco_limits{std::size_t{1} << 30, 100, 64'000'000};
constexpr double id_limit = 9007199254740992.0;

class Reader {
public:
    Reader(const DataSetSpec& spec, const PartSource& source, Findings& findings)
        : spec_(spec), findings_(findings) {
        part_.source = source;
        part_.task = spec.task;
    }

    DataPart read() {
        switch (part_.source.format) {
        case LabelFormat::coco:
            read_coco();
            break;
        case LabelFormat::folder:
            read_folder();
            break;
        case LabelFormat::npz:
            read_npz();
            break;
        case LabelFormat::csv:
            read_csv();
            break;
        }
        if (!part_.source.list.empty()) {
            apply_list();
        }
        if (part_.samples.empty()) {
            error("no-samples", part_.source.name, "the part has no samples");
        }
        return std::move(part_);
    }

private:
    void error(const std::string& kind, const std::string& where, const std::string& message) {
        findings_.add(true, kind, where, message);
    }
    void warning(const std::string& kind, const std::string& where, const std::string& message) {
        findings_.add(false, kind, where, message);
    }

    /// The picture's path, or nothing (and a finding) when its name leaves the folder.
    std::optional<std::string> path_of(const std::string& name, const std::string& where) {
        try {
            return path_inside(part_.source.root, name);
        } catch (const Error& failure) {
            error("leaves-folder", where,
                  "file name '" + printable(name) + "' is refused: " + failure.message());
            return std::nullopt;
        }
    }

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
            error("wrong-type", where, "tags is no list of words");
            return;
        }
        for (const Json& tag : list.as_array()) {
            if (!tag.is_string() || tag.as_string().empty()) {
                error("wrong-type", where, "tags is no list of words");
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
                        part_.source.labels, "give COCO JSON with images, annotations, categories");
        }
        return list.as_array();
    }

    void read_coco() {
        const std::string text = read_file(part_.source.labels, coco_limits.size_bytes);
        part_.labels_digest = digest_of(text);
        const Json root = parse_json(text, part_.source.labels, coco_limits);
        if (!root.is_object()) {
            throw Error(ErrorKind::input, "is no COCO data set", part_.source.labels,
                        "give COCO JSON with images, annotations, categories");
        }
        read_categories(list_of(root, "categories"));
        read_images(list_of(root, "images"));
        const Json::Array& annotations = list_of(root, "annotations");
        std::unordered_set<std::int64_t> ids;
        for (std::size_t i = 0; i < annotations.size(); ++i) {
            read_annotation(annotations[i], i, ids);
        }
        std::stable_sort(part_.objects.begin(), part_.objects.end(),
                         [](const auto& a, const auto& b) { return a.sample < b.sample; });
    }

    void read_categories(const Json::Array& list) {
        std::set<std::string> names;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string where =
                part_.source.labels + ", categories[" + std::to_string(i) + "]";
            const auto id = list[i].is_object() ? id_of(list[i], "id") : std::nullopt;
            if (!id || !list[i].get("name").is_string()) {
                error("wrong-type", where, "is no category with an id and a name");
                continue;
            }
            if (part_.category(*id) != nullptr) {
                error("duplicate-id", where,
                      "category id " + std::to_string(*id) + " is given a second time");
                continue;
            }
            if (!names.insert(list[i].at("name").as_string()).second) {
                warning("duplicate-name", where,
                        "two categories are called '" + list[i].at("name").as_string() + "'");
            }
            part_.categories.push_back({*id, list[i].at("name").as_string()});
        }
    }

    void read_images(const Json::Array& list) {
        std::unordered_set<std::string> names;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string place = part_.source.labels + ", images[" + std::to_string(i) + "]";
            const Json& image = list[i];
            const auto id = image.is_object() ? id_of(image, "id") : std::nullopt;
            if (!id || !image.get("file_name").is_string()) {
                error("wrong-type", place, "is no picture with an id and a file_name");
                continue;
            }
            LabelledSample sample;
            sample.id = *id;
            sample.name = image.at("file_name").as_string();
            const std::string where = place + " '" + sample.name + "'";
            if (by_id_.contains(*id)) {
                error("duplicate-id", where,
                      "picture id " + std::to_string(*id) + " is given a second time");
                continue;
            }
            if (!names.insert(sample.name).second) {
                error("duplicate-name", where, "the same file is listed a second time");
                continue;
            }
            const auto path = path_of(sample.name, where);
            if (!path) {
                continue;
            }
            sample.path = *path;
            sample.width = id_of(image, "width").value_or(0);
            sample.height = id_of(image, "height").value_or(0);
            if (sample.width < 1 || sample.height < 1) {
                error("wrong-type", where, "width and height are no positive whole numbers");
                continue;
            }
            if (image.get("sha256").is_string()) {
                try {
                    sample.digest = parse_digest(image.at("sha256").as_string());
                } catch (const Error& failure) {
                    error("wrong-type", where, failure.message());
                }
            }
            tags_of(image, sample.tags, where);
            attributes_of(image, {"id", "width", "height", "license", "licence", "category_id"},
                          sample.attributes);
            if (part_.task == Task::classification) {
                sample.category_id = id_of(image, "category_id");
            }
            by_id_[*id] = part_.samples.size();
            part_.samples.push_back(std::move(sample));
        }
    }

    void read_annotation(const Json& annotation, std::size_t index,
                         std::unordered_set<std::int64_t>& ids) {
        std::string where = part_.source.labels + ", annotations[" + std::to_string(index) + "]";
        // plain numbers: GCC takes optionals here for uninitialised
        constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
        std::array<std::int64_t, 3> numbers{none, none, none};
        for (std::size_t i = 0; annotation.is_object() && i < numbers.size(); ++i) {
            constexpr std::array<std::string_view, 3> keys{"id", "image_id", "category_id"};
            numbers[i] = id_of(annotation, keys[i]).value_or(none);
        }
        const auto [id, image, category] = numbers;
        if (id == none || image == none || category == none) {
            error("wrong-type", where, "is no annotation with id, image_id and category_id");
            return;
        }
        where += " (id " + std::to_string(id) + ")";
        if (!ids.insert(id).second) {
            error("duplicate-id", where,
                  "annotation id " + std::to_string(id) + " is given a second time");
            return;
        }
        const auto sample = by_id_.find(image);
        if (sample == by_id_.end()) {
            error("annotation-without-picture", where,
                  "its image_id " + std::to_string(image) + " is no usable picture");
            return;
        }
        if (part_.category(category) == nullptr) {
            error("unknown-category", where,
                  "category " + std::to_string(category) + " is not among the categories");
            return;
        }
        if (part_.task == Task::classification) {
            auto& label = part_.samples[sample->second].category_id;
            if (label && *label != category) {
                error("two-labels", where, "the picture has another class already");
            }
            label = category;
            return;
        }
        LabelledObject object;
        object.id = id;
        object.sample = sample->second;
        object.category_id = category;
        if (!read_box(annotation, part_.samples[sample->second], object, where)) {
            return;
        }
        const Json& crowd = annotation.get("iscrowd");
        object.crowd = (crowd.is_integer() && crowd.as_integer() != 0) ||
                       (crowd.is_boolean() && crowd.as_boolean());
        tags_of(annotation, object.tags, where);
        attributes_of(annotation, {"id", "image_id", "category_id", "iscrowd", "area", "bbox"},
                      object.attributes);
        part_.objects.push_back(std::move(object));
    }

    bool read_box(const Json& annotation, const LabelledSample& sample, LabelledObject& object,
                  const std::string& where) {
        const Json& box = annotation.get("bbox");
        if (!box.is_array() || box.size() != 4 ||
            !std::all_of(box.as_array().begin(), box.as_array().end(),
                         [](const Json& v) { return v.is_number(); })) {
            error("wrong-type", where, "bbox is no list of four numbers");
            return false;
        }
        for (std::size_t i = 0; i < 4; ++i) {
            object.box[i] = box.as_array()[i].as_number();
        }
        const auto [x, y, w, h] = object.box;
        if (w <= 0 || h <= 0) {
            error("box-no-area", where, "the box is " + shortest(w) + " by " + shortest(h));
            return false;
        }
        const auto width = static_cast<double>(sample.width);
        const auto height = static_cast<double>(sample.height);
        if (x >= width || y >= height || x + w <= 0 || y + h <= 0) {
            error("box-outside", where, "the box lies wholly outside of its picture");
            return false;
        }
        // one pixel of rounding is what labelling tools do
        if (x < -1 || y < -1 || x + w > width + 1 || y + h > height + 1) {
            warning("box-over-edge", where, "the box reaches over the edge of its picture");
        }
        const Json& area = annotation.get("area");
        object.area = area.is_number() ? area.as_number() : w * h;
        if (!area.is_null() && !(area.is_number() && area.as_number() > 0)) {
            error("box-no-area", where, "area is no positive number");
            return false;
        }
        return true;
    }

    std::int64_t class_id(const std::string& name, const std::string& where) {
        for (const Category& category : part_.categories) {
            if (category.name == name) {
                return category.id;
            }
        }
        if (!spec_.classes.empty()) {
            error("unknown-category", where, "class '" + name + "' is not among the classes");
            return -1;
        }
        part_.categories.push_back({static_cast<std::int64_t>(part_.categories.size()), name});
        return part_.categories.back().id;
    }

    void given_classes() {
        for (const std::string& name : spec_.classes) {
            part_.categories.push_back({static_cast<std::int64_t>(part_.categories.size()), name});
        }
    }

    void read_folder() {
        given_classes();
        std::vector<std::string> classes;
        std::error_code failed;
        for (const auto& entry : std::filesystem::directory_iterator(part_.source.root, failed)) {
            if (entry.is_directory()) {
                classes.push_back(entry.path().filename().string());
            } else {
                warning("stray-file", entry.path().string(),
                        "lies beside the folders of the classes");
            }
        }
        if (failed) {
            throw_errno(failed.value(), "read", part_.source.root);
        }
        std::sort(classes.begin(), classes.end());
        Hasher hasher;
        for (const std::string& name : classes) {
            const std::string folder = part_.source.root + "/" + name;
            const std::int64_t id = class_id(name, folder);
            std::vector<std::string> paths;
            try {
                paths = pictures_in(folder);
            } catch (const Error&) {
                warning("empty-class", folder, "the class has no pictures");
            }
            for (const std::string& path : paths) {
                LabelledSample sample;
                sample.id = static_cast<std::int64_t>(part_.samples.size()) + 1;
                sample.name = name + "/" + std::filesystem::path(path).filename().string();
                sample.path = path;
                hasher.update(sample.name + "\n");
                if (id >= 0) {
                    sample.category_id = id;
                    part_.samples.push_back(std::move(sample));
                }
            }
        }
        part_.labels_digest = hasher.finish();
    }

    /// An npz of a classification set: `labels` of shape N (whole numbers), inputs in the other arrays, whose first axis is N.
    void read_npz() {
        given_classes();
        part_.labels_digest = digest_of_file(part_.source.labels);
        const NpzReader npz(part_.source.labels);
        if (!npz.has("labels")) {
            throw Error(ErrorKind::input, "has no array 'labels'", part_.source.labels,
                        "store whole numbers, one a sample, under that name");
        }
        const Tensor labels = npz.read("labels");
        if (labels.shape().size() != 1 || !is_integer(labels.type())) {
            throw Error(ErrorKind::input, "array 'labels' is no list of whole numbers",
                        part_.source.labels);
        }
        std::optional<Tensor> names;
        if (npz.has("names")) {
            names = npz.read("names");
        }
        if (names && names->strings().size() != labels.count()) {
            throw Error(ErrorKind::input, "array 'names' is no list of one text a sample",
                        part_.source.labels);
        }
        std::unordered_set<std::string> seen;
        std::set<std::int64_t> found;
        for (std::uint64_t i = 0; i < labels.count(); ++i) {
            LabelledSample sample;
            sample.id = static_cast<std::int64_t>(i) + 1;
            sample.name = names ? names->strings()[i] : std::to_string(i);
            const std::string where = part_.source.labels + ", sample " + std::to_string(i);
            sample.category_id = static_cast<std::int64_t>(labels.number_at(i));
            if (!seen.insert(sample.name).second) {
                error("duplicate-name", where, "the name '" + sample.name + "' is given twice");
                continue;
            }
            if (!spec_.classes.empty() && part_.category(*sample.category_id) == nullptr) {
                error("unknown-category", where,
                      "label " + std::to_string(*sample.category_id) + " is no class");
                continue;
            }
            found.insert(*sample.category_id);
            part_.samples.push_back(std::move(sample));
        }
        if (spec_.classes.empty()) {
            for (const std::int64_t id : found) {
                part_.categories.push_back({id, std::to_string(id)});
            }
        }
    }

    static std::vector<std::string> csv_cells(std::string_view line) {
        std::vector<std::string> cells(1);
        bool quoted = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
            const char c = line[i];
            if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
                cells.back() += '"';
                ++i;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (c == ',' && !quoted) {
                cells.emplace_back();
            } else {
                cells.back() += c;
            }
        }
        return cells;
    }

    /// CSV with a head line: file, class, and any of tags (blanks between) and numeric attributes.
    void read_csv() {
        given_classes();
        const std::string text = read_file(part_.source.labels, coco_limits.size_bytes);
        part_.labels_digest = digest_of(text);
        std::vector<std::string> head;
        std::unordered_set<std::string> names;
        std::size_t number = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            std::string_view line(text.data() + at, end - at);
            at = end + 1;
            ++number;
            if (line.ends_with('\r')) {
                line.remove_suffix(1);
            }
            if (line.empty()) {
                continue;
            }
            const std::string where = part_.source.labels + ":" + std::to_string(number);
            std::vector<std::string> cells = csv_cells(line);
            if (head.empty()) {
                head = std::move(cells);
                if (std::count(head.begin(), head.end(), "file") != 1 ||
                    std::count(head.begin(), head.end(), "class") != 1) {
                    throw Error(ErrorKind::input, "the head line has no columns 'file' and 'class'",
                                where, "begin with: file,class");
                }
                continue;
            }
            if (cells.size() != head.size()) {
                error("wrong-type", where,
                      "has " + std::to_string(cells.size()) + " cells where the head line has " +
                          std::to_string(head.size()));
                continue;
            }
            read_csv_row(head, cells, where, names);
        }
    }

    void read_csv_row(const std::vector<std::string>& head, const std::vector<std::string>& cells,
                      const std::string& where, std::unordered_set<std::string>& names) {
        LabelledSample sample;
        sample.id = static_cast<std::int64_t>(part_.samples.size()) + 1;
        for (std::size_t i = 0; i < head.size(); ++i) {
            if (head[i] == "file") {
                sample.name = cells[i];
            } else if (head[i] == "class") {
                sample.category_id = class_id(cells[i], where);
            } else if (head[i] == "tags") {
                for (std::size_t from = 0; from < cells[i].size();) {
                    const std::size_t to = std::min(cells[i].find(' ', from), cells[i].size());
                    if (to > from) {
                        sample.tags.push_back(cells[i].substr(from, to - from));
                    }
                    from = to + 1;
                }
            } else if (!cells[i].empty()) {
                const auto value = parse_real(cells[i]);
                if (!value) {
                    error("wrong-type", where, head[i] + " is no number: '" + cells[i] + "'");
                    continue;
                }
                sample.attributes[head[i]] = *value;
            }
        }
        if (*sample.category_id < 0) {
            return;
        }
        if (!names.insert(sample.name).second) {
            error("duplicate-name", where, "the same file is listed a second time");
            return;
        }
        if (const auto path = path_of(sample.name, where)) {
            sample.path = *path;
            part_.samples.push_back(std::move(sample));
        }
    }

    /// Keeps the listed samples, in the list's order.
    void apply_list() {
        const std::vector<ListedFile> files = read_list(part_.source.list);
        part_.list_digest = digest_of_file(part_.source.list);
        std::unordered_map<std::string, std::size_t> by_name;
        for (std::size_t i = 0; i < part_.samples.size(); ++i) {
            by_name[part_.samples[i].name] = i;
        }
        std::vector<LabelledSample> kept;
        std::vector<std::size_t> new_place(part_.samples.size(), SIZE_MAX);
        for (const ListedFile& file : files) {
            const auto found = by_name.find(file.name);
            if (found == by_name.end()) {
                error("listed-without-labels", file.where,
                      "'" + file.name + "' is not among the labels");
                continue;
            }
            LabelledSample& sample = part_.samples[found->second];
            if (sample.digest && *sample.digest != file.digest) {
                error("digest-differs", file.where,
                      "the list and the labels state different digests of '" + file.name + "'");
                continue;
            }
            sample.digest = file.digest;
            new_place[found->second] = kept.size();
            kept.push_back(sample);
        }
        std::erase_if(part_.objects,
                      [&](const auto& object) { return new_place[object.sample] == SIZE_MAX; });
        for (LabelledObject& object : part_.objects) {
            object.sample = new_place[object.sample];
        }
        std::stable_sort(part_.objects.begin(), part_.objects.end(),
                         [](const auto& a, const auto& b) { return a.sample < b.sample; });
        part_.samples = std::move(kept);
    }

    const DataSetSpec& spec_;
    Findings& findings_;
    DataPart part_;
    std::unordered_map<std::int64_t, std::size_t> by_id_;
};

}  // namespace

DataPart read_part(const DataSetSpec& spec, const PartSource& source, Findings& findings) {
    return Reader(spec, source, findings).read();
}

DataPart load_part(const DataSetSpec& spec, std::string_view part) {
    Findings findings;
    DataPart result = read_part(spec, spec.part(part), findings);
    findings.throw_first_error();
    return result;
}

}  // namespace requal::data
