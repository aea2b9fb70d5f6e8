#include "toolchain/remote_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/digest.h"
#include "base/file.h"

namespace requal::toolchain {

namespace {

constexpr std::uint64_t piece_bytes = std::uint64_t{4} << 20;
constexpr std::int64_t piece_timeout_ns = 120'000'000'000;
constexpr std::uint64_t fetch_limit_bytes = std::uint64_t{1} << 40;

std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

std::string folder_of(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

std::size_t read_at(int fd, char* target, std::size_t size, std::uint64_t offset,
                    const std::string& path) {
    std::size_t filled = 0;
    while (filled < size) {
        const ssize_t got =
            pread(fd, target + filled, size - filled, static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw_errno(errno, "reading", path);
        }
        if (got == 0) {
            throw Error(ErrorKind::storage, "it became shorter while it was sent", path);
        }
        filled += static_cast<std::size_t>(got);
    }
    return filled;
}

}  // namespace

std::string RemoteFiles::send(const std::string& path) {
    const std::string folder = folder_of(path);
    std::vector<std::pair<std::string, std::string>> files{{path, file_name(path)}};
    for (const std::string& companion : companions_of(path)) {
        files.emplace_back(path_inside(folder, companion), companion);
    }
    std::vector<std::string> digests;
    std::string key;
    for (const auto& [here, name] : files) {
        digests.push_back(digest_of_file(here).hex());
        key += digests.back() + " " + name + "\n";
    }
    if (const auto found = sent_.find(key); found != sent_.end()) {
        return found->second;
    }
    const std::string over_there = "sent-" + std::to_string(++folders_) + "/";
    for (std::size_t i = 0; i < files.size(); ++i) {
        send_one(files[i].first, over_there + files[i].second, digests[i]);
    }
    sent_[key] = over_there + files.front().second;
    return sent_[key];
}

void RemoteFiles::send_one(const std::string& path, const std::string& name,
                           const std::string& digest) {
    const std::uint64_t total = file_size(path);
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        throw_errno(errno, "opening", path);
    }
    std::uint64_t offset = 0;
    do {
        Message put;
        std::string piece(static_cast<std::size_t>(std::min(piece_bytes, total - offset)), '\0');
        read_at(file.get(), piece.data(), piece.size(), offset, path);
        put.header = Json::object({{"type", "put"},
                                   {"name", name},
                                   {"offset", offset},
                                   {"total_bytes", total},
                                   {"sha256", digest}});
        offset += piece.size();
        put.blobs.push_back(std::move(piece));
        conversation_.call(std::move(put), piece_timeout_ns, "taking the file " + file_name(path));
    } while (offset < total);
}

std::string RemoteFiles::reserve(const std::string& output_path) {
    return "built-" + std::to_string(++folders_) + "/" + file_name(output_path);
}

std::vector<std::string> RemoteFiles::fetch(const Json& names, const std::string& reserved,
                                            const std::string& output_path) {
    const std::string prefix = reserved.substr(0, reserved.find('/') + 1);
    const std::string folder = folder_of(output_path);
    std::vector<std::string> paths{output_path};
    bool main_seen = false;
    if (!names.is_array()) {
        conversation_.give_up(
            Error(ErrorKind::toolchain, "breaks the runner protocol: its build names no files"),
            "building");
    }
    // The companions first: the main file appears when it is complete with all that it needs.
    for (const Json& item : names.as_array()) {
        const std::string name = item.is_string() ? item.as_string() : std::string();
        if (name == reserved) {
            main_seen = true;
            continue;
        }
        std::string path;
        try {
            if (!name.starts_with(prefix)) {
                throw Error(ErrorKind::input, "it lies elsewhere");
            }
            path = path_inside(folder, name.substr(prefix.size()));
        } catch (const Error& error) {
            conversation_.give_up(
                Error(ErrorKind::toolchain, "names a file that leaves its folder: \"" + name +
                                                "\" (" + error.message() + ")"),
                "building");
        }
        make_folders(folder_of(path));
        fetch_one(name, path);
        paths.push_back(path);
    }
    if (!main_seen) {
        throw Error(ErrorKind::toolchain, "the build ended without an engine", output_path);
    }
    fetch_one(reserved, output_path);
    return paths;
}

void RemoteFiles::fetch_one(const std::string& name, const std::string& path) {
    AtomicFile file(path);
    Hasher hasher;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::string announced;
    const std::string doing = "sending the file " + name;
    do {
        Message get;
        get.header = Json::object(
            {{"type", "get"}, {"name", name}, {"offset", offset}, {"max_bytes", piece_bytes}});
        const Message answer = conversation_.call(std::move(get), piece_timeout_ns, doing);
        const Json& size_json = answer.header.get("size_bytes");
        const std::int64_t now = size_json.is_integer() ? size_json.as_integer() : -1;
        const bool first = offset == 0;
        if (now < 0 || static_cast<std::uint64_t>(now) > fetch_limit_bytes ||
            answer.blobs.size() != 1 || (!first && static_cast<std::uint64_t>(now) != size) ||
            answer.blobs.front().size() > static_cast<std::uint64_t>(now) - offset ||
            (answer.blobs.front().empty() && offset < static_cast<std::uint64_t>(now))) {
            conversation_.give_up(Error(ErrorKind::toolchain,
                                        "breaks the runner protocol: pieces of a file "
                                        "do not fit together"),
                                  doing);
        }
        if (first) {
            size = static_cast<std::uint64_t>(now);
            const Json& digest = answer.header.get("sha256");
            announced = digest.is_string() ? digest.as_string() : "";
        }
        file.write(std::string_view(answer.blobs.front()));
        hasher.update(answer.blobs.front());
        offset += answer.blobs.front().size();
    } while (offset < size);
    if (hasher.finish().hex() != announced) {
        throw Error(ErrorKind::storage, "its bytes were damaged on the way from the other machine",
                    path, "build it again");
    }
    file.commit();
}

}  // namespace requal::toolchain
