// FlatBuffers read over hostile bytes: every offset is checked before it is followed.
// Format: https://flatbuffers.dev/internals (tables, vtables, vectors, strings; little-endian).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "artifact/byte_source.h"

namespace requal::artifact {

/// An offset or size that leaves the bytes. Caught by the recogniser, never seen outside the room.
struct MalformedFlat {
    std::uint64_t offset;
    std::string what;
};

/// A vector: `count` elements from `begin` on, all inside the source.
struct FlatVector {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
};

/// A table. Offsets only lead forward, so nothing can be followed in a circle. All functions throw MalformedFlat; an absent field
/// gives the default. The source must outlive the table.
class FlatTable {
public:
    /// The root table of a buffer that begins at `at`.
    static FlatTable root(const ByteSource& source, std::uint64_t at = 0);

    bool has(unsigned field) const { return place(field, 1) != 0; }
    std::uint64_t number(unsigned field, std::size_t width, std::uint64_t absent = 0) const;
    /// Cut to `limit` bytes; bytes that are not UTF-8 are written as \xNN.
    std::string text(unsigned field, std::size_t limit = 1024) const;
    std::optional<FlatTable> table(unsigned field) const;
    FlatVector vector(unsigned field, std::size_t element_bytes) const;

    /// Elements of vectors of this buffer; `index` < count.
    FlatTable table_at(const FlatVector& vector, std::uint64_t index) const;
    std::string text_at(const FlatVector& vector, std::uint64_t index,
                        std::size_t limit = 1024) const;
    std::uint64_t number_at(const FlatVector& vector, std::uint64_t index, std::size_t width) const;

private:
    FlatTable(const ByteSource& source, std::uint64_t at);
    std::uint64_t place(unsigned field, std::size_t width) const;  ///< 0: absent
    std::uint64_t follow(std::uint64_t at) const;
    std::string text_of(std::uint64_t at, std::size_t limit) const;
    const ByteSource* source_;
    std::uint64_t at_;
    std::uint64_t vtable_ = 0;
    std::uint64_t vtable_bytes_ = 0;
    std::uint64_t table_bytes_ = 0;
};

}  // namespace requal::artifact
