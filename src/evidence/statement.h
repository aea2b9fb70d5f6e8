// What is signed: in-toto Statements v1 (https://in-toto.io/Statement/v1) with Requal's predicates (docs/formats/signature.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"

namespace requal::evidence {

inline constexpr std::string_view statement_type = "https://in-toto.io/Statement/v1";
/// A person signs: who, in which role, as what, why, when. Schema signature-approval-1.
inline constexpr std::string_view approval_predicate = "urn:requal:predicate:approval:1";
/// A machine's key signs that this was measured there; it can say nothing else. Schema signature-measured-1.
inline constexpr std::string_view measured_predicate = "urn:requal:predicate:measured-here:1";

struct Subject {
    std::string name;
    Digest digest{};
    bool operator==(const Subject&) const = default;
};

struct Statement {
    std::vector<Subject> subjects;
    std::string predicate_type;
    Json predicate = Json::object();
    bool names(const Digest& digest) const;
};

/// Who signs. For a machine only `name` (the station) is used.
struct Signer {
    std::string name;
    std::string role;     ///< "validation owner"
    std::string meaning;  ///< "author", "reviewer", "approver"
    std::string reason;
};

/// Error(input|usage) for an empty or unfit member; Error(undecidable) when the clock is not set (before 2024).
Statement approval(std::vector<Subject> subjects, const Signer& signer, const Clock& clock);
Statement measured_here(std::vector<Subject> subjects, const std::string& station,
                        const Clock& clock);

/// The bytes to be signed: one line of compact JSON with sorted keys.
std::string write_statement(const Statement& statement);
/// Reads what a signature covers, strictly: no key beside those that a Statement has, each subject with exactly a SHA-256, the
/// predicate as its schema says. Error(input).
Statement read_statement(std::string_view text, const std::string& source);

/// What a person carries to the computer with the key: what is to be signed, by digest. Schema evidence-digest/1.
Json digest_document(const std::vector<Subject>& subjects);
std::vector<Subject> read_digest_document(std::string_view text, const std::string& source);

}  // namespace requal::evidence
