// Outputs that were saved earlier as one side of a comparison.
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/sample_list.h"
#include "measure/numerics/parity.h"
#include "tensor/npy.h"

namespace requal::measure {

namespace {

void require_same_inputs(const data::SavedSample& saved, const NamedTensors& inputs,
                         const std::string& source) {
    if (!saved.inputs_digest || inputs.empty()) {
        return;
    }
    if (data::digest_of_sample(inputs) != *saved.inputs_digest) {
        throw Error(ErrorKind::input,
                    "the outputs of sample '" + saved.name + "' were saved for other inputs",
                    source,
                    "give the same inputs (--inputs, or --random with the same count, seed, shapes "
                    "and ranges)");
    }
}

std::string size_text(std::uint64_t count) {
    return std::to_string(count) + (count == 1 ? " sample" : " samples");
}

/// A folder with one npz a sample.
class FolderOutputs final : public OutputSource {
public:
    explicit FolderOutputs(std::string folder)
        : folder_(std::move(folder)), samples_(data::list_samples(folder_, ".npz")) {
        if (samples_.empty()) {
            throw Error(ErrorKind::input,
                        "holds no saved outputs (no samples.json and no npz files)", folder_);
        }
        for (const data::SavedSample& sample : samples_) {
            if (sample.file.empty()) {
                throw Error(ErrorKind::input, "sample '" + sample.name + "' has no file",
                            folder_ + "/samples.json");
            }
        }
    }

    NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) override {
        const data::SavedSample& sample = samples_.at(index);
        const std::string path = path_inside(folder_, sample.file);
        require_same_inputs(sample, inputs, path);
        if (sample.digest && digest_of_file(path) != *sample.digest) {
            throw Error(ErrorKind::storage, "its bytes are not those that samples.json records",
                        path, "save the outputs again");
        }
        return read_npz_file(path);
    }

    std::optional<std::uint64_t> size() const override { return samples_.size(); }

    std::optional<Digest> inputs_digest(std::uint64_t index) const override {
        return samples_.at(index).inputs_digest;
    }

    Json describe() const override {
        Json result = Json::object();
        result["kind"] = "saved-outputs";
        result["runnable"] = folder_;
        result["artefact"] = Json::object(
            {{"path", folder_}, {"digest", data::digest_of_samples(folder_, samples_).text()}});
        result["samples"] = static_cast<std::uint64_t>(samples_.size());
        return result;
    }

private:
    std::string folder_;
    std::vector<data::SavedSample> samples_;
};

/// One npz: one sample, or all that a samples.json beside it lists.
class NpzOutputs final : public OutputSource {
public:
    explicit NpzOutputs(std::string path) : path_(std::move(path)) {
        const std::size_t slash = path_.rfind('/');
        const std::string list =
            (slash == std::string::npos ? "." : path_.substr(0, slash)) + "/samples.json";
        if (file_exists(list)) {
            const std::vector<data::SavedSample> listed = data::read_sample_list(list);
            const bool one_file_each =
                std::any_of(listed.begin(), listed.end(),
                            [](const data::SavedSample& s) { return !s.file.empty(); });
            if (!one_file_each && !listed.empty()) {
                samples_ = listed;
                stacked_ = true;
            }
        }
        if (samples_.empty()) {
            samples_.push_back({path_, {}, std::nullopt, std::nullopt});
        }
        for (auto& [name, tensor] : read_npz_file(path_)) {
            const Shape& shape = tensor.shape();
            if (stacked_ &&
                (shape.empty() || shape.front() != static_cast<std::int64_t>(samples_.size()))) {
                throw Error(ErrorKind::input,
                            "array '" + name + "' is " + text_of(shape) +
                                " and samples.json lists " + size_text(samples_.size()),
                            path_, "the first axis must count the samples");
            }
            arrays_.emplace_back(name, std::make_shared<const Tensor>(std::move(tensor)));
        }
        if (arrays_.empty()) {
            throw Error(ErrorKind::input, "holds no arrays", path_);
        }
    }

    NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) override {
        require_same_inputs(samples_.at(index), inputs, path_);
        NamedTensors result;
        for (const auto& [name, array] : arrays_) {
            result.emplace_back(name, stacked_ ? data::row_of(array, index) : *array);
        }
        return result;
    }

    std::optional<std::uint64_t> size() const override { return samples_.size(); }

    std::optional<Digest> inputs_digest(std::uint64_t index) const override {
        return samples_.at(index).inputs_digest;
    }

    Json describe() const override {
        Json result = Json::object();
        result["kind"] = "saved-outputs";
        result["runnable"] = path_;
        result["artefact"] = Json::object({{"path", path_},
                                           {"digest", digest_of_file(path_).text()},
                                           {"size_bytes", file_size(path_)}});
        result["samples"] = static_cast<std::uint64_t>(samples_.size());
        return result;
    }

private:
    std::string path_;
    bool stacked_ = false;
    std::vector<data::SavedSample> samples_;
    std::vector<std::pair<std::string, std::shared_ptr<const Tensor>>> arrays_;
};

}  // namespace

bool is_saved_outputs(const std::string& path) {
    if (folder_exists(path)) {
        return true;
    }
    file_size(path);  // refuses what does not exist or is no regular file
    return data::array_file_kind(path) == data::ArrayFile::npz;
}

std::unique_ptr<OutputSource> saved_outputs(const std::string& path) {
    if (folder_exists(path)) {
        return std::make_unique<FolderOutputs>(path);
    }
    return std::make_unique<NpzOutputs>(path);
}

}  // namespace requal::measure
