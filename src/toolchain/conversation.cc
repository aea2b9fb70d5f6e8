#include "toolchain/conversation.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/document.h"
#include "base/text.h"
#include "toolchain/remote.h"

namespace requal::toolchain {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr int shm_in_number = 3;
constexpr int shm_out_number = 4;
constexpr int ssh_failed = 255;         // exit status of ssh itself
constexpr int command_not_found = 127;  // of the shell over there
constexpr std::size_t last_lines = 3;
constexpr std::size_t line_length = 200;

std::string how_to_get(const std::string& runner) {
    constexpr std::array<std::string_view, 5> known{"onnxruntime", "openvino", "tensorrt",
                                                    "tensorrt-rtx", "scripted"};
    const std::string near = nearest(runner, known);
    if (!near.empty() && near != runner) {
        return "did you mean " + near + "? `requal doctor` lists what works here";
    }
    return "put requal-runner-" + runner +
           " into PATH or name its folder in REQUAL_RUNNERS; `requal doctor` says how to get it";
}

ErrorKind kind_of(const std::string& word) {
    for (const ErrorKind kind : {ErrorKind::usage, ErrorKind::input, ErrorKind::missing,
                                 ErrorKind::storage, ErrorKind::undecidable}) {
        if (name_of(kind) == word) {
            return kind;
        }
    }
    // Interruptions and bugs over there are failures of the toolchain here.
    return ErrorKind::toolchain;
}

std::string text_or_empty(const Json& value) {
    return value.is_string() ? value.as_string() : std::string();
}

}  // namespace

Conversation::Conversation(const RunnerOptions& options) : options_(options) {
    runner_name_ = options.toolchain.substr(0, options.toolchain.find(':'));
    title_ = "runner " + runner_name_ + (remote() ? " on " + options.remote : "");
    throw_if_cancelled();
    start();
    greet();
}

void Conversation::start() {
    ChildOptions child;
    if (remote()) {
        const RemoteHost host = parse_remote(options_.remote);
        program_ = options_.program.empty() ? remote_program(runner_name_) : options_.program;
        child.command = ssh_command(host, program_);
    } else {
        const auto found = options_.program.empty() ? find_runner_program(runner_name_)
                                                    : std::optional(options_.program);
        if (!found) {
            throw Error(ErrorKind::missing, "there is no runner for it here",
                        "toolchain " + options_.toolchain, how_to_get(runner_name_));
        }
        program_ = *found;
        in_ = SharedRegion::create(std::uint64_t{1} << 20);
        out_ = SharedRegion::create(std::uint64_t{1} << 20);
        child.command = {program_, "--shm-in-fd", std::to_string(shm_in_number), "--shm-out-fd",
                         std::to_string(shm_out_number)};
        child.extra_fds = {{in_->fd(), shm_in_number}, {out_->fd(), shm_out_number}};
    }
    child_ = std::make_unique<Child>(child);
    channel_ =
        std::make_unique<FrameChannel>(child_->output_fd(), child_->input_fd(), FrameLimits{},
                                       Watch{[this] { watch(); }, 50'000'000, cancellation_fd()});
}

/// Looked at about 20 times a second while the runner works.
void Conversation::watch() const {
    throw_if_cancelled();
    if (options_.memory_limit_bytes > 0 && !remote()) {
        const std::uint64_t resident = child_->resident_bytes();
        if (resident > options_.memory_limit_bytes) {
            throw Error(ErrorKind::toolchain,
                        "takes too much memory: " + readable_bytes(resident) + " resident, " +
                            readable_bytes(options_.memory_limit_bytes) + " are allowed",
                        {}, "use smaller inputs or raise the memory limit");
        }
    }
}

void Conversation::greet() {
    Message hello;
    hello.header = Json::object({{"type", "hello"},
                                 {"protocol", protocol_version},
                                 {"client", "requal " + std::string(program_version())}});
    if (remote() && options_.memory_limit_bytes > 0) {
        // Its memory cannot be seen from here: it has to watch itself.
        hello.header["memory_limit_bytes"] = options_.memory_limit_bytes;
    }
    hello.header["id"] = ++last_id_;
    const std::string doing = "starting";
    Message answer;
    try {
        channel_->send(hello, options_.start_timeout_ns);
        auto received = channel_->receive(options_.start_timeout_ns);
        if (!received) {
            throw Error(ErrorKind::toolchain, "has ended without an answer");
        }
        answer = std::move(*received);
    } catch (const Error& cause) {
        give_up(cause, doing);
    }
    const Json& version = answer.header.get("protocol");
    if (version.is_integer() && version.as_integer() != protocol_version) {
        refuse_version(version.as_integer());
    }
    try {
        if (answer.header.get("type").as_string() == "error") {
            throw Error(kind_of(text_or_empty(answer.header.get("kind"))),
                        title_ + ": " + text_or_empty(answer.header.get("message")),
                        text_or_empty(answer.header.get("where")),
                        text_or_empty(answer.header.get("next")));
        }
        if (!version.is_integer() || !answer.header.get("capabilities").is_object()) {
            give_up(
                Error(ErrorKind::toolchain,
                      "breaks the runner protocol: its greeting lacks protocol or capabilities"),
                doing);
        }
        capabilities_ = answer.header.get("capabilities");
        if (!(answer.header.get("shared_memory") == Json(true))) {
            in_.reset();
            out_.reset();
        }
    } catch (const Error&) {
        child_->kill();
        throw;
    }
}

