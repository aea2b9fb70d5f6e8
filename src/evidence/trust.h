// Who may sign what: a policy that people write (schema trust/1, docs/formats/trust.md), and its answer to given signatures.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/json.h"
#include "evidence/dsse.h"
#include "evidence/statement.h"

namespace requal::evidence {

/// A key with its holder.
struct TrustedKey {
    PublicKey key;
    std::string holder;              ///< a person's name, or a station's
    std::vector<std::string> roles;  ///< of a person
    bool machine = false;
    bool any = false;  ///< given as --public-key: whoever holds it may sign anything
    std::string from,
        until;  ///< dates, may be empty; `until` is the first day on which it no longer holds
    std::string revoked;  ///< why; empty: not revoked
};

/// Something that must have been signed.
struct Requirement {
    std::string on;       ///< "evidence", "protocol"
    std::string meaning;  ///< "author", "reviewer", "approver", "measured"
    std::string role;     ///< empty: any
    std::int64_t people = 1;
    std::string text() const;
};

struct TrustPolicy {
    std::vector<TrustedKey> keys;
    std::vector<Requirement> require;
    bool different_people = false;  ///< what meets one requirement meets no other on the same thing
};

/// Reads FILE strictly; key files are named relative to it. Error(input) by file and line.
TrustPolicy read_trust_policy(const std::string& path);
TrustPolicy parse_trust_policy(std::string_view text, const std::string& path);

/// One envelope as judged.
struct JudgedSignature {
    std::string on;                           ///< "evidence", "protocol"
    std::string status;                       ///< "good", "refused", "unknown key", "damaged"
    std::string why;                          ///< when it is not good
    std::string key, algorithm;               ///< of the key that made it, when known
    std::string holder;                       ///< as the policy names it
    std::string name, role, meaning, reason;  ///< as signed
    Json time;
    bool machine = false;
    Statement statement;

    Json to_json() const;
};

/// Judges one envelope's text. Never throws for what is wrong with it.
JudgedSignature judge_signature(const std::string& envelope_text, const std::string& on,
                                const std::vector<TrustedKey>& keys);

/// Requirements on `on` that the good ones of these signatures do not meet, in words.
std::vector<std::string> unmet(const TrustPolicy& policy, const std::string& on,
                               const std::vector<JudgedSignature>& signatures);

}  // namespace requal::evidence
