#include "measure/runnable.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/sample_list.h"
#include "graph/model.h"
#include "machine/host.h"

namespace requal::measure {

namespace {

/// Bytes of a file at an offset, as many as there are.
std::string bytes_at(int fd, std::uint64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = ::pread(fd, bytes.data(), size, static_cast<off_t>(offset));
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
}

/// Reads a protobuf varint at `position` and moves behind it; false when there is none.
bool take_varint(const std::string& bytes, std::size_t& position, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && position < bytes.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes[position++]);
        value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
        if ((byte & 0x80U) == 0) {
            return true;
        }
    }
    return false;
}

/// True when the top level of a protobuf message looks like ONNX's ModelProto: known fields of the right wire type up to the
/// graph (field 7). Source: onnx.proto3, message ModelProto.
bool is_onnx_model(int fd, std::uint64_t size) {
    const std::map<std::uint64_t, unsigned> wire_types = {{1, 0},  {2, 2},  {3, 2},  {4, 2},
                                                          {5, 0},  {6, 2},  {7, 2},  {8, 2},
                                                          {14, 2}, {20, 2}, {25, 2}, {26, 2}};
    std::uint64_t offset = 0;
    for (int fields = 0; fields < 4096 && offset < size; ++fields) {
        const std::string head = bytes_at(fd, offset, 20);
        std::size_t position = 0;
        std::uint64_t tag = 0;
        std::uint64_t value = 0;
        if (!take_varint(head, position, tag)) {
            return false;
        }
        const auto known = wire_types.find(tag >> 3U);
        if (known == wire_types.end() || known->second != (tag & 7U) ||
            !take_varint(head, position, value)) {
            return false;
        }
        if (tag >> 3U == 7) {
            return true;
        }
        offset += position + ((tag & 7U) == 2 ? value : 0);
    }
    return false;
}

std::string fixed_toolchain_of(const std::string& head) {
    if (head.starts_with("ftrt")) {
        return "tensorrt";
    }
    if (head.starts_with("vtrt")) {
        return "tensorrt-rtx";
    }
    const bool openvino_ir = head.starts_with("<?xml") && head.find("<net") != std::string::npos;
    // An exported blob names the OpenVINO that wrote it near its beginning.
    const bool openvino_blob = head.find("ov=20") != std::string::npos ||
                               head.find("<net name=") != std::string::npos ||
                               head.find("<compiled_model") != std::string::npos;
    return openvino_ir || openvino_blob ? "openvino:cpu" : "";
}

void require_memory(const Runnable& runnable) {
    const std::uint64_t available = runnable.remote.empty() ? machine::memory_available_bytes() : 0;
    if (available > 0 && runnable.size_bytes > available) {
        throw Error(ErrorKind::missing,
                    "loading needs at least " + readable_bytes(runnable.size_bytes) + " and " +
                        readable_bytes(available) + " of memory are free",
                    runnable.spec.artefact, "free memory, or run this side elsewhere with --on");
    }
}

std::unique_ptr<toolchain::Runner> start(const Runnable& runnable, const RunOptions& options) {
    toolchain::RunnerOptions runner;
    runner.toolchain = runnable.spec.toolchain;
    runner.remote = runnable.remote;
    runner.start_timeout_ns = options.start_timeout_ns;
    runner.answer_timeout_ns = options.answer_timeout_ns;
    runner.memory_limit_bytes = options.memory_limit_bytes;
    return std::make_unique<toolchain::Runner>(runner);
}

std::unique_ptr<RunningSide> start_and_load(const Runnable& runnable, const RunOptions& options) {
    require_memory(runnable);
    return std::make_unique<RunningSide>(runnable, start(runnable, options), options);
}

/// Of a file its bytes; of a folder the samples that it holds, as `data` describes them.
Digest digest_of_path(const std::string& path) {
    if (!folder_exists(path)) {
        return digest_of_file(path);
    }
    std::vector<data::SavedSample> samples = data::list_samples(path, ".npz");
    if (samples.empty()) {
        samples = data::list_samples(path, ".npy");
    }
    return data::digest_of_samples(path, samples);
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

std::string toolchain_for(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        throw_errno(errno, "open", path);
    }
    const std::string fixed = fixed_toolchain_of(bytes_at(file.get(), 0, 4096));
    if (!fixed.empty()) {
        return fixed;
    }
    return is_onnx_model(file.get(), static_cast<std::uint64_t>(status.st_size)) ? "onnxruntime:cpu"
                                                                                 : "";
}

