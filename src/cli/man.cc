// The man page in roff, from the tables of the verbs.
#include <algorithm>

#include "base/document.h"
#include "cli/help.h"
#include "cli/parse.h"

namespace requal::cli {

namespace {

// Text that roff prints as it is: backslashes and hyphens escaped, no line that begins with a
// control character.
std::string roff(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
            out += std::string("\\&") + c;
        else
            out += c;
    }
    return out;
}

void add_arguments(std::string& page, const std::vector<Argument>& arguments) {
    for (const Argument& argument : arguments) {
        bool positional = argument.name.front() != '-';
        page +=
            ".TP\n.B " + roff(positional ? std::string(argument.name) : usage_of(argument)) + "\n";
        page += roff(full_help_of(argument)) + "\n";
    }
}

}  // namespace

std::string man_page(const std::vector<Verb>& verbs) {
    std::string page =
        ".TH REQUAL 1 \"\" \"requal " + roff(program_version()) + "\" \"User Commands\"\n";
    page += ".SH NAME\nrequal \\- qualifies inference engines\n";
    page += ".SH SYNOPSIS\n.B requal\n.I VERB\n[options]\n";
    page += ".SH DESCRIPTION\n" +
            roff("Requal builds an engine on its target, proves that it still computes what the "
                 "source model "
                 "computes, measures it, freezes what was proved, and later tells whether a "
                 "station is still in "
                 "that proven state.") +
            "\n";
    page += ".SH COMMON OPTIONS\n";
    add_arguments(page, common_options());
    page += ".SH VERBS\n";
    std::vector<const Verb*> sorted;
    for (const Verb& verb : verbs)
        if (!verb.hidden)
            sorted.push_back(&verb);
    std::sort(sorted.begin(), sorted.end(),
              [](const Verb* a, const Verb* b) { return full_name(*a) < full_name(*b); });
    for (const Verb* verb : sorted) {
        page += ".SS " + roff(usage_of(*verb)) + "\n" + roff(verb->summary) + ".\n";
        if (!verb->description.empty())
            page += ".PP\n" + roff(verb->description) + "\n";
        add_arguments(page, verb->positionals);
        add_arguments(page, verb->options);
        for (std::string_view example : verb->examples)
            page += ".PP\n.EX\n" + roff(example) + "\n.EE\n";
    }
    page += ".SH EXIT STATUS\n";
    for (const StatusLine& line : exit_statuses())
        page += ".TP\n.B " + std::to_string(line.status) + "\n" + roff(line.meaning) + "\n";
    page += ".SH ENVIRONMENT\n"
            ".TP\n.B REQUAL_STORE\nthe store's folder when \\-\\-store is not given\n"
            ".TP\n.B REQUAL_RUNNERS\nfolders, separated by colons, in which runner programs are "
            "looked for first\n"
            ".TP\n.B NO_COLOR\nwhen set, no colour on terminals\n";
    return page;
}

}  // namespace requal::cli
