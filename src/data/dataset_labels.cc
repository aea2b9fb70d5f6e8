// Labels of one part: folders, npz and lists here, the other formats in labels_coco.cc and labels_csv.cc. What cannot be used is named and
// left out, so that one pass finds everything.
#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/label_reader.h"
#include "data/preprocess.h"
#include "tensor/npy.h"

namespace requal::data {

std::optional<std::string> LabelReader::path_of(const std::string& name, const std::string& where) {
    try {
        return path_inside(part.source.root, name);
    } catch (const Error& failure) {
        error("leaves-folder", where,
              "file name '" + printable(name) + "' is refused: " + failure.message());
        return std::nullopt;
    }
}

void LabelReader::given_classes() {
    for (const std::string& name : spec.classes) {
        part.categories.push_back({static_cast<std::int64_t>(part.categories.size()), name});
    }
}

std::int64_t LabelReader::class_id(const std::string& name, const std::string& where) {
    for (const Category& category : part.categories) {
        if (category.name == name) {
            return category.id;
        }
    }
    if (!spec.classes.empty()) {
        error("unknown-category", where, "class '" + name + "' is not among the classes");
        return -1;
    }
    part.categories.push_back({static_cast<std::int64_t>(part.categories.size()), name});
    return part.categories.back().id;
}

namespace {

void read_folder(LabelReader& reader) {
    reader.given_classes();
    std::vector<std::string> classes;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(reader.part.source.root, failed)) {
        if (entry.is_directory()) {
            classes.push_back(entry.path().filename().string());
        } else {
            reader.warning("stray-file", entry.path().string(),
                           "lies beside the folders of the classes");
        }
    }
    if (failed) {
        throw_errno(failed.value(), "read", reader.part.source.root);
    }
    std::sort(classes.begin(), classes.end());
    Hasher hasher;
    for (const std::string& name : classes) {
        const std::string folder = reader.part.source.root + "/" + name;
        const std::int64_t id = reader.class_id(name, folder);
        std::vector<std::string> paths;
        try {
            paths = pictures_in(folder);
        } catch (const Error&) {
            reader.warning("empty-class", folder, "the class has no pictures");
        }
        for (const std::string& path : paths) {
            LabelledSample sample;
            sample.id = static_cast<std::int64_t>(reader.part.samples.size()) + 1;
            sample.name = name + "/" + std::filesystem::path(path).filename().string();
            sample.path = path;
            hasher.update(sample.name + "\n");
            if (id >= 0) {
                sample.category_id = id;
                reader.part.samples.push_back(std::move(sample));
            }
        }
    }
    reader.part.labels_digest = hasher.finish();
}

/// An npz of a classification set: `labels` of shape N (whole numbers), inputs in the other arrays, whose first axis is N.
void read_npz(LabelReader& reader) {
    reader.given_classes();
    reader.part.labels_digest = digest_of_file(reader.part.source.labels);
    const NpzReader npz(reader.part.source.labels);
    if (!npz.has("labels")) {
        throw Error(ErrorKind::input, "has no array 'labels'", reader.part.source.labels,
                    "store whole numbers, one a sample, under that name");
    }
    const Tensor labels = npz.read("labels");
    if (labels.shape().size() != 1 || !is_integer(labels.type())) {
        throw Error(ErrorKind::input, "array 'labels' is no list of whole numbers",
                    reader.part.source.labels);
    }
    std::optional<Tensor> names;
    if (npz.has("names")) {
        names = npz.read("names");
    }
    if (names && names->strings().size() != labels.count()) {
        throw Error(ErrorKind::input, "array 'names' is no list of one text a sample",
                    reader.part.source.labels);
    }
    std::unordered_set<std::string> seen;
    std::set<std::int64_t> found;
    for (std::uint64_t i = 0; i < labels.count(); ++i) {
        LabelledSample sample;
        sample.id = static_cast<std::int64_t>(i) + 1;
        sample.name = names ? names->strings()[i] : std::to_string(i);
        const std::string where = reader.part.source.labels + ", sample " + std::to_string(i);
        sample.category_id = static_cast<std::int64_t>(labels.number_at(i));
        if (!seen.insert(sample.name).second) {
            reader.error("duplicate-name", where, "the name '" + sample.name + "' is given twice");
            continue;
        }
        if (!reader.spec.classes.empty() && reader.part.category(*sample.category_id) == nullptr) {
            reader.error("unknown-category", where,
                         "label " + std::to_string(*sample.category_id) + " is no class");
            continue;
        }
        found.insert(*sample.category_id);
        reader.part.samples.push_back(std::move(sample));
    }
    if (reader.spec.classes.empty()) {
        for (const std::int64_t id : found) {
            reader.part.categories.push_back({id, std::to_string(id)});
        }
    }
}

/// Keeps the listed samples, in the list's order.
void apply_list(LabelReader& reader) {
    const std::vector<ListedFile> files = read_list(reader.part.source.list);
    reader.part.list_digest = digest_of_file(reader.part.source.list);
    std::unordered_map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < reader.part.samples.size(); ++i) {
        by_name[reader.part.samples[i].name] = i;
    }
    std::vector<LabelledSample> kept;
    std::vector<std::size_t> new_place(reader.part.samples.size(), SIZE_MAX);
    for (const ListedFile& file : files) {
        const auto found = by_name.find(file.name);
        if (found == by_name.end()) {
            reader.error("listed-without-labels", file.where,
                         "'" + file.name + "' is not among the labels");
            continue;
        }
        LabelledSample& sample = reader.part.samples[found->second];
        if (sample.digest && *sample.digest != file.digest) {
            reader.error("digest-differs", file.where,
                         "the list and the labels state different digests of '" + file.name + "'");
            continue;
        }
        sample.digest = file.digest;
        new_place[found->second] = kept.size();
        kept.push_back(sample);
    }
    std::erase_if(reader.part.objects,
                  [&](const auto& object) { return new_place[object.sample] == SIZE_MAX; });
    for (LabelledObject& object : reader.part.objects) {
        object.sample = new_place[object.sample];
    }
    std::stable_sort(reader.part.objects.begin(), reader.part.objects.end(),
                     [](const auto& a, const auto& b) { return a.sample < b.sample; });
    reader.part.samples = std::move(kept);
}

