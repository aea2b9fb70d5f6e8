#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tensor/npy.h"

namespace requal {
namespace {

std::string data(const std::string& name) {
    return REQUAL_SOURCE_DIR "/tests/tensor/data/" + name;
}

std::span<const std::byte> as_bytes(const std::string& text) {
    return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

std::string refusal(const std::string& file) {
    try {
        read_npy(as_bytes(file), "x.npy");
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_EQ(error.where(), "x.npy");
        return error.what();
    }
    ADD_FAILURE() << "was read";
    return {};
}

/// An npy file with this header text; `size` zero bytes follow.
std::string made(const std::string& header, std::size_t size, int version = 1) {
    std::string file("\x93NUMPY");
    file += static_cast<char>(version);
    file += '\0';
    for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
        file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
    return file + header + std::string(size, '\0');
}

TEST(Npy, SameValuesInEveryLayout) {
    Tensor plain = read_npy_file(data("f4.npy"));
    ASSERT_EQ(plain.shape(), (Shape{2, 3, 4}));
    ASSERT_EQ(plain.type(), ElementType::float32);
    for (std::size_t i = 0; i < 24; ++i)
        ASSERT_EQ(plain.values<float>()[i], static_cast<float>(i));
    for (const char* name : {"f4_big.npy", "f4_fortran.npy", "version2.npy", "version3.npy"}) {
        Tensor other = read_npy_file(data(name));
        EXPECT_EQ(other.shape(), plain.shape()) << name;
        ASSERT_EQ(other.count(), 24U);
        for (std::size_t i = 0; i < 24; ++i)
            EXPECT_EQ(other.values<float>()[i], static_cast<float>(i)) << name;
        std::string bytes = read_file(data(name));
        EXPECT_EQ(read_npy(as_bytes(bytes), name).values<float>()[23], 23) << name;
    }
    Tensor shorts = read_npy_file(data("i2_big_fortran.npy"));
    for (std::size_t i = 0; i < 24; ++i)
        EXPECT_EQ(shorts.values<std::int16_t>()[i], static_cast<int>(i) - 12);
}

TEST(Npy, TypesOfNumpy) {
    Tensor half = read_npy_file(data("f2.npy"));
    EXPECT_EQ(half.type(), ElementType::float16);
    EXPECT_EQ(half.number_at(1), 1.5);
    EXPECT_EQ(half.number_at(2), -65504);
    EXPECT_TRUE(std::isinf(half.number_at(3)));
    Tensor boolean = read_npy_file(data("b1.npy"));
    EXPECT_EQ(boolean.type(), ElementType::boolean);
    EXPECT_EQ(boolean.shape(), (Shape{2, 2}));
    EXPECT_EQ(boolean.number_at(0), 1);
    EXPECT_EQ(boolean.number_at(1), 0);
    Tensor empty = read_npy_file(data("empty.npy"));
    EXPECT_EQ(empty.shape(), (Shape{0, 3}));
    EXPECT_EQ(empty.count(), 0U);
    Tensor scalar = read_npy_file(data("zero_d.npy"));
    EXPECT_EQ(scalar.shape(), Shape{});
    EXPECT_EQ(scalar.number_at(0), 7);
    Tensor complex = read_npy_file(data("c8_big.npy"));
    EXPECT_EQ(complex.type(), ElementType::complex64);
    EXPECT_EQ(complex.values<float>()[2], -3.5F);
    EXPECT_EQ(complex.values<float>()[3], -4.0F);
    Tensor brain = read_npy_file(data("bf16.npy"));
    EXPECT_EQ(brain.type(), ElementType::bfloat16);
    EXPECT_EQ(brain.number_at(1), -2.5);
}

TEST(Npy, Strings) {
    Tensor text = read_npy_file(data("unicode.npy"));
    EXPECT_EQ(text.type(), ElementType::string);
    EXPECT_EQ(text.strings(), (std::vector<std::string>{"", "abc", "Grüße", "日本", "🙂"}));
    EXPECT_EQ(read_npy_file(data("unicode_big.npy")).strings(),
              (std::vector<std::string>{"ab", "é"}));
    Tensor bytes = read_npy_file(data("bytes.npy"));
    EXPECT_EQ(bytes.strings()[0], "ab");
    EXPECT_EQ(bytes.strings()[1], "");
    EXPECT_EQ(bytes.strings()[2], std::string("\xff\0x", 3));
    for (const Tensor& each : {text, bytes}) {
        std::string file = write_npy(each);
        EXPECT_EQ(read_npy(as_bytes(file), "x").strings(), each.strings());
    }
    // A NUL inside a 'U' string stays; one at its end would be lost.
    Tensor inner(ElementType::string, {1});
    inner.strings()[0] = std::string("a\0b", 3);
    EXPECT_EQ(read_npy(as_bytes(write_npy(inner)), "x").strings(), inner.strings());
    inner.strings()[0] = std::string("a\0", 2);
    EXPECT_THROW(write_npy(inner), Error);
}

TEST(Npy, WrittenAndReadAgain) {
    TemporaryFolder folder;
    for (int i = 0; i < 16; ++i) {
        auto type = static_cast<ElementType>(i);
        if (type == ElementType::string)
            continue;
        for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 5}, Shape{0, 4}}) {
            Tensor tensor(type, shape);
            std::size_t at = 0;
            for (std::byte& byte : tensor.mutable_bytes())
                byte = static_cast<std::byte>(type == ElementType::boolean ? at++ & 1 : ++at * 37);
            std::string path = folder.path() + "/x.npy";
            write_npy_file(path, tensor);
            std::string file = read_file(path);
            EXPECT_EQ(file, write_npy(tensor));
            EXPECT_EQ((file.size() - tensor.bytes().size()) % 64, 0U);
            Tensor again = read_npy_file(path);
            EXPECT_EQ(again.type(), type);
            EXPECT_EQ(again.shape(), shape);
            EXPECT_TRUE(std::equal(again.bytes().begin(), again.bytes().end(),
                                   tensor.bytes().begin(), tensor.bytes().end()));
        }
    }
}

