#include "store/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"

namespace requal::store {

namespace {

constexpr std::string_view lock_suffix = ".lock";

std::string advice_for(int error_number) {
    switch (error_number) {
    case ENOSPC:
    case EDQUOT:
        return "free some space, or run 'requal store gc'";
    case EACCES:
    case EPERM:
    case EROFS:
        return "check that the store can be written";
    default:
        return "check the disk and the store's folder";
    }
}

bool same_file(int fd, const std::string& path) {
    struct stat ours {};
    struct stat present {};
    return ::fstat(fd, &ours) == 0 && ::lstat(path.c_str(), &present) == 0 &&
           ours.st_ino == present.st_ino && ours.st_dev == present.st_dev;
}

FileDescriptor open_lock(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file)
        fail(errno, "open the lock", path);
    return file;
}

}  // namespace

void fail(int error_number, std::string_view operation, const std::string& path) {
    throw Error(ErrorKind::storage,
                "cannot " + std::string(operation) + ": " +
                    std::generic_category().message(error_number),
                path, advice_for(error_number));
}

void damaged(const std::string& what, const std::string& path) {
    throw Error(ErrorKind::storage, what, path,
                "run 'requal store check'; bring it back from a copy");
}

Status status_of(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return {};
        fail(errno, "look at", path);
    }
    Status found;
    found.size_bytes = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    found.inode = status.st_ino;
    found.device = status.st_dev;
    found.kind = S_ISREG(status.st_mode)   ? Kind::file
                 : S_ISDIR(status.st_mode) ? Kind::folder
                 : S_ISLNK(status.st_mode) ? Kind::link
                                           : Kind::other;
    return found;
}

bool make_folder(const std::string& path) {
    if (::mkdir(path.c_str(), 0777) == 0)
        return true;
    const int error_number = errno;
    const Kind kind = status_of(path).kind;
    if (kind == Kind::folder)
        return false;
    if (kind == Kind::absent)
        fail(error_number, "make the folder", path);
    throw Error(ErrorKind::storage,
                kind == Kind::link ? "a link stands where the store has a folder"
                                   : "something stands where the store has a folder",
                path, "find out who put it there and remove it");
}

void sync_folder(const std::string& path) {
    const FileDescriptor folder(
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!folder)
        fail(errno, "open the folder", path);
    if (::fsync(folder.get()) != 0 && errno != EINVAL)
        fail(errno, "flush the folder", path);
}

void sync_file_system(const std::string& folder) {
    const FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!file)
        fail(errno, "open the folder", folder);
    if (::syncfs(file.get()) != 0)
        fail(errno, "flush the file system of", folder);
}

void sync_file(const std::string& path) {
    const FileDescriptor file = open_file(path);
    if (::fsync(file.get()) != 0)
        fail(errno, "flush", path);
}

void rename_file(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0)
        fail(errno, "move a finished file to", to);
}

FileDescriptor open_file(const std::string& path) {
    FileDescriptor file(
        ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!file && errno == ELOOP)
        damaged("a link stands where the store has a file", path);
    if (!file)
        fail(errno, "open", path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
        fail(errno, "look at", path);
    if (!S_ISREG(status.st_mode))
        damaged("no regular file", path);
    return file;
}

std::string read_whole(const std::string& path, std::uint64_t limit_bytes) {
    const FileDescriptor file = open_file(path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
        fail(errno, "look at", path);
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    if (size > limit_bytes)
        damaged("larger than it can be", path);
    std::string content(static_cast<std::size_t>(size), '\0');
    std::size_t used = 0;
    while (used < content.size()) {
        const ssize_t count = ::read(file.get(), content.data() + used, content.size() - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            fail(errno, "read", path);
        if (count == 0)
            break;
        used += static_cast<std::size_t>(count);
    }
    content.resize(used);
    return content;
}

std::vector<std::string> names_in(const std::string& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
    if (!entries)
        fail(errno, "read the folder", folder);
    std::vector<std::string> names;
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(entries.get());
        if (entry == nullptr) {
            if (errno != 0)
                fail(errno, "read the folder", folder);
            break;
        }
        const std::string name = static_cast<const char*>(entry->d_name);
        if (name != "." && name != "..")
            names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

FileDescriptor try_lock_file(const std::string& path, bool exclusive) {
    FileDescriptor file = open_lock(path);
    while (::flock(file.get(), (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return {};
        if (errno != EINTR)
            fail(errno, "lock", path);
    }
    return file;
}

FileDescriptor lock_file(const std::string& path, bool exclusive, const std::string& what) {
    auto pause = std::chrono::milliseconds(1);
    bool told = false;
    const auto begin = std::chrono::steady_clock::now();
    const FileDescriptor opened = open_lock(path);
    while (true) {
        throw_if_cancelled();
        if (::flock(opened.get(), (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0)
            return FileDescriptor(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 0));
        if (errno != EWOULDBLOCK && errno != EINTR)
            fail(errno, "lock", path);
        if (!told && std::chrono::steady_clock::now() - begin > std::chrono::seconds(2)) {
            log_info("waiting for another process that " + what);
            told = true;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(50));
    }
}

FileDescriptor take_passing_lock(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file)
        fail(errno, "make the lock", path);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
        return {};
    // Between the two calls its holder may have ended and removed it; then this is no longer the lock.
    if (!same_file(file.get(), path))
        return {};
    return file;
}

std::string random_hex(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) {
        unsigned char byte = 0;
        if (::getrandom(&byte, 1, 0) != 1)
            fail(errno, "read", "the kernel's random numbers");
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

void remove_left_overs(const std::string& tmp) {
    for (const std::string& name : names_in(tmp)) {
        if (!name.ends_with(lock_suffix))
            continue;
        const std::string path = tmp + "/" + name;
        const FileDescriptor lock(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
        if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !same_file(lock.get(), path))
            continue;  // someone lives
        std::error_code ignored;
        std::filesystem::remove_all(path.substr(0, path.size() - lock_suffix.size()), ignored);
        ::unlink(path.c_str());
    }
}

Staging::Staging(const std::string& tmp, std::string_view prefix) {
    make_folder(tmp);
    remove_left_overs(tmp);
    for (int attempt = 0; attempt < 100 && !lock_; ++attempt) {
        path_ = tmp + "/" + std::string(prefix) + "-" + random_hex(6);
        lock_path_ = path_ + std::string(lock_suffix);
        lock_ = take_passing_lock(lock_path_);
    }
    if (!lock_)
        throw Error(ErrorKind::storage, "cannot make a folder for work", tmp,
                    "see what else works in this store");
    try {
        make_folder(path_);
    } catch (const Error&) {
        ::unlink(lock_path_.c_str());
        throw;
    }
}

Staging::~Staging() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    ::unlink(lock_path_.c_str());
}

std::string Staging::next_name() {
    return path_ + "/" + std::to_string(count_++);
}

}  // namespace requal::store
