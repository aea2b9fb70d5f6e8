// One verification of an evidence package, in parts: verify_bytes.cc reads the tar file, verify_runs.cc the ledger and its runs,
// verify_signatures.cc who signed what and when. For those files only; callers include evidence/verify.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "evidence/history.h"
#include "evidence/layout.h"
#include "evidence/tar.h"
#include "evidence/verify.h"

namespace requal::evidence {

inline constexpr std::size_t most_findings = 500;
inline constexpr std::size_t most_envelopes = 500;  ///< on the evidence, and on the protocol
inline constexpr std::uint64_t record_limit_bytes = std::uint64_t{32} << 20;

/// For every document of a package.
inline JsonLimits document_limits() {
    JsonLimits limits;
    limits.size_bytes = record_limit_bytes;
    limits.values = 600'000;  // of 56 bytes each
    return limits;
}

/// A member that is a text, else an empty one.
inline std::string text_at(const Json& json, std::string_view key) {
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

    VerifyResult go();

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
    void scan();
    const TarEntry& entry_of(const Digest& digest, const std::string& what);
    void read_contents();

    /// What a package of this content is, byte by byte; scan() has compared headers, padding and content already.
    void compare_repacked();
    void check_ledger();

    /// Records whose digests statements and checkpoints name.
    std::vector<std::uint64_t> wanted_records();

    /// Subjects "ledger:ID:SEQ" with their SEQ.
    static std::vector<std::pair<Subject, std::uint64_t>>
    ledger_subjects(const JudgedSignature& signature);
    std::string real_path() const { return std::filesystem::canonical(path_).string(); }

    /// A small blob that is there and whole.
    std::optional<std::string> content(const Digest& digest,
                                       std::uint64_t limit = envelope_limit_bytes) const {
        const auto found = blobs_.find(digest);
        if (found == blobs_.end() || damaged_.contains(digest) || found->second.size_bytes > limit)
            return std::nullopt;
        return tar_->content(found->second, limit);
    }

    void check_runs();
    void check_record(const RunHistory& run, Json& entry);
    void check_document(const Json& document, const std::string& where);
    void recompute(const RunHistory& run, const Json& record, Json& entry);
    void judge(const std::string& text, const std::string& on, const Digest& subject,
               const std::string& where);
    bool good_signature(const std::string& on, const std::string& key) const {
        return std::any_of(result_.signatures.begin(), result_.signatures.end(),
                           [&](const JudgedSignature& signature) {
                               return signature.status == "good" && signature.on == on &&
                                      (key.empty() || signature.key == key);
                           });
    }

    void check_signatures();
    void check_protocol_signatures();
    bool demands_protocol() const;
    void check_checkpoints();

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

}  // namespace requal::evidence
