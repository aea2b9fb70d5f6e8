// Builds one engine by its toolchain's runner and writes down what it is: the engine manifest.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"
#include "tensor/tensor.h"

namespace requal::build {

/// What is asked for.
struct BuildRequest {
    std::string model_path;   ///< an ONNX file
    std::string toolchain;    ///< "openvino:cpu"
    std::string output_path;  ///< where the engine appears; "OUTPUT.manifest.json" beside it
    std::string remote;       ///< "ssh://user@host[:port]", empty: this machine
    std::map<std::string, Shape> shapes;  ///< input name -> fixed shape, for dynamic axes
    std::string precision =
        "default";  ///< "f32", "f16", "bf16", or "default": the toolchain's own choice
    Json options = Json::object();  ///< options of the runner, as given
    bool overwrite = false;         ///< an engine that is already there is replaced
    std::int64_t timeout_ns = 3'600'000'000'000;
    std::uint64_t memory_limit_bytes = 0;  ///< of the runner, 0: none
};

/// What came out.
struct BuildResult {
    Json manifest;  ///< schema engine-manifest/1, as written
    std::string manifest_path;
    bool precision_as_requested = true;  ///< requested "default", or executed equals requested
    std::string precision_executed;      ///< "f32", "f16", "bf16", "mixed", "unknown"
};

/// Checks the model (graph::Model), builds, writes engine and engine manifest; both appear, or none. Errors: input (the model),
/// missing (the runner or its runtime), toolchain (the build was refused or died), storage.
BuildResult build_engine(const BuildRequest& request);

/// Path of the engine manifest that belongs to an engine.
std::string manifest_path_of(const std::string& engine_path);

/// Reads the engine manifest beside `engine_path`; null when there is none. Error(input) when it is damaged, or when
/// `check_digest` and the engine's bytes are not those it describes.
Json read_engine_manifest(const std::string& engine_path, bool check_digest = true);

}  // namespace requal::build
