// Which requested targets an offer covers: one status for each target and offer, and beside it what no status can say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/json.h"
#include "compat/assess.h"
#include "compat/request.h"

namespace requal::compat {

/// From the worst to the best. unaddressed: nobody spoke of it; it is never called incompatible.
enum class Status { contradicted, excluded, unaddressed, covered_by_route, documented };
std::string_view name_of(Status status);

/// What the bytes of an artefact say, where a file is at hand.
struct Bytes {
    bool at_hand = false;
    std::string kind, version, isa, soc, opset, digest;
    std::vector<std::string> damage,
        oddities;  ///< as in inspect/1: only damage contradicts a claim
};
/// Error(input|storage) when the file cannot be read. Reads the whole file only where a digest is stated.
Bytes read_bytes(const Identity& identity);

/// Ways in which bytes and statements disagree, each one sentence.
std::vector<std::string> contradictions(const Artefact& artefact, const Bytes& bytes);

struct Entry {
    Status status = Status::unaddressed;
    std::string artefact;  ///< id of the one that decided, empty: none
    std::string by;        ///< who documented it
    std::vector<std::string> rules, met, to_show, prices, why, next;
    bool claim_against_rule = false;
};

/// One target and one offer. `bytes` belongs to offer.artefacts, one each.
Entry cover(const RuleSet& rules, const Target& target, const Offer& offer,
            const std::vector<Bytes>& bytes);

struct CoverageOptions {
    std::string as_of;                                              ///< empty: now
    std::string today;                                              ///< for review dates
    std::optional<std::pair<std::string, std::string>> transition;  ///< ids, as given
};

/// The document coverage/1. Error(input) when targets times offers pass pair_limit.
constexpr std::size_t pair_limit = 16384;
Json coverage_document(const RuleSet& rules, const Request& request,
                       const CoverageOptions& options);

/// 0 all needed targets (now and later) are covered by some offer, 1 one is excluded or contradicted by the offer that comes nearest, 6 one is unaddressed.
Verdict coverage_verdict(const Request& request, const std::vector<std::vector<Entry>>& entries);

}  // namespace requal::compat
