#include "toolchain/runners/support/proof_model.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace requal::toolchain {
namespace {

// The serialized message, field by field; onnx.checker accepts it.
constexpr char bytes[] =
    "\x08\x08"      // ir_version 8
    "\x3a\x91\x01"  // graph
    "\x0a\x0e\x0a\x01x\x0a\x01w\x12\x01m\"\x03Mul"
    "\x0a\x0e\x0a\x01m\x0a\x01\x62\x12\x01\x61\"\x03\x41\x64\x64"
    "\x0a\x0c\x0a\x01\x61\x12\x01y\"\x04Relu"
    "\x12\x01t"
    "\x2a\x19\x08\x04\x10\x01\"\x10\x00\x00\x80\x3f\x00\x00\x80\xbf\x00\x00\x00\x40\x00\x00\x00\x3f"
    "\x42\x01w"
    "\x2a\x19\x08\x04\x10\x01\"\x10\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x80\xbf\x00\x00\x80\x3e"
    "\x42\x01\x62"
    "\x5a\x13\x0a\x01x\x12\x0e\x0a\x0c\x08\x01\x12\x08\x0a\x02\x08\x01\x0a\x02\x08\x04"
    "\x62\x13\x0a\x01y\x12\x0e\x0a\x0c\x08\x01\x12\x08\x0a\x02\x08\x01\x0a\x02\x08\x04"
    "\x42\x04\x0a\x00\x10\x0d";  // opset 13

constexpr std::array<float, 4> input = {1, 2, 3, 4};
constexpr std::array<float, 4> expected = {1, 0, 5, 2.25F};

}  // namespace

std::string_view proof_model_bytes() {
    return {bytes, sizeof bytes - 1};
}

NamedTensors proof_inputs() {
    Tensor tensor(ElementType::float32, {1, 4});
    std::copy(input.begin(), input.end(), tensor.mutable_values<float>().begin());
    NamedTensors result;
    result.emplace_back("x", std::move(tensor));
    return result;
}

void check_proof_outputs(const NamedTensors& outputs) {
    const auto* output = find_tensor(outputs, "y");
    if (!output || output->type() != ElementType::float32 || output->shape() != Shape{1, 4})
        throw Error(ErrorKind::toolchain,
                    "the proof model's output has another name, type or shape");
    const auto values = output->values<float>();
    if (!std::equal(expected.begin(), expected.end(), values.begin(), values.end()))
        throw Error(ErrorKind::toolchain, "the proof model's output is wrong");
}

}  // namespace requal::toolchain
