// What no status can say: findings, the state of a regeneration, the four questions, and what to ask the supplier.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "compat/coverage.h"

namespace requal::compat {

/// A finding is {"kind", "offer" (or null), "subjects": [..], "text"}. Kinds: loose-target, named-not-identified, general-capability,
/// evidence-of-another, parser-not-named, memory-not-shown, jetpack-as-key, opset-only, input-as-engine, claim-against-rule.
std::vector<Json> target_findings(const RuleSet& rules, const Request& request);
std::vector<Json> offer_findings(const Request& request, const Offer& offer,
                                 const std::vector<Bytes>& bytes,
                                 const std::vector<Entry>& entries);

/// "named", "unresolved" (inputs without a party) or "not offered".
std::string_view responsibility_of(const Regeneration& regeneration);
std::vector<std::string> missing_inputs(const Regeneration& regeneration);
/// {"offered", "responsibility", "party", "inputs": {NAME: {"state", "label", "identity"}}, "confirms",
/// "statements": {NAME: {"state", "label", "text"}}}; labels are for people.
Json regeneration_json(const Regeneration& regeneration);

/// {"operators", "numerics", "shapes", "workload"}: "evidence", "evidence of another" or "unanswered". None of them changes a status.
Json question_states(const Request& request, const Offer& offer, const Target& target);

std::vector<std::string> supplier_questions(const Request& request, const Offer& offer,
                                            const std::vector<Entry>& entries,
                                            const std::vector<Json>& findings);

/// What a move from one target to another has to settle, for each offer.
Json transition_json(const Request& request, const Target& from, const Target& to,
                     const std::vector<std::vector<Entry>>& entries);

}  // namespace requal::compat