void Conversation::refuse_version(std::int64_t theirs) {
    child_->kill();
    throw Error(ErrorKind::toolchain,
                title_ + " speaks version " + std::to_string(theirs) +
                    " of the runner protocol, this requal speaks version " +
                    std::to_string(protocol_version),
                program_, "install the runner that belongs to this requal");
}

Message Conversation::call(Message request, std::int64_t timeout_ns, const std::string& doing) {
    if (!why_ended_.empty()) {
        throw Error(ErrorKind::toolchain, title_ + " has ended already: " + why_ended_, {},
                    "start it again");
    }
    const std::int64_t id = ++last_id_;
    request.header["id"] = id;
    std::optional<Message> answer;
    try {
        throw_if_cancelled();
        channel_->send(request, timeout_ns);
        answer = channel_->receive(timeout_ns);
        if (!answer) {
            throw Error(ErrorKind::toolchain, "has ended without an answer");
        }
        if (!(answer->header.get("id") == Json(id))) {
            throw Error(ErrorKind::toolchain,
                        "breaks the runner protocol: it answers a request that was not made");
        }
    } catch (const Error& cause) {
        if (cause.kind() == ErrorKind::input) {
            throw;  // the request is too large to be sent: nothing has left
        }
        give_up(cause, doing);
    }
    const Json& header = answer->header;
    if (header.get("type").as_string() == "error") {
        throw Error(kind_of(text_or_empty(header.get("kind"))),
                    text_or_empty(header.get("message")), text_or_empty(header.get("where")),
                    text_or_empty(header.get("next")));
    }
    return std::move(*answer);
}

/// The last lines on its standard error, on one line.
std::string Conversation::last_words() {
    const std::string tail = child_->stderr_tail();
    std::vector<std::string> lines;
    std::size_t begin = 0;
    while (begin < tail.size()) {
        const std::size_t end = std::min(tail.find('\n', begin), tail.size());
        std::string line = tail.substr(begin, end - begin);
        if (line.find_first_not_of(" \t\r") != std::string::npos) {
            if (line.ends_with('\r')) {
                line.pop_back();
            }
            lines.push_back(line.size() > line_length ? line.substr(0, line_length) + "…" : line);
        }
        begin = end + 1;
    }
    std::string words;
    for (std::size_t i = lines.size() - std::min(lines.size(), last_lines); i < lines.size(); ++i) {
        words += (words.empty() ? "" : " | ") + lines[i];
    }
    return words.empty() ? "" : "; its last words: " + words;
}

void Conversation::give_up(const Error& cause, const std::string& doing) {
    if (cause.kind() == ErrorKind::interrupted) {
        why_ended_ = "interrupted";
        child_->kill();
        throw cause;
    }
    // A runner that has closed its side is about to be a dead one; its end says more than its silence.
    const bool ended = child_->wait(second_ns / 2);
    if (!ended) {
        child_->kill();
        child_->wait(2 * second_ns);
    }
    const std::string words = last_words();
    if (ended && remote() && capabilities_.is_null()) {
        if (child_->exit_code() == ssh_failed) {
            why_ended_ = "the machine cannot be reached";
            throw Error(ErrorKind::missing, "the machine cannot be reached through ssh" + words,
                        options_.remote,
                        "try `ssh -o BatchMode=yes` to it: no password is ever asked for");
        }
        if (child_->exit_code() == command_not_found) {
            why_ended_ = "there is no such program";
            throw Error(ErrorKind::missing, "there is no program " + program_ + " there" + words,
                        options_.remote,
                        "install it there, or name its folder there in REQUAL_REMOTE_RUNNERS");
        }
    }
    if (ended && child_->signal_number() != 0) {
        why_ended_ = "it crashed, " + child_->status_text();
    } else if (ended) {
        why_ended_ = "it ended with " + child_->status_text();
    } else {
        why_ended_ = cause.message();
    }
    std::string message = title_ + " " + cause.message() + ", while " + doing;
    if (ended && child_->signal_number() != 0) {
        message = title_ + " crashed while " + doing + ": " + child_->status_text();
    } else if (ended) {
        message += " (" + child_->status_text() + ")";
    }
    throw Error(ErrorKind::toolchain, message + words, {}, cause.next());
}

Conversation::~Conversation() {
    if (!child_ || child_->ended()) {
        return;
    }
    if (why_ended_.empty() && !cancelled()) {
        try {
            Message stop;
            stop.header = Json::object({{"type", "stop"}, {"id", ++last_id_}});
            channel_->send(stop, second_ns);
            child_->close_input();
            child_->wait(3 * second_ns);
        } catch (const std::exception&) {
            // it is killed below whatever it says
        }
    }
    child_->kill();
}

}  // namespace requal::toolchain
