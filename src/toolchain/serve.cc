// The runner's side of the protocol: requests in, answers out, whatever the runtime does in between.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "toolchain/frame.h"
#include "toolchain/peer_watch.h"
#include "toolchain/runner.h"
#include "toolchain/runner_files.h"
#include "toolchain/timing_loop.h"

namespace requal::toolchain {

namespace {

struct Arguments {
    int shm_in_fd = -1;
    int shm_out_fd = -1;
    bool show_capabilities = false;
};

int descriptor_number(const std::string& text) {
    if (text.empty() || text.size() > 5 ||
        text.find_first_not_of("0123456789") != std::string::npos) {
        throw Error(ErrorKind::usage, "\"" + text + "\" is no descriptor number");
    }
    return std::stoi(text);
}

Arguments parse_arguments(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--stdio") {
            continue;
        }
        if (word == "--capabilities") {
            arguments.show_capabilities = true;
        } else if ((word == "--shm-in-fd" || word == "--shm-out-fd") && i + 1 < argc) {
            (word == "--shm-in-fd" ? arguments.shm_in_fd : arguments.shm_out_fd) =
                descriptor_number(argv[++i]);
        } else {
            throw Error(ErrorKind::usage, "unknown argument " + word, {},
                        "this program is started by requal; --capabilities shows what it can do");
        }
    }
    return arguments;
}

Json ports_json(const std::vector<Port>& ports) {
    Json list = Json::array();
    for (const Port& port : ports) {
        Json shape = Json::array();
        for (const std::int64_t dimension : port.shape) {
            shape.push_back(dimension);
        }
        list.push_back(Json::object(
            {{"name", port.name}, {"type", name_of(port.type)}, {"shape", std::move(shape)}}));
    }
    return list;
}

std::int64_t integer_or(const Json& header, const char* key, std::int64_t fallback) {
    const Json& value = header.get(key);
    const std::int64_t number = value.is_null() ? fallback : value.as_integer();
    if (number < 0) {
        throw Error(ErrorKind::input, std::string(key) + " may not be negative");
    }
    return number;
}

/// One conversation with one client.
class Server {
public:
    Server(Runtime& runtime, FrameChannel channel, std::shared_ptr<SharedRegion> in,
           std::shared_ptr<SharedRegion> out, PeerWatch& watch)
        : runtime_(runtime), channel_(std::move(channel)), in_(std::move(in)), out_(std::move(out)),
          watch_(watch) {}

    int converse();

private:
    struct Loaded {
        std::unique_ptr<Session> session;
        std::vector<Port> inputs;
    };

    Message answer_to(const Message& request);
    void hello(const Message& request, Message& answer);
    void load(const Message& request, Message& answer);
    void run(const Message& request, Message& answer);
    void time(const Message& request, Message& answer);
    void build(const Message& request, Message& answer);
    Loaded& loaded(const Message& request);
    NamedTensors inputs_for(const Loaded& session, const Message& request);
    std::string file_of(const Json& header, const char* path_key, const char* name_key);

    Runtime& runtime_;
    FrameChannel channel_;
    std::shared_ptr<SharedRegion> in_;
    std::shared_ptr<SharedRegion> out_;
    PeerWatch& watch_;
    RunnerFiles files_;
    std::map<std::int64_t, Loaded> sessions_;
    std::int64_t last_handle_ = 0;
    bool greeted_ = false;
};

Message error_answer(std::string_view kind, std::string_view message, std::string_view where,
                     std::string_view next) {
    Message answer;
    answer.header = Json::object({{"type", "error"},
                                  {"kind", kind},
                                  {"message", message},
                                  {"where", where},
                                  {"next", next}});
    return answer;
}

/// What a runtime throws may hold any bytes; JSON is UTF-8.
std::string clean(const char* text) {
    const std::string_view bytes = text;
    return is_utf8(bytes) ? std::string(bytes) : printable(bytes);
}

int Server::converse() {
    for (;;) {
        std::optional<Message> request;
        try {
            request = channel_.receive();
        } catch (const Error& error) {
            // After a broken frame nobody knows where the next one begins.
            std::fprintf(stderr, "requal runner: the client %s\n", error.what());
            channel_.send(error_answer("toolchain", "the client " + error.message(), {}, {}));
            return 2;
        }
        if (!request) {
            return 0;
        }
        Message answer = answer_to(*request);
        answer.header["id"] = request->header.get("id");
        const bool refused_greeting = !greeted_ && answer.header.get("type").as_string() == "error";
        try {
            channel_.send(answer);
        } catch (const Error& error) {
            if (error.kind() == ErrorKind::toolchain) {
                throw;  // the client is gone
            }
            // Not one byte has left: the answer could not be written as a frame.
            Message refusal =
                error_answer(name_of(error.kind()), clean(error.message().c_str()), {}, {});
            refusal.header["id"] = request->header.get("id");
            channel_.send(refusal);
        }
        if (request->header.at("type").as_string() == "stop") {
            return 0;
        }
        if (refused_greeting) {
            return 2;
        }
    }
}

