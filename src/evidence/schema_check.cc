#include "evidence/schema_check.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <span>

#include "base/embedded.h"
#include "base/error.h"
#include "base/text.h"

namespace requal {

// Written by the build: the files of schemas/.
std::span<const EmbeddedFile> embedded_schemas();

}  // namespace requal

namespace requal::evidence {

namespace {

constexpr std::size_t most_problems = 20;
constexpr std::size_t longest_matched = 2000;  // std::regex recurses by character

/// One document against one schema. Words: those that schemas/ uses; any other is an error of ours, not silence.
class Checker {
public:
    explicit Checker(const Json& root) : root_(root) {}

    std::vector<std::string> problems;

    bool holds(const Json& value, const Json& schema, const std::string& place) {
        Checker other(root_);
        other.check(value, schema, place);
        return other.problems.empty();
    }

    void check(const Json& value, const Json& schema, const std::string& place) {
        if (problems.size() >= most_problems)
            return;
        if (schema.is_boolean()) {
            if (!schema.as_boolean())
                note(place, "nothing may stand here");
            return;
        }
        for (const auto& [word, rule] : schema.as_object())
            check_word(word, rule, value, schema, place);
    }

private:
    void note(const std::string& place, const std::string& what) {
        if (problems.size() < most_problems)
            problems.push_back((place.empty() ? "the document" : place) + ": " + what);
    }

    static bool is_type(const Json& value, const std::string& type) {
        if (type == "object")
            return value.is_object();
        if (type == "array")
            return value.is_array();
        if (type == "string")
            return value.is_string();
        if (type == "boolean")
            return value.is_boolean();
        if (type == "null")
            return value.is_null();
        if (type == "number")
            return value.is_number();
        if (type == "integer")
            return value.is_integer() ||
                   (value.is_number() &&
                    value.as_number() == static_cast<double>(static_cast<std::int64_t>(
                                             std::clamp(value.as_number(), -9e15, 9e15))));
        throw Error(ErrorKind::internal, "a schema names a type that is not known: " + type);
    }

    void check_word(const std::string& word, const Json& rule, const Json& value,
                    const Json& schema, const std::string& place) {
        static const std::set<std::string, std::less<>> silent{
            "$schema", "$id",  "title",    "description", "$defs",
            "then",    "else", "examples", "$comment",    "default"};
        if (silent.contains(word))
            return;
        if (check_general(word, rule, value, schema, place) ||
            check_object(word, rule, value, schema, place) ||
            check_array(word, rule, value, schema, place) || check_scalar(word, rule, value, place))
            return;
        throw Error(ErrorKind::internal, "a schema uses a word that is not known: " + word);
    }

    bool check_general(const std::string& word, const Json& rule, const Json& value,
                       const Json& schema, const std::string& place) {
        if (word == "type") {
            bool good = false;
            std::string names;
            const auto look = [&](const Json& type) {
                good = good || is_type(value, type.as_string());
                names += (names.empty() ? "" : " or ") + type.as_string();
            };
            if (rule.is_array())
                std::for_each(rule.as_array().begin(), rule.as_array().end(), look);
            else
                look(rule);
            if (!good)
                note(place, "is no " + names);
        } else if (word == "const") {
            if (!(value == rule))
                note(place, "is not " + write_json_compact(rule));
        } else if (word == "enum") {
            const auto& all = rule.as_array();
            if (std::find(all.begin(), all.end(), value) == all.end())
                note(place, "is none of " + write_json_compact(rule).substr(0, 200));
        } else if (word == "$ref") {
            check(value, resolved(rule.as_string()), place);
        } else if (word == "oneOf" || word == "anyOf" || word == "allOf") {
            std::size_t good = 0;
            for (const Json& one : rule.as_array())
                good += holds(value, one, place) ? 1 : 0;
            if ((word == "oneOf" && good != 1) || (word == "anyOf" && good == 0) ||
                (word == "allOf" && good != rule.size()))
                note(place, "does not fit " + word);
        } else if (word == "not") {
            if (holds(value, rule, place))
                note(place, "is what it may not be");
        } else if (word == "if") {
            const char* branch = holds(value, rule, place) ? "then" : "else";
            if (schema.has(branch))
                check(value, schema.at(branch), place);
        } else {
            return false;
        }
        return true;
    }

