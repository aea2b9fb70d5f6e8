// Shell completion scripts from the tables of the verbs.
#include <set>

#include "cli/help.h"
#include "cli/parse.h"

namespace requal::cli {

namespace {

std::string option_words(const Verb& verb) {
    std::string words;
    for (const Argument& option : verb.options)
        words += std::string(option.name) + " ";
    for (const Argument& option : common_options())
        words += std::string(option.name) + " ";
    return words + "--help";
}

// First words of all verbs, each once, and `help`.
std::set<std::string> first_words(const std::vector<Verb>& verbs) {
    std::set<std::string> words = {"help"};
    for (const Verb& verb : verbs)
        if (!verb.hidden)
            words.insert(std::string(verb.group.empty() ? verb.name : verb.group));
    return words;
}

std::set<std::string> groups(const std::vector<Verb>& verbs) {
    std::set<std::string> words;
    for (const Verb& verb : verbs)
        if (!verb.hidden && !verb.group.empty())
            words.insert(std::string(verb.group));
    return words;
}

std::string members(const std::vector<Verb>& verbs, std::string_view group) {
    std::string words;
    for (const Verb& verb : verbs)
        if (!verb.hidden && verb.group == group)
            words += (words.empty() ? "" : " ") + std::string(verb.name);
    return words;
}

std::string joined(const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

// In single quotes for the shell.
std::string quoted(std::string_view text) {
    std::string out = "'";
    for (char c : text)
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

// The `case` arms that complete the value of an option, one for each option that takes one.
std::string value_arms(const std::vector<Argument>& options, std::string_view indent) {
    std::string arms;
    for (const Argument& option : options) {
        if (option.kind == ValueKind::flag)
            continue;
        std::string choices;
        for (std::string_view choice : option.choices)
            choices += (choices.empty() ? "" : " ") + std::string(choice);
        arms += std::string(indent) + std::string(option.name) + ") ";
        if (!choices.empty())
            arms += "COMPREPLY=($(compgen -W " + quoted(choices) + " -- \"$cur\")); return ;;\n";
        else if (option.kind == ValueKind::path || option.kind == ValueKind::text)
            arms += "COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n";
        else
            arms += "return ;;\n";
    }
    return arms;
}

// zsh's _arguments specifications use ':' and '[]' themselves.
std::string zsh_escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == ':' || c == '[' || c == ']' || c == '\\')
            out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_action(const Argument& argument) {
    if (!argument.choices.empty()) {
        std::string choices;
        for (std::string_view choice : argument.choices)
            choices += (choices.empty() ? "" : " ") + zsh_escaped(choice);
        return "(" + choices + ")";
    }
    return argument.kind == ValueKind::path || argument.kind == ValueKind::text ? "_files" : " ";
}

std::string zsh_option(const Argument& option) {
    std::string spec = (option.repeated ? "*" : "") + std::string(option.name) + "[" +
                       zsh_escaped(option.help) + "]";
    if (option.kind != ValueKind::flag)
        spec += ":" + zsh_escaped(option.value_name.empty() ? "value" : option.value_name) + ":" +
                zsh_action(option);
    return quoted(spec);
}

std::string zsh_function_name(const Verb& verb) {
    std::string name = "_requal_" + full_name(verb);
    for (char& c : name)
        if (c == ' ' || c == '-')
            c = '_';
    return name;
}

}  // namespace

std::string bash_completion(const std::vector<Verb>& verbs) {
    std::string text =
        R"(# bash completion of requal; load it with: source <(requal completion bash)
_requal() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" verb="" word at
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        word="${COMP_WORDS[at]}"
        case "$word" in
)";
    std::string valued;
    for (const Argument& option : common_options())
        if (option.kind != ValueKind::flag)
            valued += (valued.empty() ? "" : "|") + std::string(option.name);
    text += "            " + valued + ") ((at++)) ;;\n";
    text += "            -*|help) ;;\n";
    std::string group_pattern;
    for (const std::string& group : groups(verbs))
        group_pattern += (group_pattern.empty() ? "" : "|") + group;
    text += "            *) verb=\"${verb:+$verb }$word\"\n";
    if (group_pattern.empty())
        text += "               break ;;\n";
    else
        text += "               case \"$verb\" in " + group_pattern + ") ;; *) break ;; esac ;;\n";
    text += "        esac\n    done\n";
    text += "    case \"$prev\" in\n" + value_arms(common_options(), "        ") + "    esac\n";
    text += "    case \"$verb\" in\n";
    text += "        '') COMPREPLY=($(compgen -W " +
            quoted(joined(first_words(verbs)) + " --help --version") + " -- \"$cur\")) ;;\n";
    for (const std::string& group : groups(verbs))
        text += "        " + quoted(group) + ") COMPREPLY=($(compgen -W " +
                quoted(members(verbs, group)) + " -- \"$cur\")) ;;\n";
    for (const Verb& verb : verbs) {
        if (verb.hidden)
            continue;
        text += "        " + quoted(full_name(verb)) + ")\n";
        std::string arms = value_arms(verb.options, "                ");
        if (!arms.empty())
            text += "            case \"$prev\" in\n" + arms + "            esac\n";
        std::string choices;
        for (const Argument& positional : verb.positionals)
            for (std::string_view choice : positional.choices)
                choices += (choices.empty() ? "" : " ") + std::string(choice);
        std::string otherwise = choices.empty() ? "-f" : "-W " + quoted(choices);
        text += "            case \"$cur\" in\n"
                "                -*) COMPREPLY=($(compgen -W " +
                quoted(option_words(verb)) +
                " -- \"$cur\")) ;;\n"
                "                *) COMPREPLY=($(compgen " +
                otherwise +
                " -- \"$cur\")) ;;\n"
                "            esac ;;\n";
    }
    text += "    esac\n}\ncomplete -o filenames -F _requal requal\n";
    return text;
}

std::string zsh_completion(const std::vector<Verb>& verbs) {
    std::string text =
        "#compdef requal\n"
        "# zsh completion of requal; write it to a file _requal in a folder of $fpath\n\n";
    text += "_requal_common=(\n";
    for (const Argument& option : common_options())
        text += "    " + zsh_option(option) + "\n";
    text += "    '--help[help of this verb]'\n)\n\n";
    for (const Verb& verb : verbs) {
        if (verb.hidden)
            continue;
        text += zsh_function_name(verb) + "() {\n    _arguments -S $_requal_common";
        for (const Argument& option : verb.options)
            text += " \\\n        " + zsh_option(option);
        for (const Argument& positional : verb.positionals)
            text += " \\\n        " +
                    quoted((positional.repeated   ? "*:"
                            : positional.required ? ":"
                                                  : "::") +
                           zsh_escaped(positional.name) + ":" + zsh_action(positional));
        text += "\n}\n\n";
    }
    for (const std::string& group : groups(verbs)) {
        text += "_requal_group_" + group + "() {\n    local -a verbs\n    verbs=(\n";
        for (const Verb& verb : verbs)
            if (!verb.hidden && verb.group == group)
                text += "        " +
                        quoted(zsh_escaped(verb.name) + ":" + std::string(verb.summary)) + "\n";
        text += "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n    else\n"
                "        local name=\"${words[2]//-/_}\"\n        shift words; (( CURRENT-- ))\n"
                "        (( $+functions[_requal_" +
                group + "_$name] )) && _requal_" + group + "_$name\n    fi\n}\n\n";
    }
    text += "_requal() {\n    local -a verbs\n    verbs=(\n";
    for (const std::string& word : first_words(verbs)) {
        std::string summary = word == "help" ? "help of a verb" : "verbs: " + members(verbs, word);
        for (const Verb& verb : verbs)
            if (verb.group.empty() && verb.name == word)
                summary = verb.summary;
        text += "        " + quoted(zsh_escaped(word) + ":" + summary) + "\n";
    }
    text += "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        "
            "return\n    fi\n"
            "    shift words; (( CURRENT-- ))\n    local name=\"${words[1]//-/_}\"\n"
            "    if (( $+functions[_requal_group_$name] )); then\n        _requal_group_$name\n"
            "    elif (( $+functions[_requal_$name] )); then\n        _requal_$name\n"
            "    else\n        _describe verb verbs\n    fi\n}\n\n"
            "if [[ $funcstack[1] == _requal ]]; then\n    _requal \"$@\"\nelse\n    compdef "
            "_requal requal\nfi\n";
    return text;
}

}  // namespace requal::cli
