// Inputs out of npz and npy files.
#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/inputs.h"
#include "data/sample_list.h"
#include "tensor/npy.h"

namespace requal::data {

namespace {

/// Number of samples when every array has one more leading axis than its port and all agree; 0 otherwise.
std::uint64_t stacked_samples(const NamedTensors& arrays, const std::vector<InputPort>& ports) {
    std::int64_t samples = -1;
    for (const InputPort& port : ports) {
        const Tensor* array = find_tensor(arrays, port.name);
        if (array == nullptr || array->shape().size() != port.shape.size() + 1) {
            return 0;
        }
        if (samples >= 0 && array->shape().front() != samples) {
            return 0;
        }
        samples = array->shape().front();
    }
    return samples > 0 ? static_cast<std::uint64_t>(samples) : 0;
}

/// One npz or npy file held in memory.
class FileInputs final : public InputSource {
public:
    FileInputs(std::string path, std::string kind, const NamedTensors& arrays,
               const std::vector<InputPort>& ports)
        : path_(std::move(path)), kind_(std::move(kind)) {
        const std::uint64_t stacked = stacked_samples(arrays, ports);
        samples_ = stacked > 0 ? stacked : 1;
        stacked_ = stacked > 0;
        for (const auto& [name, tensor] : arrays) {
            arrays_.emplace_back(name, std::make_shared<const Tensor>(tensor));
        }
        check_sample(sample(0), ports, path_);
    }

    std::uint64_t size() const override { return samples_; }

    NamedTensors sample(std::uint64_t index) const override {
        NamedTensors result;
        for (const auto& [name, array] : arrays_) {
            const bool row = stacked_ && !array->shape().empty() &&
                             array->shape().front() > static_cast<std::int64_t>(index);
            result.emplace_back(name, row ? row_of(array, index) : *array);
        }
        return result;
    }

    std::string sample_name(std::uint64_t index) const override { return std::to_string(index); }

    Json describe() const override {
        Json result = Json::object();
        result["kind"] = kind_;
        result["path"] = path_;
        result["digest"] = digest_of_file(path_).text();
        result["samples"] = samples_;
        return result;
    }

private:
    std::string path_;
    std::string kind_;
    std::uint64_t samples_ = 0;
    bool stacked_ = false;
    std::vector<std::pair<std::string, std::shared_ptr<const Tensor>>> arrays_;
};

/// A folder of files, one sample each, read when asked for.
class FolderInputs final : public InputSource {
public:
    FolderInputs(std::string folder, std::vector<SavedSample> samples, std::vector<InputPort> ports)
        : folder_(std::move(folder)), samples_(std::move(samples)), ports_(std::move(ports)) {
        for (const SavedSample& entry : samples_) {
            if (entry.file.empty()) {
                throw Error(ErrorKind::input, "sample '" + entry.name + "' has no file",
                            folder_ + "/samples.json");
            }
        }
        sample(0);  // what is wrong with all of them is said before a runtime works
    }

    std::uint64_t size() const override { return samples_.size(); }

    NamedTensors sample(std::uint64_t index) const override {
        const std::string path = path_inside(folder_, samples_.at(index).file);
        NamedTensors arrays;
        switch (array_file_kind(path)) {
        case ArrayFile::npz:
            arrays = read_npz_file(path);
            break;
        case ArrayFile::npy:
            arrays.emplace_back(ports_.front().name, read_npy_file(path));
            break;
        case ArrayFile::other:
            throw Error(ErrorKind::input, "is neither npy nor npz", path);
        }
        check_sample(arrays, ports_, path);
        return arrays;
    }

    std::string sample_name(std::uint64_t index) const override { return samples_.at(index).name; }

    Json describe() const override {
        Json result = Json::object();
        result["kind"] = "folder";
        result["path"] = folder_;
        result["digest"] = digest_of_samples(folder_, samples_).text();
        result["samples"] = static_cast<std::uint64_t>(samples_.size());
        return result;
    }

private:
    std::string folder_;
    std::vector<SavedSample> samples_;
    std::vector<InputPort> ports_;
};

class NoInputs final : public InputSource {
public:
    explicit NoInputs(std::uint64_t count) : count_(count) {}
    std::uint64_t size() const override { return count_; }
    NamedTensors sample(std::uint64_t) const override { return {}; }
    std::string sample_name(std::uint64_t index) const override { return std::to_string(index); }
    Json describe() const override { return Json::object({{"kind", "none"}, {"samples", count_}}); }

private:
    std::uint64_t count_;
};

void require_one_input(const std::vector<InputPort>& ports, const std::string& path) {
    if (ports.size() != 1) {
        throw Error(ErrorKind::input,
                    "npy files carry no names and the model has " + std::to_string(ports.size()) +
                        " inputs",
                    path, "save npz files with one array for each input");
    }
}

}  // namespace

std::unique_ptr<InputSource> inputs_from_path(const std::string& path, std::vector<InputPort> ports,
                                              const std::map<std::string, Shape>& shapes) {
    ports = with_shapes(std::move(ports), shapes);
    if (folder_exists(path)) {
        std::vector<SavedSample> samples = list_samples(path, ".npz");
        if (samples.empty()) {
            samples = list_samples(path, ".npy");
            if (samples.empty()) {
                throw Error(ErrorKind::input, "holds no npz or npy files", path);
            }
            require_one_input(ports, path);
        }
        return std::make_unique<FolderInputs>(path, std::move(samples), std::move(ports));
    }
    file_size(path);  // refuses what is no regular file, by its own message
    switch (array_file_kind(path)) {
    case ArrayFile::npz:
        return std::make_unique<FileInputs>(path, "npz", read_npz_file(path), ports);
    case ArrayFile::npy: {
        require_one_input(ports, path);
        return std::make_unique<FileInputs>(
            path, "npy", NamedTensors{{ports.front().name, read_npy_file(path)}}, ports);
    }
    case ArrayFile::other:
        break;
    }
    throw Error(ErrorKind::input, "is neither npy nor npz", path,
                "give an .npz file with one array for each input, or a folder of them");
}

std::unique_ptr<InputSource> no_inputs(std::uint64_t count) {
    return std::make_unique<NoInputs>(count);
}

}  // namespace requal::data
