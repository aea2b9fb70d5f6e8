// The only file that includes CLI11 (one inclusion costs many seconds). Only the parser of the verb
// that was named is built: the start must stay below 30 ms however many verbs there are.
#include "cli/parse.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/text.h"

namespace requal::cli {

namespace {

constexpr std::string_view help_words[] = {"--help", "-h"};

bool is_help(std::string_view word) {
    return std::find(std::begin(help_words), std::end(help_words), word) != std::end(help_words);
}

[[noreturn]] void fail_usage(std::string message, std::string where, std::string next) {
    throw Error(ErrorKind::usage, std::move(message), std::move(where), std::move(next));
}

std::string help_hint(const Verb* verb) {
    return verb != nullptr ? "see 'requal help " + full_name(*verb) + "'" : "see 'requal --help'";
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates,
                       const Verb* verb) {
    std::string near = nearest(word, candidates);
    return near.empty() ? help_hint(verb) : "did you mean '" + near + "'? " + help_hint(verb);
}

const Argument* find_option(std::span<const Argument> options, std::string_view name) {
    auto found = std::find_if(options.begin(), options.end(),
                              [&](const Argument& option) { return option.name == name; });
    return found == options.end() ? nullptr : &*found;
}

/// Words of the command line with the verb taken out.
struct Split {
    std::vector<std::string> verb_words;    // at most two
    std::vector<std::string> others;        // options, values and positionals in order
    std::vector<std::string> after_dashes;  // what follows "--"
    bool help = false;
};

// Finds the verb: the first word that is neither an option nor the value of a common option.
// (Options of a verb stand after it.)
Split split_words(const std::vector<Verb>& verbs, std::span<const std::string> words) {
    Split split;
    bool group_open = false;
    std::size_t at = 0;
    for (; at < words.size(); ++at) {
        const std::string& word = words[at];
        if (word == "--")
            break;
        if (is_help(word)) {
            split.help = true;
            continue;
        }
        bool verb_done = !split.verb_words.empty() && !group_open;
        if (verb_done || (word.size() > 1 && word[0] == '-')) {
            split.others.push_back(word);
            const Argument* option = find_option(common_options(), word);
            if (!verb_done && option != nullptr && option->kind != ValueKind::flag &&
                at + 1 < words.size())
                split.others.push_back(words[++at]);
            continue;
        }
        split.verb_words.push_back(word);
        group_open = split.verb_words.size() == 1 &&
                     std::any_of(verbs.begin(), verbs.end(),
                                 [&](const Verb& verb) { return verb.group == word; });
    }
    for (++at; at < words.size(); ++at)
        split.after_dashes.push_back(words[at]);
    return split;
}

const Verb* find_verb(const std::vector<Verb>& verbs, std::string_view group,
                      std::string_view name) {
    for (const Verb& verb : verbs)
        if (verb.group == group && verb.name == name)
            return &verb;
    return nullptr;
}

std::vector<std::string_view> names_in_group(const std::vector<Verb>& verbs,
                                             std::string_view group) {
    std::vector<std::string_view> names;
    for (const Verb& verb : verbs)
        if (verb.group == group && !verb.hidden)
            names.push_back(verb.name);
    return names;
}

std::string joined(std::span<const std::string_view> names) {
    std::string text;
    for (std::string_view name : names)
        text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

// The verb that one or two words name; null for a group alone, which `group` then holds.
const Verb* resolve_verb(const std::vector<Verb>& verbs, std::span<const std::string> words,
                         std::string& group) {
    const std::string& first = words[0];
    std::vector<std::string_view> members = names_in_group(verbs, first);
    const Verb* alone = find_verb(verbs, "", first);
    if (members.empty() || (words.size() == 1 && alone != nullptr)) {
        if (alone != nullptr)
            return alone;
        std::vector<std::string_view> candidates = names_in_group(verbs, "");
        for (const Verb& verb : verbs)
            if (!verb.group.empty() && !verb.hidden)
                candidates.push_back(verb.group);
        candidates.push_back("help");
        fail_usage("unknown verb", first, suggestion(first, candidates, nullptr));
    }
    group = first;
    if (words.size() == 1)
        return nullptr;
    if (const Verb* verb = find_verb(verbs, first, words[1]))
        return verb;
    std::string near = nearest(words[1], members);
    fail_usage("unknown verb", first + " " + words[1],
               near.empty() ? "one of: " + joined(members)
                            : "did you mean '" + first + " " + near + "'?");
}

std::int64_t check_integer(const std::string& text, const std::string& name) {
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range)
        fail_usage("integer out of range: '" + text + "'", name, "give a smaller one");
    if (error != std::errc{} || end != text.data() + text.size())
        fail_usage("not an integer: '" + text + "'", name, "give a number such as 4");
    return value;
}

void check_number(const std::string& text, const std::string& name) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        fail_usage("not a finite number: '" + text + "'", name,
                   "give a number such as 0.5 or 1e-3");
}

void check_value(const Argument& argument, const std::string& value) {
    std::string name(argument.name);
    switch (argument.kind) {
    case ValueKind::integer:
        check_integer(value, name);
        break;
    case ValueKind::number:
        check_number(value, name);
        break;
    case ValueKind::path:
        if (value.empty())
            fail_usage("the path is empty", name, "name a file or folder");
        break;
    case ValueKind::flag:
    case ValueKind::text:
        break;
    }
    const auto& choices = argument.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
        std::string near = nearest(value, choices);
        fail_usage("'" + value + "' is not one of " + joined(choices), name,
                   near.empty() ? "" : "did you mean '" + near + "'?");
    }
}

