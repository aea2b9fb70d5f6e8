// One form of tar (POSIX ustar, regular files only), in which equal content is equal bytes; everything else is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/file.h"

namespace requal::evidence {

inline constexpr std::uint64_t tar_block_bytes = 512;
/// Sizes of files end below 8 GiB: eleven octal digits.
inline constexpr std::uint64_t tar_most_bytes = std::uint64_t{1} << 33;

/// The only header that a file of this name (1 to 100 bytes) and size has: mode 0644, no owner, time 0.
std::string tar_header(std::string_view name, std::uint64_t size_bytes);
/// Bytes of zero behind a file of this size.
std::uint64_t tar_padding(std::uint64_t size_bytes);

/// Appends to `fd`. The caller writes exactly `size_bytes` of content between begin() and end().
class TarWriter {
public:
    TarWriter(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
    void begin(std::string_view name, std::uint64_t size_bytes);
    void end(std::uint64_t size_bytes);
    void add(std::string_view name, std::string_view bytes);
    void finish();  ///< two blocks of zero

private:
    void write(std::string_view bytes);
    int fd_;
    std::string path_;
};

struct TarEntry {
    std::string name;
    std::uint64_t size_bytes = 0;
    std::uint64_t offset = 0;  ///< of its content in the file
};

/// Reads from the first to the last byte. Every byte beside the files' content must be what TarWriter writes: Error(input) says what
/// is there instead (a link, a folder, another tool's header, bytes behind the end, a file that is cut off).
class TarReader {
public:
    explicit TarReader(const std::string& path);
    /// The next file; false at the end. Content of the one before is skipped when it was not read.
    bool next(TarEntry& entry);
    /// Digest of the content of the entry that next() gave; read once, in blocks, while another thread reads ahead.
    Digest digest();
    /// Content of any entry that next() gave, at most `limit_bytes`. Error(input) when it is larger.
    std::string content(const TarEntry& entry, std::uint64_t limit_bytes) const;
    std::uint64_t size_bytes() const { return size_bytes_; }

private:
    void read_at(std::uint64_t offset, char* data, std::uint64_t size) const;
    [[noreturn]] void refuse(const std::string& what, std::uint64_t offset) const;
    void refuse_header(std::string_view block, std::uint64_t offset) const;

    std::string path_;
    FileDescriptor file_;
    std::uint64_t size_bytes_ = 0;
    std::uint64_t position_ = 0;  ///< of the next header
    TarEntry current_;
};

}  // namespace requal::evidence
