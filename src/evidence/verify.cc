#include "evidence/verify.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "evidence/export.h"
#include "evidence/history.h"
#include "evidence/layout.h"
#include "evidence/schema_check.h"
#include "evidence/tar.h"

namespace requal::evidence {

namespace {

constexpr std::size_t most_entries = 200'000;
constexpr std::size_t most_findings = 500;
constexpr std::uint64_t record_limit_bytes = std::uint64_t{32} << 20;
constexpr std::uint64_t run_file_limit_bytes = std::uint64_t{24} << 20;

JsonLimits document_limits() {
    JsonLimits limits;
    limits.size_bytes = record_limit_bytes;
    limits.values = 600'000;  // of 56 bytes each
    return limits;
}

std::string text_at(const Json& json, std::string_view key) {
    return json.is_object() && json.get(key).is_string() ? json.get(key).as_string()
                                                         : std::string();
}

/// One verification. Each part adds to the result; a part that needs what an earlier one did not find is left out.
class Verification {
public:
    Verification(const std::string& path, const VerifyOptions& options)
        : path_(path), options_(options) {
        if (!options.trust.empty()) {
            policy_ = read_trust_policy(options.trust);
            keys_ = policy_->keys;
        }
        for (const std::string& file : options.public_keys) {
            given_.push_back(PublicKey::from_file(file).id());
            keys_.push_back({PublicKey::from_file(file), {}, {}, false, true, {}, {}, {}});
        }
        for (const std::string& file : options.checkpoints)
            checkpoints_.emplace_back(file, parse_json(read_file(file, 1 << 20), file));
        for (const std::string& file : options.envelopes)
            outside_.push_back(read_file(file, envelope_limit_bytes));
    }

    VerifyResult go() {
        result_.size_bytes = file_size(path_);
        if (guarded("the tar file", [&] { scan(); }) &&
            guarded("the list of contents", [&] { read_contents(); })) {
            guarded("the order of files", [&] { compare_repacked(); });
            guarded("the ledger", [&] { check_ledger(); });
            check_runs();
            guarded("signatures", [&] { check_signatures(); });
            guarded("signatures on the protocol", [&] { check_protocol_signatures(); });
            guarded("checkpoints", [&] { check_checkpoints(); });
        }
        if (more_failures_ > 0)
            note(std::to_string(more_failures_) + " more failures are not listed", path_);
        return std::move(result_);
    }

private:
    void fail(std::string what, std::string where) {
        if (result_.failures.size() < most_findings)
            result_.failures.push_back({std::move(what), std::move(where)});
        else
            ++more_failures_;
    }
    void undecided(std::string what, std::string where) {
        result_.undecided.push_back({std::move(what), std::move(where)});
    }
    void note(std::string what, std::string where) {
        result_.notes.push_back({std::move(what), std::move(where)});
    }

    /// Runs a part; what it finds wrong ends it and is a failure. False then.
    template <typename Part>
    bool guarded(const std::string& where, Part part) {
        try {
            part();
            return true;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::input && error.kind() != ErrorKind::storage)
                throw;
            fail(error.message(), error.where().empty() ? where : where + ": " + error.where());
            return false;
        }
    }

    /// All bytes once: form, names, digests.
    void scan() {
        tar_.emplace(path_);
        TarEntry entry;
        Progress progress("verify", result_.size_bytes >> 20);
        std::uint64_t shown = 0;
        while (tar_->next(entry)) {
            if (order_.size() >= most_entries)
                throw Error(ErrorKind::input, "more than 200000 files", printable(entry.name));
            if (order_.size() < 2) {
                const char* expected = order_.empty() ? "oci-layout" : "index.json";
                if (entry.name != expected)
                    throw Error(ErrorKind::input, std::string("in place of '") + expected +
                                                      "' stands '" + printable(entry.name) + "'");
                (order_.empty() ? layout_ : index_) = tar_->content(entry, 64 << 10);
                order_.push_back(entry.name);
                continue;
            }
            constexpr std::string_view prefix = "blobs/sha256/";
            if (!entry.name.starts_with(prefix) || entry.name.size() != prefix.size() + 64)
                throw Error(ErrorKind::input, "a file that such a package does not have: '" +
                                                  printable(entry.name) + "'");
            const Digest digest = parse_digest(entry.name.substr(prefix.size()));
            if (!blobs_.emplace(digest, entry).second)
                throw Error(ErrorKind::input, "a file stands twice", entry.name);
            order_.push_back(entry.name);
            const Digest seen = tar_->digest();
            if (seen != digest) {
                fail("its content has the digest " + seen.text() + ": it was changed", entry.name);
                damaged_.insert(digest);
            }
            const std::uint64_t done = (entry.offset + entry.size_bytes) >> 20;
            progress.advance(done - shown);
            shown = done;
        }
        result_.blobs = blobs_.size();
        if (order_.size() < 2)
            throw Error(ErrorKind::input, "oci-layout or index.json is missing");
        if (layout_ != oci_layout_text)
            fail("it is not the one that an evidence package has", "oci-layout");
    }