Runnable resolve_runnable(toolchain::RunnableSpec spec, std::string remote) {
    Runnable runnable;
    if (spec.in_store) {
        throw Error(ErrorKind::usage, "there is no store to take '" + spec.artefact + "' from",
                    spec.text, "give a file");
    }
    runnable.saved = spec.toolchain.empty() && is_saved_outputs(spec.artefact);
    if (runnable.saved) {
        if (!remote.empty()) {
            throw Error(ErrorKind::usage, "saved outputs are read here and run nowhere", spec.text,
                        "leave --on out for this side");
        }
    } else {
        runnable.size_bytes = file_size(spec.artefact);
        if (runnable.size_bytes == 0) {
            throw Error(ErrorKind::input, "is empty", spec.artefact,
                        "give a model, an engine or saved outputs");
        }
        if (spec.toolchain.empty()) {
            runnable.toolchain_given = false;
            spec.toolchain = toolchain_for(spec.artefact);
            if (spec.toolchain.empty()) {
                throw Error(ErrorKind::input,
                            "cannot be told from its bytes which toolchain runs it", spec.artefact,
                            "name one: " + spec.artefact + "@onnxruntime:cpu");
            }
        }
    }
    runnable.spec = std::move(spec);
    runnable.remote = std::move(remote);
    return runnable;
}

Runnable resolve_runnable(const std::string& argument, std::string remote) {
    return resolve_runnable(toolchain::parse_runnable(argument), std::move(remote));
}

std::shared_future<Digest> digest_in_background(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        throw_errno(errno, "read", path);
    }
    if (S_ISDIR(status.st_mode)) {
        return std::async(std::launch::async, digest_of_path, path).share();
    }
    // Both sides are often one model: it is read once. A file that changed meanwhile is another key.
    using Key = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;
    static std::mutex mutex;
    static std::map<Key, std::shared_future<Digest>> known;
    const std::lock_guard lock(mutex);
    const Key key{status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                  status.st_mtim.tv_nsec};
    auto found = known.find(key);
    if (found == known.end()) {
        found =
            known.emplace(key, std::async(std::launch::async, digest_of_path, path).share()).first;
    }
    return found->second;
}

namespace {

/// An engine beside whose engine manifest it is not the one described there is not run: a flipped bit loads and computes something.
void require_engine_of_manifest(const std::string& path, const DigestInBackground& digest) {
    const std::string manifest = path + ".manifest.json";
    if (!file_exists(manifest)) {
        return;
    }
    const Json document = parse_json(read_file(manifest), manifest);
    require_schema(document, "engine-manifest", 1, manifest);
    if (parse_digest(document.at("engine").at("digest").as_string()) != digest.get()) {
        throw Error(ErrorKind::input,
                    "it is not the engine that the engine manifest beside it describes", path,
                    "see 'requal guard', and build it again or take it from its source again");
    }
}

bool is_onnx(const std::string& path) {
    return toolchain_for(path) == "onnxruntime:cpu";
}

}  // namespace

RunningSide::RunningSide(Runnable runnable, std::unique_ptr<toolchain::Runner> runner,
                         const RunOptions& options)
    : runnable_(std::move(runnable)), runner_(std::move(runner)), digest_(runnable_.spec.artefact) {
    for (const std::string& name : toolchain::companions_of(runnable_.spec.artefact)) {
        companions_.emplace_back(name, std::make_unique<DigestInBackground>(
                                           path_inside(folder_of(runnable_.spec.artefact), name)));
    }
    Json load_options = runnable_.spec.options;
    const Json& offered = runner_->capabilities().get("options");
    if (options.shares_cores && offered.is_object() && offered.has("spinning") &&
        !load_options.has("spinning")) {
        load_options["spinning"] = false;
    }
    require_engine_of_manifest(runnable_.spec.artefact, digest_);
    try {
        loaded_ = runner_->load(runnable_.spec.artefact, load_options);
    } catch (const Error& error) {
        // What is wrong with a model is said better by its checks than by a runtime; only now, as they take time.
        if (error.kind() == ErrorKind::toolchain && runnable_.remote.empty() &&
            is_onnx(runnable_.spec.artefact)) {
            (void)graph::Model::load(runnable_.spec.artefact);
        }
        if (error.next().empty() &&
            (error.kind() == ErrorKind::toolchain || error.kind() == ErrorKind::input)) {
            throw Error(error.kind(), error.message(), error.where(),
                        "'requal inspect' says what the file is, 'requal doctor' what works here");
        }
        throw;
    }
}

