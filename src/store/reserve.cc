#include "store/reserve.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/error.h"
#include "store/files.h"

namespace requal::store {

namespace {

constexpr std::uint64_t nearly_full_bytes = 8 << 20;
constexpr std::uint64_t least_bytes = 64 << 10;

FileDescriptor open_reserve(const std::string& path, int more_flags) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | more_flags, 0666));
    if (!file && !(errno == ENOENT && more_flags == 0))
        fail(errno, "open", path);
    return file;
}

/// Takes real blocks, as fallocate(2) does or, where the file system cannot, by writing zeros. 0 or an errno.
int take_space(int fd, std::uint64_t bytes) {
    if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0)
        return 0;
    if (errno != EOPNOTSUPP)
        return errno;
    const std::string zeros(64 << 10, '\0');
    for (std::uint64_t done = 0; done < bytes;) {
        const ssize_t count =
            ::pwrite(fd, zeros.data(),
                     static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), bytes - done)),
                     static_cast<off_t>(done));
        if (count < 0 && errno != EINTR)
            return errno;
        done += count > 0 ? static_cast<std::uint64_t>(count) : 0;
    }
    return 0;
}

bool is_held(const struct stat& status, std::uint64_t bytes) {
    return S_ISREG(status.st_mode) && status.st_size == static_cast<off_t>(bytes) &&
           static_cast<std::uint64_t>(status.st_blocks) * 512 >= bytes;
}

}  // namespace

void hold_reserve(const Layout& layout, std::uint64_t bytes) {
    const std::string path = layout.reserve();
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0 && is_held(status, bytes))
        return;
    const FileDescriptor file = open_reserve(path, O_CREAT);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
        throw Error(ErrorKind::storage,
                    "the disk is nearly full and a result is being written from the reserve",
                    layout.root, "free some space, or run 'requal store gc'");
    if (::fstat(file.get(), &status) != 0)
        fail(errno, "look at", path);
    if (is_held(status, bytes))
        return;
    int problem = status.st_size > static_cast<off_t>(bytes) &&
                          ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0
                      ? errno
                      : 0;
    if (problem == 0)
        problem = take_space(file.get(), bytes);
    if (problem == 0)
        return;
    // What was held before stays so; a part of the rest is nobody's.
    if (::ftruncate(file.get(), std::min<off_t>(status.st_size, static_cast<off_t>(bytes))) != 0) {
    }
    if (problem == ENOSPC || problem == EDQUOT)
        throw Error(ErrorKind::storage, "the disk is full but for what results need", layout.root,
                    "free some space, or run 'requal store gc'");
    fail(problem, "hold space back in", path);
}

ReserveUse::ReserveUse(const Layout& layout) : layout_(layout) {
    look();
}

void ReserveUse::look() {
    if (file_)
        return;
    struct statvfs disk {};
    if (::statvfs(layout_.root.c_str(), &disk) != 0 ||
        static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize >= nearly_full_bytes)
        return;
    const std::string path = layout_.reserve();
    FileDescriptor file = open_reserve(path, 0);
    struct stat status {};
    if (!file || ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 || ::fstat(file.get(), &status) != 0 ||
        !S_ISREG(status.st_mode))
        return;
    if (::ftruncate(file.get(), 0) != 0)
        fail(errno, "free the reserve", path);
    freed_bytes_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    file_ = std::move(file);
}

ReserveUse::~ReserveUse() {
    // Where another result is still being written, its writer or the next put takes the space back.
    if (!file_ || freed_bytes_ == 0 || ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
        return;
    // The result took some of it: as much as there is room for.
    for (std::uint64_t bytes = freed_bytes_; bytes >= least_bytes; bytes /= 2) {
        if (take_space(file_.get(), bytes) == 0 || ::ftruncate(file_.get(), 0) != 0)
            return;
    }
}

}  // namespace requal::store
