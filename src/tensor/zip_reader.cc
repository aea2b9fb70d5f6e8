#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "tensor/zip.h"

namespace requal {
namespace {

constexpr std::uint64_t directory_limit_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t members_limit = std::uint64_t{1} << 20;
constexpr std::uint64_t deflate_ratio_limit =
    1032;  // what deflate can reach (zlib's technical details)

constexpr std::size_t end_bytes = 22;
constexpr std::size_t end64_locator_bytes = 20;
constexpr std::size_t end64_bytes = 56;
constexpr std::size_t entry_bytes = 46;
constexpr std::size_t local_bytes = 30;

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;)
        value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    return value;
}

/// CRC and inflate in pieces: zlib counts in 32 bits.
constexpr std::size_t piece_bytes = std::size_t{1} << 30;

std::uint32_t crc_of(std::span<const std::byte> bytes) {
    uLong crc = ::crc32(0, nullptr, 0);
    while (!bytes.empty()) {
        std::size_t size = std::min(bytes.size(), piece_bytes);
        crc = ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(size));
        bytes = bytes.subspan(size);
    }
    return static_cast<std::uint32_t>(crc);
}

}  // namespace

ZipReader::ZipReader(const std::string& path, std::uint64_t member_limit_bytes)
    : path_(path), file_bytes_(file_size(path)), member_limit_bytes_(member_limit_bytes) {
    file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_)
        throw_errno(errno, "open", path);
    Directory directory = find_directory();
    read_directory(directory);
    check_overlap(directory);
}

void ZipReader::refuse(const std::string& message, const std::string& next) const {
    throw Error(ErrorKind::input, message, path_, next);
}

