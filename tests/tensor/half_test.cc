#include <bit>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tensor/half.h"
#include "tensor/npy.h"

namespace requal {
namespace {

std::string data(const std::string& name) {
    return REQUAL_SOURCE_DIR "/tests/tensor/data/" + name;
}

/// The value of a half by the definition of IEEE 754, without the code under test. NaN for NaN.
double value_by_definition(unsigned bits, int exponent_bits, int fraction_bits) {
    double sign = bits >> 15 != 0 ? -1.0 : 1.0;
    int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    double fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1));
    int bias = (1 << (exponent_bits - 1)) - 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0)
        return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
    return sign *
           std::ldexp(fraction + std::ldexp(1.0, fraction_bits), exponent - bias - fraction_bits);
}

bool same(double left, double right) {
    return std::isnan(left) ? std::isnan(right)
                            : left == right && std::signbit(left) == std::signbit(right);
}

TEST(Half, EveryValueBothWays) {
    for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
        float value = half_to_float(static_cast<std::uint16_t>(bits));
        ASSERT_TRUE(same(static_cast<double>(value), value_by_definition(bits, 5, 10))) << bits;
        ASSERT_EQ(float_to_half(value), bits);  // NaN with its payload too
    }
}

TEST(Bfloat16, EveryValueBothWays) {
    for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
        float value = bfloat16_to_float(static_cast<std::uint16_t>(bits));
        ASSERT_TRUE(same(static_cast<double>(value), value_by_definition(bits, 8, 7))) << bits;
        ASSERT_EQ(float_to_bfloat16(value), bits);
    }
}

TEST(Half, RoundsAsNumpyDoes) {
    NamedTensors tensors = read_npz_file(data("halves.npz"));
    auto floats = find_tensor(tensors, "floats")->values<float>();
    auto halves = find_tensor(tensors, "float16")->values<std::uint16_t>();
    ASSERT_GT(floats.size(), 4000U);
    for (std::size_t i = 0; i < floats.size(); ++i)
        ASSERT_EQ(float_to_half(floats[i]), halves[i]) << i << " " << floats[i];
}

TEST(Bfloat16, RoundsAsMlDtypesDoes) {
    NamedTensors tensors = read_npz_file(data("halves.npz"));
    auto floats = find_tensor(tensors, "floats")->values<float>();
    const Tensor* bfloats = find_tensor(tensors, "bfloat16");
    ASSERT_EQ(bfloats->type(), ElementType::bfloat16);
    auto values = bfloats->values<std::uint16_t>();
    for (std::size_t i = 0; i < floats.size(); ++i) {
        if (std::isnan(floats[i]))
            ASSERT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(floats[i])))) << i;
        else
            ASSERT_EQ(float_to_bfloat16(floats[i]), values[i]) << i << " " << floats[i];
    }
}

TEST(Half, DoublesAreRoundedOnce) {
    NamedTensors tensors = read_npz_file(data("halves.npz"));
    const Tensor* doubles = find_tensor(tensors, "doubles");
    auto expected = find_tensor(tensors, "doubles_float16")->values<std::uint16_t>();
    Tensor halves = doubles->converted(ElementType::float16);
    ASSERT_GT(expected.size(), 500U);
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(halves.values<std::uint16_t>()[i], expected[i]) << doubles->number_at(i);
}

TEST(Half, NanStaysNan) {
    // A payload that lies wholly in the bits that are cut off.
    auto nan = std::bit_cast<float>(0x7F800001U);
    EXPECT_TRUE(std::isnan(half_to_float(float_to_half(nan))));
    EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(nan))));
    auto negative = std::bit_cast<float>(0xFFFFFFFFU);
    EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(negative))));
    EXPECT_TRUE(std::signbit(bfloat16_to_float(float_to_bfloat16(negative))));
}

}  // namespace
}  // namespace requal
