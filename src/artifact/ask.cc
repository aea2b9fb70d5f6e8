#include "artifact/ask.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/text.h"

namespace requal::artifact {

namespace {

constexpr std::size_t output_limit = 1 << 20;

// The first executable regular file of this name in PATH; empty when there is none. Relative folders in PATH are passed over.
std::string program_in_path(std::string_view name) {
    const char* variable = std::getenv("PATH");
    for (std::string_view rest = variable == nullptr ? "" : variable; !rest.empty();) {
        const std::string_view folder = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
        if (folder.empty() || folder[0] != '/')
            continue;
        const std::string path = std::string(folder) + "/" + std::string(name);
        if (file_exists(path) && ::access(path.c_str(), X_OK) == 0)
            return path;
    }
    return {};
}

struct Output {
    std::string text;     ///< standard output, then the end of standard error
    std::string why_not;  ///< empty: it ended with status 0
};

Output run(const std::vector<std::string>& command, std::int64_t deadline_ns) {
    Output output;
    Child child({.command = command});
    child.close_input();
    const std::int64_t end = system_clock().monotonic_ns() + deadline_ns;
    char block[4096];
    for (;;) {
        const std::int64_t left = end - system_clock().monotonic_ns();
        if (left <= 0) {
            child.kill();
            output.why_not =
                "it did not answer in " + readable_seconds(static_cast<double>(deadline_ns) / 1e9);
            return output;
        }
        pollfd waiting{child.output_fd(), POLLIN, 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(left / 1'000'000 + 1));
        if (ready <= 0)
            continue;
        const ssize_t got = ::read(child.output_fd(), block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (output.text.size() < output_limit)
            output.text.append(block, static_cast<std::size_t>(got));
    }
    if (!child.wait(std::max<std::int64_t>(end - system_clock().monotonic_ns(), 0))) {
        child.kill();
        output.why_not = "it did not end";
        return output;
    }
    if (child.exit_code() != 0)
        output.why_not = child.status_text();
    output.text += child.stderr_tail();
    return output;
}

// "Plan was created with TensorRT version 10.3.0.26" (samples/common/sampleEngines.cpp, printPlanVersion)
std::optional<std::string> version_in(std::string_view text) {
    constexpr std::string_view said = "Plan was created with TensorRT version ";
    const std::size_t at = text.find(said);
    if (at == std::string_view::npos)
        return std::nullopt;
    text.remove_prefix(at + said.size());
    const std::string_view version = text.substr(0, text.find_first_not_of("0123456789."));
    if (version.empty() || version.size() > 40)
        return std::nullopt;
    return std::string(version);
}

// The last error line, for the reader; else how it ended.
std::string reason(const Output& output) {
    std::string found;
    for (std::string_view rest = output.text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.find("[E]") != std::string_view::npos)
            found = std::string(line.substr(line.find("[E]") + 3, 200));
    }
    while (!found.empty() && found.front() == ' ')
        found.erase(found.begin());
    if (output.why_not.empty())
        return found.empty() ? "its output names no version" : printable(found);
    return output.why_not + (found.empty() ? "" : ": " + printable(found));
}

void ask_trtexec(Json& document, const std::string& path, std::int64_t deadline_ns) {
    const std::string program = program_in_path("trtexec");
    if (program.empty())
        return;
    Json entry = Json::object({{"program", program},
                               {"question", "--getPlanVersionOnly"},
                               {"answer", Json()},
                               {"why_not", Json()}});
    try {
        // a relative path may begin with '-'; trtexec takes what follows the equal sign as it is
        const Output output =
            run({program, "--getPlanVersionOnly", "--loadEngine=" + path}, deadline_ns);
        const auto version = version_in(output.text);
        if (version && output.why_not.empty())
            entry["answer"] = Json::object({{"runtime_version", *version}});
        else
            entry["why_not"] = reason(output);
        const Json& recorded = document.at("recorded").get("runtime_version");
        if (entry.at("answer").is_object() && recorded.is_string() &&
            recorded.as_string() != *version)
            for (const char* key : {"contradictions", "problems"})
                document[key].push_back("the bytes say version " + recorded.as_string() +
                                        ", trtexec says " + *version);
    } catch (const Error& error) {
        entry["why_not"] = error.message();
    }
    document["asked"].push_back(std::move(entry));
}

// IRuntime::getEngineValidity: only the runtime itself can tell, and no program of TensorRT-RTX asks it
void ask_validity(Json& document, const std::string& path, const AskValidity& validity) {
    Validity told{Json(), "not asked: nothing here reaches the runtime of TensorRT-RTX"};
    if (validity)
        told = validity(path);
    document["asked"].push_back(
        Json::object({{"program", "requal-runner-tensorrt-rtx"},
                      {"question", "engine validity"},
                      {"answer", told.answer},
                      {"why_not", told.answer.is_null() ? Json(told.why_not) : Json()}}));
}

}  // namespace

void ask_programs(Json& document, const std::string& path, std::int64_t deadline_ns,
                  const AskValidity& validity) {
    // trtexec reads the file from its first byte: it knows no wrapper, and no plans of TensorRT-RTX
    if (document.at("kind") == Json("tensorrt-plan") && document.at("wrapper").is_null())
        ask_trtexec(document, path, deadline_ns);
    if (document.at("kind") == Json("tensorrt-rtx-plan"))
        ask_validity(document, path, validity);
}

}  // namespace requal::artifact
