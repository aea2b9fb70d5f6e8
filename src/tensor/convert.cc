// Conversion of elements between numeric types.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace requal {
namespace {

struct Half {
    std::uint16_t bits;
};
struct Bfloat16 {
    std::uint16_t bits;
};
struct Boolean {
    std::uint8_t value;
};

/// Calls `use` with a value of the C++ type that holds one element of `type`.
template <typename Use>
void with_numeric(ElementType type, Use use) {
    switch (type) {
    case ElementType::float32:
        return use(float{});
    case ElementType::float64:
        return use(double{});
    case ElementType::float16:
        return use(Half{});
    case ElementType::bfloat16:
        return use(Bfloat16{});
    case ElementType::int8:
        return use(std::int8_t{});
    case ElementType::int16:
        return use(std::int16_t{});
    case ElementType::int32:
        return use(std::int32_t{});
    case ElementType::int64:
        return use(std::int64_t{});
    case ElementType::uint8:
        return use(std::uint8_t{});
    case ElementType::uint16:
        return use(std::uint16_t{});
    case ElementType::uint32:
        return use(std::uint32_t{});
    case ElementType::uint64:
        return use(std::uint64_t{});
    case ElementType::boolean:
        return use(Boolean{});
    case ElementType::string:
    case ElementType::complex64:
    case ElementType::complex128:
        break;
    }
    throw Error(ErrorKind::input,
                "a tensor of type " + std::string(name_of(type)) + " holds no real numbers");
}

/// The element as float, double, int64 or uint64, without loss.
template <typename From>
auto widened(From value) {
    if constexpr (std::is_same_v<From, Half>)
        return half_to_float(value.bits);
    else if constexpr (std::is_same_v<From, Bfloat16>)
        return bfloat16_to_float(value.bits);
    else if constexpr (std::is_same_v<From, Boolean>)
        return static_cast<std::uint64_t>(value.value != 0);
    else if constexpr (std::is_floating_point_v<From>)
        return value;
    else if constexpr (std::is_signed_v<From>)
        return static_cast<std::int64_t>(value);
    else
        return static_cast<std::uint64_t>(value);
}

/// `value` as a float rounded to odd: rounding the result once more to a type with at least two
/// bits fewer gives the same as rounding `value` directly, so that no value is rounded twice.
float odd_float(double value) {
    auto nearest = static_cast<float>(value);
    if (static_cast<double>(nearest) == value || std::isnan(value))
        return nearest;
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
        --bits;
    return std::bit_cast<float>(bits | 1U);
}

template <typename Integer>
double odd_double(Integer value) {
    bool negative = std::is_signed_v<Integer> && value < Integer{0};
    auto magnitude = static_cast<std::uint64_t>(value);
    if (negative)
        magnitude = 0 - magnitude;
    if (magnitude >> 53 != 0) {
        bool rest = (magnitude & 0x7FFU) != 0;
        magnitude = ((magnitude >> 11) | static_cast<std::uint64_t>(rest)) << 11;
    }
    auto result = static_cast<double>(magnitude);
    return negative ? -result : result;
}

template <typename Wide>
float once_rounded_float(Wide value) {
    if constexpr (std::is_same_v<Wide, float>)
        return value;
    else if constexpr (std::is_same_v<Wide, double>)
        return odd_float(value);
    else
        return odd_float(odd_double(value));
}

template <typename To, typename Wide>
To saturated(Wide value) {
    using Limits = std::numeric_limits<To>;
    if constexpr (std::is_floating_point_v<Wide>) {
        if (std::isnan(value))
            return To{0};
        double rounded = std::nearbyint(static_cast<double>(value));
        // The upper bound as a double is max + 1 for 64-bit types: at or above it the value
        // saturates.
        if (rounded >= static_cast<double>(Limits::max()))
            return Limits::max();
        if (rounded <= static_cast<double>(Limits::min()))
            return Limits::min();
        return static_cast<To>(rounded);
    } else {
        if constexpr (std::is_signed_v<Wide>) {
            if constexpr (std::is_signed_v<To>) {
                if (value < static_cast<std::int64_t>(Limits::min()))
                    return Limits::min();
                if (value > static_cast<std::int64_t>(Limits::max()))
                    return Limits::max();
            } else {
                if (value < 0)
                    return To{0};
                if (static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(Limits::max()))
                    return Limits::max();
            }
        } else {
            if (value > static_cast<std::uint64_t>(Limits::max()))
                return Limits::max();
        }
        return static_cast<To>(value);
    }
}

template <typename To, typename Wide>
To narrowed(Wide value) {
    if constexpr (std::is_same_v<To, Half>)
        return Half{float_to_half(once_rounded_float(value))};
    else if constexpr (std::is_same_v<To, Bfloat16>)
        return Bfloat16{float_to_bfloat16(once_rounded_float(value))};
    else if constexpr (std::is_same_v<To, Boolean>)
        return Boolean{static_cast<std::uint8_t>(value != Wide{0})};
    else if constexpr (std::is_floating_point_v<To>)
        return static_cast<To>(value);
    else
        return saturated<To>(value);
}

template <typename From, typename To>
void convert(std::span<const From> source, std::span<To> target) {
    for (std::size_t i = 0; i < source.size(); ++i)
        target[i] = narrowed<To>(widened(source[i]));
}

}  // namespace

double Tensor::number_at(std::uint64_t index) const {
    if (index >= count_)
        throw Error(ErrorKind::internal, "element " + std::to_string(index) + " of a tensor of " +
                                             std::to_string(count_));
    double result = 0;
    with_numeric(type_, [&](auto kind) {
        result = static_cast<double>(widened(values<decltype(kind)>()[index]));
    });
    return result;
}

void Tensor::copy_numbers(std::span<double> target) const {
    if (target.size() != count_)
        throw Error(ErrorKind::internal, "copy_numbers: target has another size than the tensor");
    with_numeric(type_, [&](auto kind) { convert(values<decltype(kind)>(), target); });
}

Tensor Tensor::converted(ElementType type) const {
    if (type == type_)
        return *this;
    auto complex = [](ElementType each) {
        return each == ElementType::complex64 || each == ElementType::complex128;
    };
    // The result may pass the limit of the ordinary constructor only when the source did.
    Tensor result(type, shape_, std::uint64_t{1} << 62);
    if (complex(type_) && complex(type)) {
        if (type == ElementType::complex128)
            convert(values<float>(), result.mutable_values<double>());
        else
            convert(values<double>(), result.mutable_values<float>());
        return result;
    }
    with_numeric(type_, [&](auto from) {
        with_numeric(type, [&](auto to) {
            convert(values<decltype(from)>(), result.mutable_values<decltype(to)>());
        });
    });
    return result;
}

}  // namespace requal
