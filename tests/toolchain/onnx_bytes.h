// ONNX files written by hand, field by field, so that these tests need no ONNX library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace requal::toolchain {

inline std::string varint(std::uint64_t value) {
    std::string bytes;
    while (value >= 0x80) {
        bytes.push_back(static_cast<char>(static_cast<unsigned char>((value & 0x7F) | 0x80)));
        value >>= 7;
    }
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(value)));
    return bytes;
}
inline std::string number(unsigned field, std::uint64_t value) {
    return varint(field << 3U) + varint(value);
}
inline std::string text(unsigned field, std::string_view bytes) {
    return varint((field << 3U) | 2U) + varint(bytes.size()) + std::string(bytes);
}

/// A float32 input or output of one axis named "n".
inline std::string value_info(std::string_view name) {
    const std::string shape = text(1, text(2, "n"));
    return text(1, name) + text(2, text(1, number(1, 1) + text(2, shape)));
}

inline std::string external_tensor(std::string_view name, std::string_view location, int count) {
    return number(1, static_cast<std::uint64_t>(count)) + number(2, 1) + text(8, name) +
           text(13, text(1, "location") + text(2, location)) + number(14, 1);
}

inline std::string node(std::string_view op, std::initializer_list<std::string_view> inputs,
                        std::string_view output) {
    std::string bytes;
    for (const std::string_view input : inputs) {
        bytes += text(1, input);
    }
    return bytes + text(2, output) + text(3, op) + text(4, op);
}

inline std::string model_of(std::string_view graph) {
    return number(1, 8) + text(7, graph) + text(8, text(1, "") + number(2, 13));
}

/// y = relu(x), x float32 [n].
inline std::string relu_model() {
    return model_of(text(1, node("Relu", {"x"}, "y")) + text(2, "g") + text(11, value_info("x")) +
                    text(12, value_info("y")));
}

/// y = x + b with four values of b in the file `location`.
inline std::string external_model(std::string_view location) {
    return model_of(text(1, node("Add", {"x", "b"}, "y")) + text(2, "g") +
                    text(5, external_tensor("b", location, 4)) + text(11, value_info("x")) +
                    text(12, value_info("y")));
}

}  // namespace requal::toolchain
