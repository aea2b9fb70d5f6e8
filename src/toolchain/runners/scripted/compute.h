// The arithmetic of scripted models: float32, one operation after the other, so that results are the same everywhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "toolchain/runners/scripted/script.h"

namespace requal::scripted {

/// A value on its way through the layers.
struct Value {
    Shape shape;
    std::vector<float> data;
};

enum class Precision { f32, f16, bf16 };
Precision parse_precision(const std::string& word);  ///< Error(input)
std::string_view name_of(Precision precision);

Value value_of(const Tensor& tensor);
Value compute(const Layer& layer, const std::vector<const Value*>& inputs);
void round_to(Precision precision, Value& value);
/// +1 or -1, the same for the same element each time.
float sign_of(std::size_t element);

}  // namespace requal::scripted
