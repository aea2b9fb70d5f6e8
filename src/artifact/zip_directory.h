// The list of a zip archive's members, from its central directory; contents are never extracted.
// Format: PKWARE APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 to 4.3.16.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "artifact/byte_source.h"

namespace requal::artifact {

struct ZipMember {
    std::string name;
    std::uint16_t method = 0;      ///< 0 stored, 8 deflated
    std::uint64_t size_bytes = 0;  ///< uncompressed
    std::uint64_t compressed_bytes = 0;
    std::uint64_t header_offset = 0;  ///< of its local header
};

struct ZipDirectory {
    std::vector<ZipMember> members;  ///< in the directory's order, `limit` at most
    std::uint64_t total = 0;         ///< what the directory says
    std::string problem;             ///< empty: read to its end
};

/// nullopt when the bytes do not begin with a member (or an empty archive's end record). `limit` bounds the members that are kept.
std::optional<ZipDirectory> read_zip_directory(const ByteSource& source,
                                               std::size_t limit = 10'000);

/// The first `count` bytes of a stored (method 0) member; empty when it is compressed or damaged.
std::string read_stored_head(const ByteSource& source, const ZipMember& member, std::size_t count);

}  // namespace requal::artifact
