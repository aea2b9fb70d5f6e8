// The parts of an evidence package: an OCI image layout in a tar file (docs/formats/evidence-package.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/json.h"

namespace requal::evidence {

inline constexpr std::string_view oci_layout_text = "{\"imageLayoutVersion\":\"1.0.0\"}\n";
inline constexpr std::string_view contents_media_type = "application/vnd.requal.evidence.v1+json";
inline constexpr std::string_view envelope_media_type = "application/vnd.dsse.envelope.v1+json";
inline constexpr std::uint64_t contents_limit_bytes = std::uint64_t{32} << 20;
inline constexpr std::uint64_t oci_manifest_limit_bytes = std::uint64_t{64} << 20;

struct BlobOfPackage {
    Digest digest{};
    std::uint64_t size_bytes = 0;
};

/// A file that the runs name.
struct ContentOfPackage {
    std::string name;  ///< the first name it was met under: "RUN/record.json", "ledger.jsonl"
    std::uint64_t size_bytes = 0;
    bool included = true;
    std::string why_not;  ///< "by digest only", "removed by gc", "not in the store"
};
using Contents = std::map<Digest, ContentOfPackage>;

/// "blobs/sha256/HEX".
std::string blob_name(const Digest& digest);
/// JSON list of contents, by digest; and back, Error(input).
Json contents_json(const Contents& contents);
Contents contents_from(const Json& list, const std::string& source);
/// What kind of file a name says: by its ending.
std::string media_type_of(std::string_view name);

/// The OCI image manifest: `config` is the list of contents, layers are envelopes, then what is included, both by digest.
std::string oci_manifest_text(const BlobOfPackage& config,
                              const std::vector<BlobOfPackage>& envelopes,
                              const Contents& contents);
std::string oci_index_text(std::string_view oci_manifest, const std::string& reference);
/// Envelopes that an OCI manifest names, sorted. Error(input).
std::vector<BlobOfPackage> envelopes_of(const Json& oci_manifest, const std::string& source);

}  // namespace requal::evidence