    const TarEntry& entry_of(const Digest& digest, const std::string& what) {
        const auto found = blobs_.find(digest);
        if (found == blobs_.end())
            throw Error(ErrorKind::input, what + " is missing", blob_name(digest));
        if (damaged_.contains(digest))
            throw Error(ErrorKind::input, what + " was changed", blob_name(digest));
        return found->second;
    }

    void read_contents() {
        const Json index = parse_json(index_, "index.json", document_limits());
        const auto& manifests = index.at("manifests").as_array();
        if (manifests.size() != 1)
            throw Error(ErrorKind::input, "an evidence package has one OCI manifest", "index.json");
        const Digest manifest_digest = parse_digest(manifests.front().at("digest").as_string());
        manifest_ =
            tar_->content(entry_of(manifest_digest, "the OCI manifest"), record_limit_bytes);
        const Json manifest = parse_json(manifest_, "the OCI manifest", document_limits());
        contents_digest_ = parse_digest(manifest.at("config").at("digest").as_string());
        result_.contents_digest = contents_digest_.text();
        contents_text_ =
            tar_->content(entry_of(contents_digest_, "the list of contents"), contents_limit_bytes);
        contents_ = parse_json(contents_text_, "the list of contents", document_limits());
        require_as_schema_says(contents_, "evidence-package-1", "the list of contents");
        result_.protocol = contents_.at("protocol").as_string();
        listed_ = contents_from(contents_.at("contents"), "the list of contents");
        envelopes_ = envelopes_of(manifest, "the OCI manifest");
    }

    /// What a package of this content is, byte by byte; scan() has compared headers, padding and content already.
    void compare_repacked() {
        if (write_json(contents_) != contents_text_)
            fail("it is not written as such a document is", "the list of contents");
        std::vector<std::string> expected{"oci-layout", "index.json"};
        const std::string manifest =
            oci_manifest_text({contents_digest_, contents_text_.size()}, envelopes_, listed_);
        if (manifest != manifest_)
            fail("it is not the one that follows from the list of contents", "the OCI manifest");
        if (oci_index_text(manifest_, result_.protocol) != index_)
            fail("it is not the one that follows from the OCI manifest", "index.json");
        expected.push_back(blob_name(digest_of(manifest_)));
        expected.push_back(blob_name(contents_digest_));
        for (const BlobOfPackage& envelope : envelopes_)
            expected.push_back(blob_name(envelope.digest));
        for (const auto& [digest, content] : listed_) {
            if (!content.included)
                continue;
            expected.push_back(blob_name(digest));
            const auto found = blobs_.find(digest);
            if (found != blobs_.end() && found->second.size_bytes != content.size_bytes)
                fail("it has another size than the list of contents says", expected.back());
        }
        const std::set<std::string> wanted(expected.begin(), expected.end());
        const std::set<std::string> present(order_.begin(), order_.end());
        for (const std::string& name : wanted) {
            if (!present.contains(name))
                fail("it is missing", name);
        }
        for (const std::string& name : present) {
            if (!wanted.contains(name))
                fail("nothing names it", name);
        }
        if (wanted == present && expected != order_)
            fail("the files do not stand in the order that they have", path_);
    }

