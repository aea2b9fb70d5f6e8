// The program `requal`: parse, run the verb, print its result or its error, end with its status.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"
#include "cli/help.h"
#include "cli/parse.h"
#include "cli/verb.h"

namespace requal::cli {
namespace {

bool standard_output_closed = false;

// A descriptor below 3 that is closed would be given to the first file opened, which messages then
// overwrite. Results have nowhere to go without standard output: writing them must fail, not succeed.
void open_standard_descriptors() {
    for (int fd = 0; fd < 3; ++fd) {
        if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        standard_output_closed = standard_output_closed || fd == STDOUT_FILENO;
        if (fd == STDOUT_FILENO && ::open("/dev/full", O_WRONLY) == fd)
            continue;
        if (::open("/dev/null", O_RDWR) < 0)
            ::_exit(static_cast<int>(ExitStatus::storage));
    }
}

void print(int fd, std::string_view text, std::string_view name) {
    if (fd == STDOUT_FILENO && standard_output_closed)
        throw Error(ErrorKind::storage, "it is closed", std::string(name),
                    "redirect it to a file, or to /dev/null");
    write_all(fd, std::as_bytes(std::span(text)), name);
}

int report(const Error& error, bool json, bool verbose) {
    std::string line = std::string("requal: ") + error.what() + "\n";
    if (verbose)
        line += "requal: kind " + std::string(name_of(error.kind())) + ", exit status " +
                std::to_string(static_cast<int>(exit_status_of(error.kind()))) + ", version " +
                std::string(program_version_with_commit()) + "\n";
    try {
        print(STDERR_FILENO, line, "standard error");
        if (json)
            print(STDOUT_FILENO, write_json(error_document(error)), "standard output");
    } catch (const Error&) {
        // nobody is left to tell
    }
    return static_cast<int>(exit_status_of(error.kind()));
}

Result show_help(const std::vector<Verb>& verbs, const Invocation& invocation) {
    Result result;
    result.text = invocation.verb != nullptr ? help_of(*invocation.verb)
                                             : help_of_all(verbs, invocation.group);
    result.document = new_document("text", 1);
    result.document["text"] = result.text;
    return result;
}

int run(const std::vector<std::string>& words) {
    std::vector<Verb> verbs = all_verbs();
    Invocation invocation = parse_command_line(verbs, words);
    const Common& common = invocation.common;
    Output settings;
    settings.quiet = common.quiet;
    settings.verbose = common.verbose;
    settings.progress = common.progress && !common.quiet;
    settings.events_fd = invocation.events_fd;
    set_output(settings);
    install_cancellation();

    Result result = invocation.help ? show_help(verbs, invocation)
                                    : invocation.verb->run(invocation.arguments, common);
    print(STDOUT_FILENO, common.json ? write_json(result.document) : result.text,
          "standard output");
    return static_cast<int>(result.status);
}

}  // namespace
}  // namespace requal::cli

int main(int argc, char** argv) {
    using requal::Error;
    using requal::ErrorKind;
    requal::cli::open_standard_descriptors();
    std::signal(
        SIGPIPE,
        SIG_IGN);  // a runner or a reader that goes away is an error of a write, not our end
    std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    bool json = requal::cli::asks_for_json(words);
    bool verbose = requal::cli::asks_for_verbose(words);
    try {
        return requal::cli::run(words);
    } catch (const Error& error) {
        return requal::cli::report(error, json, verbose);
    } catch (const std::bad_alloc&) {
        return requal::cli::report(
            Error(ErrorKind::storage, "out of memory", "", "free some and run it again"), json,
            verbose);
    } catch (const std::exception& error) {
        return requal::cli::report(Error(ErrorKind::internal,
                                         std::string("internal error: ") + error.what(), "",
                                         "please report it with the command line"),
                                   json, verbose);
    }
}
