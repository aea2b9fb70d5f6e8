#include "cli/help.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/parse.h"

namespace requal::cli {

namespace {

// Columns that `text` takes: code points are enough here, tables hold no wide characters.
std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

constexpr std::size_t text_column = 28;

// "  --name VALUE            help", the help on its own line when the name is long.
std::string entry(std::string_view name, std::string_view text) {
    std::string line = "  " + std::string(name);
    std::size_t width = columns(line);
    if (width + 2 > text_column) {
        line += '\n';
        width = 0;
    }
    line.append(text_column - width, ' ');
    return line + wrapped(text, text_column, text_column) + '\n';
}

std::string section(std::string_view title, const std::vector<Argument>& arguments) {
    if (arguments.empty())
        return {};
    std::string text = "\n" + heading(std::string(title) + ":") + "\n";
    for (const Argument& argument : arguments) {
        bool positional = argument.name.front() != '-';
        text += entry(positional ? std::string(argument.name) : usage_of(argument),
                      full_help_of(argument));
    }
    return text;
}

std::string status_section() {
    std::string text = "\n" + heading("Exit status:") + "\n";
    for (const StatusLine& line : exit_statuses())
        text += entry(std::to_string(line.status), line.meaning);
    return text;
}

}  // namespace

const std::vector<StatusLine>& exit_statuses() {
    static const std::vector<StatusLine> lines = {
        {0, "done and passed"},
        {1, "done and the answer is no: out of tolerance, drifted, refused"},
        {2, "wrong usage or bad input"},
        {3, "a toolchain, library or device that the work needs is missing here"},
        {4, "I/O or store failure: disk full, permission, corruption found"},
        {5, "interrupted; run it again to resume"},
        {6,
         "could not be decided: too few samples, conditions void, machine changed during the run"},
    };
    return lines;
}

std::string heading(std::string_view text) {
    static const bool coloured = [] {
        const char* no_color = std::getenv("NO_COLOR");
        const char* terminal = std::getenv("TERM");
        return (no_color == nullptr || *no_color == '\0') && ::isatty(STDOUT_FILENO) == 1 &&
               terminal != nullptr && std::string_view(terminal) != "dumb";
    }();
    return coloured ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
}

std::string wrapped(std::string_view text, std::size_t column, std::size_t indent,
                    std::size_t width) {
    std::string out;
    bool line_empty = true;
    while (!text.empty()) {
        if (text.front() == '\n' || text.front() == ' ') {
            if (text.front() == '\n') {
                out += '\n';
                out.append(indent, ' ');
                column = indent;
                line_empty = true;
            }
            text.remove_prefix(1);
            continue;
        }
        std::string_view word = text.substr(0, text.find_first_of(" \n"));
        text.remove_prefix(word.size());
        std::size_t needed = columns(word) + (line_empty ? 0 : 1);
        if (!line_empty && column + needed > width) {
            out += '\n';
            out.append(indent, ' ');
            column = indent;
            line_empty = true;
            needed = columns(word);
        }
        if (!line_empty)
            out += ' ';
        out += word;
        column += needed;
        line_empty = false;
    }
    return out;
}

std::string usage_of(const Argument& argument) {
    std::string text(argument.name);
    if (argument.name.front() == '-') {
        if (argument.kind != ValueKind::flag) {
            text += ' ';
            if (!argument.value_name.empty())
                text += argument.value_name;
            else
                text += argument.kind == ValueKind::path   ? "PATH"
                        : argument.kind == ValueKind::text ? "TEXT"
                                                           : "N";
        }
        return text;
    }
    if (argument.repeated)
        text += "...";
    return argument.required ? text : "[" + text + "]";
}

std::string usage_of(const Verb& verb) {
    std::string text = "requal " + full_name(verb);
    for (const Argument& positional : verb.positionals)
        text += " " + usage_of(positional);
    for (const Argument& option : verb.options)
        if (option.required)
            text += " " + usage_of(option);
    return text + " [options]";
}

std::string full_help_of(const Argument& argument) {
    std::string text(argument.help);
    auto add = [&](const std::string& note) { text += (text.empty() ? "" : " ") + note; };
    if (!argument.choices.empty()) {
        std::string choices;
        for (std::string_view choice : argument.choices)
            choices += (choices.empty() ? "" : ", ") + std::string(choice);
        add("(one of: " + choices + ")");
    }
    if (!argument.fallback.empty())
        add("(default: " + std::string(argument.fallback) + ")");
    if (argument.name.front() == '-') {
        if (argument.required)
            add("(required)");
        if (argument.repeated)
            add("(may be given more than once)");
    }
    return text;
}

std::string help_of_all(const std::vector<Verb>& verbs, std::string_view group) {
    std::string text = heading("Usage:") + " requal " +
                       (group.empty() ? "VERB" : std::string(group) + " VERB") + " [options]\n";
    if (group.empty())
        text +=
            "\n" +
            wrapped(
                "Qualifies inference engines: builds an engine on its target, proves that it still "
                "computes what the source model computes, measures it, freezes what was proved, "
                "and "
                "later tells whether a station is still in that proven state.",
                0, 0) +
            "\n";
    std::vector<const Verb*> shown;
    for (const Verb& verb : verbs)
        if (!verb.hidden && (group.empty() || verb.group == group))
            shown.push_back(&verb);
    std::sort(shown.begin(), shown.end(),
              [](const Verb* a, const Verb* b) { return full_name(*a) < full_name(*b); });
    text += "\n" + heading("Verbs:") + "\n";
    for (const Verb* verb : shown) {
        std::string name = full_name(*verb);
        for (const Argument& positional : verb->positionals)
            name += " " + usage_of(positional);
        text += entry(name, verb->summary);
    }
    if (group.empty())
        text += entry("help [VERB]", "this help, or the help of one verb");
    text += section("Common options", common_options());
    text += status_section();
    text += "\n'requal help VERB' says more about one verb.\n";
    return text;
}

std::string help_of(const Verb& verb) {
    std::string text = heading("Usage:") + " " + usage_of(verb) + "\n\n";
    std::string summary(verb.summary);
    if (!summary.empty() && summary.back() != '.')
        summary += '.';
    text += wrapped(summary, 0, 0) + "\n";
    if (!verb.description.empty())
        text += "\n" + wrapped(verb.description, 0, 0) + "\n";
    text += section("Arguments", verb.positionals);
    text += section("Options", verb.options);
    text += section("Common options", common_options());
    if (!verb.examples.empty()) {
        text += "\n" + heading("Examples:") + "\n";
        for (std::string_view example : verb.examples)
            text += "  " + std::string(example) + "\n";
    }
    return text + status_section();
}

}  // namespace requal::cli
