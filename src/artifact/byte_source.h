// Bytes of an artefact, read in ranges: recognising never reads the whole file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace requal::artifact {

/// A readable range of bytes. Cheap to copy; copies share the file and its window of recently read bytes. Not thread-safe.
class ByteSource {
public:
    /// A regular file; a FIFO, folder or device is Error(input), found without waiting.
    static ByteSource open(const std::string& path);
    /// Bytes in memory, which must outlive the source.
    static ByteSource over(std::string_view bytes);

    std::uint64_t size() const { return size_; }

    /// At most `window_bytes` bytes from `offset` on, fewer at the end. Valid until the next call on this source or a copy of
    /// it. Error(storage) when reading fails.
    std::string_view view(std::uint64_t offset, std::size_t count) const;
    static constexpr std::size_t window_bytes = 16384;

    /// A copy of `count` bytes, fewer at the end. The caller bounds `count`: it is allocated.
    std::string read(std::uint64_t offset, std::size_t count) const;

    /// The part from `offset` on, `count` bytes long at most.
    ByteSource part(std::uint64_t offset, std::uint64_t count = UINT64_MAX) const;

    /// Little-endian unsigned integer of `width` bytes (1 to 8); nullopt past the end.
    std::optional<std::uint64_t> little_endian(std::uint64_t offset, std::size_t width) const;

private:
    struct File;
    ByteSource() = default;
    std::shared_ptr<File> file_;  // null: memory_
    std::string_view memory_;
    std::uint64_t start_ = 0;
    std::uint64_t size_ = 0;
};

}  // namespace requal::artifact
