// Dense tensors in row-major order, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/type.h"

namespace requal {

using Shape = std::vector<std::int64_t>;

/// "1x3x320x320"; "scalar" for no dimensions. Negative dimensions are written "?".
std::string text_of(const Shape& shape);
/// Reads "1x3x320x320"; Error(input).
Shape parse_shape(std::string_view text);
/// Number of elements; Error(input) when a dimension is negative or the product times 16 passes 2^62.
std::uint64_t element_count(const Shape& shape);

/// A tensor that owns its elements (or shares them: copies are cheap and share the bytes). Contiguous, row-major, little-endian.
/// String tensors keep `strings` instead of bytes.
class Tensor {
public:
    Tensor() = default;
    /// Zero-filled. Error(input) when size in bytes passes `limit_bytes` (sizes are checked before allocation).
    Tensor(ElementType type, Shape shape, std::uint64_t limit_bytes = std::uint64_t{1} << 36);
    /// Over bytes that `owner` keeps alive (mapped file, shared memory); they are read-only for the user of the tensor.
    Tensor(ElementType type, Shape shape, std::span<const std::byte> bytes,
           std::shared_ptr<const void> owner);

    ElementType type() const { return type_; }
    const Shape& shape() const { return shape_; }
    std::uint64_t count() const { return count_; }
    std::span<const std::byte> bytes() const { return bytes_; }
    std::span<std::byte>
    mutable_bytes();  ///< makes the bytes its own first when they are shared or borrowed

    template <typename T>
    std::span<const T> values() const {
        return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
    }
    template <typename T>
    std::span<T> mutable_values() {
        auto raw = mutable_bytes();
        return {reinterpret_cast<T*>(raw.data()), raw.size() / sizeof(T)};
    }
    std::vector<std::string>& strings() { return strings_; }
    const std::vector<std::string>& strings() const { return strings_; }

    /// Element `index` as double (bool 0/1; integers past 2^53 lose bits); Error(input) for string and complex.
    double number_at(std::uint64_t index) const;
    /// All elements converted to float64 into `target` (size count()).
    void copy_numbers(std::span<double> target) const;
    /// A tensor of another numeric type with converted values (saturating for integers, round to nearest even).
    Tensor converted(ElementType type) const;

private:
    ElementType type_ = ElementType::float32;
    Shape shape_;
    std::uint64_t count_ = 0;
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> owner_;
    bool writable_ = false;
    std::vector<std::string> strings_;
};

/// Tensors by name, in a fixed order.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
const Tensor* find_tensor(const NamedTensors& tensors, std::string_view name);

}  // namespace requal
