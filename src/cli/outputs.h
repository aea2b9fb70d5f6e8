// Files that a verb writes where the user says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "cli/verb.h"

namespace requal::cli {

/// -o or --output; Error(usage) when both are given, and with the advice `what` when it is required and not given.
inline std::string output_of(const Arguments& arguments, bool required,
                             const std::string& what = "name the file to write") {
    const bool short_form = arguments.given("-o");
    if (short_form && arguments.given("--output"))
        throw Error(ErrorKind::usage, "-o is --output", "-o", "give one of the two");
    if (!short_form && !arguments.given("--output")) {
        if (required)
            throw Error(ErrorKind::usage, "is required", "-o", what);
        return {};
    }
    return arguments.text(short_form ? "-o" : "--output");
}

inline void add_output(std::vector<Argument>& options, std::string_view help) {
    options.push_back(
        {.name = "--output", .kind = ValueKind::path, .help = help, .value_name = "FILE"});
    options.push_back({.name = "-o",
                       .kind = ValueKind::path,
                       .help = "the same as --output",
                       .value_name = "FILE"});
}

/// Error(usage) when `output`, the value of `option`, is the very file `input` by whatever name: a result never replaces what it
/// was made from.
inline void refuse_to_replace(const std::string& output, const std::string& input,
                              const std::string& option) {
    std::error_code ignored;
    if (!input.empty() && std::filesystem::equivalent(output, input, ignored)) {
        throw Error(ErrorKind::usage, "'" + printable(output) + "' is what the work reads", option,
                    "choose another name");
    }
}

}  // namespace requal::cli
