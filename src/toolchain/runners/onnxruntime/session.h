// A model or an optimised model in an ONNX Runtime session.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "toolchain/runner.h"
#include "toolchain/runners/onnxruntime/settings.h"

namespace requal::toolchain::ort {

/// Parts of the file names of libraries that decide what the runtime computes.
inline constexpr std::array<std::string_view, 4> library_parts = {"onnxruntime", "cudnn", "cublas",
                                                                  "nvinfer"};

/// Creates a session; `options` come from session_options(). Errors are clean and name the file.
Ort::Session create_session(const std::string& path, const Ort::SessionOptions& options);

/// Settings with the symbolic dimensions that `settings.shapes` fixes turned into overrides. Opens the model without
/// optimisation when there are shapes; Error(input) when a shape does not fit or one dimension gets two sizes.
Settings with_dimensions_of_shapes(const std::string& path, Settings settings);

class OrtSession final : public Session {
public:
    /// `optimised_path`: where the runtime writes the optimised model, empty: nowhere. Error(toolchain) when the provider
    /// takes no node: then all would run on the CPU under another name.
    OrtSession(std::string path, Settings settings, const std::string& optimised_path = {});

    std::vector<Port> inputs() const override { return inputs_; }
    std::vector<Port> outputs() const override { return outputs_; }
    NamedTensors run(const NamedTensors& inputs) override;
    void prepare_timing(const NamedTensors& inputs) override;
    void time_once() override;
    Json facts() const override;
    Json profile(const NamedTensors& inputs) override;

    const std::map<std::string, std::uint64_t>& placed_nodes() const { return placed_; }

private:
    struct Prepared;
    void read_ports();
    std::vector<Ort::Value> wrap(const std::vector<const Tensor*>& tensors) const;
    std::vector<Ort::Value> run_values(const std::vector<Ort::Value>& inputs,
                                       std::vector<Ort::Value> outputs);

    std::string path_;
    Settings settings_;
    std::map<std::string, std::uint64_t> placed_;  ///< nodes by provider
    std::string placement_source_;                 ///< "session log", "profile"
    std::size_t threads_started_ = 0;
    Ort::Session session_{nullptr};
    std::vector<Port> inputs_, outputs_;
    std::vector<const char*> input_names_, output_names_;
    std::shared_ptr<Prepared> prepared_;
};

}  // namespace requal::toolchain::ort
