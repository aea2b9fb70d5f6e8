#include "artifact/wire.h"

#include <algorithm>

#include "base/text.h"

namespace requal::artifact {

void WireField::require_type(int wanted) const {
    if (type != wanted)
        throw MalformedWire{offset, "field " + std::to_string(number) + " has wire type " +
                                        std::to_string(type) + ", not " + std::to_string(wanted)};
}

std::uint64_t WireReader::varint() {
    const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(10, end_ - at_));
    const std::string_view bytes = source_.view(at_, most);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        if (i == 9 && byte > 1)
            throw MalformedWire{at_, "a number that passes 64 bits"};
        value |= std::uint64_t{byte & 0x7FU} << (7 * i);
        if (byte < 0x80) {
            at_ += i + 1;
            return value;
        }
    }
    throw MalformedWire{at_, bytes.size() == 10 ? "a number longer than 10 bytes" : "cut off"};
}

bool WireReader::next(WireField& field) {
    if (at_ >= end_)
        return false;
    field.offset = at_;
    const std::uint64_t tag = varint();
    field.type = static_cast<int>(tag & 7);
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF)
        throw MalformedWire{field.offset, "no field number"};
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.value = 0;
    field.begin = field.end = at_;
    std::uint64_t size = 0;
    switch (field.type) {
    case 0:
        field.value = varint();
        break;
    case 1:
        size = 8;
        break;
    case 2:
        size = varint();
        break;
    case 5:
        size = 4;
        break;
    default:
        throw MalformedWire{field.offset, "wire type " + std::to_string(field.type)};
    }
    if (size > end_ - at_)
        throw MalformedWire{field.offset, "cut off: field " + std::to_string(field.number) +
                                              " needs " + std::to_string(size) + " bytes, " +
                                              std::to_string(end_ - at_) + " are left"};
    field.begin = at_;
    field.end = at_ + size;
    if (field.type == 1 || field.type == 5)
        field.value = source_.little_endian(at_, static_cast<std::size_t>(size)).value_or(0);
    at_ = field.end;
    return true;
}

std::string wire_text(const ByteSource& source, const WireField& field, std::size_t limit) {
    field.require_type(2);
    std::string text = source.read(field.begin, static_cast<std::size_t>(std::min<std::uint64_t>(
                                                    limit, field.end - field.begin)));
    // these become keys of documents: two names that differ only in bytes that JSON cannot hold may not become two equal keys
    return is_utf8(text) ? text : printable(text);
}

}  // namespace requal::artifact
