// A runnable argument made real: its file checked, its toolchain chosen, its runner started, its outputs given.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "data/inputs.h"
#include "measure/numerics/parity.h"
#include "toolchain/client.h"

namespace requal::measure {

/// How sides are run, the same for every side of one verb.
struct RunOptions {
    std::int64_t start_timeout_ns = 60'000'000'000;
    std::int64_t answer_timeout_ns = 600'000'000'000;  ///< of load and of each run; < 0: none
    std::uint64_t memory_limit_bytes = 0;              ///< resident memory of the runner, 0: none
    /// Another side runs at the same time: a runner with the option `spinning` gets false unless the runnable says
    /// otherwise, as threads that wait busily take the other side's cores. Outputs do not depend on it; times do.
    bool shares_cores = false;
};

/// A runnable argument about which everything is decided that can be decided without starting a runner.
struct Runnable {
    toolchain::RunnableSpec spec;  ///< spec.toolchain is filled in, unless `saved`
    std::string remote;            ///< "ssh://user@host[:port]", empty: this machine
    bool saved = false;            ///< saved outputs: no runner
    bool toolchain_given = true;   ///< false: chosen by the artefact's bytes
    std::uint64_t size_bytes = 0;  ///< of the artefact; 0 for a folder
};

/// Toolchain that runs an artefact of these first bytes: ONNX model -> "onnxruntime:cpu", OpenVINO blob or IR -> "openvino:cpu";
/// empty when it cannot be told. The name of the file plays no part.
std::string toolchain_for(const std::string& path);

/// Checks that the artefact exists (Error(input)) and chooses the toolchain when none was given (Error(usage) when it
/// cannot be told from the bytes). A `store:` name has been made a path by the caller (cli/stored.h); here it is Error(usage).
Runnable resolve_runnable(toolchain::RunnableSpec spec, std::string remote = {});

/// The same from the text of a command-line argument.
Runnable resolve_runnable(const std::string& argument, std::string remote = {});

/// Digest of a file or, for a folder, of the samples that it holds (data::digest_of_samples()); read in the background, once a
/// process for one path.
std::shared_future<Digest> digest_in_background(const std::string& path);

/// A digest on its way; waits for it at destruction, so that no thread hashes while the process ends.
class DigestInBackground {
public:
    explicit DigestInBackground(const std::string& path) : digest_(digest_in_background(path)) {}
    ~DigestInBackground();
    DigestInBackground(const DigestInBackground&) = delete;
    DigestInBackground& operator=(const DigestInBackground&) = delete;
    Digest get() const { return digest_.get(); }

private:
    std::shared_future<Digest> digest_;
};

/// A side that runs: the runner program and the runnable loaded in it. Not for use by two threads at once.
class RunningSide final : public OutputSource {
public:
    RunningSide(Runnable runnable, std::unique_ptr<toolchain::Runner> runner,
                const RunOptions& options = {});
    ~RunningSide() override;

    NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) override;
    /// {"kind": "runner", "runnable", "toolchain", "version", "artefact": {"path", "digest", "size_bytes", "companions":
    /// [{"name", "digest"}] (external data, the .bin of an IR)}, "on", "facts",
    ///  "load_ms", "peak_resident_bytes"}; a member that is not known is left out.
    Json describe() const override;

    const Runnable& runnable() const { return runnable_; }
    toolchain::Runner& runner() { return *runner_; }
    toolchain::LoadedRunnable& loaded() { return loaded_; }

private:
    Runnable runnable_;
    std::unique_ptr<toolchain::Runner> runner_;
    toolchain::LoadedRunnable loaded_;
    DigestInBackground digest_;
    std::vector<std::pair<std::string, std::unique_ptr<DigestInBackground>>> companions_;
};

/// One runnable on its way: the program can be started early (it loads nothing yet), then the artefact is loaded.
class SideOpener {
public:
    explicit SideOpener(Runnable runnable, RunOptions options = {});
    ~SideOpener();
    SideOpener(SideOpener&&) noexcept;

    const Runnable& runnable() const;
    void start_program();  ///< in the background; errors come out of open()
    void start_opening();  ///< program and loading in the background (--parallel)
    /// The running side; may be called once. Error when the runnable is saved outputs.
    std::unique_ptr<RunningSide> open_running();
    /// The running side, or the saved outputs; may be called once.
    std::unique_ptr<OutputSource> open();

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// OpenSide of a runnable for compare_outputs(): opens when called.
OpenSide open_runnable(Runnable runnable, RunOptions options = {});
OpenSide open_runnable(const toolchain::RunnableSpec& spec, const std::string& remote,
                       const RunOptions& options = {});

/// What a loaded runnable wants, as the `data` room sees it.
std::vector<data::InputPort> ports_of(const toolchain::LoadedRunnable& loaded);

}  // namespace requal::measure
