#include <zlib.h>

#include "base/error.h"
#include "base/text.h"
#include "tensor/zip.h"

namespace requal {
namespace {

constexpr std::uint16_t date_1980_01_01 = 0x0021;
constexpr std::uint16_t version_plain = 20;
constexpr std::uint16_t version_zip64 = 45;
constexpr std::uint16_t made_by_unix = 3 << 8;
constexpr std::uint16_t flag_utf8 = 0x0800;

void put_number(std::string& text, std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
        text += static_cast<char>(value >> (8 * i) & 0xFF);
}

std::uint32_t crc_of(std::string_view head, std::span<const std::byte> body) {
    uLong crc = ::crc32_z(0, nullptr, 0);
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(head.data()), head.size());
    if (!body.empty())
        crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(body.data()), body.size());
    return static_cast<std::uint32_t>(crc);
}

}  // namespace

ZipWriter::ZipWriter(const std::string& path, std::uint64_t zip64_from)
    : file_(path), path_(path), zip64_from_(zip64_from) {}

void ZipWriter::put(std::string_view bytes) {
    file_.write(bytes);
    offset_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::string_view head, std::span<const std::byte> body) {
    if (name.size() > 65000 || name.find('\0') != std::string_view::npos || !is_utf8(name))
        throw Error(ErrorKind::input,
                    "'" + std::string(name.substr(0, 100)) +
                        "' cannot be the name of an array in an npz file",
                    path_);
    if (!names_.emplace(name).second)
        throw Error(ErrorKind::input, "two arrays are named '" + std::string(name) + "'", path_);
    bool ascii = true;
    for (char each : name)
        ascii = ascii && static_cast<std::uint8_t>(each) < 0x80;

    Written written;
    written.flags = ascii ? 0 : flag_utf8;
    written.member.name = name;
    written.member.crc = crc_of(head, body);
    written.member.size_bytes = written.member.packed_bytes = head.size() + body.size();
    written.member.local_offset = offset_;

    bool zip64 = written.member.size_bytes >= zip64_from_;
    std::string local("PK\x03\x04");
    put_number(local, zip64 ? version_zip64 : version_plain, 2);
    put_number(local, written.flags, 2);
    put_number(local, 0, 2);  // stored
    put_number(local, 0, 2);  // 00:00:00
    put_number(local, date_1980_01_01, 2);
    put_number(local, written.member.crc, 4);
    put_number(local, zip64 ? 0xFFFFFFFF : written.member.size_bytes, 4);
    put_number(local, zip64 ? 0xFFFFFFFF : written.member.size_bytes, 4);
    put_number(local, name.size(), 2);
    put_number(local, zip64 ? 20 : 0, 2);
    local += name;
    if (zip64) {
        put_number(local, 1, 2);
        put_number(local, 16, 2);
        put_number(local, written.member.size_bytes, 8);
        put_number(local, written.member.size_bytes, 8);
    }
    local += head;
    put(local);
    file_.write(body);
    offset_ += body.size();
    written_.push_back(std::move(written));
}

void ZipWriter::commit() {
    std::uint64_t directory_offset = offset_;
    for (const Written& written : written_) {
        const ZipMember& member = written.member;
        std::string extra;
        bool large_size = member.size_bytes >= zip64_from_;
        bool large_offset = member.local_offset >= zip64_from_;
        if (large_size) {
            put_number(extra, member.size_bytes, 8);
            put_number(extra, member.size_bytes, 8);
        }
        if (large_offset)
            put_number(extra, member.local_offset, 8);
        std::string entry("PK\x01\x02");
        std::uint16_t version = extra.empty() ? version_plain : version_zip64;
        put_number(entry, static_cast<std::uint64_t>(made_by_unix | version), 2);
        put_number(entry, version, 2);
        put_number(entry, written.flags, 2);
        put_number(entry, 0, 2);
        put_number(entry, 0, 2);
        put_number(entry, date_1980_01_01, 2);
        put_number(entry, member.crc, 4);
        put_number(entry, large_size ? 0xFFFFFFFF : member.size_bytes, 4);
        put_number(entry, large_size ? 0xFFFFFFFF : member.size_bytes, 4);
        put_number(entry, member.name.size(), 2);
        put_number(entry, extra.empty() ? 0 : extra.size() + 4, 2);
        put_number(entry, 0, 2);                             // comment
        put_number(entry, 0, 2);                             // disk
        put_number(entry, 0, 2);                             // internal attributes
        put_number(entry, std::uint64_t{0100644} << 16, 4);  // a regular file, rw-r--r--
        put_number(entry, large_offset ? 0xFFFFFFFF : member.local_offset, 4);
        entry += member.name;
        if (!extra.empty()) {
            put_number(entry, 1, 2);
            put_number(entry, extra.size(), 2);
            entry += extra;
        }
        put(entry);
    }
    std::uint64_t directory_bytes = offset_ - directory_offset;
    std::uint64_t count = written_.size();
    bool zip64 =
        count >= 0xFFFF || directory_offset >= zip64_from_ || directory_bytes >= zip64_from_;
    std::string end;
    if (zip64) {
        std::uint64_t end64_offset = offset_;
        end += "PK\x06\x06";
        put_number(end, 44, 8);  // of what follows
        put_number(end, made_by_unix | version_zip64, 2);
        put_number(end, version_zip64, 2);
        put_number(end, 0, 4);
        put_number(end, 0, 4);
        put_number(end, count, 8);
        put_number(end, count, 8);
        put_number(end, directory_bytes, 8);
        put_number(end, directory_offset, 8);
        end += "PK\x06\x07";
        put_number(end, 0, 4);
        put_number(end, end64_offset, 8);
        put_number(end, 1, 4);
    }
    end += "PK\x05\x06";
    put_number(end, 0, 2);
    put_number(end, 0, 2);
    put_number(end, zip64 ? 0xFFFF : count, 2);
    put_number(end, zip64 ? 0xFFFF : count, 2);
    put_number(end, zip64 ? 0xFFFFFFFF : directory_bytes, 4);
    put_number(end, zip64 ? 0xFFFFFFFF : directory_offset, 4);
    put_number(end, 0, 2);
    put(end);
    file_.commit();
}

}  // namespace requal
