#include "machine/root.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "base/error.h"

namespace requal::machine {

namespace {

constexpr int most_links = 40;  // as the kernel
constexpr std::size_t most_names = 200'000;

std::string reason_of(int number) {
    switch (number) {
    case EACCES:
    case EPERM:
        return "permission denied";
    case ELOOP:
        return "links lead in a circle";
    case ENOTDIR:
        return "a part of the path is no folder";
    default:
        return std::strerror(number);
    }
}

std::string kind_of(mode_t mode) {
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISFIFO(mode))
        return "a FIFO";
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return "a device";
    return S_ISSOCK(mode) ? "a socket" : "no regular file";
}

/// The text of the link `name` in the folder `at`.
bool read_link(int at, const char* name, std::string& text) {
    text.assign(4096, '\0');
    const ssize_t size = ::readlinkat(at, name, text.data(), text.size());
    if (size < 0)
        return false;
    text.resize(static_cast<std::size_t>(size));
    return true;
}

void push_parts(std::deque<std::string>& parts, std::string_view path) {
    std::vector<std::string> found;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        if (!part.empty() && part != ".")
            found.emplace_back(part);
        path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    }
    parts.insert(parts.begin(), std::make_move_iterator(found.begin()),
                 std::make_move_iterator(found.end()));
}

}  // namespace

/// Where a walk ended: the folder that holds the last part (its name empty: the root itself), and what is there.
struct Root::Walk {
    int error = 0;
    std::vector<std::pair<std::string, FileDescriptor>> folders;  ///< below the root
    int holder = -1;   ///< folder of the last part, when that is no folder
    std::string name;  ///< the last part, when it is no folder
    struct stat info {};

    std::string path() const {
        std::string text;
        for (const auto& folder : folders)
            text += "/" + folder.first;
        if (!name.empty())
            text += "/" + name;
        return text.empty() ? "/" : text;
    }
};

Root::Root(const std::string& folder) {
    const std::string path = folder.empty() ? "/" : folder;
    FileDescriptor fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        throw_errno(errno, "open the root folder", path);
    struct stat here {
    }, slash{};
    this_computer_ = ::fstat(fd.get(), &here) == 0 && ::stat("/", &slash) == 0 &&
                     here.st_dev == slash.st_dev && here.st_ino == slash.st_ino;
    root_ = std::make_shared<FileDescriptor>(std::move(fd));
}

