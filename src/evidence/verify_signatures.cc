#include "base/text.h"
#include "evidence/verification.h"

namespace requal::evidence {

void Verification::judge(const std::string& text, const std::string& on, const Digest& subject,
                         const std::string& where) {
    JudgedSignature signature = judge_signature(text, on, keys_);
    if (signature.status != "damaged" && !signature.statement.names(subject)) {
        signature.status = "refused";
        signature.why = "it is a signature of something else";
    }
    if (have_history_ && signature.status != "refused") {
        for (const auto& [named, seq] : ledger_subjects(signature)) {
            const auto found = history_.asked.find(seq);
            if (named.name != "ledger:" + history_.ledger + ":" + std::to_string(seq) ||
                found == history_.asked.end() || found->second != named.digest.text()) {
                signature.status = "refused";
                signature.why = "it was made for another ledger, or records before it were "
                                "changed: " +
                                printable(named.name);
            }
        }
    }
    if (signature.status == "good" && on == "evidence" &&
        text_at(signature.time, "clock") == "synced" && history_.last_clock == "synced" &&
        text_at(signature.time, "wall") < history_.last_wall) {
        signature.status = "refused";
        signature.why = "it says a time before the last record that it signs";
    }
    if (signature.status == "damaged" || signature.status == "refused")
        fail("signature " + signature.status + ": " + signature.why, where);
    else if (signature.status == "unknown key")
        note("a signature by a key that was not given here, of '" + printable(signature.name) +
                 "' as it says",
             where);
    if (signature.status == "good" && text_at(signature.time, "clock") != "synced")
        note("the time of this signature, " + text_at(signature.time, "wall") +
                 ", comes from a clock that was not synchronised",
             where);
    signature.statement.subjects = {};
    result_.signatures.push_back(std::move(signature));
}

void Verification::check_signatures() {
    for (const BlobOfPackage& envelope : envelopes_) {
        const std::string where = "signature " + envelope.digest.hex().substr(0, 16);
        if (const auto text = content(envelope.digest))
            judge(*text, "evidence", contents_digest_, where);
        else
            fail("it is missing, too large or was changed", where);
    }
    for (std::size_t i = 0; i < outside_.size(); ++i)
        judge(outside_[i], "evidence", contents_digest_, options_.envelopes[i]);
    if (keys_.empty()) {
        undecided(result_.signatures.empty() ? "it is not signed, so anybody may have made it"
                                             : "no key was given, so who signed it is not known",
                  "signatures");
        return;
    }
    if (!good_signature("evidence", {}))
        fail(result_.signatures.empty() ? "it is not signed"
                                        : "no signature on it is of a key that was given",
             "signatures");
    if (policy_) {
        for (const std::string& missing : unmet(*policy_, "evidence", result_.signatures))
            fail(missing, "trust policy");
    }
}

void Verification::check_protocol_signatures() {
    if (!have_history_)
        return;
    // What was signed when, by a signature that counts.
    std::map<std::string, std::uint64_t> first_good;
    std::map<std::string, bool> other;
    std::set<std::string> judged_protocols;
    for (const ProtocolSigning& signing : history_.signings) {
        for (const Digest& digest : signing.envelopes) {
            const std::string where =
                "signature on the protocol, record " + std::to_string(signing.seq);
            const auto text = content(digest);
            if (!text) {
                fail("it is missing, too large or was changed", where);
                continue;
            }
            judge(*text, "protocol", parse_digest(signing.protocol), where);
            if (result_.signatures.back().status == "good")
                first_good.emplace(signing.protocol, signing.seq);
            else
                other[signing.protocol] = true;
        }
    }
    for (Json& entry : result_.runs.as_array()) {
        const auto run =
            std::find_if(history_.runs.begin(), history_.runs.end(), [&](const RunHistory& one) {
                return one.run == entry.at("run").as_string();
            });
        const std::string where = "run " + run->run;
        const auto found = first_good.find(run->protocol);
        const std::uint64_t begun = run->first_measured.value_or(run->started);
        if (found != first_good.end()) {
            entry["protocol_signed"] = found->second < begun ? "before" : "after";
            if (found->second > begun)
                fail("its protocol was signed (record " + std::to_string(found->second) +
                         ") after its first measurement (record " + std::to_string(begun) + ")",
                     where);
        } else if (other.contains(run->protocol)) {
            entry["protocol_signed"] = "unknown key";
            if (!keys_.empty())
                undecided("its protocol is signed, but by no key that was given", where);
        } else {
            entry["protocol_signed"] = "unsigned";
            if (policy_ && demands_protocol())
                fail("its protocol was never signed in this ledger", where);
            else if (options_.allow_unsigned_protocol)
                note("its protocol was never signed in this ledger", where);
            else
                undecided("its protocol was never signed in this ledger, so that its criteria "
                          "stood before the first measurement is not shown",
                          where);
        }
        judged_protocols.insert(run->protocol);
    }
    if (judged_protocols.size() > 1)
        note("its runs were made with " + std::to_string(judged_protocols.size()) +
                 " different protocols of this name",
             "runs");
    if (policy_) {
        for (const std::string& missing : unmet(*policy_, "protocol", result_.signatures))
            fail(missing, "trust policy");
    }
    // A key that was given for nothing was probably given for something that is not there.
    for (const std::string& key : given_) {
        if (!good_signature({"evidence"}, key) && !good_signature({"protocol"}, key))
            fail("nothing is signed by the key that was given, " + key.substr(0, 16), "signatures");
    }
}

bool Verification::demands_protocol() const {
    return std::any_of(policy_->require.begin(), policy_->require.end(),
                       [](const Requirement& one) { return one.on == "protocol"; });
}

}  // namespace requal::evidence
