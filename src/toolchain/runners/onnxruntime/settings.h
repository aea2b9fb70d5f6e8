// Settings of one ONNX Runtime session, read from a runner's options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tensor/tensor.h"
#include "toolchain/runners/onnxruntime/api.h"
#include "toolchain/runners/support/options.h"

namespace requal::toolchain::ort {

/// An execution provider that this runner can name as a toolchain.
struct Provider {
    std::string_view toolchain;  ///< "onnxruntime:cuda"
    std::string_view name;       ///< "CUDAExecutionProvider"
    bool is_cpu() const { return name == "CPUExecutionProvider"; }
};

/// Those that the library lists and this runner knows, CPU first.
std::vector<Provider> listed_providers();
/// Error(missing) when the library does not list the toolchain's provider, Error(input) when no provider is meant.
Provider provider_of(std::string_view toolchain);

/// The options of this runner.
std::span<const OptionSpec> known_options();

/// What a session is created with.
struct Settings {
    Provider provider;
    std::int64_t threads = 0;        ///< 0: the runtime's choice, one for each physical core
    std::int64_t inter_threads = 0;  ///< used in parallel execution only
    std::string optimization = "all";
    bool optimization_given = false;
    bool parallel = false;
    bool memory_arena = true;
    bool memory_pattern = true;
    bool spinning = true;  ///< waiting threads keep their core
    bool deterministic = false;
    std::string precision = "default";  ///< as asked for; the model decides
    bool external_data = false;         ///< a build writes weights into a file beside the engine
    std::map<std::string, std::string> provider_options;
    std::map<std::string, std::string> config;
    std::map<std::string, std::int64_t> dimensions;  ///< symbolic dimension -> value
    std::map<std::string, Shape> shapes;             ///< input -> shape
};

/// Error(input) names the option that is wrong.
Settings read_settings(const Json& options, std::string_view toolchain);

/// Session options for `settings`, its provider registered. Error(missing) when the provider cannot be loaded here.
Ort::SessionOptions session_options(const Settings& settings);

/// Adds {"tf32": "allowed"|"off"} where the device may compute float32 products in TF32, which no list of types shows.
void note_tf32(const Settings& settings, Json& precision);

/// The settings as facts: what the session really got.
Json describe(const Settings& settings);

}  // namespace requal::toolchain::ort
