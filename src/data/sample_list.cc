#include "data/sample_list.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"

namespace requal::data {

namespace {

std::optional<Digest> digest_member(const Json& entry, std::string_view key) {
    return entry.has(key) ? std::optional<Digest>(parse_digest(entry.at(key).as_string()))
                          : std::nullopt;
}

SavedSample read_entry(const Json& entry) {
    SavedSample sample;
    if (entry.is_string()) {
        sample.name = entry.as_string();
        return sample;
    }
    sample.name = entry.at("name").as_string();
    sample.file = entry.has("file") ? entry.at("file").as_string() : std::string();
    sample.digest = digest_member(entry, "digest");
    sample.inputs_digest = digest_member(entry, "inputs_digest");
    return sample;
}

}  // namespace

std::vector<SavedSample> read_sample_list(const std::string& path) {
    const Json document = parse_json(read_file(path), path);
    try {
        if (document.is_object()) {
            require_schema(document, "samples", 1, path);
        }
        const Json& entries = document.is_array() ? document : document.at("samples");
        std::vector<SavedSample> samples;
        std::set<std::string> names;
        for (const Json& entry : entries.as_array()) {
            samples.push_back(read_entry(entry));
            if (!names.insert(samples.back().name).second) {
                throw Error(ErrorKind::input,
                            "sample '" + samples.back().name + "' is listed twice");
            }
        }
        return samples;
    } catch (const Error& error) {
        throw Error(error.kind(), error.message(), error.where().empty() ? path : error.where(),
                    error.next());
    }
}

std::vector<SavedSample> list_samples(const std::string& folder, std::string_view extension) {
    const std::string list = folder + "/samples.json";
    if (file_exists(list)) {
        return read_sample_list(list);
    }
    std::vector<SavedSample> samples;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::filesystem::path& path = entry->path();
        if (path.extension() == extension && entry->is_regular_file(error)) {
            samples.push_back(
                {path.stem().string(), path.filename().string(), std::nullopt, std::nullopt});
        }
    }
    if (error) {
        throw_errno(error.value(), "read folder", folder);
    }
    std::sort(
        samples.begin(), samples.end(),
        [](const SavedSample& left, const SavedSample& right) { return left.file < right.file; });
    return samples;
}

Digest digest_of_samples(const std::string& folder, const std::vector<SavedSample>& samples) {
    Hasher hasher;
    for (const SavedSample& sample : samples) {
        hasher.update(sample.name + '\0' + digest_of_file(path_inside(folder, sample.file)).hex() +
                      '\n');
    }
    return hasher.finish();
}

Json sample_list_document(const std::vector<SavedSample>& samples) {
    Json document = new_document("samples", 1);
    Json entries = Json::array();
    for (const SavedSample& sample : samples) {
        Json entry = Json::object();
        entry["name"] = sample.name;
        if (!sample.file.empty()) {
            entry["file"] = sample.file;
        }
        if (sample.digest) {
            entry["digest"] = sample.digest->text();
        }
        if (sample.inputs_digest) {
            entry["inputs_digest"] = sample.inputs_digest->text();
        }
        entries.push_back(std::move(entry));
    }
    document["samples"] = std::move(entries);
    return document;
}

Tensor row_of(const std::shared_ptr<const Tensor>& stacked, std::uint64_t index) {
    const Shape shape(stacked->shape().begin() + 1, stacked->shape().end());
    const std::uint64_t count = element_count(shape);
    if (stacked->type() == ElementType::string) {
        Tensor row(ElementType::string, shape);
        const auto first = stacked->strings().begin() + static_cast<std::ptrdiff_t>(index * count);
        std::copy(first, first + static_cast<std::ptrdiff_t>(count), row.strings().begin());
        return row;
    }
    const std::uint64_t row_bytes = count * size_of(stacked->type());
    return {stacked->type(), shape, stacked->bytes().subspan(index * row_bytes, row_bytes),
            stacked};
}

ArrayFile array_file_kind(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    char head[6] = {};
    file.read(head, sizeof(head));
    const std::string_view bytes(head, static_cast<std::size_t>(file.gcount()));
    if (bytes == std::string_view("\x93NUMPY", 6)) {
        return ArrayFile::npy;
    }
    // "PK\5\6" is an archive without members.
    return bytes.starts_with("PK\3\4") || bytes.starts_with("PK\5\6") ? ArrayFile::npz
                                                                      : ArrayFile::other;
}

}  // namespace requal::data
