// Evidence packages checked from their bytes alone: no store, no network, no trust in who made them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/json.h"
#include "evidence/trust.h"

namespace requal::evidence {

/// A gate whose verdict was computed again from the values in the package.
struct RecomputedGate {
    std::string gate, kind;
    /// "same"; "differs": the record says something that its values do not bear; "not recomputed": this program cannot tell.
    std::string status;
    std::string why;
};

/// Content of a file of the run ("protocol.yaml", "latency_ns.npy"); nullopt when it is not in the package or too large.
using FileOfRunReader = std::function<std::optional<std::string>(const std::string& name)>;
/// Judges all gates of a record (run/1) again, and whether they are those of the protocol. Set by who knows the gates
/// (qualify/recompute.h): this room only reads evidence.
using Recompute =
    std::function<std::vector<RecomputedGate>(const Json& record, const FileOfRunReader& file)>;

struct VerifyOptions {
    std::vector<std::string> public_keys;  ///< PEM files
    std::string trust;                     ///< a policy's file
    std::vector<std::string> envelopes;    ///< files with signatures that are not in the package
    std::vector<std::string> checkpoints;  ///< ledger-checkpoint/1 that were kept elsewhere
    bool allow_unsigned_protocol = false;
    Recompute recompute;
};

struct Finding {
    std::string what, where;
};

struct VerifyResult {
    std::vector<Finding> failures;   ///< what is wrong
    std::vector<Finding> undecided;  ///< what could not be checked, and why
    std::vector<Finding> notes;      ///< what a reader must know
    std::vector<JudgedSignature> signatures;
    Json runs = Json::array();
    Json ledger;
    std::string protocol;
    std::string contents_digest;
    std::uint64_t size_bytes = 0;
    std::uint64_t blobs = 0;

    /// fail with a failure, else undecidable with something undecided, else pass.
    Verdict verdict() const;
    Json to_json(const std::string& path) const;  ///< evidence-verify/1
};

/// Error(input) when there is no such file, or keys and policy cannot be read; what is wrong with the package itself is a failure
/// in the result. Memory stays below 100 MiB whatever the size.
VerifyResult verify_evidence(const std::string& path, const VerifyOptions& options);

}  // namespace requal::evidence
