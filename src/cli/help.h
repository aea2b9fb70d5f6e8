// Help texts, shell completion and the man page: all made from the tables of the verbs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"

namespace requal::cli {

/// An exit status and its meaning, in order.
struct StatusLine {
    int status;
    std::string_view meaning;
};
const std::vector<StatusLine>& exit_statuses();

/// Bold text where standard output is a terminal and NO_COLOR is not set; otherwise the text
/// itself.
std::string heading(std::string_view text);

/// `text` broken at spaces into lines of at most `width` columns, each line after the first
/// indented by `indent`; `column` is where the first line begins. Newlines in `text` are kept.
std::string wrapped(std::string_view text, std::size_t column, std::size_t indent,
                    std::size_t width = 100);

/// `requal --help`; with `group` only the verbs of that group.
std::string help_of_all(const std::vector<Verb>& verbs, std::string_view group = {});
/// `requal VERB --help`.
std::string help_of(const Verb& verb);
/// "FILE", "[FILE]", "FILE...", "--shape NAME:DIMS".
std::string usage_of(const Argument& argument);
/// "requal inspect FILE [options]".
std::string usage_of(const Verb& verb);
/// Help of one option with its default and choices.
std::string full_help_of(const Argument& argument);

std::string bash_completion(const std::vector<Verb>& verbs);
std::string zsh_completion(const std::vector<Verb>& verbs);
/// The man page requal(1) in roff.
std::string man_page(const std::vector<Verb>& verbs);

}  // namespace requal::cli
