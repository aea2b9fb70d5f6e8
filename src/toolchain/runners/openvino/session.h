// A model compiled, or a blob imported, by OpenVINO.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <openvino/runtime/infer_request.hpp>

#include "base/file.h"
#include "toolchain/runner.h"
#include "toolchain/runners/openvino/settings.h"

namespace ov {
class CompiledModel;
class Core;
}  // namespace ov

namespace requal::toolchain::openvino {

/// The process's core, made at first use.
ov::Core& core();

/// "2026.4.1-22026-...": the runtime's full build number.
std::string library_version();

/// Error(missing) when the device is not here.
void require_device(const Settings& settings);

/// Parts of the file names of libraries that decide what the runtime computes.
inline constexpr std::array<std::string_view, 3> library_parts = {"openvino", "libtbb", "OpenCL"};

/// What a compiled model is, and where its memory comes from.
struct Compiled {
    std::shared_ptr<ov::CompiledModel> model;  ///< never null
    std::shared_ptr<MappedFile> file;          ///< of a blob: keeps the bytes alive
    Json head;                                 ///< of a blob: what it says of itself
    bool imported = false;
};

/// Reads an ONNX or IR model, fixes shapes, compiles it. `profiling` collects node times.
Compiled compile(const std::string& path, const Settings& settings, bool profiling = false);
/// Imports a blob; `settings` come from with_recorded().
Compiled import_blob(const std::string& path, std::shared_ptr<MappedFile> file,
                     const Settings& settings, bool profiling = false);

/// {"requested", "executed", "learned_by", "layers"}: the precision of the layers that compute, as the compiled
/// model lists them.
Json precision_of(const ov::CompiledModel& model, const Settings& settings);
/// {"nodes_total", "nodes_on_requested", "providers", "learned_by"}: a device plugin runs all layers or refuses the model.
Json placement_of(const ov::CompiledModel& model, const Settings& settings);
/// Hints, threads, streams: read back from the compiled model.
Json effective_options(const ov::CompiledModel& model, const Settings& settings);

class OpenVinoSession final : public Session {
public:
    OpenVinoSession(std::string path, Compiled compiled, Settings settings);

    std::vector<Port> inputs() const override { return inputs_; }
    std::vector<Port> outputs() const override { return outputs_; }
    NamedTensors run(const NamedTensors& inputs) override;
    void prepare_timing(const NamedTensors& inputs) override;
    void time_once() override;
    Json facts() const override;
    Json profile(const NamedTensors& inputs) override;

private:
    void set_inputs(ov::InferRequest& request, const NamedTensors& inputs);
    NamedTensors outputs_of(ov::InferRequest& request);

    std::string path_;
    Compiled compiled_;
    Settings settings_;
    ov::InferRequest request_;
    std::vector<Port> inputs_, outputs_;
    NamedTensors held_;  ///< inputs of the present run or timing loop
    ov::InferRequest timed_;
    NamedTensors timed_inputs_;
};

}  // namespace requal::toolchain::openvino
