// The strict YAML subset in which people write protocols, specs, requests and rules.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace requal {

/// A node of a YAML document that knows its place ("FILE:LINE") for messages.
/// The subset: one document; maps, sequences, plain and quoted scalars. Refused with file and line: anchors, aliases,
/// tags, merge keys, further documents, duplicate keys, tabs as indentation, plain scalars that YAML versions read differently
/// (yes/no/on/off/y/n, True and other spellings, octal such as 010 and 0o10, 0x10, 0b1, sexagesimal 1:30, 1_000, .inf, .nan),
/// also as keys; directives, map or sequence keys, control characters, what is not UTF-8. Numbers are -1, 0.5, .5, 1e-3;
/// dates such as 2026-11-30 are text. `null`, `~` and nothing are null.
class Yaml {
public:
    enum class Kind { null, scalar, sequence, map };

    Kind kind() const { return kind_; }
    bool is_null() const { return kind_ == Kind::null; }
    const std::string& where() const { return where_; }  ///< "FILE:LINE"
    const std::string& path() const { return path_; }    ///< "gates[2].limit", "" for the root

    // Typed reading; a wrong type is Error(input) with where() and path().
    std::string text() const;                ///< any scalar, as written
    bool boolean() const;                    ///< plain true or false
    std::int64_t integer() const;            ///< plain decimal integer
    double number() const;                   ///< plain integer or real number
    const std::vector<Yaml>& items() const;  ///< of a sequence
    const std::vector<std::pair<std::string, Yaml>>& members() const;  ///< of a map, in file order

    bool has(std::string_view key) const;
    const Yaml& at(std::string_view key) const;    ///< must exist
    const Yaml* find(std::string_view key) const;  ///< nullptr when absent
    std::string text_or(std::string_view key, std::string fallback) const;
    double number_or(std::string_view key, double fallback) const;
    std::int64_t integer_or(std::string_view key, std::int64_t fallback) const;
    bool boolean_or(std::string_view key, bool fallback) const;

    /// Refuses keys of this map that are not in `known`, by file and line, naming the nearest known key.
    void allow_keys(std::initializer_list<std::string_view> known) const;
    /// Throws Error(input) at this node: "FILE:LINE: PATH: MESSAGE".
    [[noreturn]] void fail(std::string message, std::string next = {}) const;

    /// The same content as JSON: plain scalars that are booleans or numbers become such, others strings.
    Json to_json() const;

private:
    friend class YamlBuilder;
    Kind kind_ = Kind::null;
    bool quoted_ = false;
    std::string scalar_;
    std::string where_;
    std::string key_where_;  ///< place of the key in front of this value
    std::string path_;
    std::vector<Yaml> items_;
    std::vector<std::pair<std::string, Yaml>> members_;
};

struct YamlLimits {
    std::size_t size_bytes = std::size_t{16} << 20;
    int depth = 50;
    std::size_t nodes = 1'000'000;  ///< so that a small text cannot take all memory
};

/// Reads one document of the strict subset; `source` is the file name for messages.
Yaml parse_yaml(std::string_view text, std::string_view source, const YamlLimits& limits = {});

}  // namespace requal
