// What a runner program implements: one runtime behind the protocol's verbs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/tensor.h"

namespace requal::toolchain {

/// One input or output as the runtime sees it; dynamic dimensions are -1.
struct Port {
    std::string name;
    ElementType type = ElementType::float32;
    Shape shape;
};

/// A loaded runnable inside a runner.
class Session {
public:
    virtual ~Session() = default;
    virtual std::vector<Port> inputs() const = 0;
    virtual std::vector<Port> outputs() const = 0;
    /// Runs once. Missing, unknown or ill-typed inputs are Error(input) that names them (serve() has checked the ports
    /// already). Inputs may live in shared memory: they may not be kept beyond the call.
    virtual NamedTensors run(const NamedTensors& inputs) = 0;
    /// Prepares repeated runs on the same inputs without copies or allocation of ours; called before time_once(). The inputs
    /// stay valid until the last time_once().
    virtual void prepare_timing(const NamedTensors& inputs) = 0;
    /// One inference of the prepared inputs, nothing else: this is what the timing loop measures.
    virtual void time_once() = 0;
    /// Facts read back from the runtime: effective options, precision executed, device, threads.
    virtual Json facts() const = 0;
    /// Per-node time and placement where the runtime tells: {"nodes": [{name, op, provider, time_ms}]}; null otherwise.
    virtual Json profile(const NamedTensors& inputs) {
        (void)inputs;
        return Json();
    }
};

/// The runtime behind a runner program.
class Runtime {
public:
    virtual ~Runtime() = default;
    /// {"name": "onnxruntime", "version": "1.30.0", "toolchains": [{"name": "onnxruntime:cpu", "works": bool, "why_not": ..,
    ///   "can": ["build", "run"]}], "libraries": [{path, soname}], "options": {NAME: {type, help, values}}}
    virtual Json capabilities() = 0;
    /// Loads a model or engine for `toolchain` with `options` (unknown ones are refused by name, not ignored).
    virtual std::unique_ptr<Session> load(const std::string& path, const std::string& toolchain,
                                          const Json& options) = 0;
    /// Builds an engine into `output_path`; returns facts: {"files": [...], "precision": {...}, "options_effective": {...}}.
    virtual Json build(const std::string& model_path, const std::string& output_path,
                       const std::string& toolchain, const Json& options) = 0;
};

/// Refuses missing, unknown and ill-typed inputs and shapes that the ports do not allow: Error(input) that names the input. A
/// port without dimensions allows every rank (runtimes do not tell a scalar from an unknown rank). serve() calls it before each
/// run, timing loop and profile.
void check_inputs(const std::vector<Port>& ports, const NamedTensors& inputs);

/// Refuses keys of `options` that are not in `known`: Error(input) that names the option and the nearest known one.
void check_options(const Json& options, const std::vector<std::string>& known);

/// main() of a runner program: speaks the protocol on stdin/stdout until the client stops it. What the runtime prints on
/// stdout is moved to stderr. Exceptions become error answers. Returns the process's exit status.
int serve(Runtime& runtime, int argc, char** argv);

}  // namespace requal::toolchain
