// The header of a .npy file, read and checked; the bytes after it are not looked at here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace requal {

/// How the elements of a .npy file are stored.
struct NpyHeader {
    enum class Kind { number, unicode, bytes };

    Kind kind = Kind::number;
    ElementType type = ElementType::float32;  ///< string for unicode and bytes
    std::uint64_t item_bytes = 0;             ///< of one element in the file
    bool big_endian = false;
    bool fortran_order = false;
    Shape shape;
    std::uint64_t count = 0;        ///< elements
    std::uint64_t data_offset = 0;  ///< where the elements begin
    std::uint64_t data_bytes = 0;   ///< count * item_bytes, checked for overflow
};

/// Reads the header at the start of `bytes` (the whole file or enough of its start). Error(input)
/// with `source`.
NpyHeader read_npy_header(std::span<const std::byte> bytes, std::string_view source);

/// Header text of format version 1.0 with `descr` as it stands in numpy's dtype.str, padded so that
/// data begins at a multiple of 64.
std::string npy_header_text(std::string_view descr, const Shape& shape);

/// A buffer that is not filled with zeros first. Error(input) when there is no memory.
struct RawBuffer {
    std::shared_ptr<std::byte> data;
    std::size_t size = 0;
    std::span<std::byte> bytes() const { return {data.get(), size}; }
};
RawBuffer allocate_raw(std::uint64_t size_bytes);

/// A tensor over a whole .npy file in memory: shares its bytes where order and alignment allow,
/// else copies.
Tensor tensor_over_npy(const RawBuffer& file, std::string_view source);

/// The elements of a string tensor as numpy stores them, with their descr.
struct EncodedStrings {
    std::string descr;
    std::string bytes;
};
EncodedStrings encode_strings(const Tensor& tensor);

}  // namespace requal
