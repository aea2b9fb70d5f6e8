#include "measure/numerics/default_tolerance.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rules.h"

namespace requal::measure {

namespace {

double bound_at(const Yaml& row, std::string_view key) {
    const double value = row.at(key).number();
    if (!std::isfinite(value) || value < 0) {
        row.at(key).fail("a tolerance is a number from 0 up");
    }
    return value;
}

/// From fine to coarse, by the bits of the significand.
int coarseness(std::string_view precision) {
    if (precision == "bfloat16") {
        return 3;
    }
    if (precision == "float16") {
        return 2;
    }
    return precision == "float32" ? 1 : 0;
}

std::string_view executed_precision(const Json& description) {
    const Json& facts = description.get("facts");
    if (!facts.is_object() || !facts.get("precision").is_object()) {
        return {};
    }
    const Json& executed = facts.get("precision").get("executed");
    if (!executed.is_string()) {
        return {};
    }
    const std::string& word = executed.as_string();
    return word == "f16" ? "float16" : word == "bf16" ? "bfloat16" : std::string_view();
}

}  // namespace

DefaultTolerances::DefaultTolerances(const std::string& folder) {
    const Yaml rules = read_rules("tolerances.yaml", folder);
    rules.allow_keys({"topic", "tolerances"});
    for (const Yaml& row : rules.at("tolerances").items()) {
        row.allow_keys({"precision", "atol", "rtol", "source", "date"});
        const std::string precision = row.at("precision").text();
        SourcedTolerance entry;
        entry.tolerance.atol = bound_at(row, "atol");
        entry.tolerance.rtol = bound_at(row, "rtol");
        entry.source = "rules/tolerances.yaml: " + precision + " (" + row.at("source").text() +
                       "; " + row.at("date").text() + ")";
        if (!rows_.emplace(precision, std::move(entry)).second) {
            row.fail("a second row for " + precision);
        }
    }
}

SourcedTolerance DefaultTolerances::choose(ElementType reference, ElementType candidate,
                                           const Json& candidate_description) const {
    if (!is_floating(reference) || !is_floating(candidate)) {
        return {{}, "exact: " + std::string(requal::name_of(reference))};
    }
    std::string_view precision = requal::name_of(reference);
    for (const std::string_view other :
         {requal::name_of(candidate), executed_precision(candidate_description)}) {
        if (!other.empty() && coarseness(other) > coarseness(precision)) {
            precision = other;
        }
    }
    const auto row = rows_.find(precision);
    if (row == rows_.end()) {
        return {{}, "exact: rules/tolerances.yaml has no row for " + std::string(precision)};
    }
    return row->second;
}

}  // namespace requal::measure
