// A tiny model that proves a runtime: what a runner runs before it says that a toolchain works here.
#pragma once

#include <string_view>

#include "tensor/tensor.h"
#include "toolchain/runner.h"

namespace requal::toolchain {

/// ONNX bytes (IR 8, opset 13) of y = relu(x * w + b), x and y float32 [1, 4], w and b inside.
std::string_view proof_model_bytes();
NamedTensors proof_inputs();
/// Error(toolchain) when `outputs` are not exactly what the proof model computes.
void check_proof_outputs(const NamedTensors& outputs);

}  // namespace requal::toolchain