    void check_ledger() {
        const Json& said = contents_.at("ledger");
        result_.ledger = said;
        const TarEntry& entry = entry_of(parse_digest(said.at("file").as_string()), "the ledger");
        // The tar file holds the ledger as it is, so it is read where it lies.
        history_ = read_history(real_path(), result_.protocol, entry.offset, entry.size_bytes,
                                wanted_records());
        if (history_.ledger != text_at(said, "ledger"))
            fail("it is the ledger " + history_.ledger + ", the list of contents says " +
                     text_at(said, "ledger"),
                 "the ledger");
        if (history_.end.digest.text() != text_at(said, "digest") ||
            static_cast<std::int64_t>(history_.end.seq) != said.at("records").as_integer())
            fail("it does not end where the list of contents says", "the ledger");
        if (runs_json(history_) != contents_.at("runs"))
            fail("the ledger has other runs of this protocol than the list says", "runs");
        if (signings_json(history_) != contents_.at("protocol_signed"))
            fail("the ledger has other signatures on the protocol than the list says",
                 "protocol_signed");
        std::map<Digest, std::string> named = blobs_of(history_);
        for (const auto& [digest, name] : named) {
            const auto listed = listed_.find(digest);
            if (listed == listed_.end()) {
                fail("the ledger names it, the list of contents does not", name);
            } else if (!listed->second.included) {
                missing_[digest] = listed->second.why_not;
                if (listed->second.why_not == "by digest only")
                    note("by digest only: its bytes are not in the package", name);
                else
                    undecided("its bytes are not in the package: " +
                                  printable(listed->second.why_not),
                              name);
            }
        }
        for (const auto& [digest, content] : listed_) {
            if (!named.contains(digest) && content.name != "ledger.jsonl" &&
                !content.name.starts_with("model/"))
                fail("no run names it", content.name);
        }
        have_history_ = true;
        for (const auto& [name, runs] : history_.other_protocols)
            note("the ledger also holds " + std::to_string(runs) + " runs of protocol '" +
                     printable(name) + "', which are not in this package",
                 "the ledger");
    }

    /// Records whose digests statements and checkpoints name.
    std::vector<std::uint64_t> wanted_records() {
        std::vector<std::uint64_t> seqs;
        for (const auto& [file, checkpoint] : checkpoints_) {
            const Json& seq = checkpoint.get("seq");
            if (seq.is_integer() && seq.as_integer() >= 0)
                seqs.push_back(static_cast<std::uint64_t>(seq.as_integer()));
        }
        std::vector<std::string> texts = outside_;
        for (const auto& entry : contents_.at("protocol_signed").as_array()) {
            for (const Json& envelope : entry.at("envelopes").as_array()) {
                if (const auto text = content(parse_digest(envelope.as_string())))
                    texts.push_back(*text);
            }
        }
        for (const BlobOfPackage& envelope : envelopes_) {
            if (const auto text = content(envelope.digest))
                texts.push_back(*text);
        }
        for (const std::string& text : texts) {
            for (const auto& [subject, seq] : ledger_subjects(judge_signature(text, {}, {})))
                seqs.push_back(seq);
        }
        return seqs;
    }

    /// Subjects "ledger:ID:SEQ" with their SEQ.
    static std::vector<std::pair<Subject, std::uint64_t>>
    ledger_subjects(const JudgedSignature& signature) {
        std::vector<std::pair<Subject, std::uint64_t>> found;
        for (const Subject& subject : signature.statement.subjects) {
            if (!subject.name.starts_with("ledger:"))
                continue;
            const std::size_t colon = subject.name.rfind(':');
            const auto seq = parse_integer(subject.name.substr(colon + 1));
            if (seq && *seq >= 0)
                found.emplace_back(subject, static_cast<std::uint64_t>(*seq));
        }
        return found;
    }

    std::string real_path() const { return std::filesystem::canonical(path_).string(); }

    /// A small blob that is there and whole.
    std::optional<std::string> content(const Digest& digest,
                                       std::uint64_t limit = envelope_limit_bytes) const {
        const auto found = blobs_.find(digest);
        if (found == blobs_.end() || damaged_.contains(digest) || found->second.size_bytes > limit)
            return std::nullopt;
        return tar_->content(found->second, limit);
    }

