#include "evidence/tar.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/cancel.h"
#include "base/error.h"
#include "base/text.h"
#include "store/batch.h"

namespace requal::evidence {

namespace {

// Fields of a ustar header (POSIX.1-2017, pax, "ustar Interchange Format"): offset and length.
struct Field {
    std::size_t offset;
    std::size_t length;
};
constexpr Field name_field{0, 100}, mode_field{100, 8}, owner_field{108, 8}, group_field{116, 8},
    size_field{124, 12}, time_field{136, 12}, sum_field{148, 8}, type_field{156, 1},
    magic_field{257, 8};

void put(std::string& block, const Field& field, std::string_view text) {
    std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(field.offset));
}

std::string octal(std::uint64_t value, std::size_t digits) {
    std::string text(digits, '0');
    for (std::size_t i = digits; i > 0; --i) {
        text[i - 1] = static_cast<char>('0' + (value & 7));
        value >>= 3;
    }
    return text;
}

std::string_view field_of(std::string_view block, const Field& field) {
    return block.substr(field.offset, field.length);
}

std::string_view text_until_zero(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

/// Digits of an octal number; -1 when there is another character.
std::int64_t read_octal(std::string_view text) {
    std::int64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '7')
            return -1;
        value = value * 8 + (c - '0');
    }
    return value;
}

