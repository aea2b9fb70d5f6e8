#include "artifact/flatbuffer.h"

#include <algorithm>

#include "base/text.h"

namespace requal::artifact {

namespace {

std::uint64_t read(const ByteSource& source, std::uint64_t at, std::size_t width) {
    const auto value = source.little_endian(at, width);
    if (!value)
        throw MalformedFlat{at, "an offset leaves the file"};
    return *value;
}

}  // namespace

FlatTable::FlatTable(const ByteSource& source, std::uint64_t at) : source_(&source), at_(at) {
    const auto back = static_cast<std::int32_t>(static_cast<std::uint32_t>(read(source, at, 4)));
    const std::int64_t vtable = static_cast<std::int64_t>(at) - back;
    if (vtable < 0)
        throw MalformedFlat{at, "a table's description lies before the file"};
    vtable_ = static_cast<std::uint64_t>(vtable);
    vtable_bytes_ = read(source, vtable_, 2);
    table_bytes_ = read(source, vtable_ + 2, 2);
    if (vtable_bytes_ < 4 || vtable_bytes_ % 2 != 0 || table_bytes_ < 4)
        throw MalformedFlat{vtable_, "a table's description is damaged"};
    if (vtable_bytes_ > source.size() - vtable_ || table_bytes_ > source.size() - at)
        throw MalformedFlat{at, "cut off inside a table"};
}

FlatTable FlatTable::root(const ByteSource& source, std::uint64_t at) {
    return FlatTable(source, at + read(source, at, 4));
}

std::uint64_t FlatTable::place(unsigned field, std::size_t width) const {
    const std::uint64_t entry = 4 + 2 * std::uint64_t{field};
    if (entry + 2 > vtable_bytes_)
        return 0;
    const std::uint64_t offset = read(*source_, vtable_ + entry, 2);
    if (offset == 0)
        return 0;
    if (offset < 4 || offset + width > table_bytes_)
        throw MalformedFlat{vtable_ + entry, "a field lies outside its table"};
    return at_ + offset;
}

std::uint64_t FlatTable::follow(std::uint64_t at) const {
    const std::uint64_t offset = read(*source_, at, 4);
    if (offset < 4 || offset > source_->size() - at)
        throw MalformedFlat{at, "an offset leaves the file"};
    return at + offset;
}

std::uint64_t FlatTable::number(unsigned field, std::size_t width, std::uint64_t absent) const {
    const std::uint64_t at = place(field, width);
    return at == 0 ? absent : read(*source_, at, width);
}

std::string FlatTable::text_of(std::uint64_t at, std::size_t limit) const {
    const std::uint64_t size = read(*source_, at, 4);
    if (size > source_->size() - at - 4)
        throw MalformedFlat{at, "cut off inside a text"};
    const std::string text =
        source_->read(at + 4, static_cast<std::size_t>(std::min<std::uint64_t>(size, limit)));
    return is_utf8(text) ? text : printable(text);
}

std::string FlatTable::text(unsigned field, std::size_t limit) const {
    const std::uint64_t at = place(field, 4);
    return at == 0 ? std::string() : text_of(follow(at), limit);
}

std::optional<FlatTable> FlatTable::table(unsigned field) const {
    const std::uint64_t at = place(field, 4);
    if (at == 0)
        return std::nullopt;
    return FlatTable(*source_, follow(at));
}

FlatVector FlatTable::vector(unsigned field, std::size_t element_bytes) const {
    const std::uint64_t at = place(field, 4);
    if (at == 0)
        return {};
    const std::uint64_t begin = follow(at);
    const std::uint64_t count = read(*source_, begin, 4);
    if (count > (source_->size() - begin - 4) / element_bytes)
        throw MalformedFlat{begin, "cut off inside a vector of " + std::to_string(count)};
    return {begin + 4, count};
}

FlatTable FlatTable::table_at(const FlatVector& vector, std::uint64_t index) const {
    return FlatTable(*source_, follow(vector.begin + 4 * index));
}

std::string FlatTable::text_at(const FlatVector& vector, std::uint64_t index,
                               std::size_t limit) const {
    return text_of(follow(vector.begin + 4 * index), limit);
}

std::uint64_t FlatTable::number_at(const FlatVector& vector, std::uint64_t index,
                                   std::size_t width) const {
    return read(*source_, vector.begin + width * index, width);
}

}  // namespace requal::artifact