    bool check_object(const std::string& word, const Json& rule, const Json& value,
                      const Json& schema, const std::string& place) {
        static const std::set<std::string, std::less<>> words{
            "required",      "properties",        "additionalProperties", "propertyNames",
            "minProperties", "patternProperties", "maxProperties",        "dependentRequired"};
        if (!words.contains(word))
            return false;
        if (!value.is_object())
            return true;
        const auto& members = value.as_object();
        if (word == "required") {
            for (const Json& key : rule.as_array()) {
                if (!value.has(key.as_string()))
                    note(place, "misses the key '" + key.as_string() + "'");
            }
        } else if (word == "properties") {
            for (const auto& [key, member] : members) {
                if (rule.has(key))
                    check(member, rule.at(key), place + "/" + printable(key));
            }
        } else if (word == "patternProperties") {
            for (const auto& [pattern, inner] : rule.as_object()) {
                for (const auto& [key, member] : members) {
                    if (matches(key, pattern))
                        check(member, inner, place + "/" + printable(key));
                }
            }
        } else if (word == "additionalProperties") {
            for (const auto& [key, member] : members) {
                if (!is_named(key, schema))
                    check(member, rule, place + "/" + printable(key));
            }
        } else if (word == "propertyNames") {
            for (const auto& [key, member] : members)
                check(Json(key), rule, place + "/" + printable(key));
        } else if (word == "dependentRequired") {
            for (const auto& [key, needed] : rule.as_object()) {
                for (const Json& other : needed.as_array()) {
                    if (value.has(key) && !value.has(other.as_string()))
                        note(place, "misses the key '" + other.as_string() + "'");
                }
            }
        } else {
            const auto bound = static_cast<std::size_t>(rule.as_integer());
            if (word == "minProperties" ? members.size() < bound : members.size() > bound)
                note(place, "has " + std::to_string(members.size()) + " keys");
        }
        return true;
    }

    static bool is_named(const std::string& key, const Json& schema) {
        if (schema.has("properties") && schema.at("properties").has(key))
            return true;
        if (!schema.has("patternProperties"))
            return false;
        const auto& patterns = schema.at("patternProperties").as_object();
        return std::any_of(patterns.begin(), patterns.end(),
                           [&](const auto& entry) { return matches(key, entry.first); });
    }

    bool check_array(const std::string& word, const Json& rule, const Json& value,
                     const Json& schema, const std::string& place) {
        static const std::set<std::string, std::less<>> words{
            "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"};
        if (!words.contains(word))
            return false;
        if (!value.is_array())
            return true;
        const auto& items = value.as_array();
        const auto inside = [&](std::size_t i) { return place + "/" + std::to_string(i); };
        if (word == "items") {
            const std::size_t first =
                schema.has("prefixItems") ? schema.at("prefixItems").size() : 0;
            for (std::size_t i = first; i < items.size(); ++i)
                check(items[i], rule, inside(i));
        } else if (word == "prefixItems") {
            for (std::size_t i = 0; i < std::min(items.size(), rule.size()); ++i)
                check(items[i], rule.as_array()[i], inside(i));
        } else if (word == "contains") {
            if (std::none_of(items.begin(), items.end(),
                             [&](const Json& item) { return holds(item, rule, place); }))
                note(place, "holds no item that fits");
        } else if (word == "uniqueItems") {
            std::set<std::string> seen;
            for (const Json& item : items) {
                if (!seen.insert(write_json_compact(item)).second)
                    note(place, "holds an item twice");
            }
        } else {
            const auto bound = static_cast<std::size_t>(rule.as_integer());
            if (word == "minItems" ? items.size() < bound : items.size() > bound)
                note(place, "has " + std::to_string(items.size()) + " items");
        }
        return true;
    }

