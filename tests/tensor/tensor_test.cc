#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

namespace requal {
namespace {

template <typename Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}

template <typename T>
Tensor tensor_of(ElementType type, std::vector<T> values) {
    Tensor tensor(type, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.mutable_values<T>().begin());
    return tensor;
}

TEST(ElementType, NamesAndSizes) {
    std::size_t sizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1, 0, 8, 16};
    for (int i = 0; i < 16; ++i) {
        auto type = static_cast<ElementType>(i);
        EXPECT_EQ(parse_element_type(name_of(type)), type);
        EXPECT_EQ(size_of(type), sizes[i]);
    }
    EXPECT_TRUE(is_floating(ElementType::bfloat16));
    EXPECT_FALSE(is_floating(ElementType::complex64));
    EXPECT_TRUE(is_integer(ElementType::uint64));
    EXPECT_FALSE(is_integer(ElementType::boolean));
    EXPECT_NE(message_of([] { parse_element_type("floatt32"); }).find("float32"),
              std::string::npos);
}

TEST(Shape, TextBothWays) {
    EXPECT_EQ(text_of(Shape{1, 3, 320, 320}), "1x3x320x320");
    EXPECT_EQ(text_of(Shape{}), "scalar");
    EXPECT_EQ(text_of(Shape{-1, 3}), "?x3");
    EXPECT_EQ(parse_shape("1x3x320x320"), (Shape{1, 3, 320, 320}));
    EXPECT_EQ(parse_shape("0"), Shape{0});
    EXPECT_EQ(parse_shape("scalar"), Shape{});
}

TEST(Shape, BadTextIsRefused) {
    for (const char* text : {"", "x", "1x", "x1", "1xx2", "-1", "?x3", "1,3", " 1", "1 ", "+1",
                             "1.5", "99999999999999999999", "9999999999x9999999999"})
        EXPECT_FALSE(message_of([&] { parse_shape(text); }).empty()) << text;
}

TEST(Shape, CountsAreChecked) {
    EXPECT_EQ(element_count({}), 1U);
    EXPECT_EQ(element_count({0, std::numeric_limits<std::int64_t>::max()}), 0U);
    EXPECT_EQ(element_count({std::int64_t{1} << 58}), std::uint64_t{1} << 58);
    message_of([] { element_count({(std::int64_t{1} << 58) + 1}); });
    message_of([] { element_count({std::int64_t{1} << 32, std::int64_t{1} << 32}); });
    message_of([] { element_count({2, -1}); });
    message_of([] { element_count({0, -1}); });
}

TEST(Tensor, LimitIsCheckedBeforeAllocation) {
    std::string text = message_of([] { Tensor(ElementType::float32, {1 << 20, 1 << 20}); });
    EXPECT_NE(text.find("1048576x1048576"), std::string::npos) << text;
    message_of([] { Tensor(ElementType::uint8, {101}, 100); });
    EXPECT_EQ(Tensor(ElementType::uint8, {100}, 100).count(), 100U);
}

TEST(Tensor, CopiesShareUntilWritten) {
    Tensor first = tensor_of<float>(ElementType::float32, {1, 2, 3});
    Tensor second = first;
    EXPECT_EQ(first.bytes().data(), second.bytes().data());
    second.mutable_values<float>()[0] = 9;
    EXPECT_EQ(first.values<float>()[0], 1);
    EXPECT_EQ(second.values<float>()[0], 9);
    const std::byte* own = second.bytes().data();
    EXPECT_EQ(second.mutable_bytes().data(), own);
}

TEST(Tensor, BorrowedBytesAreNotWritten) {
    auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4});
    std::weak_ptr<std::vector<float>> watch = memory;
    auto bytes = std::as_bytes(std::span<const float>(*memory));
    Tensor tensor(ElementType::float32, {4}, bytes, memory);
    EXPECT_EQ(tensor.bytes().data(), bytes.data());
    memory.reset();
    EXPECT_FALSE(watch.expired());
    tensor.mutable_values<float>()[1] = 7;
    EXPECT_TRUE(watch.expired());
    EXPECT_EQ(tensor.values<float>()[0], 1);
    EXPECT_EQ(tensor.values<float>()[1], 7);
}

TEST(Tensor, BytesMustFitAndMisalignedOnesAreCopied) {
    auto memory = std::make_shared<std::vector<std::byte>>(9);
    std::span<const std::byte> all(*memory);
    message_of([&] { Tensor(ElementType::float32, {3}, all.first(8), memory); });
    message_of([&] { Tensor(ElementType::float32, {1}, all.first(8), memory); });
    (*memory)[1] = std::byte{5};
    Tensor shifted(ElementType::uint32, {2}, all.subspan(1), memory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(shifted.bytes().data()) % 4, 0U);
    EXPECT_EQ(shifted.values<std::uint32_t>()[0], 5U);
}

