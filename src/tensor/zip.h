// The part of the zip format that .npz files use: a directory read lazily, members stored or
// deflated, zip64. Source: PKWARE APPNOTE.TXT 6.3.10.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/file.h"
#include "tensor/npy_header.h"

namespace requal {

/// One member as the central directory describes it.
struct ZipMember {
    std::string name;
    std::uint16_t method = 0;  ///< 0 stored, 8 deflated
    std::uint32_t crc = 0;
    std::uint64_t packed_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t local_offset = 0;
};

/// Reads zip files that nobody vouches for. Refuses what cannot be trusted: members that overlap,
/// names given twice, encryption, several disks, sizes that deflate cannot reach, members larger
/// than the limit. Error(input).
class ZipReader {
public:
    ZipReader(const std::string& path, std::uint64_t member_limit_bytes);
    const std::vector<ZipMember>& members() const { return members_; }
    /// The member's bytes, with its CRC checked. Safe from several threads at once.
    RawBuffer read(const ZipMember& member) const;

private:
    struct Directory {
        std::uint64_t offset = 0;
        std::uint64_t size_bytes = 0;
        std::uint64_t count = 0;
    };

    [[noreturn]] void refuse(const std::string& message, const std::string& next = {}) const;
    void read_at(std::uint64_t offset, std::span<std::byte> target) const;
    std::string text_at(std::uint64_t offset, std::uint64_t size_bytes) const;
    Directory find_directory() const;
    void read_directory(const Directory& directory);
    void check_member(const ZipMember& member, const Directory& directory) const;
    void check_overlap(const Directory& directory) const;
    void inflate(const ZipMember& member, std::uint64_t offset, std::span<std::byte> target) const;

    std::string path_;
    FileDescriptor file_;
    std::uint64_t file_bytes_ = 0;
    std::uint64_t member_limit_bytes_;
    std::vector<ZipMember> members_;
};

/// Writes stored members one after the other; needs no seeking. The date is always 1980-01-01.
class ZipWriter {
public:
    /// Sizes and offsets from `zip64_from` on are written in their zip64 form (the format's own
    /// bound; tests use a smaller one).
    explicit ZipWriter(const std::string& path, std::uint64_t zip64_from = 0xFFFFFFFF);
    /// A member made of two parts. Error(input) for a name given twice, longer than 65000 bytes,
    /// not UTF-8 or with NUL.
    void add(std::string_view name, std::string_view head, std::span<const std::byte> body);
    void commit();

private:
    struct Written {
        ZipMember member;
        std::uint16_t flags = 0;
    };

    void put(std::string_view bytes);

    AtomicFile file_;
    std::string path_;
    std::uint64_t zip64_from_;
    std::uint64_t offset_ = 0;
    std::vector<Written> written_;
    std::unordered_set<std::string> names_;
};

}  // namespace requal
