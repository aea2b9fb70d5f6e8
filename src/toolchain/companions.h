// Names of files inside ONNX bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace requal::toolchain {

/// Locations of external data and of EP contexts that are not embedded, sorted, each once, as they are written there (they may
/// be hostile). Bytes that are no ONNX model have none.
std::vector<std::string> external_names(std::string_view onnx_bytes);

}  // namespace requal::toolchain