/// A part that is only a list: its files are elsewhere, their digests are known.
void read_listed(LabelReader& reader) {
    DataPart& part = reader.part;
    part.labels_digest = digest_of_file(part.source.list);
    part.list_digest = part.labels_digest;
    for (ListedFile& file : read_list(part.source.list)) {
        LabelledSample sample;
        sample.id = static_cast<std::int64_t>(part.samples.size()) + 1;
        sample.name = std::move(file.name);
        sample.digest = file.digest;
        part.samples.push_back(std::move(sample));
    }
}

}  // namespace

DataPart read_part(const DataSetSpec& spec, const PartSource& source, Findings& findings) {
    LabelReader reader{spec, findings, {}};
    DataPart& part = reader.part;
    part.source = source;
    part.task = spec.task;
    switch (source.format) {
    case LabelFormat::coco:
        read_coco(reader);
        break;
    case LabelFormat::folder:
        read_folder(reader);
        break;
    case LabelFormat::npz:
        read_npz(reader);
        break;
    case LabelFormat::csv:
        read_csv(reader);
        break;
    case LabelFormat::listed:
        read_listed(reader);
        break;
    }
    if (!source.list.empty() && source.format != LabelFormat::listed) {
        apply_list(reader);
    }
    if (part.samples.empty()) {
        reader.error("no-samples", source.name, "the part has no samples");
    }
    return std::move(part);
}

DataPart load_part(const DataSetSpec& spec, std::string_view part) {
    const PartSource& source = spec.part(part);
    if (source.format == LabelFormat::listed) {
        throw Error(ErrorKind::input,
                    "part '" + source.name + "' is a list of digests; its pictures are elsewhere",
                    spec.path, "give it annotations and images, or name another part");
    }
    Findings findings;
    DataPart result = read_part(spec, source, findings);
    findings.throw_first_error();
    return result;
}

}  // namespace requal::data
