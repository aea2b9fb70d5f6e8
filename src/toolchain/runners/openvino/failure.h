// OpenVINO's exceptions as one clean line.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "base/error.h"

namespace requal::toolchain::openvino {

/// The text without "Exception from FILE:LINE:" and "Check '...' failed at FILE:LINE:" lines.
std::string clean_message(std::string_view text);

/// Friendly name of the node that the text names; "" when it names none.
std::string node_in_message(std::string_view text);

/// Error(`kind`) with the clean text; the node, when one is named, is added to `where`.
[[noreturn]] void throw_clean(const std::exception& exception, ErrorKind kind,
                              const std::string& where);

}  // namespace requal::toolchain::openvino