Root::Walk Root::walk(std::string_view path, bool follow_last) const {
    Walk walk;
    if (path.size() > 8192 || path.find('\0') != std::string_view::npos) {
        walk.error = ENAMETOOLONG;
        return walk;
    }
    std::deque<std::string> parts;
    push_parts(parts, path);
    int links = 0;
    const auto here = [&] {
        return walk.folders.empty() ? root_->get() : walk.folders.back().second.get();
    };
    if (parts.empty() && ::fstat(root_->get(), &walk.info) != 0)
        walk.error = errno;
    while (!parts.empty()) {
        const std::string part = std::move(parts.front());
        parts.pop_front();
        if (part == "..") {
            if (!walk.folders.empty())
                walk.folders.pop_back();
            if (::fstat(here(), &walk.info) != 0)
                walk.error = errno;
            continue;
        }
        FileDescriptor next(::openat(here(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (!next || ::fstat(next.get(), &walk.info) != 0) {
            walk.error = errno;
            return walk;
        }
        if (S_ISLNK(walk.info.st_mode) && (follow_last || !parts.empty())) {
            std::string target;
            if (++links > most_links || !read_link(here(), part.c_str(), target)) {
                walk.error = links > most_links ? ELOOP : errno;
                return walk;
            }
            if (target.starts_with('/'))
                walk.folders.clear();
            push_parts(parts, target);
            if (parts.size() > 4096) {
                walk.error = ELOOP;
                return walk;
            }
            if (parts.empty() && ::fstat(here(), &walk.info) != 0)
                walk.error = errno;
        } else if (S_ISDIR(walk.info.st_mode)) {
            walk.folders.emplace_back(part, std::move(next));
        } else if (!parts.empty()) {
            walk.error = ENOTDIR;
            return walk;
        } else {
            walk.holder = here();
            walk.name = part;
        }
    }
    return walk;
}

RootFile Root::file(std::string_view path, bool open) const {
    RootFile result;
    const Walk found = walk(path, true);
    if (found.error != 0) {
        result.presence = found.error == ENOENT || found.error == ENOTDIR ? Presence::absent
                                                                          : Presence::unreadable;
        result.reason = reason_of(found.error);
        return result;
    }
    result.info = found.info;
    result.path = found.path();
    result.presence = Presence::unreadable;
    if (!S_ISREG(found.info.st_mode)) {
        result.reason = "it is " + kind_of(found.info.st_mode);
        return result;
    }
    if (open) {
        result.fd.reset(::openat(found.holder, found.name.c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
        struct stat opened {};
        if (!result.fd || ::fstat(result.fd.get(), &opened) != 0) {
            result.reason = reason_of(errno);
            return result;
        }
        if (opened.st_ino != found.info.st_ino || opened.st_dev != found.info.st_dev) {
            result.reason = "it was replaced while it was read";
            return result;
        }
    }
    result.presence = Presence::found;
    return result;
}

RootText Root::text(std::string_view path, std::size_t limit_bytes) const {
    RootText result;
    RootFile opened = file(path);
    result.presence = opened.presence;
    result.reason = std::move(opened.reason);
    if (!opened)
        return result;
    const auto refuse = [&](std::string reason) {
        result.presence = Presence::unreadable;
        result.reason = std::move(reason);
        result.bytes.clear();
    };
    if (opened.info.st_size > 0 && static_cast<std::uint64_t>(opened.info.st_size) > limit_bytes) {
        refuse("larger than " + std::to_string(limit_bytes) + " bytes");
        return result;
    }
    char buffer[16384];
    for (;;) {
        const ssize_t size = ::read(opened.fd.get(), buffer, sizeof(buffer));
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0) {
            refuse(reason_of(errno));
            return result;
        }
        if (size == 0)
            return result;
        result.bytes.append(buffer, static_cast<std::size_t>(size));
        if (result.bytes.size() > limit_bytes) {
            refuse("larger than " + std::to_string(limit_bytes) + " bytes");
            return result;
        }
    }
}

RootText Root::line(std::string_view path) const {
    RootText result = text(path, 65536);
    const std::size_t end = result.bytes.find_last_not_of(std::string_view(" \t\r\n\0", 5));
    result.bytes.resize(end == std::string::npos ? 0 : end + 1);
    return result;
}

RootFolder Root::folder(std::string_view path) const {
    RootFolder result;
    const Walk found = walk(path, true);
    const auto refuse = [&](int number) {
        result.presence =
            number == ENOENT || number == ENOTDIR ? Presence::absent : Presence::unreadable;
        result.reason = reason_of(number);
    };
    if (found.error != 0 || !found.name.empty()) {
        refuse(found.error != 0 ? found.error : ENOTDIR);
        return result;
    }
    const int at = found.folders.empty() ? root_->get() : found.folders.back().second.get();
    const int fd = ::openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (!stream) {
        refuse(errno);
        if (fd >= 0)
            ::close(fd);
        return result;
    }
    result.presence = Presence::found;
    errno = 0;
    while (const dirent* entry = ::readdir(stream)) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            result.names.emplace_back(name);
        if (result.names.size() > most_names) {
            result.presence = Presence::unreadable;
            result.reason = "more than " + std::to_string(most_names) + " names";
            break;
        }
        errno = 0;
    }
    if (errno != 0 && result.presence == Presence::found)
        refuse(errno);
    ::closedir(stream);
    std::sort(result.names.begin(), result.names.end());
    return result;
}

RootText Root::link(std::string_view path) const {
    RootText result;
    const Walk found = walk(path, false);
    if (found.error != 0) {
        result.presence = found.error == ENOENT || found.error == ENOTDIR ? Presence::absent
                                                                          : Presence::unreadable;
        result.reason = reason_of(found.error);
    } else if (found.name.empty() || !S_ISLNK(found.info.st_mode)) {
        result.presence = Presence::unreadable;
        result.reason = "it is no link";
    } else if (read_link(found.holder, found.name.c_str(), result.bytes)) {
        result.presence = Presence::found;
    } else {
        result.presence = Presence::unreadable;
        result.reason = reason_of(errno);
    }
    return result;
}

RootText Root::resolved(std::string_view path) const {
    RootText result;
    const Walk found = walk(path, true);
    result.presence = found.error == 0                                  ? Presence::found
                      : found.error == ENOENT || found.error == ENOTDIR ? Presence::absent
                                                                        : Presence::unreadable;
    if (found.error == 0)
        result.bytes = found.path();
    else
        result.reason = reason_of(found.error);
    return result;
}

bool Root::exists(std::string_view path) const {
    return walk(path, false).error == 0;
}

}  // namespace requal::machine
