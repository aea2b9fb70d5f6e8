// What a change invalidates and what to run again, by the matrix in rules/change-impact.yaml.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace requal {
class Yaml;
}

namespace requal::station {

/// A row of the matrix.
struct ImpactRow {
    std::string id, says, why, level, source;
    std::vector<std::string> classes, words, invalidates, rerun;
};

/// What is known of the end of a JetPack branch.
struct EndOfLife {
    std::string l4t, name, state, date, end_of_life, source;
};

struct ImpactRules {
    std::vector<std::pair<std::string, std::string>> steps;  ///< id and what it is, in their order
    std::vector<ImpactRow> rows;
    std::vector<EndOfLife> end_of_life;
    Json described;  ///< origin and digest

    const ImpactRow* row_of_class(const std::string& name) const;
    /// By id or one of its words, without regard to case; nullptr: none.
    const ImpactRow* row_of_words(const std::string& words) const;
};

/// Error(input) "FILE:LINE: ..." for unknown keys, classes and steps, and for a class or word in two rows.
ImpactRules load_impact_rules(const std::string& folder = {});
ImpactRules read_impact_rules(const Yaml& yaml);

struct ImpactRequest {
    std::vector<Json> diffs;           ///< diff/1
    std::vector<std::string> changes;  ///< words of the vocabulary
    std::vector<Json> deployed;        ///< snapshots from which a migration starts
    std::string to;     ///< L4T release or JetPack version of a migration; empty: none
    std::string rules;  ///< folder, empty: embedded
};

/// The document impact/1. Error(usage) for words and releases that are not known, naming the nearest.
Json impact_document(const ImpactRules& rules, const ImpactRequest& request);

std::string impact_text(const Json& impact);

}  // namespace requal::station
