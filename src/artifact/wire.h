// Protocol Buffers' wire format, walked over hostile bytes: only the headers of fields are read, contents are skipped.
// Format: https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "artifact/byte_source.h"

namespace requal::artifact {

/// Bytes that break the wire format. Caught by the recogniser, never seen outside the room.
struct MalformedWire {
    std::uint64_t offset;
    std::string what;
};

/// One field. `content` is set for length-delimited fields, `value` for the others.
struct WireField {
    std::uint32_t number = 0;
    int type = 0;  ///< 0 varint, 1 fixed64, 2 length-delimited, 5 fixed32
    std::uint64_t value = 0;
    std::uint64_t offset = 0;  ///< where the field's tag stands in the whole source
    std::uint64_t begin = 0;   ///< content in the whole source
    std::uint64_t end = 0;

    /// Throws MalformedWire when the field has another type.
    void require_type(int wanted) const;
};

/// Walks the fields of the message that fills [begin, end) of `source`.
class WireReader {
public:
    WireReader(const ByteSource& source, std::uint64_t begin, std::uint64_t end)
        : source_(source), at_(begin), end_(end) {}
    WireReader(const ByteSource& source, const WireField& field)
        : WireReader(source, field.begin, field.end) {
        field.require_type(2);
    }

    /// The next field, false at the end. Throws MalformedWire.
    bool next(WireField& field);

private:
    std::uint64_t varint();
    const ByteSource& source_;
    std::uint64_t at_;
    std::uint64_t end_;
};

/// Text of a length-delimited field, cut to `limit` bytes; bytes that are not UTF-8 are written as \xNN.
std::string wire_text(const ByteSource& source, const WireField& field, std::size_t limit = 1024);

}  // namespace requal::artifact
