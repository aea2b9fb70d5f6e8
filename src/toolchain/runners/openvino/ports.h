// Ports and tensors between OpenVINO and Requal.
#pragma once

#include <string>
#include <vector>

#include <openvino/core/node_output.hpp>
#include <openvino/core/type/element_type.hpp>
#include <openvino/runtime/tensor.hpp>

#include "tensor/tensor.h"
#include "toolchain/runner.h"

namespace requal::toolchain::openvino {

ov::element::Type to_openvino(ElementType type, const std::string& where);
ElementType from_openvino(ov::element::Type type, const std::string& where);

/// Names as the model wrote them: a tensor may carry several, of which the one that the graph's input or output node
/// is called after is taken; a port without a name is "input_0", "output_0". Two ports never get one name.
std::vector<Port> ports_of(const std::vector<ov::Output<const ov::Node>>& outputs,
                           std::string_view what);

/// A tensor over the bytes of `tensor`, which must outlive it; strings are copied.
ov::Tensor view_of(const Tensor& tensor, const std::string& where);
/// A copy that owns its elements.
Tensor copy_of(const ov::Tensor& tensor, const std::string& where);

}  // namespace requal::toolchain::openvino
