// Half-precision conversion: IEEE binary16 and bfloat16, round to nearest even, NaN kept NaN.
#pragma once

#include <cstdint>

namespace requal {

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

}  // namespace requal
