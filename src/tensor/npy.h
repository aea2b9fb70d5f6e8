// numpy's files: .npy (format versions 1 to 3) and .npz (zip of .npy, zip64, stored or deflated).
// Source: numpy documentation, "numpy.lib.format: NPY format".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace requal {

/// Reads .npy bytes: every type that ONNX and numpy share, float16, strings ('U' and 'S' become string tensors), bool,
/// complex; big-endian and Fortran order are converted. Pickled objects are refused. numpy has no bfloat16:
/// it is written as two raw bytes, 'V2' (what the Python package ml_dtypes writes too), and a 'V2' array is read as bfloat16
/// (docs/formats/npz.md). Bytes after the array are refused. Error(input) with `source`.
/// Sizes are checked against the bytes present before anything is allocated.
Tensor read_npy(std::span<const std::byte> bytes, std::string_view source);

/// .npy header for a little-endian C-order tensor (version 1.0, padded to 64 bytes). bfloat16 is written as '<V2'.
/// Not for strings, whose type depends on the longest: use write_npy.
std::string npy_header(ElementType type, const Shape& shape);
/// Whole .npy file as bytes.
std::string write_npy(const Tensor& tensor);
Tensor read_npy_file(const std::string& path);
void write_npy_file(const std::string& path, const Tensor& tensor);

/// Reads the members of an .npz lazily: only the directory is read at opening; members one by one, by several threads at
/// once where wanted. Members that do not end in ".npy" are left out. Refused with Error(input): damage (CRC), members that
/// overlap, names given twice, encryption, a member larger than the limit or than deflate can make of its bytes.
class NpzReader {
public:
    explicit NpzReader(const std::string& path,
                       std::uint64_t member_limit_bytes = std::uint64_t{1} << 34);
    ~NpzReader();
    NpzReader(NpzReader&&) noexcept;
    const std::vector<std::string>& names() const;  ///< without ".npy", in file order
    bool has(std::string_view name) const;
    Tensor read(std::string_view name) const;  ///< Error(input) names the arrays present

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Writes an .npz (stored, zip64 where needed) atomically, member by member, so that memory does not grow with it.
/// Bytes depend on content only (no times).
class NpzWriter {
public:
    explicit NpzWriter(const std::string& path);
    ~NpzWriter();
    NpzWriter(const NpzWriter&) = delete;
    NpzWriter& operator=(const NpzWriter&) = delete;
    /// Error(input) for a name given twice or that a zip cannot keep (not UTF-8, NUL, longer than 65,000 bytes).
    void add(std::string_view name, const Tensor& tensor);
    void commit();

private:
    struct State;
    std::unique_ptr<State> state_;
};

NamedTensors read_npz_file(const std::string& path);
void write_npz_file(const std::string& path, const NamedTensors& tensors);

}  // namespace requal
