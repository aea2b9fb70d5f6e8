#include "tensor/half.h"

#include <bit>

namespace requal {

float half_to_float(std::uint16_t bits) {
    std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    std::uint32_t exponent = (bits >> 10) & 0x1FU;
    std::uint32_t fraction = bits & 0x3FFU;
    if (exponent == 0x1F)  // infinity and NaN; the payload is kept
        return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));
    if (exponent != 0)
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    if (fraction == 0)
        return std::bit_cast<float>(sign);
    // A subnormal half is a normal float: shift the leading one into the hidden place.
    auto shift = static_cast<std::uint32_t>(std::countl_zero(fraction)) - 21;
    return std::bit_cast<float>(sign | ((113 - shift) << 23) |
                                (((fraction << shift) & 0x3FFU) << 13));
}

std::uint16_t float_to_half(float value) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    std::uint32_t sign = (bits >> 16) & 0x8000U;
    std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude >= 0x7F800000U) {
        if (magnitude == 0x7F800000U)
            return static_cast<std::uint16_t>(sign | 0x7C00U);
        std::uint32_t payload = (magnitude >> 13) & 0x3FFU;
        return static_cast<std::uint16_t>(sign | 0x7C00U | (payload == 0 ? 1U : payload));
    }
    if (magnitude >= 0x477FF000U)  // 65520 and above round to infinity
        return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude >= 0x38800000U) {  // normal halves; a carry out of the fraction is right as it is
        std::uint32_t half = (magnitude - 0x38000000U) >> 13;
        std::uint32_t rest = magnitude & 0x1FFFU;
        half += static_cast<std::uint32_t>(rest > 0x1000U || (rest == 0x1000U && (half & 1U) != 0));
        return static_cast<std::uint16_t>(sign | half);
    }
    if (magnitude <= 0x33000000U)  // 2^-25 and below round to zero (2^-25 itself is a tie to even)
        return static_cast<std::uint16_t>(sign);
    std::uint32_t shift = 126 - (magnitude >> 23);  // 14 to 24
    std::uint32_t fraction = (magnitude & 0x7FFFFFU) | 0x800000U;
    std::uint32_t half = fraction >> shift;
    std::uint32_t rest = fraction & ((1U << shift) - 1);
    std::uint32_t tie = 1U << (shift - 1);
    half += static_cast<std::uint32_t>(rest > tie || (rest == tie && (half & 1U) != 0));
    return static_cast<std::uint16_t>(sign | half);
}

float bfloat16_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) {
    auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
        std::uint32_t top = bits >> 16;
        return static_cast<std::uint16_t>((top & 0x7FU) == 0 ? top | 1U : top);
    }
    bits += 0x7FFFU + ((bits >> 16) & 1U);
    return static_cast<std::uint16_t>(bits >> 16);
}

}  // namespace requal