Message Server::answer_to(const Message& request) {
    try {
        Message answer;
        answer.header = Json::object({{"type", "answer"}});
        const std::string& type = request.header.at("type").as_string();
        if (type == "hello") {
            hello(request, answer);
        } else if (type == "stop") {
            // nothing to do: the end of the process frees all, sooner than destructors would
        } else if (!greeted_) {
            throw Error(ErrorKind::toolchain, "the first request must be hello");
        } else if (type == "load") {
            load(request, answer);
        } else if (type == "unload") {
            (void)loaded(request);
            sessions_.erase(request.header.at("handle").as_integer());
        } else if (type == "run") {
            run(request, answer);
        } else if (type == "time") {
            time(request, answer);
        } else if (type == "profile") {
            Loaded& one = loaded(request);
            answer.header["profile"] = one.session->profile(inputs_for(one, request));
        } else if (type == "build") {
            build(request, answer);
        } else if (type == "put") {
            if (request.blobs.size() != 1) {
                throw Error(ErrorKind::input, "put needs one attachment");
            }
            answer.header = files_.put(request.header, request.blobs.front());
            answer.header["type"] = "answer";
            watch_.remove_at_end(files_.folder());
        } else if (type == "get") {
            std::string piece;
            answer.header = files_.get(request.header, piece);
            watch_.remove_at_end(files_.folder());
            answer.header["type"] = "answer";
            answer.blobs.push_back(std::move(piece));
        } else {
            throw Error(ErrorKind::input, "this runner knows no request of type " + type);
        }
        return answer;
    } catch (const Error& error) {
        return error_answer(name_of(error.kind()), clean(error.message().c_str()),
                            clean(error.where().c_str()), clean(error.next().c_str()));
    } catch (const std::bad_alloc&) {
        return error_answer("toolchain", "there is not enough memory", {},
                            "use smaller inputs or free memory");
    } catch (const std::exception& error) {
        return error_answer("toolchain", clean(error.what()), {}, {});
    } catch (...) {
        return error_answer("toolchain", "the runtime threw something that is no exception", {},
                            {});
    }
}

void Server::hello(const Message& request, Message& answer) {
    const std::int64_t theirs = request.header.at("protocol").as_integer();
    answer.header["protocol"] = protocol_version;
    answer.header["runner_version"] = program_version();
    if (theirs != protocol_version) {
        throw Error(ErrorKind::toolchain,
                    "this runner speaks version " + std::to_string(protocol_version) +
                        " of the runner protocol, the client version " + std::to_string(theirs),
                    {}, "install the runner that belongs to this requal");
    }
    const std::int64_t limit = integer_or(request.header, "memory_limit_bytes", 0);
    if (limit > 0) {
        watch_.limit_memory(static_cast<std::uint64_t>(limit));
    }
    answer.header["capabilities"] = runtime_.capabilities();
    answer.header["shared_memory"] = in_ != nullptr && out_ != nullptr;
    answer.header["pid"] = std::int64_t{getpid()};
    greeted_ = true;
}

/// A path here, or the name of a file that the client has put.
std::string Server::file_of(const Json& header, const char* path_key, const char* name_key) {
    if (header.has(name_key)) {
        const std::string path = files_.path_of(header.at(name_key).as_string());
        watch_.remove_at_end(files_.folder());
        return path;
    }
    return header.at(path_key).as_string();
}

void Server::load(const Message& request, Message& answer) {
    const std::string path = file_of(request.header, "path", "name");
    const std::string& toolchain = request.header.at("toolchain").as_string();
    const Json& options = request.header.get("options");
    const std::int64_t before = monotonic_ns();
    Loaded one;
    one.session = runtime_.load(path, toolchain, options.is_null() ? Json::object() : options);
    answer.header["load_ns"] = monotonic_ns() - before;
    one.inputs = one.session->inputs();
    answer.header["inputs"] = ports_json(one.inputs);
    answer.header["outputs"] = ports_json(one.session->outputs());
    answer.header["facts"] = one.session->facts();
    answer.header["handle"] = ++last_handle_;
    sessions_.emplace(last_handle_, std::move(one));
}

