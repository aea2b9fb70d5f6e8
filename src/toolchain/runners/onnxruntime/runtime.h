// ONNX Runtime behind the runner protocol.
#pragma once

#include <memory>
#include <string>

#include "toolchain/runner.h"

namespace requal::toolchain::ort {

/// One toolchain for each execution provider that the library lists: onnxruntime:cpu, onnxruntime:cuda, ...
class OnnxRuntime final : public Runtime {
public:
    Json capabilities() override;
    std::unique_ptr<Session> load(const std::string& path, const std::string& toolchain,
                                  const Json& options) override;
    /// The optimised model, marked so that load() does not optimise it again.
    Json build(const std::string& model_path, const std::string& output_path,
               const std::string& toolchain, const Json& options) override;
};

}  // namespace requal::toolchain::ort
