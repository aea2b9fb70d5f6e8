// Inputs of one inference, matched to the ports of a loaded runnable.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"
#include "toolchain/runner.h"

namespace requal::toolchain {

/// The given tensors in the order of `ports`, checked by check_inputs(); a name that is given twice and a tensor whose
/// bytes are not those of its shape are Error(input) too.
std::vector<const Tensor*> match_inputs(const std::vector<Port>& ports, const NamedTensors& inputs);

/// Fixes the dynamic dimensions of the named ports; Error(input) when a name is no port, or rank or a fixed dimension
/// differs. `where` is "option PREFIX+NAME".
void fix_shapes(std::vector<Port>& ports, const std::map<std::string, Shape>& shapes,
                std::string_view prefix);

/// True when no port has a dynamic dimension.
bool all_static(const std::vector<Port>& ports);

/// Zero-filled (empty strings) tensors for ports whose shapes are all static; limited to 1 GiB each.
NamedTensors zero_inputs(const std::vector<Port>& ports);

/// The tensor, on memory of its own when its bytes are not aligned to 64, so that timing does not depend on where a
/// message lay.
Tensor aligned(const Tensor& tensor);

}  // namespace requal::toolchain
