// Files: whole reads with a limit, atomic writes, temporary folders, paths that may not leave a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace requal {

/// An owned file descriptor.
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : fd_(fd) {}
    ~FileDescriptor() { reset(); }
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept;
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release();
    void reset(int fd = -1);

private:
    int fd_ = -1;
};

/// Opens a regular file for reading; never waits, also not for a FIFO. Anything else than a regular file is Error(input).
FileDescriptor open_regular_file(const std::string& path);

/// Whole content of a regular file (a FIFO, device or folder is Error(input)) not larger than `limit_bytes`.
std::string read_file(const std::string& path, std::uint64_t limit_bytes = std::uint64_t{1} << 31);

/// Size of a regular file; Error(input) when it is none or does not exist.
std::uint64_t file_size(const std::string& path);
bool file_exists(const std::string& path);
bool folder_exists(const std::string& path);

/// A regular file mapped read-only. Empty files give an empty span. A file that another program shortens meanwhile ends
/// the process with SIGBUS, so map only what is not being written.
class MappedFile {
public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    std::span<const std::byte> bytes() const { return {data_, size_}; }

private:
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// A file that appears under its name only when commit() is called: temp file beside it, fsync, rename, fsync of the folder.
/// Without commit() the temp file is removed. All failures are Error(storage) naming the path; a path that exists and is no
/// regular file (a folder, a device) is refused at once. A link under the name is replaced, not followed.
class AtomicFile {
public:
    explicit AtomicFile(std::string path);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    void write(std::string_view bytes);
    void write(std::span<const std::byte> bytes);
    int fd() const { return file_.get(); }
    const std::string& temporary_path() const { return temporary_; }
    void commit();

private:
    std::string path_;
    std::string temporary_;
    FileDescriptor file_;
    bool committed_ = false;
};

/// AtomicFile in one call.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// Writes all bytes to `fd`, going on after EINTR and short writes; Error(storage) names `path`.
void write_all(int fd, std::span<const std::byte> bytes, std::string_view path);

/// Makes the folder and its parents; Error(storage).
void make_folders(const std::string& path);

/// A new empty folder under $TMPDIR (or `parent`), removed with its content at destruction.
class TemporaryFolder {
public:
    explicit TemporaryFolder(std::string_view prefix = "requal", const std::string& parent = {});
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// "folder/relative" when `relative` is a relative path without "..", empty parts or NUL, and resolving links
/// does not leave `folder`; Error(input) otherwise. The file itself need not exist.
std::string path_inside(const std::string& folder, std::string_view relative);

}  // namespace requal