void ZipReader::read_at(std::uint64_t offset, std::span<std::byte> target) const {
    while (!target.empty()) {
        ssize_t got =
            ::pread(file_.get(), target.data(), target.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throw_errno(errno, "read", path_);
        if (got == 0)
            refuse("the zip file is truncated", "copy it again");
        target = target.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
}

std::string ZipReader::text_at(std::uint64_t offset, std::uint64_t size_bytes) const {
    std::string text(size_bytes, '\0');
    read_at(offset, {reinterpret_cast<std::byte*>(text.data()), text.size()});
    return text;
}

ZipReader::Directory ZipReader::find_directory() const {
    if (file_bytes_ == 0)
        refuse("the file is empty, no npz archive");
    std::uint64_t tail_bytes = std::min<std::uint64_t>(file_bytes_, end_bytes + 0xFFFF);
    std::string tail = text_at(file_bytes_ - tail_bytes, tail_bytes);
    std::size_t at = std::string::npos;
    for (std::size_t place = tail.size() < end_bytes ? 0 : tail.size() - end_bytes + 1;
         place-- > 0;) {
        if (tail.compare(place, 4, "PK\x05\x06") == 0 &&
            number(tail, place + 20, 2) == tail.size() - place - end_bytes) {
            at = place;
            break;
        }
    }
    if (at == std::string::npos)
        refuse("no npz archive: a zip directory is not found at its end",
               "if it was copied, copy it again; npz files are written by numpy.savez");
    Directory directory{number(tail, at + 16, 4), number(tail, at + 12, 4),
                        number(tail, at + 10, 2)};
    if (number(tail, at + 4, 2) != 0 || number(tail, at + 6, 2) != 0 ||
        number(tail, at + 8, 2) != directory.count)
        refuse("the zip archive is one part of several");
    std::uint64_t end_offset = file_bytes_ - tail_bytes + at;
    bool zip64 = directory.offset == 0xFFFFFFFF || directory.size_bytes == 0xFFFFFFFF ||
                 directory.count == 0xFFFF;
    if (zip64 && end_offset >= end64_locator_bytes + end64_bytes) {
        std::string locator = text_at(end_offset - end64_locator_bytes, end64_locator_bytes);
        if (locator.compare(0, 4, "PK\x06\x07") == 0) {
            std::uint64_t end64_offset = number(locator, 8, 8);
            if (end64_offset > end_offset - end64_locator_bytes - end64_bytes)
                refuse("the zip64 directory lies outside the file");
            std::string end64 = text_at(end64_offset, end64_bytes);
            if (end64.compare(0, 4, "PK\x06\x06") != 0)
                refuse("the zip64 directory is damaged");
            if (number(end64, 16, 4) != 0 || number(end64, 20, 4) != 0 ||
                number(end64, 24, 8) != number(end64, 32, 8))
                refuse("the zip archive is one part of several");
            directory = {number(end64, 48, 8), number(end64, 40, 8), number(end64, 32, 8)};
            end_offset = end64_offset;
        }
    }
    if (directory.size_bytes > end_offset || directory.offset > end_offset - directory.size_bytes)
        refuse("the zip directory lies outside the file", "copy the file again");
    if (directory.size_bytes > directory_limit_bytes || directory.count > members_limit)
        refuse("the zip directory has more than " + std::to_string(members_limit) + " members");
    if (directory.count > directory.size_bytes / entry_bytes)
        refuse("the zip directory is shorter than its " + std::to_string(directory.count) +
               " members");
    return directory;
}

void ZipReader::read_directory(const Directory& directory) {
    std::string text = text_at(directory.offset, directory.size_bytes);
    std::unordered_set<std::string> names;
    members_.reserve(directory.count);
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < directory.count; ++i) {
        if (text.size() - at < entry_bytes || text.compare(at, 4, "PK\x01\x02") != 0)
            refuse("the zip directory is damaged at member " + std::to_string(i + 1));
        std::size_t name_bytes = number(text, at + 28, 2);
        std::size_t extra_bytes = number(text, at + 30, 2);
        std::size_t comment_bytes = number(text, at + 32, 2);
        if (name_bytes + extra_bytes + comment_bytes > text.size() - at - entry_bytes)
            refuse("the zip directory is damaged at member " + std::to_string(i + 1));
        ZipMember member;
        member.name = text.substr(at + entry_bytes, name_bytes);
        member.method = static_cast<std::uint16_t>(number(text, at + 10, 2));
        member.crc = static_cast<std::uint32_t>(number(text, at + 16, 4));
        member.packed_bytes = number(text, at + 20, 4);
        member.size_bytes = number(text, at + 24, 4);
        member.local_offset = number(text, at + 42, 4);
        if ((number(text, at + 8, 2) & 0x2041U) != 0)
            refuse("member '" + member.name + "' is encrypted");
        if (member.name.find('\0') != std::string::npos)
            refuse("member '" + member.name + "' has a NUL in its name");

        std::string_view extra(text.data() + at + entry_bytes + name_bytes, extra_bytes);
        while (extra.size() >= 4) {
            std::size_t size = number(extra, 2, 2);
            if (size > extra.size() - 4)
                break;  // other writers leave odd padding here; what is needed is checked below
            if (number(extra, 0, 2) == 1) {
                std::string_view fields = extra.substr(4, size);
                auto widen = [&](std::uint64_t& value) {
                    if (value != 0xFFFFFFFF)
                        return;
                    if (fields.size() < 8)
                        refuse("member '" + member.name + "' has a damaged zip64 field");
                    value = number(fields, 0, 8);
                    fields.remove_prefix(8);
                };
                widen(member.size_bytes);
                widen(member.packed_bytes);
                widen(member.local_offset);
                break;
            }
            extra.remove_prefix(4 + size);
        }
        check_member(member, directory);
        if (!names.insert(member.name).second)
            refuse("two members are named '" + member.name + "'");
        members_.push_back(std::move(member));
        at += entry_bytes + name_bytes + extra_bytes + comment_bytes;
    }
}

void ZipReader::check_member(const ZipMember& member, const Directory& directory) const {
    std::string quoted = "member '" + member.name + "'";
    if (member.method != 0 && member.method != 8)
        refuse(quoted + " is packed by method " + std::to_string(member.method) +
                   ", neither stored nor deflated",
               "write it with numpy.savez or numpy.savez_compressed");
    if (member.local_offset > directory.offset ||
        directory.offset - member.local_offset < local_bytes + member.name.size() ||
        member.packed_bytes >
            directory.offset - member.local_offset - local_bytes - member.name.size())
        refuse(quoted + " lies outside the file", "copy the file again");
    if (member.method == 0 && member.packed_bytes != member.size_bytes)
        refuse(quoted + " is stored but has two different sizes");
    if (member.size_bytes > member_limit_bytes_)
        refuse(quoted + " says it has " + std::to_string(member.size_bytes) +
                   " bytes, more than the limit of " + std::to_string(member_limit_bytes_),
               "split the array");
    if (member.method == 8 && member.size_bytes / deflate_ratio_limit > member.packed_bytes)
        refuse(quoted + " says it has " + std::to_string(member.size_bytes) + " bytes in " +
               std::to_string(member.packed_bytes) + " deflated ones, which is impossible");
}

void ZipReader::check_overlap(const Directory& directory) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  // begin, least possible end
    ranges.reserve(members_.size());
    for (const ZipMember& member : members_)
        ranges.emplace_back(member.local_offset, member.local_offset + local_bytes +
                                                     member.name.size() + member.packed_bytes);
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        std::uint64_t next = i + 1 < ranges.size() ? ranges[i + 1].first : directory.offset;
        if (ranges[i].second > next)
            refuse("members of the zip archive overlap, as in archives made to fill memory");
    }
}

