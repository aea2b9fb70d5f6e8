// Pictures as inputs of a runnable.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "data/preprocess.h"

namespace requal::data {

namespace {

class PictureInputs final : public InputSource {
public:
    PictureInputs(std::vector<std::string> paths, PreprocessSpec spec, std::string name)
        : paths_(std::move(paths)), spec_(std::move(spec)), name_(std::move(name)) {}

    std::uint64_t size() const override { return paths_.size(); }
    NamedTensors sample(std::uint64_t index) const override {
        const std::string& path = paths_.at(index);
        return {{name_, preprocess(read_picture(path, spec_.rules), spec_, path).tensor}};
    }
    std::string sample_name(std::uint64_t index) const override {
        return std::filesystem::path(paths_.at(index)).stem().string();
    }
    Json describe() const override {
        Hasher hasher;
        for (const std::string& path : paths_) {
            hasher.update(std::filesystem::path(path).filename().string() + "\n" +
                          digest_of_file(path).text() + "\n");
        }
        Json result = Json::object();
        result["kind"] = "pictures";
        result["samples"] = size();
        result["digest"] = hasher.finish().text();
        result["preprocess"] =
            Json::object({{"path", spec_.path}, {"digest", spec_.digest.text()}});
        return result;
    }

private:
    std::vector<std::string> paths_;
    PreprocessSpec spec_;
    std::string name_;
};

bool is_picture_name(const std::filesystem::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

}  // namespace

std::vector<std::string> pictures_in(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.is_regular_file() && is_picture_name(entry.path())) {
            paths.push_back(entry.path().string());
        }
    }
    if (error) {
        throw_errno(error.value(), "read", folder);
    }
    if (paths.empty()) {
        throw Error(ErrorKind::input, "holds no pictures", folder, "give JPEG or PNG files");
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::unique_ptr<InputSource> pictures_as_inputs(std::vector<std::string> paths,
                                                const PreprocessSpec& spec,
                                                const std::vector<InputPort>& ports) {
    std::set<std::string> names;
    for (const std::string& path : paths) {
        const std::string name = std::filesystem::path(path).stem().string();
        if (!names.insert(name).second) {
            throw Error(ErrorKind::input, "two pictures are called '" + name + "'", path,
                        "give each a name of its own, besides the extension");
        }
    }
    return std::make_unique<PictureInputs>(std::move(paths), spec, port_for(spec, ports).name);
}

}  // namespace requal::data
