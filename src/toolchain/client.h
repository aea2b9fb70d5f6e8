// The client's side of the runner protocol: starts a runner here or behind ssh and drives it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tensor/tensor.h"
#include "toolchain/runner.h"

namespace requal::toolchain {

/// How a runner is started and bounded.
struct RunnerOptions {
    std::string toolchain;  ///< "onnxruntime:cpu"; the part before ':' names the program
    std::string remote;     ///< "ssh://user@host[:port]", empty: this machine
    std::string program;    ///< of the runner, here or over there; empty: it is found
    std::int64_t start_timeout_ns = 60'000'000'000;
    std::int64_t answer_timeout_ns = 600'000'000'000;  ///< for load, run and build; < 0: none
    std::uint64_t memory_limit_bytes =
        0;  ///< resident memory of the runner, 0: none; a remote one watches itself
};

/// Result of a timing loop.
struct TimingSeries {
    std::vector<std::int64_t> durations_ns;  ///< of the counted runs, in order
    std::int64_t first_run_ns = 0;
    std::int64_t load_ns = 0;
    std::uint64_t warmup_runs = 0;
    std::int64_t timer_overhead_ns = 0;  ///< median of back-to-back clock reads inside the runner
};

/// Request for a timing loop: stops at the first of the two bounds that is > 0 after warm-up.
struct TimingRequest {
    std::uint64_t warmup_runs = 10;
    std::uint64_t runs = 100;
    std::int64_t duration_ns = 0;
    std::int64_t pause_ns = 0;  ///< idle time between runs
};

class Runner;

/// A runnable loaded in a runner. Lives no longer than its Runner.
class LoadedRunnable {
public:
    const std::vector<Port>& inputs() const { return inputs_; }
    const std::vector<Port>& outputs() const { return outputs_; }
    const Json& facts() const { return facts_; }
    std::int64_t load_ns() const { return load_ns_; }
    /// Runs once; returned tensors may live in shared memory and stay valid until the next call on this Runner:
    /// copy what must live longer.
    NamedTensors run(const NamedTensors& inputs);
    TimingSeries time(const NamedTensors& inputs, const TimingRequest& request);
    Json profile(const NamedTensors& inputs);
    void unload();

private:
    friend class Runner;
    Runner* runner_ = nullptr;
    std::int64_t handle_ = 0;
    std::vector<Port> inputs_, outputs_;
    Json facts_;
    std::int64_t load_ns_ = 0;
    std::int64_t slowest_run_ns_ = 0;  ///< seen so far, for the deadline of timing loops
};

/// A running runner program. A crash, a hang, a flood, too much memory or another protocol version is Error(toolchain) whose
/// message says which, with the last lines of the runner's stderr; a missing program is Error(missing).
class Runner {
public:
    explicit Runner(const RunnerOptions& options);
    ~Runner();  ///< asks it to stop, then kills it
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    const Json& capabilities() const;
    /// `path` is a file here; a remote runner gets its bytes (and those of its companions, e.g. external data or .bin).
    LoadedRunnable load(const std::string& path, const Json& options = Json::object());
    /// Builds into `output_path` here (fetched when remote). Returns the runner's facts.
    Json build(const std::string& model_path, const std::string& output_path,
               const Json& options = Json::object());
    std::uint64_t peak_resident_bytes() const;  ///< of the runner process; 0 when remote
    std::string stderr_tail();

private:
    friend class LoadedRunnable;
    struct State;
    std::unique_ptr<State> state_;
};

/// Files that `path` needs beside itself, relative to its folder: external data of a model, the .bin of an OpenVINO IR, the
/// context binary of an EP context model. Error(input) when one would lie outside the folder.
std::vector<std::string> companions_of(const std::string& path);

/// Path of the program `requal-runner-NAME`: in $REQUAL_RUNNERS (colon-separated), ../libexec/requal beside this executable, PATH.
std::optional<std::string> find_runner_program(const std::string& name);
/// Names of all runner programs found (each once).
std::vector<std::string> list_runner_programs();

/// A runnable argument: `[store:]ARTEFACT[@TOOLCHAIN[?key=value&…]]`, a YAML file that says the same, or saved outputs.
struct RunnableSpec {
    std::string artefact;  ///< path or name
    bool in_store = false;
    std::string toolchain;  ///< empty: chosen by the artefact's kind
    Json options = Json::object();
    std::string text;  ///< as the user wrote it
};
/// The last '@' that is followed by a toolchain name begins the toolchain; a path that exists as a whole is an artefact.
/// Values are percent-decoded; true, false, integers and decimal numbers become such unless they hold a percent escape.
/// Error(usage), or Error(input) for a YAML file.
RunnableSpec parse_runnable(const std::string& argument);

/// The options alone: "key=value&key=value", typed as in a runnable argument. Error(usage).
Json parse_runnable_options(std::string_view text);

}  // namespace requal::toolchain
