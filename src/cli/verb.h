// A verb of the command line as a plain table: parsing is done from it in one place, help, completion and the man page too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace requal::cli {

enum class ValueKind { flag, text, integer, number, path };

/// One option or positional argument of a verb. `name` "--inputs" or, for a positional, "MODEL".
struct Argument {
    std::string_view name;
    ValueKind kind = ValueKind::text;
    std::string_view help = {};
    std::string_view value_name = {};  ///< shown in help: "FILE"
    std::string_view fallback = {};    ///< default as text, shown in help
    bool required = false;
    bool repeated = false;
    std::vector<std::string_view> choices = {};
};

/// Parsed values. Asking for an argument that the verb's table does not have is an internal error.
class Arguments {
public:
    bool flag(std::string_view name) const;
    bool given(std::string_view name) const;        ///< the user wrote it
    std::string text(std::string_view name) const;  ///< the fallback when not given
    std::optional<std::string> optional_text(std::string_view name) const;
    std::int64_t integer(std::string_view name) const;
    double number(std::string_view name) const;
    std::vector<std::string> all(std::string_view name) const;  ///< of a repeated argument

    std::map<std::string, std::vector<std::string>, std::less<>> values;
    std::map<std::string, std::vector<std::string>, std::less<>> fallbacks;
};

/// The common options.
struct Common {
    std::string store;  ///< --store, $REQUAL_STORE or ".requal"
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    bool progress = true;
    int jobs = 0;              ///< 0: number of cores
    std::string rules;         ///< --rules DIR, empty: embedded
    std::string command_line;  ///< as given, for records
};

/// What a verb hands back: a document for --json (printed as it is) and text for people.
struct Result {
    ExitStatus status = ExitStatus::passed;
    Json document;
    std::string text;  ///< printed to stdout without --json
};

/// A verb, or a two-word verb ("store put": group "store", name "put").
struct Verb {
    std::string_view name;
    std::string_view group;        ///< empty for a one-word verb
    std::string_view summary;      ///< one line
    std::string_view description;  ///< more, for help and the man page
    std::vector<Argument> positionals;
    std::vector<Argument> options;
    std::vector<std::string_view> examples;
    Result (*run)(const Arguments&, const Common&) = nullptr;
    bool hidden = false;
};

/// The two-word verb "GROUP NAME".
inline Verb grouped_verb(std::string_view group, std::string_view name, std::string_view summary,
                         Result (*run)(const Arguments&, const Common&)) {
    Verb verb;
    verb.group = group;
    verb.name = name;
    verb.summary = summary;
    verb.run = run;
    return verb;
}

/// Each file src/cli/verbs/FILE.cc defines `std::vector<Verb> verbs_FILE()`; CMake collects the files into all_verbs().
std::vector<Verb> all_verbs();

}  // namespace requal::cli