    bool check_scalar(const std::string& word, const Json& rule, const Json& value,
                      const std::string& place) {
        if (word == "pattern" || word == "minLength" || word == "maxLength" || word == "format") {
            if (!value.is_string() || word == "format")
                return true;
            const std::string& text = value.as_string();
            if (word == "pattern" && !matches(text, rule.as_string()))
                note(place, "does not match " + rule.as_string());
            const auto length =
                static_cast<std::int64_t>(std::count_if(text.begin(), text.end(), [](char c) {
                    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                }));
            if ((word == "minLength" && length < rule.as_integer()) ||
                (word == "maxLength" && length > rule.as_integer()))
                note(place, "has " + std::to_string(length) + " characters");
            return true;
        }
        const bool number = value.is_number();
        if (word == "minimum" || word == "maximum" || word == "exclusiveMinimum" ||
            word == "exclusiveMaximum") {
            if (!number)
                return true;
            const double got = value.as_number();
            const double bound = rule.as_number();
            const bool good = word == "minimum"            ? got >= bound
                              : word == "maximum"          ? got <= bound
                              : word == "exclusiveMinimum" ? got > bound
                                                           : got < bound;
            if (!good)
                note(place, "lies outside of " + word + " " + write_json_compact(rule));
            return true;
        }
        return false;
    }

    static bool matches(const std::string& text, const std::string& pattern) {
        static std::map<std::string, std::regex> known;
        if (text.size() > longest_matched)
            return false;
        if (pattern == "^sha256:[0-9a-f]{64}$")  // most of what is matched
            return text.size() == 71 && text.starts_with("sha256:") &&
                   text.find_first_not_of("0123456789abcdef", 7) == std::string::npos;
        auto found = known.find(pattern);
        if (found == known.end())
            found = known.emplace(pattern, std::regex(pattern, std::regex::ECMAScript)).first;
        return std::regex_search(text, found->second);
    }

    const Json& resolved(const std::string& reference) const {
        constexpr std::string_view prefix = "#/$defs/";
        if (!reference.starts_with(prefix))
            throw Error(ErrorKind::internal, "a schema refers to " + reference);
        return root_.at("$defs").at(reference.substr(prefix.size()));
    }

    const Json& root_;
};

const EmbeddedFile* find_schema(std::string_view name) {
    for (const EmbeddedFile& file : embedded_schemas()) {
        if (file.name == std::string(name) + ".json")
            return &file;
    }
    return nullptr;
}

}  // namespace

bool has_schema(std::string_view name) {
    return find_schema(name) != nullptr;
}

std::vector<std::string> schema_names() {
    std::vector<std::string> names;
    for (const EmbeddedFile& file : embedded_schemas())
        names.emplace_back(file.name.substr(0, file.name.size() - 5));
    return names;
}

std::vector<std::string> schema_problems(const Json& document, std::string_view name) {
    static std::map<std::string, Json, std::less<>> read;
    auto found = read.find(name);
    if (found == read.end()) {
        const EmbeddedFile* file = find_schema(name);
        if (file == nullptr)
            throw Error(ErrorKind::internal, "there is no schema " + std::string(name));
        found = read.emplace(std::string(name), parse_json(file->bytes, file->name)).first;
    }
    Checker checker(found->second);
    checker.check(document, found->second, "");
    return std::move(checker.problems);
}

void require_as_schema_says(const Json& document, std::string_view name,
                            const std::string& source) {
    const auto problems = schema_problems(document, name);
    if (!problems.empty())
        throw Error(ErrorKind::input,
                    "not as the schema " + std::string(name) + " says: " + problems.front(),
                    source);
}

}  // namespace requal::evidence
