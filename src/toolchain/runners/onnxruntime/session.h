// A model or an optimised model in an ONNX Runtime session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "toolchain/runner.h"
#include "toolchain/runners/onnxruntime/settings.h"

namespace requal::toolchain::ort {

/// Where a session's model comes from: a file, or bytes (the proof model).
struct ModelSource {
    std::string path;             ///< also names bytes in messages
    std::string_view bytes = {};  ///< when not empty, used instead of the file
};

/// Creates a session; `options` come from session_options(). Errors are clean and name the source.
Ort::Session create_session(const ModelSource& source, const Ort::SessionOptions& options);

/// Settings with the symbolic dimensions that `settings.shapes` fixes turned into overrides. Opens the model without
/// optimisation when there are shapes; Error(input) when a shape does not fit or one dimension gets two sizes.
Settings with_dimensions_of_shapes(const ModelSource& source, Settings settings);

class OrtSession final : public Session {
public:
    /// `optimised_path`: where the runtime writes the optimised model, empty: nowhere.
    OrtSession(ModelSource source, Settings settings, bool cpu_fallback = true,
               const std::string& optimised_path = {});

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

    ModelSource source_;
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
