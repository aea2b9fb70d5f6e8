#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"

namespace requal {
namespace {

[[noreturn]] void throw_storage(int error_number, std::string_view operation,
                                std::string_view path) {
    try {
        throw_errno(error_number, operation, path);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::storage)
            throw;
        throw Error(ErrorKind::storage, error.message(), error.where(), error.next());
    }
}

[[noreturn]] void throw_not_regular(mode_t mode, const std::string& path, ErrorKind kind) {
    const char* what = "not a regular file";
    if (S_ISDIR(mode))
        what = "a folder, not a file";
    if (S_ISFIFO(mode))
        what = "a FIFO, not a regular file";
    if (S_ISCHR(mode) || S_ISBLK(mode))
        what = "a device, not a regular file";
    if (S_ISSOCK(mode))
        what = "a socket, not a regular file";
    throw Error(kind, what, path, "give a regular file");
}

void refuse_nul(const std::string& path) {
    if (path.find('\0') != std::string::npos) {
        throw Error(ErrorKind::input, "a path with a NUL byte", path, "check the path");
    }
}

struct stat status_of_regular_file(const std::string& path) {
    refuse_nul(path);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        throw_errno(errno, "open", path);
    if (!S_ISREG(status.st_mode))
        throw_not_regular(status.st_mode, path, ErrorKind::input);
    return status;
}

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos)
        return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// Unique among the processes and threads of one machine and, by chance, among
/// machines on one network folder.
std::string unique_suffix() {
    static std::atomic<std::uint64_t> counter{0};
    static const std::uint64_t seed = [] {
        std::random_device device;
        return (std::uint64_t{device()} << 32) | device();
    }();
    constexpr char digits[] = "0123456789abcdefghijklmnopqrstuv";
    std::uint64_t value = seed ^ (counter.fetch_add(1) * 0x9E3779B97F4A7C15ULL) ^
                          (static_cast<std::uint64_t>(::getpid()) << 20);
    std::string text;
    for (int i = 0; i < 13; ++i, value >>= 5)
        text += digits[value & 31];
    return text;
}

void sync_folder(const std::string& folder) {
    const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        throw_storage(errno, "open folder", folder);
    // Some file systems cannot sync a folder and say so with EINVAL.
    if (::fsync(fd.get()) != 0 && errno != EINVAL)
        throw_storage(errno, "sync folder", folder);
}

std::string real_path(const std::string& path) {
    char* resolved = ::realpath(path.c_str(), nullptr);
    if (resolved == nullptr)
        return {};
    std::string result(resolved);
    std::free(resolved);
    return result;
}

bool is_inside(const std::string& folder, const std::string& path) {
    if (folder == "/" || path == folder)
        return true;
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
    if (this != &other)
        reset(other.release());
    return *this;
}

int FileDescriptor::release() {
    return std::exchange(fd_, -1);
}

void FileDescriptor::reset(int fd) {
    const int old = std::exchange(fd_, fd);
    if (old >= 0)
        ::close(old);
}

FileDescriptor open_regular_file(const std::string& path) {
    status_of_regular_file(path);  // opening a device may already do something
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd)
        throw_errno(errno, "open", path);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0)
        throw_errno(errno, "open", path);
    if (!S_ISREG(status.st_mode))
        throw_not_regular(status.st_mode, path, ErrorKind::input);
    return fd;
}

std::string read_file(const std::string& path, std::uint64_t limit_bytes) {
    const FileDescriptor fd = open_regular_file(path);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0)
        throw_errno(errno, "read", path);
    const auto refuse = [&] {
        throw Error(ErrorKind::input,
                    "larger than the " + std::to_string(limit_bytes) + " bytes allowed here", path,
                    "check that this is the file you mean");
    };
    const auto expected = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    if (expected > limit_bytes)
        refuse();
    std::string content;
    content.resize(static_cast<std::size_t>(expected));
    std::size_t used = 0;
    // Until the end and not until the size: files of /proc say 0, and a file may
    // grow meanwhile.
    while (true) {
        if (used == content.size()) {
            // At the expected end one byte tells whether more comes, without doubling
            // a large buffer.
            char extra = 0;
            const ssize_t count = ::read(fd.get(), &extra, 1);
            if (count < 0 && errno == EINTR)
                continue;
            if (count < 0)
                throw_errno(errno, "read", path);
            if (count == 0)
                break;
            if (used >= limit_bytes)
                refuse();
            const std::uint64_t larger =
                std::min<std::uint64_t>(limit_bytes, std::max<std::uint64_t>(4096, 2 * used));
            content.resize(static_cast<std::size_t>(larger));
            content[used++] = extra;
            continue;
        }
        const ssize_t count = ::read(fd.get(), content.data() + used, content.size() - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw_errno(errno, "read", path);
        if (count == 0)
            break;
        used += static_cast<std::size_t>(count);
    }
    content.resize(used);
    return content;
}

