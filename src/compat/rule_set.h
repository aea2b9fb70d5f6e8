// The compatibility rules: dated statements of documents, read from rules/engine-compatibility.yaml and rules/stacks.yaml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compat/condition.h"
#include "compat/facts.h"

namespace requal {
class Yaml;
}

namespace requal::compat {

/// match: the engine runs where all axes of its product agree · allows: a route over one axis · excludes: it does not run there ·
/// duty: something that must be shown, or done by the loader, when a route is taken · note: a statement that decides nothing here.
enum class Effect { match, allows, excludes, duty, note };
std::string_view name_of(Effect effect);

/// How sure a statement is: the named source says it; a third party quotes it; it follows from stated facts; nothing was found.
enum class Certainty { stated, stated_second, inferred, not_found };
std::string_view name_of(Certainty certainty);  ///< "stated", "stated-2nd", "inferred", "not found"

struct Source {
    std::string key, title, product, version, date,
        place;  ///< date: of the document, empty: not shown
};

struct Rule {
    std::string id;
    std::string topic;
    std::string
        product;  ///< a rule speaks of this product only, and no product borrows the rules of another
    std::string group;  ///< statements that disagree share it; the stricter decides
    Effect effect = Effect::note;
    std::string axis;  ///< of allows, excludes and duty; empty: none
    std::string says;
    std::vector<Condition> needs;  ///< must be stated of the engine, else the route is not claimed
    std::vector<Condition> when;
    std::string price, exclusions, next;
    std::vector<std::string> sources;
    std::string document_version;  ///< of the first source, empty: not shown
    std::string document_date;     ///< of the first source, empty: not shown
    Certainty certainty = Certainty::stated;
    std::string collected, review_by;  ///< dates
    std::string where;                 ///< FILE:LINE
};

/// How engines of one product are matched: by default all axes must agree.
struct Axis {
    std::string name;
    Condition same;
    std::string meaning;  ///< for people: "TensorRT version with its build number"
};
struct Product {
    std::string name;
    std::string match;  ///< id of its rule with effect match
    std::vector<Axis> axes;
};

struct RuleSet {
    std::vector<Source> sources;
    std::vector<Product> products;
    std::vector<Rule> rules;
    Tables tables;
    Json described;  ///< origin and digest, for documents

    const Product* product(std::string_view name) const;
    const Rule* rule(std::string_view id) const;
    const Source* source(std::string_view key) const;
};

/// Reads both files; `folder` empty: the embedded ones. Error(input) "FILE:LINE: ..." at the first mistake.
RuleSet load_rules(const std::string& folder = {});

/// All mistakes of the two files, each "FILE:LINE: what; what to do"; empty: none. Error(input) when a file is not there.
std::vector<std::string> check_rules(const std::string& folder = {});

/// Reads from two parsed files (tests give small ones). With `problems` mistakes are collected there and what is wrong is left out.
RuleSet read_rule_set(const Yaml& rules, const Yaml& stacks,
                      std::vector<std::string>* problems = nullptr);

/// The rules as they were known: without those of which every document is newer. `as_of` is a date "2026-10-20" (a document that shows
/// none is as old as the dated ones of its product that its version is not older than, else it stays), or a version "11.3.0" (of
/// documents of `product`; all others stay). Error(usage) for anything else.
RuleSet as_of(const RuleSet& rules, const std::string& as_of,
              std::string_view product = "tensorrt");

/// Is `today` ("2026-11-30") past the review date?
bool is_overdue(const Rule& rule, std::string_view today);

Json rule_json(const RuleSet& rules, const Rule& rule, std::string_view today);

/// True for "2026-11-30" with a real month and day.
bool is_date(std::string_view text);

}  // namespace requal::compat
