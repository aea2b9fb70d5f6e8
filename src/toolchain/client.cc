#include "toolchain/client.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "toolchain/conversation.h"
#include "toolchain/remote_files.h"

namespace requal::toolchain {

namespace {

constexpr std::size_t ports_limit = 65536;
constexpr std::size_t dimensions_limit = 64;
constexpr std::int64_t unknown_run_ns = 1'000'000'000;
constexpr std::int64_t time_factor = 10;

[[noreturn]] void protocol_broken(const std::string& what) {
    throw Error(ErrorKind::toolchain, "breaks the runner protocol: " + what);
}

std::vector<Port> read_ports(const Json& list) {
    if (list.as_array().size() > ports_limit) {
        protocol_broken("it has " + std::to_string(list.size()) + " inputs or outputs");
    }
    std::vector<Port> ports;
    for (const Json& item : list.as_array()) {
        Port port;
        port.name = item.at("name").as_string();
        port.type = parse_element_type(item.at("type").as_string());
        if (item.at("shape").as_array().size() > dimensions_limit) {
            protocol_broken(port.name + " has " + std::to_string(item.at("shape").size()) +
                            " dimensions");
        }
        for (const Json& dimension : item.at("shape").as_array()) {
            port.shape.push_back(std::max<std::int64_t>(dimension.as_integer(), -1));
        }
        ports.push_back(std::move(port));
    }
    return ports;
}

/// `count` * `each`, saturating.
std::int64_t times(std::uint64_t count, std::int64_t each) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
    if (each <= 0 || count == 0) {
        return 0;
    }
    return count > static_cast<std::uint64_t>(most / each)
               ? most
               : static_cast<std::int64_t>(count) * each;
}

std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

std::string absolute(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

struct Runner::State {
    explicit State(const RunnerOptions& options) : conversation(options), files(conversation) {}
    Conversation conversation;
    RemoteFiles files;

    std::int64_t timeout_ns() const { return conversation.options().answer_timeout_ns; }

    /// What comes out of an answer is read here, so that nonsense in it ends the runner with a clear error.
    template <typename Read>
    auto read(const std::string& doing, Read&& what) {
        try {
            return what();
        } catch (const Error& error) {
            const std::string message =
                error.kind() == ErrorKind::toolchain || error.kind() == ErrorKind::storage
                    ? error.message()
                    : "breaks the runner protocol: " + error.message();
            conversation.give_up(Error(ErrorKind::toolchain, message), doing);
        }
    }
};

Runner::Runner(const RunnerOptions& options) : state_(std::make_unique<State>(options)) {}
Runner::~Runner() = default;

const Json& Runner::capabilities() const {
    return state_->conversation.capabilities();
}

LoadedRunnable Runner::load(const std::string& path, const Json& options) {
    const std::string doing = "loading " + file_name(path);
    Message request;
    request.header = Json::object({{"type", "load"},
                                   {"toolchain", state_->conversation.options().toolchain},
                                   {"options", options}});
    (void)file_size(path);  // a file that is not here is the user's error, in the user's words
    if (state_->conversation.remote()) {
        request.header["name"] = state_->files.send(path);
    } else {
        request.header["path"] = absolute(path);
    }
    const Message answer =
        state_->conversation.call(std::move(request), state_->timeout_ns(), doing);
    return state_->read(doing, [&] {
        LoadedRunnable loaded;
        loaded.runner_ = this;
        loaded.handle_ = answer.header.at("handle").as_integer();
        loaded.inputs_ = read_ports(answer.header.at("inputs"));
        loaded.outputs_ = read_ports(answer.header.at("outputs"));
        loaded.facts_ = answer.header.get("facts");
        loaded.load_ns_ = answer.header.at("load_ns").as_integer();
        return loaded;
    });
}

Json Runner::build(const std::string& model_path, const std::string& output_path,
                   const Json& options) {
    const std::string doing = "building " + file_name(output_path);
    Message request;
    request.header = Json::object({{"type", "build"},
                                   {"toolchain", state_->conversation.options().toolchain},
                                   {"options", options}});
    (void)file_size(model_path);
    std::string reserved;
    if (state_->conversation.remote()) {
        request.header["name"] = state_->files.send(model_path);
        reserved = state_->files.reserve(output_path);
        request.header["output_name"] = reserved;
    } else {
        request.header["path"] = absolute(model_path);
        request.header["output_path"] = absolute(output_path);
    }
    Message answer = state_->conversation.call(std::move(request), state_->timeout_ns(), doing);
    Json facts = state_->read(doing, [&] {
        (void)answer.header.at("facts").as_object();
        (void)answer.header.at("build_ns").as_integer();
        return answer.header.at("facts");
    });
    facts["build_ns"] = answer.header.at("build_ns");
    if (state_->conversation.remote()) {
        Json files = Json::array();
        for (std::string& path :
             state_->files.fetch(answer.header.get("files"), reserved, output_path)) {
            files.push_back(std::move(path));
        }
        facts["files"] = std::move(files);
    }
    return facts;
}

std::uint64_t Runner::peak_resident_bytes() const {
    return state_->conversation.remote() ? 0 : state_->conversation.child().peak_resident_bytes();
}

std::string Runner::stderr_tail() {
    return state_->conversation.child().stderr_tail();
}

NamedTensors LoadedRunnable::run(const NamedTensors& inputs) {
    Conversation& conversation = runner_->state_->conversation;
    const std::string doing = "running";
    Message request;
    request.header = Json::object({{"type", "run"}, {"handle", handle_}});
    attach_tensors(request, inputs, conversation.input_region());
    const Message answer =
        conversation.call(std::move(request), runner_->state_->timeout_ns(), doing);
    return runner_->state_->read(doing, [&] {
        slowest_run_ns_ = std::max(slowest_run_ns_, answer.header.at("run_ns").as_integer());
        return detach_tensors(answer, conversation.output_region());
    });
}

TimingSeries LoadedRunnable::time(const NamedTensors& inputs, const TimingRequest& request) {
    Conversation& conversation = runner_->state_->conversation;
    const std::string doing = "timing";
    Message message;
    message.header = Json::object({{"type", "time"},
                                   {"handle", handle_},
                                   {"warmup_runs", request.warmup_runs},
                                   {"runs", request.runs},
                                   {"duration_ns", request.duration_ns},
                                   {"pause_ns", request.pause_ns}});
    attach_tensors(message, inputs, conversation.input_region());
    // It is silent for the whole loop: what it may take is one answer's time, and what the loop asks for.
    std::int64_t timeout = runner_->state_->timeout_ns();
    if (timeout >= 0) {
        const std::int64_t each =
            (slowest_run_ns_ > 0 ? times(static_cast<std::uint64_t>(time_factor), slowest_run_ns_)
                                 : unknown_run_ns) +
            std::max<std::int64_t>(request.pause_ns, 0);
        const std::int64_t by_runs = request.runs > 0
                                         ? times(request.runs, each)
                                         : std::numeric_limits<std::int64_t>::max() / 4;
        const std::int64_t by_duration = request.duration_ns > 0
                                             ? request.duration_ns
                                             : std::numeric_limits<std::int64_t>::max() / 4;
        timeout = std::min(timeout, std::numeric_limits<std::int64_t>::max() / 4) +
                  times(request.warmup_runs, each) + std::min(by_runs, by_duration);
    }
    const Message answer = conversation.call(std::move(message), timeout, doing);
    return runner_->state_->read(doing, [&] {
        TimingSeries series;
        series.first_run_ns = answer.header.at("first_run_ns").as_integer();
        series.timer_overhead_ns = answer.header.at("timer_overhead_ns").as_integer();
        series.warmup_runs = request.warmup_runs;
        series.load_ns = load_ns_;
        const NamedTensors tensors = detach_tensors(answer, nullptr);
        const Tensor* durations = find_tensor(tensors, "durations_ns");
        if (durations == nullptr || durations->type() != ElementType::int64 ||
            durations->shape().size() != 1 || durations->count() == 0 ||
            (request.runs > 0 && durations->count() > request.runs)) {
            protocol_broken("its timing series is not a row of int64 of the length asked for");
        }
        series.durations_ns.resize(static_cast<std::size_t>(durations->count()));
        std::memcpy(series.durations_ns.data(), durations->bytes().data(),
                    durations->bytes().size());
        if (std::any_of(series.durations_ns.begin(), series.durations_ns.end(),
                        [](std::int64_t duration) { return duration < 0; })) {
            protocol_broken("its timing series has negative durations");
        }
        return series;
    });
}

Json LoadedRunnable::profile(const NamedTensors& inputs) {
    Conversation& conversation = runner_->state_->conversation;
    Message request;
    request.header = Json::object({{"type", "profile"}, {"handle", handle_}});
    attach_tensors(request, inputs, conversation.input_region());
    return conversation.call(std::move(request), runner_->state_->timeout_ns(), "profiling")
        .header.get("profile");
}

void LoadedRunnable::unload() {
    Message request;
    request.header = Json::object({{"type", "unload"}, {"handle", handle_}});
    runner_->state_->conversation.call(std::move(request), runner_->state_->timeout_ns(),
                                       "unloading");
    handle_ = 0;
}

}  // namespace requal::toolchain