RunningSide::~RunningSide() = default;

DigestInBackground::~DigestInBackground() {
    if (digest_.valid()) {
        digest_.wait();
    }
}

NamedTensors RunningSide::outputs(std::uint64_t /*index*/, const NamedTensors& inputs) {
    return loaded_.run(inputs);
}

Json RunningSide::describe() const {
    Json result = Json::object();
    result["kind"] = "runner";
    result["runnable"] = runnable_.spec.text;
    result["toolchain"] = runnable_.spec.toolchain;
    result["toolchain_chosen_by"] = runnable_.toolchain_given ? "argument" : "content";
    const Json& version = runner_->capabilities().get("version");
    if (version.is_string()) {
        result["version"] = version;
    }
    if (!runnable_.remote.empty()) {
        result["on"] = runnable_.remote;
    }
    result["artefact"] = Json::object({{"path", runnable_.spec.artefact},
                                       {"digest", digest_.get().text()},
                                       {"size_bytes", runnable_.size_bytes}});
    if (!companions_.empty()) {
        Json companions = Json::array();
        for (const auto& [name, digest] : companions_) {
            companions.push_back(Json::object({{"name", name}, {"digest", digest->get().text()}}));
        }
        result["artefact"]["companions"] = std::move(companions);
    }
    result["facts"] = loaded_.facts();
    result["load_ms"] = static_cast<double>(loaded_.load_ns()) / 1e6;
    const std::uint64_t peak = runner_->peak_resident_bytes();
    if (peak > 0) {
        result["peak_resident_bytes"] = peak;
    }
    return result;
}

struct SideOpener::State {
    Runnable runnable;
    RunOptions options;
    std::future<std::unique_ptr<toolchain::Runner>> program;
    std::future<std::unique_ptr<RunningSide>> side;
};

SideOpener::SideOpener(Runnable runnable, RunOptions options) : state_(std::make_unique<State>()) {
    state_->runnable = std::move(runnable);
    state_->options = options;
}

SideOpener::~SideOpener() = default;
SideOpener::SideOpener(SideOpener&&) noexcept = default;

const Runnable& SideOpener::runnable() const {
    return state_->runnable;
}

void SideOpener::start_program() {
    if (!state_->runnable.saved && !state_->program.valid() && !state_->side.valid()) {
        state_->program = std::async(std::launch::async, start, state_->runnable, state_->options);
    }
}

void SideOpener::start_opening() {
    if (!state_->runnable.saved && !state_->program.valid() && !state_->side.valid()) {
        state_->side =
            std::async(std::launch::async, start_and_load, state_->runnable, state_->options);
    }
}

std::unique_ptr<RunningSide> SideOpener::open_running() {
    if (state_->runnable.saved) {
        throw Error(ErrorKind::usage, "is saved outputs, which cannot be run",
                    state_->runnable.spec.text, "give a model or an engine with its toolchain");
    }
    if (state_->side.valid()) {
        return state_->side.get();
    }
    if (state_->program.valid()) {
        std::unique_ptr<toolchain::Runner> runner = state_->program.get();
        require_memory(state_->runnable);
        return std::make_unique<RunningSide>(state_->runnable, std::move(runner), state_->options);
    }
    return start_and_load(state_->runnable, state_->options);
}

std::unique_ptr<OutputSource> SideOpener::open() {
    if (state_->runnable.saved) {
        return saved_outputs(state_->runnable.spec.artefact);
    }
    return open_running();
}

OpenSide open_runnable(Runnable runnable, RunOptions options) {
    const auto opener = std::make_shared<SideOpener>(std::move(runnable), options);
    return [opener] { return opener->open(); };
}

OpenSide open_runnable(const toolchain::RunnableSpec& spec, const std::string& remote,
                       const RunOptions& options) {
    return open_runnable(resolve_runnable(spec, remote), options);
}

std::vector<data::InputPort> ports_of(const toolchain::LoadedRunnable& loaded) {
    std::vector<data::InputPort> ports;
    for (const toolchain::Port& port : loaded.inputs()) {
        ports.push_back({port.name, port.type, port.shape});
    }
    return ports;
}

}  // namespace requal::measure