RawBuffer ZipReader::read(const ZipMember& member) const {
    std::string quoted = "member '" + member.name + "'";
    std::string local = text_at(member.local_offset, local_bytes);
    if (local.compare(0, 4, "PK\x03\x04") != 0)
        refuse(quoted + " is damaged: its own header is not where the directory says");
    std::uint64_t name_bytes = number(local, 26, 2);
    std::uint64_t extra_bytes = number(local, 28, 2);
    if (number(local, 8, 2) != member.method || name_bytes != member.name.size() ||
        text_at(member.local_offset + local_bytes, name_bytes) != member.name)
        refuse(quoted + " has another name or method in its own header than in the directory");
    std::uint64_t offset = member.local_offset + local_bytes + name_bytes + extra_bytes;
    if (offset > file_bytes_ || member.packed_bytes > file_bytes_ - offset)
        refuse(quoted + " is truncated", "copy the file again");
    RawBuffer buffer = allocate_raw(member.size_bytes);
    if (member.method == 0)
        read_at(offset, buffer.bytes());
    else
        inflate(member, offset, buffer.bytes());
    if (crc_of(buffer.bytes()) != member.crc)
        refuse(quoted + " is damaged: its bytes do not match its CRC", "copy the file again");
    return buffer;
}

void ZipReader::inflate(const ZipMember& member, std::uint64_t offset,
                        std::span<std::byte> target) const {
    std::string quoted = "member '" + member.name + "'";
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        throw Error(ErrorKind::internal, "zlib cannot start");
    struct End {
        z_stream* stream;
        ~End() { ::inflateEnd(stream); }
    } end{&stream};
    std::array<std::byte, 65536> packed;
    std::uint64_t left = member.packed_bytes;
    std::size_t written = 0;
    std::byte beyond{};  // one byte of room past the end shows a member that is longer than it says
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        if (stream.avail_in == 0) {
            if (left == 0)
                refuse(quoted + " is truncated", "copy the file again");
            std::size_t size = std::min<std::uint64_t>(left, packed.size());
            read_at(offset, {packed.data(), size});
            offset += size;
            left -= size;
            stream.next_in = reinterpret_cast<Bytef*>(packed.data());
            stream.avail_in = static_cast<uInt>(size);
        }
        std::size_t room = std::min(target.size() - written, piece_bytes);
        stream.next_out = reinterpret_cast<Bytef*>(room == 0 ? &beyond : target.data() + written);
        stream.avail_out = room == 0 ? 1 : static_cast<uInt>(room);
        uInt before = stream.avail_out;
        status = ::inflate(&stream, Z_NO_FLUSH);
        std::size_t made = before - stream.avail_out;
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            refuse(quoted + " is damaged: it cannot be inflated", "copy the file again");
        if (room == 0 && made != 0)
            refuse(quoted + " is longer than the directory says");
        written += made;
    }
    if (written != target.size() || stream.avail_in != 0 || left != 0)
        refuse(quoted + " has another length than the directory says");
}

}  // namespace requal
