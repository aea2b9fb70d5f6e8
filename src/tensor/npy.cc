#include "tensor/npy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "tensor/npy_header.h"

namespace requal {
namespace {

constexpr std::uint64_t file_limit_bytes = std::uint64_t{1} << 36;
constexpr std::uint64_t string_count_limit = std::uint64_t{1} << 26;

[[noreturn]] void refuse(std::string message, std::string_view source, std::string next = {}) {
    throw Error(ErrorKind::input, std::move(message), std::string(source), std::move(next));
}

std::string_view descr_of(ElementType type) {
    switch (type) {
    case ElementType::float32:
        return "<f4";
    case ElementType::float64:
        return "<f8";
    case ElementType::float16:
        return "<f2";
    case ElementType::bfloat16:
        return "<V2";
    case ElementType::int8:
        return "|i1";
    case ElementType::int16:
        return "<i2";
    case ElementType::int32:
        return "<i4";
    case ElementType::int64:
        return "<i8";
    case ElementType::uint8:
        return "|u1";
    case ElementType::uint16:
        return "<u2";
    case ElementType::uint32:
        return "<u4";
    case ElementType::uint64:
        return "<u8";
    case ElementType::boolean:
        return "|b1";
    case ElementType::complex64:
        return "<c8";
    case ElementType::complex128:
        return "<c16";
    case ElementType::string:
        break;
    }
    throw Error(ErrorKind::internal, "the npy type of strings depends on their longest");
}

void append_utf8(std::string& text, std::uint32_t point) {
    auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (point < 0x80) {
        add(point);
    } else if (point < 0x800) {
        add(0xC0 | point >> 6);
        add(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        add(0xE0 | point >> 12);
        add(0x80 | (point >> 6 & 0x3F));
        add(0x80 | (point & 0x3F));
    } else {
        add(0xF0 | point >> 18);
        add(0x80 | (point >> 12 & 0x3F));
        add(0x80 | (point >> 6 & 0x3F));
        add(0x80 | (point & 0x3F));
    }
}

/// Code points of well-formed UTF-8.
std::u32string points_of(std::string_view text) {
    std::u32string points;
    for (char each : text) {
        auto byte = static_cast<std::uint8_t>(each);
        if (byte < 0x80)
            points += static_cast<char32_t>(byte);
        else if (byte >= 0xF0)
            points += static_cast<char32_t>(byte & 0x07);
        else if (byte >= 0xE0)
            points += static_cast<char32_t>(byte & 0x0F);
        else if (byte >= 0xC0)
            points += static_cast<char32_t>(byte & 0x1F);
        else
            points.back() = points.back() << 6 | static_cast<char32_t>(byte & 0x3F);
    }
    return points;
}

/// For each element in row-major order, its place in the file.
template <typename Visit>
void visit_elements(const NpyHeader& header, Visit visit) {
    if (!header.fortran_order) {
        for (std::uint64_t i = 0; i < header.count; ++i)
            visit(i, i);
        return;
    }
    const Shape& shape = header.shape;
    std::vector<std::uint64_t> strides(shape.size(), 1);
    for (std::size_t axis = 1; axis < shape.size(); ++axis)
        strides[axis] = strides[axis - 1] * static_cast<std::uint64_t>(shape[axis - 1]);
    std::vector<std::int64_t> index(shape.size(), 0);
    std::uint64_t place = 0;
    for (std::uint64_t i = 0; i < header.count; ++i) {
        visit(i, place);
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            place += strides[axis];
            if (++index[axis] < shape[axis])
                break;
            place -= strides[axis] * static_cast<std::uint64_t>(shape[axis]);
            index[axis] = 0;
        }
    }
}

std::string decode_bytes(const std::byte* item, std::uint64_t size) {
    while (size > 0 && item[size - 1] == std::byte{0})
        --size;
    return {reinterpret_cast<const char*>(item), size};
}

std::string decode_unicode(const std::byte* item, std::uint64_t size, bool big_endian,
                           std::string_view source) {
    std::string text;
    std::uint64_t zeros = 0;  // numpy pads with NUL at the end; one inside is part of the string
    for (std::uint64_t at = 0; at + 4 <= size; at += 4) {
        std::uint32_t point = 0;
        for (std::uint64_t k = 0; k < 4; ++k) {
            auto byte = static_cast<std::uint32_t>(item[at + (big_endian ? k : 3 - k)]);
            point = point << 8 | byte;
        }
        if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
            refuse("a string holds a value that is no Unicode character", source);
        if (point == 0) {
            ++zeros;
            continue;
        }
        text.append(zeros, '\0');
        zeros = 0;
        append_utf8(text, point);
    }
    return text;
}

Tensor read_strings(const NpyHeader& header, std::span<const std::byte> data,
                    std::string_view source) {
    // A string costs memory beside its characters, and one of no characters costs no byte of the
    // file.
    if (header.count > string_count_limit)
        refuse("more than " + std::to_string(string_count_limit) + " strings", source);
    if (header.item_bytes == 0 && header.count > 4096)
        refuse(std::to_string(header.count) + " strings in no bytes", source);
    Tensor tensor(ElementType::string, header.shape);
    visit_elements(header, [&](std::uint64_t index, std::uint64_t place) {
        const std::byte* item = data.data() + place * header.item_bytes;
        tensor.strings()[index] =
            header.kind == NpyHeader::Kind::bytes
                ? decode_bytes(item, header.item_bytes)
                : decode_unicode(item, header.item_bytes, header.big_endian, source);
    });
    return tensor;
}

void check_booleans(std::span<const std::byte> data, std::string_view source) {
    if (std::any_of(data.begin(), data.end(), [](std::byte value) { return value > std::byte{1}; }))
        refuse("a bool array holds a byte other than 0 and 1", source);
}

NpyHeader checked_header(std::span<const std::byte> bytes, std::string_view source) {
    NpyHeader header = read_npy_header(bytes, source);
    std::uint64_t present = bytes.size() - header.data_offset;
    if (present != header.data_bytes) {
        std::string next = present < header.data_bytes ? "the file is truncated; copy it again"
                                                       : "keep one array a file";
        refuse("the header says " + text_of(header.shape) + " elements in " +
                   std::to_string(header.data_bytes) + " bytes, but " + std::to_string(present) +
                   " bytes follow it",
               source, next);
    }
    return header;
}

Tensor reordered(const NpyHeader& header, std::span<const std::byte> data) {
    Tensor tensor(header.type, header.shape);
    std::byte* target = tensor.mutable_bytes().data();
    std::size_t size = header.item_bytes;
    if (!header.fortran_order) {
        if (!data.empty())
            std::memcpy(target, data.data(), data.size());
    } else {
        visit_elements(header, [&](std::uint64_t index, std::uint64_t place) {
            std::memcpy(target + index * size, data.data() + place * size, size);
        });
    }
    if (header.big_endian) {
        bool complex =
            header.type == ElementType::complex64 || header.type == ElementType::complex128;
        std::size_t part = complex ? size / 2 : size;
        for (std::uint64_t at = 0; at < header.data_bytes; at += part)
            std::reverse(target + at, target + at + part);
    }
    return tensor;
}

std::span<const std::byte> as_bytes(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

RawBuffer allocate_raw(std::uint64_t size_bytes) {
    void* memory = std::malloc(size_bytes == 0 ? 1 : size_bytes);
    if (memory == nullptr)
        throw Error(ErrorKind::input,
                    "no memory for an array of " + std::to_string(size_bytes) + " bytes");
    return {{static_cast<std::byte*>(memory), [](std::byte* bytes) { std::free(bytes); }},
            size_bytes};
}

Tensor tensor_over_npy(const RawBuffer& file, std::string_view source) {
    std::span<const std::byte> bytes = file.bytes();
    NpyHeader header = checked_header(bytes, source);
    auto data = bytes.subspan(header.data_offset);
    if (header.kind != NpyHeader::Kind::number)
        return read_strings(header, data, source);
    if (header.type == ElementType::boolean)
        check_booleans(data, source);
    bool swap = header.big_endian && header.item_bytes > 1;
    if (swap || (header.fortran_order && header.shape.size() > 1))
        return reordered(header, data);
    return Tensor(header.type, header.shape, data, file.data);
}

Tensor read_npy(std::span<const std::byte> bytes, std::string_view source) {
    NpyHeader header = checked_header(bytes, source);
    auto data = bytes.subspan(header.data_offset);
    if (header.kind != NpyHeader::Kind::number)
        return read_strings(header, data, source);
    if (header.type == ElementType::boolean)
        check_booleans(data, source);
    return reordered(header, data);
}

EncodedStrings encode_strings(const Tensor& tensor) {
    constexpr std::uint64_t limit_bytes = std::uint64_t{1} << 33;
    const auto& strings = tensor.strings();
    bool unicode = true;
    std::size_t longest = 1;
    for (const std::string& each : strings) {
        if (!each.empty() && each.back() == '\0')
            throw Error(ErrorKind::input,
                        "a string ends in NUL, which numpy's string types cannot keep");
        unicode = unicode && is_utf8(each);
        longest = std::max(longest, each.size());
    }
    if (unicode) {
        longest = 1;
        for (const std::string& each : strings)
            longest = std::max(longest, points_of(each).size());
    }
    std::size_t item_bytes = unicode ? longest * 4 : longest;
    if (!strings.empty() && item_bytes > limit_bytes / strings.size())
        throw Error(ErrorKind::input, "the strings need more than " + std::to_string(limit_bytes) +
                                          " bytes as a numpy array: each takes the longest's size");
    EncodedStrings result;
    result.descr = (unicode ? "<U" : "|S") + std::to_string(longest);
    result.bytes.assign(item_bytes * strings.size(), '\0');
    char* item = result.bytes.data();
    for (const std::string& each : strings) {
        if (unicode) {
            char* place = item;
            for (char32_t point : points_of(each)) {
                for (int k = 0; k < 4; ++k)
                    *place++ = static_cast<char>(point >> (8 * k) & 0xFF);
            }
        } else if (!each.empty()) {
            std::memcpy(item, each.data(), each.size());
        }
        item += item_bytes;
    }
    return result;
}

std::string npy_header(ElementType type, const Shape& shape) {
    return npy_header_text(descr_of(type), shape);
}

std::string write_npy(const Tensor& tensor) {
    if (tensor.type() == ElementType::string) {
        EncodedStrings encoded = encode_strings(tensor);
        return npy_header_text(encoded.descr, tensor.shape()) + encoded.bytes;
    }
    std::string header = npy_header(tensor.type(), tensor.shape());
    auto bytes = tensor.bytes();
    std::string file;
    file.reserve(header.size() + bytes.size());
    file += header;
    file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return file;
}

Tensor read_npy_file(const std::string& path) {
    std::uint64_t size = file_size(path);
    if (size > file_limit_bytes)
        refuse("the file is larger than 64 GiB", path);
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        throw_errno(errno, "open", path);
    RawBuffer buffer = allocate_raw(size);
    std::size_t done = 0;
    while (done < size) {
        ssize_t got = ::read(file.get(), buffer.data.get() + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throw_errno(errno, "read", path);
        if (got == 0)
            refuse("the file became shorter while it was read", path);
        done += static_cast<std::size_t>(got);
    }
    return tensor_over_npy(buffer, path);
}

void write_npy_file(const std::string& path, const Tensor& tensor) {
    AtomicFile file(path);
    if (tensor.type() == ElementType::string) {
        file.write(write_npy(tensor));
    } else {
        file.write(as_bytes(npy_header(tensor.type(), tensor.shape())));
        file.write(tensor.bytes());
    }
    file.commit();
}

}  // namespace requal
