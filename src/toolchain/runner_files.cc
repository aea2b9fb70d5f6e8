#include "toolchain/runner_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/error.h"

namespace requal::toolchain {

namespace {

constexpr std::int64_t file_limit_bytes = std::int64_t{1} << 40;
constexpr std::string_view folder_prefix = "requal-runner-";
constexpr const char* marker_name = "/.in-use";
constexpr std::int64_t piece_limit_bytes = std::int64_t{64} << 20;

std::int64_t number_in(const Json& request, const char* key, std::int64_t largest) {
    const std::int64_t value = request.at(key).as_integer();
    if (value < 0 || value > largest) {
        throw Error(ErrorKind::input,
                    std::string(key) + " " + std::to_string(value) + " is out of range");
    }
    return value;
}

/// Opens and locks the marker in a runner's folder; empty while its runner lives (or when there is none).
FileDescriptor locked_marker(const std::string& folder, int more_flags) {
    FileDescriptor marker(
        open((folder + marker_name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | more_flags, 0600));
    if (marker && flock(marker.get(), LOCK_EX | LOCK_NB) != 0) {
        marker.reset();
    }
    return marker;
}

/// Runners that were killed could not remove their folders: the next one does. A folder without a marker may be that of a
/// runner that has just begun, and stays.
void remove_abandoned(const std::filesystem::path& parent) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
        struct stat status {};
        const std::string path = entry.path().string();
        if (entry.path().filename().string().starts_with(folder_prefix) &&
            lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
            status.st_uid == geteuid() && locked_marker(path, 0)) {
            std::filesystem::remove_all(entry.path(), ignored);
        }
    }
}

}  // namespace

std::string RunnerFiles::folder() const {
    return folder_ ? folder_->path() : std::string();
}

std::string RunnerFiles::path_of(const std::string& name) {
    if (!folder_) {
        folder_ = std::make_unique<TemporaryFolder>("requal-runner");
        remove_abandoned(std::filesystem::path(folder_->path()).parent_path());
        in_use_ = locked_marker(folder_->path(), O_CREAT);
    }
    const std::string path = path_inside(folder_->path(), name);
    make_folders(std::filesystem::path(path).parent_path().string());
    return path;
}

Json RunnerFiles::put(const Json& request, const std::string& piece) {
    const std::string& name = request.at("name").as_string();
    const std::int64_t offset = number_in(request, "offset", file_limit_bytes);
    const std::int64_t total = number_in(request, "total_bytes", file_limit_bytes);
    const Digest wanted = parse_digest(request.at("sha256").as_string());
    const std::string path = path_of(name);
    if (offset == 0) {
        Incoming incoming;
        incoming.name = name;
        incoming.part_path = path + ".part";
        incoming.file.reset(open(incoming.part_path.c_str(),
                                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!incoming.file) {
            throw_errno(errno, "creating", incoming.part_path);
        }
        incoming_ = std::move(incoming);
    }
    if (!incoming_ || incoming_->name != name ||
        incoming_->received != static_cast<std::uint64_t>(offset)) {
        throw Error(ErrorKind::input, "pieces of a file must come in order", name);
    }
    incoming_->received += piece.size();
    if (incoming_->received > static_cast<std::uint64_t>(total)) {
        incoming_.reset();
        throw Error(ErrorKind::input, "more bytes came than were announced", name);
    }
    incoming_->hasher.update(piece);
    write_all(incoming_->file.get(), std::as_bytes(std::span(piece)), incoming_->part_path);
    if (incoming_->received < static_cast<std::uint64_t>(total)) {
        return Json::object({{"complete", false}});
    }
    Incoming done = std::move(*incoming_);
    incoming_.reset();
    const Digest came = done.hasher.finish();
    if (came != wanted) {
        unlink(done.part_path.c_str());
        throw Error(ErrorKind::storage,
                    "its bytes were damaged on the way: announced " + wanted.text() + ", came " +
                        came.text(),
                    name, "send it again");
    }
    if (rename(done.part_path.c_str(), path.c_str()) != 0) {
        throw_errno(errno, "renaming", path);
    }
    return Json::object({{"complete", true}, {"path", path}});
}

Json RunnerFiles::get(const Json& request, std::string& piece) {
    const std::string& name = request.at("name").as_string();
    const std::int64_t offset = number_in(request, "offset", file_limit_bytes);
    const std::int64_t most = number_in(request, "max_bytes", piece_limit_bytes);
    const std::string path = path_of(name);
    const std::uint64_t size = file_size(path);
    if (static_cast<std::uint64_t>(offset) > size) {
        throw Error(ErrorKind::input, "offset " + std::to_string(offset) + " is past its end",
                    name);
    }
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        throw_errno(errno, "opening", path);
    }
    piece.resize(static_cast<std::size_t>(
        std::min(static_cast<std::uint64_t>(most), size - static_cast<std::uint64_t>(offset))));
    std::size_t filled = 0;
    while (filled < piece.size()) {
        const ssize_t got = pread(file.get(), piece.data() + filled, piece.size() - filled,
                                  static_cast<off_t>(offset) + static_cast<off_t>(filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            throw Error(ErrorKind::storage, "it became shorter while it was read", path);
        }
        filled += static_cast<std::size_t>(got);
    }
    Json answer = Json::object({{"size_bytes", size}});
    if (offset == 0) {
        answer["sha256"] = digest_of_file(path).hex();
    }
    return answer;
}

Json RunnerFiles::beside(const std::string& name) {
    const std::filesystem::path root = folder_->path();
    Json names = Json::array();
    std::vector<std::string> found;
    const auto start = std::filesystem::path(path_of(name)).parent_path();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(start)) {
        if (entry.is_regular_file() && !entry.is_symlink()) {
            found.push_back(entry.path().lexically_relative(root).string());
        }
    }
    std::sort(found.begin(), found.end());
    for (std::string& one : found) {
        names.push_back(std::move(one));
    }
    return names;
}

}  // namespace requal::toolchain
