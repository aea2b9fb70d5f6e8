// Dataset specs, list files, bands.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "data/dataset.h"

namespace requal::data {

namespace {

std::string resolved(const std::string& spec_path, const Yaml& node) {
    std::string folder = std::filesystem::path(spec_path).parent_path().string();
    if (folder.empty()) {
        folder = ".";
    }
    try {
        return path_inside(folder, node.text());
    } catch (const Error& error) {
        node.fail(error.message(), "paths are relative to the spec and stay in its folder");
    }
}

LabelFormat format_of(const std::string& path) {
    const std::string extension = std::filesystem::path(path).extension().string();
    if (extension == ".json") {
        return LabelFormat::coco;
    }
    if (extension == ".npz") {
        return LabelFormat::npz;
    }
    if (extension == ".csv") {
        return LabelFormat::csv;
    }
    throw Error(ErrorKind::input, "is neither COCO JSON nor npz nor CSV nor a dataset spec", path,
                "give a file that ends in .json, .npz, .csv or .yaml, or a folder");
}

PartSource read_part_source(const std::string& name, const Yaml& node, const std::string& path) {
    node.allow_keys({"annotations", "images", "list", "within"});
    PartSource part;
    part.name = name;
    part.within = node.text_or("within", "");
    if (node.find("list") != nullptr && node.find("annotations") == nullptr &&
        node.find("images") == nullptr) {
        part.format = LabelFormat::listed;
        part.list = resolved(path, node.at("list"));
        return part;
    }
    if (const Yaml* annotations = node.find("annotations")) {
        part.labels = resolved(path, *annotations);
        try {
            part.format = format_of(part.labels);
        } catch (const Error& error) {
            annotations->fail(error.message(), error.next());
        }
    } else {
        part.format = LabelFormat::folder;
    }
    if (part.format != LabelFormat::npz) {
        part.root = resolved(path, node.at("images"));
    } else if (const Yaml* images = node.find("images")) {
        images->fail("an npz holds its samples itself");
    }
    if (const Yaml* list = node.find("list")) {
        part.list = resolved(path, *list);
    }
    return part;
}

DataSetSpec parse_spec(const std::string& path) {
    const std::string text = read_file(path, std::uint64_t{1} << 20);
    const Yaml root = parse_yaml(text, path);
    root.allow_keys({"schema", "task", "parts", "attributes", "classes", "note", "licence"});
    if (root.at("schema").text() != "dataset/1") {
        root.at("schema").fail("is not a dataset spec", "write schema: dataset/1");
    }
    DataSetSpec spec;
    spec.path = path;
    spec.digest = digest_of(text);
    const std::string task = root.text_or("task", "detection");
    if (task != "detection" && task != "classification") {
        root.at("task").fail("'" + task + "' is not known", "known: detection, classification");
    }
    spec.task = task == "detection" ? Task::detection : Task::classification;
    for (const auto& [name, node] : root.at("parts").members()) {
        spec.parts.push_back(read_part_source(name, node, path));
        if (spec.parts.back().format == LabelFormat::folder && spec.task == Task::detection) {
            node.fail("has no annotations, which detection needs");
        }
    }
    if (spec.parts.empty()) {
        root.at("parts").fail("names no part");
    }
    for (const auto& [name, node] : root.at("parts").members()) {
        const Yaml* const within = node.find("within");
        if (within != nullptr &&
            (within->text() == name || root.at("parts").find(within->text()) == nullptr)) {
            within->fail("'" + within->text() + "' is no other part of this data set");
        }
    }
    if (const Yaml* attributes = root.find("attributes")) {
        for (const auto& [name, node] : attributes->members()) {
            std::vector<double>& borders = spec.bands[name];
            for (const Yaml& item : node.items()) {
                borders.push_back(item.number());
            }
            if (borders.size() < 2 || !std::is_sorted(borders.begin(), borders.end()) ||
                std::adjacent_find(borders.begin(), borders.end()) != borders.end()) {
                node.fail("needs two or more ascending borders of bands");
            }
        }
    }
    if (const Yaml* classes = root.find("classes")) {
        for (const Yaml& item : classes->items()) {
            spec.classes.push_back(item.text());
        }
    }
    return spec;
}

}  // namespace

const PartSource& DataSetSpec::part(std::string_view name) const {
    std::string names;
    for (const PartSource& candidate : parts) {
        if (candidate.name == name || (name.empty() && parts.size() == 1)) {
            return candidate;
        }
        names += (names.empty() ? "" : ", ") + candidate.name;
    }
    throw Error(ErrorKind::usage,
                name.empty() ? "the data set has several parts and none is named"
                             : "the data set has no part '" + std::string(name) + "'",
                path, "its parts: " + names);
}

DataSetSpec read_dataset_spec(const std::string& path, const std::string& images) {
    const std::string extension = std::filesystem::path(path).extension().string();
    if (extension == ".yaml" || extension == ".yml") {
        if (!images.empty()) {
            throw Error(ErrorKind::usage, "a dataset spec names the pictures itself", "--images",
                        "leave it out");
        }
        return parse_spec(path);
    }
    DataSetSpec spec;
    spec.path = path;
    PartSource part;
    part.name = "all";
    if (folder_exists(path)) {
        part.format = LabelFormat::folder;
        part.root = path;
        spec.task = Task::classification;
    } else {
        file_size(path);
        part.format = format_of(path);
        part.labels = path;
        part.root = images.empty() ? std::filesystem::path(path).parent_path().string() : images;
        if (part.root.empty()) {
            part.root = ".";
        }
        spec.task = part.format == LabelFormat::coco ? Task::detection : Task::classification;
    }
    spec.parts.push_back(part);
    return spec;
}

std::vector<ListedFile> read_list(const std::string& path) {
    const std::string text = read_file(path, std::uint64_t{256} << 20);
    std::vector<ListedFile> files;
    std::set<std::string> names;
    TextLines lines(text);
    for (std::string_view line; lines.next(line);) {
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        const std::string where = path + ":" + std::to_string(lines.number());
        ListedFile file;
        if (line.size() < 67 || line[64] != ' ' || (line[65] != ' ' && line[65] != '*')) {
            throw Error(ErrorKind::input, "is not 'SHA256  NAME'", where,
                        "write the list with sha256sum");
        }
        try {
            file.digest = parse_digest(line.substr(0, 64));
        } catch (const Error&) {
            throw Error(ErrorKind::input, "is not 'SHA256  NAME'", where,
                        "write the list with sha256sum");
        }
        file.name = std::string(line.substr(66));
        file.where = where;
        if (!names.insert(file.name).second) {
            throw Error(ErrorKind::input, "'" + file.name + "' is listed a second time", where,
                        "list each sample once");
        }
        files.push_back(std::move(file));
    }
    if (files.empty()) {
        throw Error(ErrorKind::input, "lists no sample", path);
    }
    return files;
}

int band_of(double value, const std::vector<double>& borders) {
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
        const bool last = i + 2 == borders.size();
        if (value >= borders[i] && (value < borders[i + 1] || (last && value == borders[i + 1]))) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

std::string band_name(const std::vector<double>& borders, int band) {
    const auto i = static_cast<std::size_t>(band);
    return shortest(borders.at(i)) + "-" + shortest(borders.at(i + 1));
}

std::string_view size_name(double area) {
    return area < 32.0 * 32.0 ? "small" : area < 96.0 * 96.0 ? "medium" : "large";
}

void Findings::add(bool error, const std::string& kind, std::string where, std::string message) {
    ++(error ? errors_ : warnings_);
    if (++counts_[kind] <= kept_of_each) {
        kept_.push_back({error, kind, std::move(where), std::move(message)});
    }
}

void Findings::throw_first_error() const {
    for (const Finding& finding : kept_) {
        if (finding.error) {
            throw Error(ErrorKind::input, finding.message, finding.where,
                        errors_ > 1 ? "and " + std::to_string(errors_ - 1) +
                                          " more; requal data check lists them"
                                    : "requal data check says more");
        }
    }
}

const Category* DataPart::category(std::int64_t id) const {
    const auto found = std::find_if(categories.begin(), categories.end(),
                                    [&](const Category& c) { return c.id == id; });
    return found == categories.end() ? nullptr : &*found;
}

std::pair<std::size_t, std::size_t> DataPart::objects_of(std::size_t index) const {
    const auto [first, last] =
        std::equal_range(objects.begin(), objects.end(), index, [](const auto& a, const auto& b) {
            const auto key = [](const auto& item) {
                if constexpr (std::is_same_v<std::decay_t<decltype(item)>, LabelledObject>) {
                    return item.sample;
                } else {
                    return item;
                }
            };
            return key(a) < key(b);
        });
    return {static_cast<std::size_t>(first - objects.begin()),
            static_cast<std::size_t>(last - objects.begin())};
}

}  // namespace requal::data