    void check_runs() {
        if (!have_history_)
            return;
        for (const RunHistory& run : history_.runs) {
            Json entry =
                Json::object({{"run", run.run},
                              {"state", run.state},
                              {"protocol", run.protocol},
                              {"verdict", run.verdict.empty() ? Json() : Json(run.verdict)},
                              {"protocol_signed", Json()},
                              {"gates", Json::array()}});
            if (run.record)
                guarded("run " + run.run, [&] { check_record(run, entry); });
            result_.runs.push_back(std::move(entry));
        }
        if (history_.runs.empty())
            fail("the ledger holds no run of this protocol", "runs");
    }

    void check_record(const RunHistory& run, Json& entry) {
        const std::string where = "run " + run.run;
        if (missing_.contains(*run.record)) {
            undecided("its record is not in the package, so nothing of it was computed again",
                      where);
            return;
        }
        const Json record =
            parse_json(tar_->content(entry_of(*run.record, "the record"), record_limit_bytes),
                       "record.json", document_limits());
        check_document(record, "record.json of " + where);
        if (text_at(record, "run") != run.run)
            fail("its record is that of run " + printable(text_at(record, "run")), where);
        if (text_at(record, "verdict") != run.verdict)
            fail("its record says " + printable(text_at(record, "verdict")) + ", the ledger says " +
                     run.verdict,
                 where);
        if (text_at(record.get("protocol"), "digest") != run.protocol)
            fail("its record names another protocol than the ledger", where);
        const auto protocol = run.files.find("protocol.yaml");
        if (protocol == run.files.end() || protocol->second.text() != run.protocol)
            fail("its protocol is not the one that the ledger says it was begun with", where);
        for (const Json& file : record.at("files").as_array()) {
            const std::string& name = file.at("name").as_string();
            const auto found = run.files.find(name);
            if (found == run.files.end() || found->second.text() != text_at(file, "digest"))
                fail("its record and the ledger differ about file " + printable(name), where);
        }
        for (const auto& [name, digest] : run.files) {
            if (!name.ends_with(".manifest.json"))
                continue;
            if (const auto text = content(digest, record_limit_bytes))
                check_document(parse_json(*text, name, document_limits()), name + " of " + where);
        }
        recompute(run, record, entry);
    }

    void check_document(const Json& document, const std::string& where) {
        std::string name = text_at(document, "schema");
        std::replace(name.begin(), name.end(), '/', '-');
        if (!has_schema(name)) {
            undecided("a document of a form that this program does not know: " + printable(name),
                      where);
            return;
        }
        for (const std::string& problem : schema_problems(document, name))
            fail("not as its schema says: " + problem, where);
    }

    void recompute(const RunHistory& run, const Json& record, Json& entry) {
        const std::string where = "run " + run.run;
        if (!options_.recompute) {
            undecided("the verdicts were not computed again", where);
            return;
        }
        const auto file = [&](const std::string& name) -> std::optional<std::string> {
            const auto found = run.files.find(name);
            if (found == run.files.end())
                return std::nullopt;
            return content(found->second, run_file_limit_bytes);
        };
        Json gates = Json::array();
        Verdict verdict = Verdict::pass;
        for (const Json& gate : record.at("gates").as_array())
            verdict = combine(verdict, parse_verdict(gate.at("verdict").as_string()));
        if (record.at("gates").size() == 0)
            verdict = Verdict::undecidable;
        if (name_of(verdict) != text_at(record, "verdict"))
            fail("its gates together say " + std::string(name_of(verdict)) + ", its record says " +
                     printable(text_at(record, "verdict")),
                 where);
        for (const RecomputedGate& gate : options_.recompute(record, file)) {
            gates.push_back(Json::object({{"gate", gate.gate},
                                          {"kind", gate.kind},
                                          {"recomputed", gate.status},
                                          {"why", gate.why.empty() ? Json() : Json(gate.why)}}));
            const std::string at = where + ", gate " + printable(gate.gate);
            if (gate.status == "differs")
                fail(gate.why, at);
            else if (gate.status != "same")
                undecided("not recomputed: " + gate.why, at);
        }
        entry["gates"] = std::move(gates);
    }

    void judge(const std::string& text, const std::string& on, const Digest& subject,
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
        result_.signatures.push_back(std::move(signature));
    }

