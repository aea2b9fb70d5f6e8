#include "base/progress.h"
#include "base/text.h"
#include "evidence/schema_check.h"
#include "evidence/verification.h"

namespace requal::evidence {

namespace {

constexpr std::size_t most_entries = 50'000;

}  // namespace

void Verification::scan() {
    tar_.emplace(path_);
    TarEntry entry;
    Progress progress("verify", result_.size_bytes >> 20);
    std::uint64_t shown = 0;
    while (tar_->next(entry)) {
        if (order_.size() >= most_entries)
            throw Error(ErrorKind::input, "more than 50000 files", printable(entry.name));
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

const TarEntry& Verification::entry_of(const Digest& digest, const std::string& what) {
    const auto found = blobs_.find(digest);
    if (found == blobs_.end())
        throw Error(ErrorKind::input, what + " is missing", blob_name(digest));
    if (damaged_.contains(digest))
        throw Error(ErrorKind::input, what + " was changed", blob_name(digest));
    return found->second;
}

void Verification::read_contents() {
    const Json index = parse_json(index_, "index.json", document_limits());
    const auto& manifests = index.at("manifests").as_array();
    if (manifests.size() != 1)
        throw Error(ErrorKind::input, "an evidence package has one OCI manifest", "index.json");
    const Digest manifest_digest = parse_digest(manifests.front().at("digest").as_string());
    manifest_ = tar_->content(entry_of(manifest_digest, "the OCI manifest"), record_limit_bytes);
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
    if (envelopes_.size() > most_envelopes)
        throw Error(ErrorKind::input, "too many signatures", "the OCI manifest");
}

void Verification::compare_repacked() {
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

}  // namespace requal::evidence
