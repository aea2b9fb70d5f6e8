// OpenVINO's files: told apart by their bytes, and the line that ends a blob of ours.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace requal::toolchain::openvino {

enum class FileKind { model, blob };

/// By the first bytes: a blob's head says "ov=VERSION;isa=..."; everything else is left to the model readers.
FileKind kind_of(const std::string& path);

/// What the head of a blob says of itself: {"openvino", "isa"}; members that it does not say are left out.
Json blob_head(std::string_view head);

/// A blob does not hold the precision that it was compiled for: on the CPU an import decides anew. OpenVINO reads a
/// blob by the sizes in its head, so one line may follow, in which we record it: "\nrequal-openvino/1 {...}\n".
std::string settings_line(const Json& settings);
/// The settings at the end of the file; null when there are none. Error(input) when the line is damaged.
Json recorded_settings(std::string_view bytes, const std::string& path);

}  // namespace requal::toolchain::openvino
