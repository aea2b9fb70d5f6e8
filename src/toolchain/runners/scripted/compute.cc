#include "toolchain/runners/scripted/compute.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/half.h"

namespace requal::scripted {

namespace {

/// The sizes before, along and after an axis.
struct Axis {
    std::size_t outer = 1;
    std::size_t length = 1;
    std::size_t inner = 1;
    std::size_t index = 0;
};

Axis axis_of(const Layer& layer, const Shape& shape) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    const std::int64_t index = layer.axis < 0 ? layer.axis + rank : layer.axis;
    if (index < 0 || index >= rank) {
        throw Error(ErrorKind::input, "layer " + layer.name + " has no axis " +
                                          std::to_string(layer.axis) + " on " + text_of(shape));
    }
    Axis axis;
    axis.index = static_cast<std::size_t>(index);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto size = static_cast<std::size_t>(shape[i]);
        (i < axis.index ? axis.outer : i == axis.index ? axis.length : axis.inner) *= size;
    }
    return axis;
}

Value sum(const Layer& layer, const Value& x) {
    const Axis axis = axis_of(layer, x.shape);
    Value y{x.shape, std::vector<float>(axis.outer * axis.inner, 0.0F)};
    y.shape[axis.index] = 1;
    for (std::size_t o = 0; o < axis.outer; ++o) {
        for (std::size_t k = 0; k < axis.length; ++k) {
            for (std::size_t i = 0; i < axis.inner; ++i) {
                y.data[o * axis.inner + i] += x.data[(o * axis.length + k) * axis.inner + i];
            }
        }
    }
    return y;
}

/// Each channel becomes a weighted sum of all: weights are eighths between -3/8 and 3/8, exact in every precision.
Value mix(const Layer& layer, const Value& x) {
    const Axis axis = axis_of(layer, x.shape);
    Value y{x.shape, std::vector<float>(x.data.size(), 0.0F)};
    for (std::size_t o = 0; o < axis.outer; ++o) {
        for (std::size_t c = 0; c < axis.length; ++c) {
            for (std::size_t k = 0; k < axis.length; ++k) {
                const auto hash = c * 31 + k * 17 + static_cast<std::size_t>(layer.seed);
                const float weight = (static_cast<float>(hash % 7) - 3.0F) / 8.0F;
                for (std::size_t i = 0; i < axis.inner; ++i) {
                    y.data[(o * axis.length + c) * axis.inner + i] +=
                        weight * x.data[(o * axis.length + k) * axis.inner + i];
                }
            }
        }
    }
    return y;
}

Value add(const Layer& layer, const Value& left, const Value& right) {
    if (left.shape != right.shape) {
        throw Error(ErrorKind::input, "layer " + layer.name + " adds " + text_of(left.shape) +
                                          " and " + text_of(right.shape));
    }
    Value y = left;
    for (std::size_t i = 0; i < y.data.size(); ++i) {
        y.data[i] += right.data[i];
    }
    return y;
}

}  // namespace

Precision parse_precision(const std::string& word) {
    if (word == "f32") {
        return Precision::f32;
    }
    if (word == "f16") {
        return Precision::f16;
    }
    if (word == "bf16") {
        return Precision::bf16;
    }
    throw Error(ErrorKind::input, "there is no precision " + word, "option precision",
                "use f32, f16 or bf16");
}

std::string_view name_of(Precision precision) {
    return precision == Precision::f32 ? "f32" : precision == Precision::f16 ? "f16" : "bf16";
}

Value value_of(const Tensor& tensor) {
    Value value{tensor.shape(), std::vector<float>(static_cast<std::size_t>(tensor.count()))};
    if (tensor.type() == ElementType::float32) {
        std::copy_n(tensor.values<float>().begin(), value.data.size(), value.data.begin());
        return value;
    }
    for (std::size_t i = 0; i < value.data.size(); ++i) {
        value.data[i] = static_cast<float>(tensor.number_at(i));
    }
    return value;
}

Value compute(const Layer& layer, const std::vector<const Value*>& inputs) {
    const Value& x = *inputs.front();
    if (layer.op == "sum") {
        return sum(layer, x);
    }
    if (layer.op == "mix") {
        return mix(layer, x);
    }
    if (layer.op == "add") {
        return add(layer, x, *inputs.back());
    }
    Value y = x;
    for (float& element : y.data) {
        element =
            layer.op == "relu" ? std::max(element, 0.0F) : layer.factor * element + layer.offset;
    }
    return y;
}

void round_to(Precision precision, Value& value) {
    if (precision == Precision::f32) {
        return;
    }
    for (float& element : value.data) {
        element = precision == Precision::f16 ? half_to_float(float_to_half(element))
                                              : bfloat16_to_float(float_to_bfloat16(element));
    }
}

float sign_of(std::size_t element) {
    return ((element * 2654435761U) >> 7U) % 2 == 0 ? 1.0F : -1.0F;
}

}  // namespace requal::scripted
