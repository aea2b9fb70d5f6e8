#include "artifact/zip_directory.h"

#include <algorithm>
#include <string_view>

namespace requal::artifact {

namespace {

constexpr std::string_view local_header = "PK\x03\x04";
constexpr std::string_view central_header = "PK\x01\x02";
constexpr std::string_view end_record = "PK\x05\x06";
constexpr std::string_view end64_locator = "PK\x06\x07";
constexpr std::string_view end64_record = "PK\x06\x06";
constexpr std::size_t end_record_bytes = 22;

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

// The end record stands at the end, before a comment of at most 65535 bytes.
std::optional<std::uint64_t> find_end_record(const ByteSource& source) {
    const std::uint64_t tail_bytes =
        std::min<std::uint64_t>(source.size(), end_record_bytes + 65535);
    const std::uint64_t start = source.size() - tail_bytes;
    const std::string tail = source.read(start, static_cast<std::size_t>(tail_bytes));
    for (std::size_t at = tail.size() < end_record_bytes ? 0 : tail.size() - end_record_bytes + 1;
         at-- > 0;) {
        if (std::string_view(tail).substr(at, 4) == end_record &&
            number(tail, at + 20, 2) == tail.size() - at - end_record_bytes)
            return start + at;
    }
    return std::nullopt;
}

// Sizes and offset that do not fit 32 bits stand in the extra field 1, in this order, only those that are all ones.
void read_zip64_extra(std::string_view extra, ZipMember& member) {
    while (extra.size() >= 4) {
        const std::uint64_t id = number(extra, 0, 2);
        const std::size_t size = static_cast<std::size_t>(number(extra, 2, 2));
        extra.remove_prefix(4);
        if (size > extra.size())
            return;
        std::string_view body = extra.substr(0, size);
        extra.remove_prefix(size);
        if (id != 1)
            continue;
        for (std::uint64_t* value :
             {&member.size_bytes, &member.compressed_bytes, &member.header_offset}) {
            if (*value == 0xFFFFFFFF && body.size() >= 8) {
                *value = number(body, 0, 8);
                body.remove_prefix(8);
            }
        }
    }
}

}  // namespace

std::optional<ZipDirectory> read_zip_directory(const ByteSource& source, std::size_t limit) {
    const std::string head = source.read(0, 4);
    if (head != local_header && head != end_record)
        return std::nullopt;
    ZipDirectory directory;
    const auto end = find_end_record(source);
    if (!end) {
        directory.problem = "begins as a zip archive and has no end record: cut off";
        return directory;
    }
    const std::string record = source.read(*end, end_record_bytes);
    directory.total = number(record, 10, 2);
    std::uint64_t at = number(record, 16, 4);
    if (directory.total == 0xFFFF || at == 0xFFFFFFFF) {
        const std::string locator = *end >= 20 ? source.read(*end - 20, 20) : std::string();
        if (locator.size() == 20 && locator.substr(0, 4) == end64_locator) {
            const std::string record64 = source.read(number(locator, 8, 8), 56);
            if (record64.size() < 56 || record64.substr(0, 4) != end64_record) {
                directory.problem = "a zip archive whose zip64 end record is damaged";
                return directory;
            }
            directory.total = number(record64, 32, 8);
            at = number(record64, 48, 8);
        }
    }
    for (std::uint64_t i = 0; i < directory.total; ++i) {
        const std::string entry = source.read(at, 46);
        if (entry.size() < 46 || entry.substr(0, 4) != central_header) {
            directory.problem = "a zip archive whose directory is damaged at member " +
                                std::to_string(i + 1) + " of " + std::to_string(directory.total);
            return directory;
        }
        if (directory.members.size() >= limit)
            return directory;
        ZipMember member;
        member.method = static_cast<std::uint16_t>(number(entry, 10, 2));
        member.compressed_bytes = number(entry, 20, 4);
        member.size_bytes = number(entry, 24, 4);
        member.header_offset = number(entry, 42, 4);
        const auto name_bytes = static_cast<std::size_t>(number(entry, 28, 2));
        const auto extra_bytes = static_cast<std::size_t>(number(entry, 30, 2));
        const auto comment_bytes = static_cast<std::size_t>(number(entry, 32, 2));
        member.name = source.read(at + 46, name_bytes);
        read_zip64_extra(source.read(at + 46 + name_bytes, extra_bytes), member);
        at += 46 + name_bytes + extra_bytes + comment_bytes;
        directory.members.push_back(std::move(member));
    }
    return directory;
}

std::string read_stored_head(const ByteSource& source, const ZipMember& member, std::size_t count) {
    if (member.method != 0)
        return {};
    const std::string header = source.read(member.header_offset, 30);
    if (header.size() < 30 || header.substr(0, 4) != local_header)
        return {};
    const std::uint64_t start =
        member.header_offset + 30 + number(header, 26, 2) + number(header, 28, 2);
    return source.read(start,
                       static_cast<std::size_t>(std::min<std::uint64_t>(count, member.size_bytes)));
}

}  // namespace requal::artifact