    bool good_signature(const std::string& on, const std::string& key) const {
        return std::any_of(result_.signatures.begin(), result_.signatures.end(),
                           [&](const JudgedSignature& signature) {
                               return signature.status == "good" && signature.on == on &&
                                      (key.empty() || signature.key == key);
                           });
    }

    void check_signatures() {
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
            undecided(result_.signatures.empty()
                          ? "it is not signed, so anybody may have made it"
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

    void check_protocol_signatures() {
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
            const auto run = std::find_if(
                history_.runs.begin(), history_.runs.end(),
                [&](const RunHistory& one) { return one.run == entry.at("run").as_string(); });
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
                fail("nothing is signed by the key that was given, " + key.substr(0, 16),
                     "signatures");
        }
    }

    bool demands_protocol() const {
        return std::any_of(policy_->require.begin(), policy_->require.end(),
                           [](const Requirement& one) { return one.on == "protocol"; });
    }

    void check_checkpoints() {
        if (!have_history_)
            return;
        for (const auto& [file, checkpoint] : checkpoints_) {
            require_schema(checkpoint, "ledger-checkpoint", 1, file);
            if (checkpoint.at("ledger").as_string() != history_.ledger) {
                fail("it is a checkpoint of another ledger", file);
                continue;
            }
            const auto seq = static_cast<std::uint64_t>(checkpoint.at("seq").as_integer());
            const auto found = history_.asked.find(seq);
            if (found == history_.asked.end())
                fail("the ledger in the package ends before this checkpoint: records were left out",
                     file);
            else if (found->second != checkpoint.at("digest").as_string())
                fail("the ledger in the package is not the one of this checkpoint: records before "
                     "it were changed",
                     file);
        }
    }

    std::string path_;
    const VerifyOptions& options_;
    std::optional<TarReader> tar_;
    VerifyResult result_;
    std::size_t more_failures_ = 0;
    std::optional<TrustPolicy> policy_;
    std::vector<TrustedKey> keys_;
    std::vector<std::string> given_;  ///< ids of --public-key
    std::vector<std::pair<std::string, Json>> checkpoints_;
    std::vector<std::string> outside_;

    std::string layout_, index_, manifest_, contents_text_;
    std::vector<std::string> order_;
    std::map<Digest, TarEntry> blobs_;
    std::set<Digest> damaged_;
    Digest contents_digest_{};
    Json contents_;
    Contents listed_;
    std::vector<BlobOfPackage> envelopes_;
    History history_;
    bool have_history_ = false;
    std::map<Digest, std::string> missing_;
};

}  // namespace

Verdict VerifyResult::verdict() const {
    if (!failures.empty())
        return Verdict::fail;
    return undecided.empty() ? Verdict::pass : Verdict::undecidable;
}

Json VerifyResult::to_json(const std::string& path) const {
    const auto list = [](const std::vector<Finding>& findings) {
        Json json = Json::array();
        for (const Finding& finding : findings)
            json.push_back(Json::object({{"what", finding.what}, {"where", finding.where}}));
        return json;
    };
    Json document = new_document("evidence-verify", 1);
    document["path"] = path;
    document["valid"] = verdict() == Verdict::pass;
    document["verdict"] = name_of(verdict());
    document["protocol"] = protocol.empty() ? Json() : Json(protocol);
    document["contents_digest"] = contents_digest.empty() ? Json() : Json(contents_digest);
    document["ledger"] = ledger;
    document["runs"] = runs;
    document["signatures"] = Json::array();
    for (const JudgedSignature& signature : signatures)
        document["signatures"].push_back(signature.to_json());
    document["failures"] = list(failures);
    document["undecided"] = list(undecided);
    document["notes"] = list(notes);
    document["size_bytes"] = size_bytes;
    document["blobs"] = blobs;
    return document;
}

VerifyResult verify_evidence(const std::string& path, const VerifyOptions& options) {
    // Files of the user that are missing or unreadable are bad input, not a failure of the package.
    if (!file_exists(path))
        throw Error(ErrorKind::input, "there is no such file", printable(path),
                    "name the tar file that 'requal evidence export' wrote");
    try {
        return Verification(path, options).go();
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(ErrorKind::input, error.code().message(), path);
    }
}

}  // namespace requal::evidence