using Values = std::map<std::string, std::vector<std::string>, std::less<>>;

// Runs CLI11 over options only: what it does not know comes back in order in `rest`.
Values parse_options(const Verb* verb, std::span<const Argument* const> options,
                     std::vector<std::string> words, std::vector<std::string>& rest) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    app.allow_windows_style_options(false);
    Values values;
    std::map<std::string_view, bool> flags;
    for (const Argument* option : options) {
        std::string name(option->name);
        if (option->kind == ValueKind::flag) {
            app.add_flag(name, flags[option->name])->disable_flag_override();
            continue;
        }
        app.add_option(name, values[name])->expected(1)->allow_extra_args(false)->take_all();
    }
    for (const std::string& word : words) {
        std::string name = word.substr(0, word.find('='));
        if (name.size() < word.size() && flags.contains(name))
            fail_usage("takes no value", name, help_hint(verb));
    }
    std::reverse(words.begin(), words.end());  // CLI11's vector form takes the words from its end
    try {
        app.parse(words);
    } catch (const CLI::ArgumentMismatch& error) {
        std::string text = error.what();
        fail_usage("needs a value", text.substr(0, text.find(':')), help_hint(verb));
    } catch (const CLI::ParseError& error) {
        std::string text = error.what();
        std::replace(text.begin(), text.end(), '\n', ' ');
        fail_usage(text, verb != nullptr ? full_name(*verb) : "", help_hint(verb));
    }
    rest = app.remaining();
    std::erase_if(values, [](const auto& entry) { return entry.second.empty(); });
    for (const auto& [name, set] : flags)
        if (set)
            values[std::string(name)] = {"true"};
    return values;
}

void check_options(const Verb* verb, std::span<const Argument* const> options,
                   const Values& values) {
    std::set<std::string_view> names;
    for (const Argument* option : options)
        names.insert(option->name);
    for (const Argument* option : options) {
        auto found = values.find(option->name);
        if (found == values.end()) {
            if (option->required)
                fail_usage("is required", std::string(option->name), help_hint(verb));
            continue;
        }
        if (option->kind == ValueKind::flag)
            continue;
        if (found->second.size() > 1 && !option->repeated)
            fail_usage("is given more than once", std::string(option->name), "give it once");
        for (const std::string& value : found->second) {
            if (names.contains(value))  // `--store --json`: the value was forgotten
                fail_usage("needs a value", std::string(option->name), help_hint(verb));
            check_value(*option, value);
        }
    }
}

// Gives the words to the positionals in order; the last one may take many.
void assign_positionals(const Verb& verb, std::vector<std::string> words, Values& values) {
    std::size_t at = 0;
    for (const Argument& positional : verb.positionals) {
        std::size_t take =
            positional.repeated ? words.size() - at : std::min<std::size_t>(1, words.size() - at);
        if (take == 0 && positional.required)
            fail_usage(std::string(positional.name) + " is missing", full_name(verb),
                       help_hint(&verb));
        for (; take > 0; --take, ++at) {
            check_value(positional, words[at]);
            values[std::string(positional.name)].push_back(words[at]);
        }
    }
    if (at < words.size())
        fail_usage("unexpected argument '" + words[at] + "'", full_name(verb), help_hint(&verb));
}

const std::string* last(const Values& values, std::string_view name) {
    auto found = values.find(name);
    return found == values.end() ? nullptr : &found->second.back();
}

Common common_of(const Values& values, int& events_fd) {
    Common common;
    const char* environment_store = std::getenv("REQUAL_STORE");
    common.store =
        environment_store != nullptr && *environment_store != '\0' ? environment_store : ".requal";
    if (const std::string* store = last(values, "--store"))
        common.store = *store;
    if (const std::string* rules = last(values, "--rules"))
        common.rules = *rules;
    common.json = values.contains("--json");
    common.quiet = values.contains("--quiet");
    common.verbose = values.contains("--verbose");
    common.progress = !values.contains("--no-progress");
    if (const std::string* jobs = last(values, "--jobs")) {
        std::int64_t count = check_integer(*jobs, "--jobs");
        if (count < 0 || count > 4096)
            fail_usage("out of range: " + *jobs, "--jobs", "give 0 (all cores) to 4096");
        common.jobs = static_cast<int>(count);
    }
    if (const std::string* events = last(values, "--events")) {
        std::int64_t fd = check_integer(*events, "--events");
        if (fd < 2 || fd > 1'000'000 || ::fcntl(static_cast<int>(fd), F_GETFL) < 0)
            fail_usage("no open file descriptor: " + *events, "--events",
                       "open one, as in 'requal … --events 3 3>events.jsonl'");
        events_fd = static_cast<int>(fd);
    }
    if (common.quiet && common.verbose)
        fail_usage("--quiet and --verbose exclude each other", "", "leave one out");
    return common;
}

