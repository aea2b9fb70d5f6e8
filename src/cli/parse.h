// From the words of a command line to a verb with checked values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"

namespace requal::cli {

/// What the user asked for.
struct Invocation {
    const Verb* verb = nullptr;  ///< null: help (of all verbs, or of `group`)
    bool help = false;
    std::string group;  ///< help of a group: "store"
    Arguments arguments;
    Common common;
    int events_fd = -1;
};

/// The options that every verb takes.
const std::vector<Argument>& common_options();

/// Common options that main() needs before parsing may fail: read without any check.
bool asks_for_json(std::span<const std::string> words);
bool asks_for_verbose(std::span<const std::string> words);

/// Parses `words` (without the program's name). Common options may stand before and after the verb;
/// after "--" everything is a positional. Unknown verbs and options, missing and ill-typed values
/// are Error(usage) with a suggestion. `verbs` must outlive the result.
Invocation parse_command_line(const std::vector<Verb>& verbs, std::span<const std::string> words);

/// The words as a line that a shell would read back: "requal compare 'a b.onnx'".
std::string command_line_text(std::span<const std::string> words);

/// "store put" or "compare".
std::string full_name(const Verb& verb);

}  // namespace requal::cli