Server::Loaded& Server::loaded(const Message& request) {
    const std::int64_t handle = request.header.at("handle").as_integer();
    const auto found = sessions_.find(handle);
    if (found == sessions_.end()) {
        throw Error(ErrorKind::input, "nothing is loaded under handle " + std::to_string(handle));
    }
    return found->second;
}

NamedTensors Server::inputs_for(const Loaded& session, const Message& request) {
    NamedTensors inputs = detach_tensors(request, in_);
    check_inputs(session.inputs, inputs);
    return inputs;
}

void Server::run(const Message& request, Message& answer) {
    Loaded& one = loaded(request);
    const NamedTensors inputs = inputs_for(one, request);
    const std::int64_t before = monotonic_ns();
    const NamedTensors outputs = one.session->run(inputs);
    answer.header["run_ns"] = monotonic_ns() - before;
    attach_tensors(answer, outputs, out_.get());
}

void Server::time(const Message& request, Message& answer) {
    Loaded& one = loaded(request);
    LoopBounds bounds;
    bounds.warmup_runs = static_cast<std::uint64_t>(integer_or(request.header, "warmup_runs", 0));
    bounds.runs = static_cast<std::uint64_t>(integer_or(request.header, "runs", 0));
    bounds.duration_ns = integer_or(request.header, "duration_ns", 0);
    bounds.pause_ns = integer_or(request.header, "pause_ns", 0);
    const NamedTensors inputs = inputs_for(one, request);
    one.session->prepare_timing(inputs);
    const LoopResult result = timing_loop(*one.session, bounds);
    answer.header["first_run_ns"] = result.first_run_ns;
    answer.header["timer_overhead_ns"] = result.timer_overhead_ns;
    answer.header["warmup_runs"] = bounds.warmup_runs;
    Tensor series(ElementType::int64, {static_cast<std::int64_t>(result.durations_ns.size())});
    std::memcpy(series.mutable_bytes().data(), result.durations_ns.data(), series.bytes().size());
    attach_tensors(answer, {{"durations_ns", std::move(series)}}, nullptr);
}

void Server::build(const Message& request, Message& answer) {
    const std::string model = file_of(request.header, "path", "name");
    const std::string output = file_of(request.header, "output_path", "output_name");
    const std::string& toolchain = request.header.at("toolchain").as_string();
    const Json& options = request.header.get("options");
    const std::int64_t before = monotonic_ns();
    answer.header["facts"] =
        runtime_.build(model, output, toolchain, options.is_null() ? Json::object() : options);
    answer.header["build_ns"] = monotonic_ns() - before;
    if (request.header.has("output_name")) {
        answer.header["files"] = files_.beside(request.header.at("output_name").as_string());
    }
}

/// Moves the protocol away from descriptors 0 and 1, so that a runtime that prints or reads cannot disturb it.
std::pair<int, int> take_protocol_descriptors() {
    const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    const FileDescriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (in < 0 || out < 0 || !nothing || dup2(nothing.get(), STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        throw Error(ErrorKind::usage, "standard input, output and error must be open");
    }
    return {in, out};
}

}  // namespace

int serve(Runtime& runtime, int argc, char** argv) {
    try {
        const Arguments arguments = parse_arguments(argc, argv);
        std::signal(SIGPIPE, SIG_IGN);
        if (arguments.show_capabilities) {
            const auto [in, out] = take_protocol_descriptors();
            close(in);
            const std::string text = write_json(runtime.capabilities());
            write_all(out, std::as_bytes(std::span(text)), "standard output");
            return 0;
        }
        if (isatty(STDIN_FILENO) != 0) {
            throw Error(ErrorKind::usage, "this program is started by requal", {},
                        "--capabilities shows what it can do");
        }
        std::shared_ptr<SharedRegion> shm_in;
        std::shared_ptr<SharedRegion> shm_out;
        if (arguments.shm_in_fd >= 0 && arguments.shm_out_fd >= 0) {
            shm_in = SharedRegion::attach(arguments.shm_in_fd);
            shm_out = SharedRegion::attach(arguments.shm_out_fd);
            close(arguments.shm_in_fd);
            close(arguments.shm_out_fd);
        }
        const auto [in, out] = take_protocol_descriptors();
        PeerWatch watch(out);
        Server server(runtime, FrameChannel(in, out), std::move(shm_in), std::move(shm_out), watch);
        watch.end_process(server.converse());
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return static_cast<int>(exit_status_of(error.kind()));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 4;
    }
}

}  // namespace requal::toolchain
