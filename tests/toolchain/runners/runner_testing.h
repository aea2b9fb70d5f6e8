// Shared by the tests of the runners: models, inputs, and what an error says.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "tensor/tensor.h"
#include "toolchain/runner.h"
#include "toolchain/runners/support/inputs.h"

namespace requal::toolchain::testing_support {

inline std::string model(const std::string& name) {
    return std::string(RUNNER_MODELS) + "/" + name;
}

inline std::string detector() {
    return std::string(REQUAL_DEPS) + "/models/rapidocr-1.4.4/ch_PP-OCRv4_det_infer.onnx";
}

/// The error that `work` throws; a failure of the test when it throws none.
inline Error error_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no error was thrown";
    return Error(ErrorKind::internal, "none");
}

template <typename T>
Tensor tensor_of(ElementType type, const Shape& shape, const std::vector<T>& values) {
    Tensor tensor(type, shape);
    std::memcpy(tensor.mutable_bytes().data(), values.data(), values.size() * sizeof(T));
    return tensor;
}

inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
    return tensor_of<float>(ElementType::float32, shape, values);
}

inline std::vector<float> values_of(const Tensor& tensor) {
    const auto values = tensor.values<float>();
    return {values.begin(), values.end()};
}

/// A pattern of bytes that is no palindrome and, for bool, holds 0 and 1 only.
inline Tensor patterned(ElementType type, const Shape& shape) {
    Tensor tensor(type, shape);
    if (type == ElementType::string) {
        tensor.strings().resize(element_count(shape));
        for (std::size_t index = 0; index < tensor.strings().size(); ++index)
            tensor.strings()[index] = "text " + std::to_string(index);
        tensor.strings().back() = std::string("a\0b", 3);
        return tensor;
    }
    auto bytes = tensor.mutable_bytes();
    for (std::size_t index = 0; index < bytes.size(); ++index)
        bytes[index] = static_cast<std::byte>(type == ElementType::boolean ? (index % 3 == 0)
                                                                           : 1 + index % 50);
    return tensor;
}

inline bool same_bytes(const Tensor& left, const Tensor& right) {
    return left.bytes().size() == right.bytes().size() && left.strings() == right.strings() &&
           (left.bytes().empty() ||
            std::memcmp(left.bytes().data(), right.bytes().data(), left.bytes().size()) == 0);
}

}  // namespace requal::toolchain::testing_support
