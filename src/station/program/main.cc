// requal-station: the part of Requal that runs on old and locked stations. One file, no installation, glibc 2.27.
// It speaks as `requal` does: the same documents, texts, error lines and exit statuses.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/recognise.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "commands.h"

namespace requal::station {
namespace {

constexpr std::string_view help_text = R"(Usage: requal-station inspect FILE [--no-digest] [--json]
       requal-station snapshot [--sysroot DIR] [-o FILE] [--engine FILE]... [--library-folder DIR]...
                      [--trust-mtime SNAPSHOT] [--idle] [--jobs N] [--json]
       requal-station diff BEFORE AFTER [--json]
       requal-station --version | --help

The part of Requal for stations. It reads, installs nothing and starts nothing.

  inspect FILE   says what an artefact is and what it records of itself
  --no-digest    do not read the whole file for its digest
  snapshot       says what this machine is: device, L4T, kernel, libraries, packages, settings
  --sysroot      the root of another machine; nothing outside it is read
  -o FILE        write the document there
  --engine       an engine in service; its digest becomes part of the state
  --trust-mtime  do not hash again what that snapshot shows with equal size, inode and times
  diff           what moved between two snapshots or two engine manifests
  --json         print one JSON document on stdout and nothing else there
  --version      says which version this is

Exit status: 0 done and nothing differs, 1 something differs, 2 wrong usage or bad input, 4 reading or writing failed,
6 all that differs is known on one side only.
)";

void print(int fd, std::string_view text, std::string_view name) {
    write_all(fd, std::as_bytes(std::span(text)), name);
}

[[noreturn]] void fail_usage(std::string message, std::string where) {
    throw Error(ErrorKind::usage, std::move(message), std::move(where),
                "see 'requal-station --help'");
}

/// snapshot and diff, which have options of their own; nothing for other words.
std::optional<Answer> run_command(const std::vector<std::string>& words) {
    if (words.empty() || (words[0] != "snapshot" && words[0] != "diff"))
        return std::nullopt;
    std::vector<std::string> others;
    for (std::size_t i = 1; i < words.size(); ++i)
        if (words[i] == "--help" || words[i] == "-h")
            return Answer{{}, std::string(help_text), ExitStatus::passed};
        else if (words[i] != "--json")
            others.push_back(words[i]);
    return words[0] == "snapshot" ? snapshot_command(others) : diff_command(others);
}

std::string run(const std::vector<std::string>& words) {
    constexpr std::string_view known_options[] = {"--json", "--no-digest", "--version", "--help"};
    bool json = false, digest = true, only_files = false;
    std::vector<std::string> positionals;
    for (const std::string& word : words) {
        if (only_files || word.size() < 2 || word[0] != '-') {
            positionals.push_back(word);
        } else if (word == "--") {
            only_files = true;
        } else if (word == "--help" || word == "-h") {
            return std::string(help_text);
        } else if (word == "--version") {
            return "requal-station " + std::string(program_version_with_commit()) + "\n";
        } else if (word == "--json") {
            json = true;
        } else if (word == "--no-digest") {
            digest = false;
        } else {
            const std::string near = nearest(word, known_options);
            fail_usage(near.empty() ? "unknown option"
                                    : "unknown option (did you mean '" + near + "'?)",
                       word);
        }
    }
    if (positionals.empty())
        fail_usage("no verb", "");
    if (positionals[0] != "inspect")
        fail_usage("unknown verb", positionals[0]);
    if (positionals.size() != 2)
        fail_usage(positionals.size() < 2 ? "FILE is missing" : "one FILE at a time", "inspect");
    const Json document = artifact::inspect_document(positionals[1], digest);
    return json ? write_json(document) : artifact::inspect_text(document);
}

int report(const Error& error, bool json) {
    try {
        print(STDERR_FILENO, std::string("requal-station: ") + error.what() + "\n",
              "standard error");
        if (json)
            print(STDOUT_FILENO, write_json(error_document(error)), "standard output");
    } catch (const Error&) {
        // nobody is left to tell
    }
    return static_cast<int>(exit_status_of(error.kind()));
}

}  // namespace
}  // namespace requal::station

int main(int argc, char** argv) {
    using namespace requal;
    std::signal(SIGPIPE, SIG_IGN);
    for (int fd = 0; fd < 3; ++fd)
        if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0)
            return static_cast<int>(ExitStatus::storage);
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    bool json = false;
    for (const std::string& word : words)
        json = json || word == "--json";
    try {
        if (const auto answer = station::run_command(words)) {
            station::print(STDOUT_FILENO,
                           json && !answer->document.is_null() ? write_json(answer->document)
                                                               : answer->text,
                           "standard output");
            return static_cast<int>(answer->status);
        }
        station::print(STDOUT_FILENO, station::run(words), "standard output");
        return 0;
    } catch (const Error& error) {
        return station::report(error, json);
    } catch (const std::bad_alloc&) {
        return station::report(
            Error(ErrorKind::storage, "out of memory", "", "free some and run it again"), json);
    } catch (const std::exception& error) {
        return station::report(Error(ErrorKind::internal,
                                     std::string("internal error: ") + error.what(), "",
                                     "please report it with the command line"),
                               json);
    }
}