TEST(Tensor, NumbersOfEveryType) {
    Tensor source = tensor_of<double>(ElementType::float64, {0, 1, 2, 100});
    for (int i = 0; i < 13; ++i) {
        auto type = static_cast<ElementType>(i);
        Tensor tensor = source.converted(type);
        ASSERT_EQ(tensor.type(), type);
        ASSERT_EQ(tensor.shape(), source.shape());
        double last = type == ElementType::boolean ? 1 : 100;
        EXPECT_EQ(tensor.number_at(3), last) << name_of(type);
        std::vector<double> numbers(4);
        tensor.copy_numbers(numbers);
        EXPECT_EQ(numbers[0], 0);
        EXPECT_EQ(numbers[1], 1);
        EXPECT_EQ(numbers[3], last) << name_of(type);
    }
}

TEST(Tensor, IntegersSaturateAndRoundToEven) {
    Tensor source =
        tensor_of<double>(ElementType::float64, {0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30, NAN,
                                                 INFINITY, -INFINITY, 127.5, -128.5});
    Tensor bytes = source.converted(ElementType::int8);
    std::vector<int> expected{0, 2, 2, 0, -2, 127, -128, 0, 127, -128, 127, -128};
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(bytes.values<std::int8_t>()[i], expected[i]) << i;
    Tensor wide = source.converted(ElementType::int64);
    EXPECT_EQ(wide.values<std::int64_t>()[5], std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(wide.values<std::int64_t>()[6], std::numeric_limits<std::int64_t>::min());
    Tensor unsigned_wide = source.converted(ElementType::uint64);
    EXPECT_EQ(unsigned_wide.values<std::uint64_t>()[5], std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(unsigned_wide.values<std::uint64_t>()[6], 0U);

    Tensor integers = tensor_of<std::int64_t>(ElementType::int64, {-1, 300, std::int64_t{1} << 40});
    EXPECT_EQ(integers.converted(ElementType::uint8).values<std::uint8_t>()[0], 0);
    EXPECT_EQ(integers.converted(ElementType::uint8).values<std::uint8_t>()[1], 255);
    EXPECT_EQ(integers.converted(ElementType::int32).values<std::int32_t>()[2], 2147483647);
    EXPECT_EQ(integers.converted(ElementType::uint64).values<std::uint64_t>()[0], 0U);
    Tensor top = tensor_of<std::uint64_t>(ElementType::uint64, {~std::uint64_t{0}});
    EXPECT_EQ(top.converted(ElementType::int64).values<std::int64_t>()[0],
              std::numeric_limits<std::int64_t>::max());
}

TEST(Tensor, WideIntegersAreRoundedOnce) {
    // Just above the middle of two bfloat16 values: rounding to double first would make it a tie.
    std::int64_t value = (std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1;
    Tensor tensor = tensor_of<std::int64_t>(ElementType::int64, {value, -value, value - 1});
    Tensor rounded = tensor.converted(ElementType::bfloat16);
    double above = std::ldexp(1.0, 60) + std::ldexp(1.0, 53);
    EXPECT_EQ(rounded.number_at(0), above);
    EXPECT_EQ(rounded.number_at(1), -above);
    EXPECT_EQ(rounded.number_at(2), std::ldexp(1.0, 60));
}

TEST(Tensor, ComplexAndStringsHoldNoRealNumbers) {
    Tensor complex = tensor_of<float>(ElementType::float32, {1, 2});
    Tensor pair(ElementType::complex64, {1}, complex.bytes(), nullptr);
    message_of([&] { pair.number_at(0); });
    message_of([&] { pair.converted(ElementType::float32); });
    Tensor wide = pair.converted(ElementType::complex128);
    EXPECT_EQ(wide.values<double>()[1], 2.0);
    Tensor text(ElementType::string, {2});
    text.strings()[1] = "x";
    message_of([&] { text.number_at(0); });
    message_of([&] { text.converted(ElementType::float32); });
    EXPECT_EQ(text.converted(ElementType::string).strings()[1], "x");
}

TEST(Tensor, FoundByName) {
    NamedTensors tensors{{"a", Tensor(ElementType::int8, {1})},
                         {"b", Tensor(ElementType::int8, {2})}};
    ASSERT_NE(find_tensor(tensors, "b"), nullptr);
    EXPECT_EQ(find_tensor(tensors, "b")->count(), 2U);
    EXPECT_EQ(find_tensor(tensors, "c"), nullptr);
}

}  // namespace
}  // namespace requal