TEST(Npy, WhatIsNoTensorIsRefused) {
    for (auto [name, word] :
         {std::pair{"object.npy", "pickled"}, std::pair{"record.npy", "structured"},
          std::pair{"datetime.npy", "no ONNX type"}}) {
        try {
            read_npy_file(data(name));
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
        }
    }
}

TEST(Npy, BrokenHeadersAreRefused) {
    const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
    ASSERT_EQ(read_npy(as_bytes(made(good, 8)), "x").count(), 2U);
    ASSERT_EQ(read_npy(as_bytes(made(good, 8, 2)), "x").count(), 2U);
    EXPECT_NE(refusal("").find("empty"), std::string::npos);
    EXPECT_NE(refusal("PK\x03\x04 no npy").find("does not begin"), std::string::npos);
    EXPECT_NE(refusal("\x93NUMPY").find("truncated"), std::string::npos);
    EXPECT_NE(refusal(made(good, 8, 4)).find("version 4"), std::string::npos);
    EXPECT_NE(refusal(made(good, 7)).find("7 bytes follow"), std::string::npos);
    EXPECT_NE(refusal(made(good, 9)).find("9 bytes follow"), std::string::npos);
    std::string whole = made(good, 8);
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(refusal(whole.substr(0, size)).empty());
    std::string endless("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12);
    EXPECT_NE(refusal(endless + "{").find("2147483647 bytes long"), std::string::npos);
    for (const char* header : {
             "",
             "{",
             "{}",
             "{'descr': '<f4'}",
             "[('descr', '<f4')]",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
             "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
             "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2)}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': [2]}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os'),)}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
             "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
             "{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}",
             "{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}",
             "{'descr': '', 'fortran_order': False, 'shape': (2,)}",
             "{'descr': '<', 'fortran_order': False, 'shape': (2,)}",
             "{'descr': '<f', 'fortran_order': False, 'shape': (2,)}",
             "{'descr': '<U99999999999', 'fortran_order': False, 'shape': (2,)}",
             "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}",
         })
        EXPECT_FALSE(refusal(made(header, 8)).empty()) << header;
}

TEST(Npy, SizesAreCheckedBeforeMemoryIsTaken) {
    refusal(made("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}", 8));
    refusal(made("{'descr': '<f8', 'fortran_order': True, 'shape': (1048576, 1048576)}", 8));
    refusal(made("{'descr': '<c16', 'fortran_order': False, 'shape': (288230376151711744,)}", 0));
    refusal(made("{'descr': '|S0', 'fortran_order': False, 'shape': (1099511627776,)}", 0));
    refusal(made("{'descr': '<U0', 'fortran_order': False, 'shape': (100000,)}", 0));
}

TEST(Npy, ValuesThatTheTypeDoesNotHaveAreRefused) {
    std::string booleans = made("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", 2);
    booleans.back() = '\2';
    EXPECT_NE(refusal(booleans).find("0 and 1"), std::string::npos);
    for (const char* point : {"\x00\xd8\x00\x00", "\x00\x00\x11\x00", "\xff\xff\xff\xff"}) {
        std::string text = made("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", 0);
        EXPECT_NE(refusal(text + std::string(point, 4)).find("Unicode"), std::string::npos);
    }
}

}  // namespace
}  // namespace requal
