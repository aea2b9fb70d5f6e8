// Settings of one compiled model, read from a runner's options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "tensor/tensor.h"
#include "toolchain/runners/support/options.h"

namespace requal::toolchain::openvino {

/// The options of this runner.
std::span<const OptionSpec> known_options();

/// What a model is compiled or imported with.
struct Settings {
    std::string toolchain;              ///< "openvino:cpu"
    std::string device;                 ///< "CPU", "GPU"
    std::string precision = "default";  ///< "f32", "f16", "bf16": the inference precision hint
    std::string execution_mode = "accuracy";  ///< "accuracy" keeps the model's own precision
    std::string performance_hint = "latency";
    std::optional<std::int64_t> threads;
    std::optional<std::int64_t> streams;
    std::map<std::string, std::string> config;  ///< properties of the plugin, as given
    std::map<std::string, Shape> shapes;
    bool precision_given = false;
    bool execution_mode_given = false;
};

/// Error(input) names what is wrong.
Settings read_settings(const Json& options, std::string_view toolchain);

/// The part that a blob does not hold and that decides what an import computes: {"precision", "execution_mode", "config"}.
Json import_settings(const Settings& settings);
/// Settings of an import: those recorded in the engine; Error(input) when the given options ask for others.
Settings with_recorded(Settings given, const Json& recorded, const std::string& path);

}  // namespace requal::toolchain::openvino
