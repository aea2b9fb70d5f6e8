// Evidence packages written: all runs of a protocol from a store, and envelopes added to a package that is there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "evidence/dsse.h"
#include "evidence/statement.h"
#include "store/store.h"

namespace requal::evidence {

/// Gives envelopes over these subjects; called once, when it is known what the package holds.
using Sign = std::function<std::vector<Envelope>(const std::vector<Subject>& subjects)>;

struct ExportRequest {
    std::string name;    ///< a run's id, a protocol's name, or a protocol's file
    std::string ledger;  ///< id; empty: the store's own
    std::string output;
    bool engines = false;  ///< with the bytes of engines, not only their digests
    std::vector<std::string>
        models;  ///< files whose bytes come along; each must be the model of a run
    Sign sign;
};

struct ExportOutcome {
    std::string protocol;
    std::vector<Subject>
        subjects;   ///< what is to be signed; the first is the package's list of contents
    Json contents;  ///< the document evidence-package/1
    std::uint64_t size_bytes = 0;
    std::uint64_t envelopes = 0;
};

/// Unsigned packages of one state of a ledger are equal byte by byte. Error(input) when nothing was run under that name, Error(storage)
/// for a blob that is damaged.
ExportOutcome export_evidence(store::Store& store, const ExportRequest& request);

/// What a signature of this package covers, as export_evidence() gave it.
std::vector<Subject> subjects_of(const Json& contents, const Digest& contents_digest);

/// Reads the list of contents of a package; only the form of the tar is checked, not the digests. Error(input).
struct PackageHead {
    Json contents;
    Digest contents_digest{};
    std::vector<std::string> envelopes;  ///< their texts
};
PackageHead read_head_of(const std::string& path);

/// Writes `path` again, to `output`, with these envelopes added; each must name the package's contents. Error(input|storage).
void attach_envelopes(const std::string& path, const std::vector<Envelope>& more,
                      const std::string& output);

/// Makes the tar file again from an OCI image layout in a folder, as a registry's tools leave it: the same bytes as before the journey.
/// Error(input) when it holds no evidence package, Error(storage) for a blob that was changed.
void pack_layout(const std::string& folder, const std::string& output);

/// Signs a protocol's file (and `files` beside it, such as its table of criteria) and puts that into the store's ledger: runs that
/// begin after this record have a protocol that was signed before they measured anything. The statement names the ledger's last
/// record, so that it holds for this ledger alone. Error(input|storage).
struct ProtocolSigned {
    std::uint64_t seq = 0;
    std::vector<Digest> envelopes;
    Digest protocol{};
};
ProtocolSigned sign_protocol(store::Store& store, const std::string& name,
                             const std::string& protocol_path,
                             const std::map<std::string, std::string>& files, const Sign& sign);

}  // namespace requal::evidence
