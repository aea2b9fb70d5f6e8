// Names of TensorFlow Lite's built-in operators.
#pragma once

#include <cstdint>
#include <string>

namespace requal::artifact {

/// "CONV_2D"; "operator 999" for a number that the schema did not have.
std::string tflite_operator_name(std::uint64_t code);

}  // namespace requal::artifact