bool has_word(std::span<const std::string> words, std::string_view wanted) {
    for (const std::string& word : words) {
        if (word == "--")
            return false;
        if (word == wanted)
            return true;
    }
    return false;
}

void declare(Arguments& arguments, const std::vector<Argument>& table) {
    for (const Argument& argument : table) {
        std::vector<std::string>& fallback = arguments.fallbacks[std::string(argument.name)];
        if (!argument.fallback.empty())
            fallback.emplace_back(argument.fallback);
    }
}

}  // namespace

const std::vector<Argument>& common_options() {
    static const std::vector<Argument> options = {
        {"--store", ValueKind::path, "the store's folder (default: $REQUAL_STORE, else .requal)",
         "DIR"},
        {"--json", ValueKind::flag, "print one JSON document on stdout and nothing else there"},
        {"--quiet", ValueKind::flag, "no messages on stderr except errors"},
        {"--verbose", ValueKind::flag, "more messages on stderr"},
        {"--no-progress", ValueKind::flag, "no progress bars"},
        {"--jobs", ValueKind::integer, "threads for our own work (default: all cores)", "N"},
        {"--rules", ValueKind::path, "read rules from this folder instead of the embedded ones",
         "DIR"},
        {"--events", ValueKind::integer,
         "write progress and gates as JSON Lines to this descriptor", "FD"},
    };
    return options;
}

bool asks_for_json(std::span<const std::string> words) {
    return has_word(words, "--json");
}

bool asks_for_verbose(std::span<const std::string> words) {
    return has_word(words, "--verbose");
}

std::string full_name(const Verb& verb) {
    return verb.group.empty() ? std::string(verb.name)
                              : std::string(verb.group) + " " + std::string(verb.name);
}

std::string command_line_text(std::span<const std::string> words) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    std::string line = "requal";
    for (const std::string& word : words) {
        line += ' ';
        if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
            line += word;
            continue;
        }
        line += '\'';
        for (char c : word)
            line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

Invocation parse_command_line(const std::vector<Verb>& verbs, std::span<const std::string> words) {
    Invocation invocation;
    Split split = split_words(verbs, words);
    if (split.verb_words.empty() && has_word(split.others, "--version")) {
        std::erase(split.others, "--version");
        split.verb_words = {"version"};
    }
    std::vector<std::string> topic = split.verb_words;
    if (!topic.empty() && topic[0] == "help") {
        split.help = true;
        topic.erase(topic.begin());
        // the words after `help` were taken for arguments of a verb of that name
        for (const std::string& word : split.others)
            if (word[0] != '-' && topic.size() < 2)
                topic.push_back(word);
        std::erase_if(split.others, [](const std::string& word) { return word[0] != '-'; });
    }
    invocation.help = split.help;
    if (!topic.empty())
        invocation.verb = resolve_verb(verbs, topic, invocation.group);
    const Verb* verb = invocation.verb;
    if (verb == nullptr && !invocation.group.empty() && !split.help)
        fail_usage("needs a second word", invocation.group,
                   "one of: " + joined(names_in_group(verbs, invocation.group)));

    std::vector<const Argument*> options;
    for (const Argument& option : common_options())
        options.push_back(&option);
    if (verb != nullptr)
        for (const Argument& option : verb->options)
            options.push_back(&option);
    std::vector<std::string> rest;
    Values values = parse_options(verb, options, std::move(split.others), rest);
    if (split.help) {
        invocation.common.json = values.contains("--json");
        return invocation;
    }

    std::vector<std::string> positionals;
    for (std::string& word : rest) {
        if (word.size() > 1 && word[0] == '-') {
            std::vector<std::string_view> names;
            for (const Argument* option : options)
                names.push_back(option->name);
            std::string name = word.substr(0, word.find('='));
            fail_usage("unknown option", name, suggestion(name, names, verb));
        }
        positionals.push_back(std::move(word));
    }
    check_options(verb, options, values);
    for (std::string& word : split.after_dashes)
        positionals.push_back(std::move(word));
    if (verb == nullptr) {
        if (words.empty())
            fail_usage("no verb", "", "see 'requal --help'");
        fail_usage("no verb among the arguments", "", "see 'requal --help'");
    }

    invocation.common = common_of(values, invocation.events_fd);
    invocation.common.command_line = command_line_text(words);
    declare(invocation.arguments, verb->positionals);
    declare(invocation.arguments, verb->options);
    for (const Argument& option : common_options())
        values.erase(std::string(option.name));
    assign_positionals(*verb, std::move(positionals), values);
    invocation.arguments.values = std::move(values);
    return invocation;
}

}  // namespace requal::cli