bool all_zero(std::string_view text) {
    return text.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

std::string tar_header(std::string_view name, std::uint64_t size_bytes) {
    if (name.empty() || name.size() > name_field.length || size_bytes >= tar_most_bytes)
        throw Error(ErrorKind::input,
                    size_bytes >= tar_most_bytes
                        ? "a file of 8 GiB or more does not fit into an evidence package"
                        : "a name of this length does not fit into an evidence package",
                    printable(name), "export it by digest");
    std::string block(tar_block_bytes, '\0');
    put(block, name_field, name);
    put(block, mode_field, "0000644");
    put(block, owner_field, "0000000");
    put(block, group_field, "0000000");
    put(block, size_field, octal(size_bytes, 11));
    put(block, time_field, "00000000000");
    put(block, sum_field, "        ");
    put(block, type_field, "0");
    put(block, magic_field,
        std::string_view("ustar\0"
                         "00",
                         8));
    std::uint64_t sum = 0;
    for (const char c : block)
        sum += static_cast<unsigned char>(c);
    put(block, sum_field, octal(sum, 6) + std::string("\0 ", 2));
    return block;
}

std::uint64_t tar_padding(std::uint64_t size_bytes) {
    return (tar_block_bytes - size_bytes % tar_block_bytes) % tar_block_bytes;
}

void TarWriter::write(std::string_view bytes) {
    write_all(fd_, std::as_bytes(std::span(bytes.data(), bytes.size())), path_);
}

void TarWriter::begin(std::string_view name, std::uint64_t size_bytes) {
    write(tar_header(name, size_bytes));
}

void TarWriter::end(std::uint64_t size_bytes) {
    write(std::string(tar_padding(size_bytes), '\0'));
}

void TarWriter::add(std::string_view name, std::string_view bytes) {
    begin(name, bytes.size());
    write(bytes);
    end(bytes.size());
}

void TarWriter::finish() {
    write(std::string(2 * tar_block_bytes, '\0'));
}

TarReader::TarReader(const std::string& path)
    : path_(path), file_(open_regular_file(path)), size_bytes_(file_size(path)) {
    if (size_bytes_ < 2 * tar_block_bytes || size_bytes_ % tar_block_bytes != 0)
        refuse(
            "no evidence package: a tar file of this form has a multiple of 512 bytes, this has " +
                std::to_string(size_bytes_),
            size_bytes_);
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

void TarReader::refuse(const std::string& what, std::uint64_t offset) const {
    throw Error(ErrorKind::input, what, path_ + ": byte " + std::to_string(offset));
}

void TarReader::read_at(std::uint64_t offset, char* data, std::uint64_t size) const {
    while (size > 0) {
        const ssize_t count = ::pread(file_.get(), data, size, static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw_errno(errno, "read", path_);
        if (count == 0)
            refuse("the file became shorter while it was read", offset);
        data += count;
        offset += static_cast<std::uint64_t>(count);
        size -= static_cast<std::uint64_t>(count);
    }
}

void TarReader::refuse_header(std::string_view block, std::uint64_t offset) const {
    const std::string name = printable(text_until_zero(field_of(block, name_field)));
    if (!field_of(block, magic_field).starts_with("ustar"))
        refuse("no evidence package: no ustar header", offset);
    switch (block[type_field.offset]) {
    case '0':
        break;
    case '1':
    case '2':
        refuse("a link, '" + name + "'; an evidence package holds files only", offset);
    case '5':
        refuse("a folder, '" + name + "'; an evidence package holds files only", offset);
    case 'x':
    case 'g':
    case 'L':
    case 'K':
    case 'S':
        refuse("an extended header in front of '" + name + "', which this form does not have",
               offset);
    default:
        refuse("'" + name + "' is no regular file", offset);
    }
    refuse("the header of '" + name +
               "' is not the one that such a file has: it was changed, or "
               "another program wrote it",
           offset);
}

bool TarReader::next(TarEntry& entry) {
    throw_if_cancelled();
    std::array<char, 2 * tar_block_bytes> blocks{};
    if (size_bytes_ - position_ < tar_block_bytes)
        refuse("the file ends without the two blocks of zero that end it", position_);
    read_at(position_, blocks.data(), tar_block_bytes);
    const std::string_view block(blocks.data(), tar_block_bytes);
    if (all_zero(block)) {
        if (size_bytes_ - position_ != 2 * tar_block_bytes)
            refuse(size_bytes_ - position_ < 2 * tar_block_bytes ? "the last block is missing"
                                                                 : "bytes behind the end",
                   position_);
        read_at(position_, blocks.data(), 2 * tar_block_bytes);
        if (!all_zero(std::string_view(blocks.data(), blocks.size())))
            refuse("the last block is not zero", position_ + tar_block_bytes);
        return false;
    }
    const std::string_view name = text_until_zero(field_of(block, name_field));
    const std::int64_t size =
        read_octal(field_of(block, size_field).substr(0, size_field.length - 1));
    if (name.empty() || size < 0 || tar_header(name, static_cast<std::uint64_t>(size)) != block)
        refuse_header(block, position_);
    current_.name = std::string(name);
    current_.size_bytes = static_cast<std::uint64_t>(size);
    current_.offset = position_ + tar_block_bytes;
    const std::uint64_t left = size_bytes_ - current_.offset;
    const std::uint64_t padding = tar_padding(current_.size_bytes);
    if (left < current_.size_bytes || left - current_.size_bytes < padding)
        refuse("'" + printable(name) + "' says " + std::to_string(size) + " bytes, " +
                   std::to_string(left) + " are left",
               position_);
    const std::uint64_t end = current_.offset + current_.size_bytes;
    read_at(end, blocks.data(), padding);
    if (!all_zero(std::string_view(blocks.data(), padding)))
        refuse("bytes that are not zero behind '" + printable(name) + "'", end);
    position_ = end + padding;
    entry = current_;
    return true;
}

Digest TarReader::digest() {
    // Small files, of which there are many, are not worth a thread.
    constexpr std::uint64_t small = 4 << 20;
    if (current_.size_bytes <= small)
        return digest_of(content(current_, small));
    if (::lseek(file_.get(), static_cast<off_t>(current_.offset), SEEK_SET) < 0)
        throw_errno(errno, "read", path_);
    return store::copy_and_hash(file_.get(), path_, -1, {}, false, current_.size_bytes).digest;
}

std::string TarReader::content(const TarEntry& entry, std::uint64_t limit_bytes) const {
    if (entry.size_bytes > limit_bytes)
        refuse("'" + printable(entry.name) + "' has " + std::to_string(entry.size_bytes) +
                   " bytes, at most " + std::to_string(limit_bytes) + " are read as a document",
               entry.offset);
    std::string bytes(static_cast<std::size_t>(entry.size_bytes), '\0');
    read_at(entry.offset, bytes.data(), entry.size_bytes);
    return bytes;
}

}  // namespace requal::evidence
