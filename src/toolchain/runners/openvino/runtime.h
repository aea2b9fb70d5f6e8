// OpenVINO behind the runner protocol.
#pragma once

#include <memory>
#include <string>

#include "toolchain/runner.h"

namespace requal::toolchain::openvino {

/// openvino:cpu, and openvino:gpu where there is an Intel GPU.
class OpenVino final : public Runtime {
public:
    Json capabilities() override;
    /// An ONNX or IR model is compiled, a blob is imported; told apart by their bytes.
    std::unique_ptr<Session> load(const std::string& path, const std::string& toolchain,
                                  const Json& options) override;
    /// A blob, ended by a line that records the settings that it must be imported with.
    Json build(const std::string& model_path, const std::string& output_path,
               const std::string& toolchain, const Json& options) override;
};

}  // namespace requal::toolchain::openvino
