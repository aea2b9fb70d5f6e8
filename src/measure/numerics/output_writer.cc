#include "measure/numerics/output_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "tensor/npy.h"

namespace requal::measure {

namespace {

namespace fs = std::filesystem;

std::string tidy(const std::string& path) {
    std::string text = fs::path(path).lexically_normal().string();
    while (text.size() > 1 && text.back() == '/') {
        text.pop_back();
    }
    return text;
}

std::string parent_of(const std::string& path) {
    const std::string parent = fs::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

std::string file_name(std::size_t index) {
    std::string digits = std::to_string(index);
    if (digits.size() < 6) {
        digits.insert(0, 6 - digits.size(), '0');
    }
    return digits + ".npz";
}

void sync_folder(const std::string& path) {
    const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder) {
        ::fsync(folder.get());
    }
}

}  // namespace

OutputWriter::OutputWriter(const std::string& folder, bool replace)
    : folder_(tidy(folder)), replace_(replace) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(folder_, ignored))) {
        if (!replace_) {
            throw Error(ErrorKind::input, "exists already", folder_,
                        "choose another folder, or give --force to replace it");
        }
        if (!folder_exists(folder_) || !file_exists(folder_ + "/samples.json")) {
            throw Error(ErrorKind::input,
                        "is no folder of saved outputs (no samples.json) and is not replaced",
                        folder_, "choose another folder");
        }
    }
    std::error_code unreadable;
    for (fs::path missing = parent_of(folder_);
         !missing.empty() && !fs::exists(missing, unreadable); missing = missing.parent_path()) {
        made_.push_back(missing.string());
    }
    make_folders(parent_of(folder_));
    working_ = parent_of(folder_) + "/.requal-save-XXXXXX";
    if (::mkdtemp(working_.data()) == nullptr) {
        const int error_number = errno;
        working_.clear();
        throw Error(ErrorKind::storage,
                    "cannot make a folder beside it: " + std::string(std::strerror(error_number)),
                    folder_, "choose a folder that can be written");
    }
    ::chmod(working_.c_str(), 0755);
}

OutputWriter::~OutputWriter() {
    if (!committed_ && !working_.empty()) {
        std::error_code ignored;
        fs::remove_all(working_, ignored);
    }
    if (!committed_) {
        for (const std::string& folder :
             made_) {  // the innermost first; one that holds something stays
            ::rmdir(folder.c_str());
        }
    }
}

void OutputWriter::add(const std::string& sample_name, const Digest& inputs_digest,
                       const NamedTensors& outputs) {
    if (samples_.empty()) {
        for (const auto& [name, tensor] : outputs) {
            outputs_.push_back(Json::object({{"name", name}, {"type", name_of(tensor.type())}}));
        }
    }
    const std::string file = file_name(samples_.size());
    const std::string path = working_ + "/" + file;
    write_npz_file(path, outputs);
    samples_.push_back({sample_name, file, digest_of_file(path), inputs_digest});
}

Json OutputWriter::commit(const Json& runnable, const Json& inputs) {
    Json document = data::sample_list_document(samples_);
    document["outputs"] = std::move(outputs_);
    document["runnable"] = runnable;
    document["inputs"] = inputs;
    const std::string text = write_json(document);
    write_file_atomically(working_ + "/samples.json", text);
    std::string old;
    if (replace_ && folder_exists(folder_)) {
        old = working_ + ".old";
        if (std::rename(folder_.c_str(), old.c_str()) != 0) {
            throw_errno(errno, "move away", folder_);
        }
    }
    if (std::rename(working_.c_str(), folder_.c_str()) != 0) {
        const int error_number = errno;
        if (!old.empty()) {
            (void)std::rename(old.c_str(), folder_.c_str());
        }
        throw_errno(error_number, "write", folder_);
    }
    committed_ = true;
    sync_folder(parent_of(folder_));
    if (!old.empty()) {
        std::error_code ignored;
        fs::remove_all(old, ignored);
    }
    return Json::object({{"path", folder_},
                         {"digest", digest_of(text).text()},
                         {"files", static_cast<std::uint64_t>(samples_.size())}});
}

NamedTensors SavingSide::outputs(std::uint64_t index, const NamedTensors& inputs) {
    NamedTensors result = side_->outputs(index, inputs);
    writer_.add(inputs_.sample_name(index), data::digest_of_sample(inputs), result);
    return result;
}

}  // namespace requal::measure