std::uint64_t file_size(const std::string& path) {
    return static_cast<std::uint64_t>(status_of_regular_file(path).st_size);
}

bool file_exists(const std::string& path) {
    struct stat status {};
    return path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0 &&
           S_ISREG(status.st_mode);
}

bool folder_exists(const std::string& path) {
    struct stat status {};
    return path.find('\0') == std::string::npos && ::stat(path.c_str(), &status) == 0 &&
           S_ISDIR(status.st_mode);
}

MappedFile::MappedFile(const std::string& path) {
    const FileDescriptor fd = open_regular_file(path);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0)
        throw_errno(errno, "map", path);
    if (status.st_size <= 0)
        return;
    void* address = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ,
                           MAP_PRIVATE, fd.get(), 0);
    if (address == MAP_FAILED)
        throw_errno(errno, "map", path);
    data_ = static_cast<const std::byte*>(address);
    size_ = static_cast<std::size_t>(status.st_size);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr)
        ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
    refuse_nul(path_);
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
        throw_not_regular(status.st_mode, path_, ErrorKind::storage);
    }
    // A name of its own and not path_ + suffix, which may be longer than a name
    // can be.
    const std::string folder = parent_of(path_);
    for (int attempt = 0; attempt < 16; ++attempt) {
        temporary_ =
            folder + (folder.back() == '/' ? "" : "/") + ".requal-" + unique_suffix() + ".tmp";
        file_.reset(
            ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
        if (file_)
            return;
        if (errno != EEXIST)
            break;
    }
    throw_storage(errno, "create", path_);
}

AtomicFile::~AtomicFile() {
    if (!committed_ && !temporary_.empty())
        ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
    write(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    write_all(file_.get(), bytes, path_);
}

void AtomicFile::commit() {
    if (committed_)
        return;
    if (::fsync(file_.get()) != 0)
        throw_storage(errno, "sync", path_);
    // Network file systems report a failed write as late as here.
    if (::close(file_.release()) != 0 && errno != EINTR)
        throw_storage(errno, "close", path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        throw_storage(errno, "rename to", path_);
    committed_ = true;
    sync_folder(parent_of(path_));
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
}

void write_all(int fd, std::span<const std::byte> bytes, std::string_view path) {
    while (!bytes.empty()) {
        const ssize_t count =
            ::write(fd, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw_storage(errno, "write", path);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

void make_folders(const std::string& path) {
    refuse_nul(path);
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        throw_storage(error.value(), "make folder", path);
    if (!folder_exists(path))
        throw_storage(ENOTDIR, "make folder", path);
}

TemporaryFolder::TemporaryFolder(std::string_view prefix, const std::string& parent) {
    std::string folder = parent;
    if (folder.empty()) {
        const char* from_environment = std::getenv("TMPDIR");
        folder =
            from_environment != nullptr && *from_environment != '\0' ? from_environment : "/tmp";
    }
    std::string name = folder + "/" + std::string(prefix) + "-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
        throw_storage(errno, "make a temporary folder in", folder);
    path_ = std::move(name);
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string path_inside(const std::string& folder, std::string_view relative) {
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorKind::input, "path '" + std::string(relative.substr(0, 200)) + "' " + why,
                    folder, "use a relative path that stays in this folder");
    };
    if (relative.empty())
        refuse("is empty");
    if (relative.size() >= PATH_MAX)
        refuse("is too long");
    if (relative.front() == '/')
        refuse("is absolute");
    if (relative.find('\0') != std::string_view::npos)
        refuse("has a NUL byte");

    std::vector<std::string_view> parts;
    for (std::string_view rest = relative;;) {
        const std::size_t slash = rest.find('/');
        const std::string_view part = rest.substr(0, slash);
        if (part.empty())
            refuse("has an empty part");
        if (part == "..")
            refuse("has a part '..'");
        parts.push_back(part);
        if (slash == std::string_view::npos)
            break;
        rest.remove_prefix(slash + 1);
    }

    const std::string base = folder.empty() ? "." : folder;
    const std::string root = real_path(base);
    if (root.empty())
        throw_errno(errno, "open folder", base);
    // Part by part, so that a link which points to nothing (yet) is refused too.
    std::string current = root;
    for (const std::string_view part : parts) {
        if (part == ".")
            continue;
        const std::string next = (current == "/" ? "" : current) + "/" + std::string(part);
        struct stat status {};
        if (::lstat(next.c_str(), &status) != 0) {
            if (errno == ENOENT)
                break;  // nothing below can be a link
            refuse("cannot be resolved: " + std::generic_category().message(errno));
        }
        current = next;
        if (S_ISLNK(status.st_mode)) {
            current = real_path(next);
            if (current.empty())
                refuse("is a link that leads nowhere");
            if (!is_inside(root, current))
                refuse("is a link that leaves the folder");
        }
    }
    return base + (base.back() == '/' ? "" : "/") + std::string(relative);
}

}  // namespace requal
