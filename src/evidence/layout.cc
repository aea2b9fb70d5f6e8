#include "evidence/layout.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "store/layout.h"

namespace requal::evidence {

namespace {

constexpr std::string_view manifest_media_type = "application/vnd.oci.image.manifest.v1+json";
constexpr std::string_view index_media_type = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view artifact_type = "application/vnd.requal.evidence.v1";

Json descriptor(std::string_view media_type, const Digest& digest, std::uint64_t size_bytes) {
    return Json::object(
        {{"mediaType", media_type}, {"digest", digest.text()}, {"size", size_bytes}});
}

Json titled(Json entry, const std::string& title) {
    entry["annotations"] = Json::object({{"org.opencontainers.image.title", title}});
    return entry;
}

std::uint64_t size_of(const Json& entry, std::string_view key, const std::string& source) {
    const std::int64_t size = entry.at(key).as_integer();
    if (size < 0)
        throw Error(ErrorKind::input, "a size below zero", source);
    return static_cast<std::uint64_t>(size);
}

/// Parts between '/' are names of the store, so that no tool that unpacks by them leaves its folder.
void check_title(const std::string& name) {
    std::size_t begin = 0;
    while (begin <= name.size()) {
        const std::size_t end = std::min(name.find('/', begin), name.size());
        store::check_name(name.substr(begin, end - begin));
        begin = end + 1;
    }
}

}  // namespace

std::string blob_name(const Digest& digest) {
    return "blobs/sha256/" + digest.hex();
}

Json contents_json(const Contents& contents) {
    Json list = Json::array();
    for (const auto& [digest, content] : contents) {
        Json entry = Json::object({{"digest", digest.text()},
                                   {"name", content.name},
                                   {"size_bytes", content.size_bytes},
                                   {"included", content.included}});
        if (!content.included)
            entry["why_not"] = content.why_not;
        list.push_back(std::move(entry));
    }
    return list;
}

Contents contents_from(const Json& list, const std::string& source) {
    Contents contents;
    for (const Json& entry : list.as_array()) {
        ContentOfPackage content;
        content.name = entry.at("name").as_string();
        check_title(content.name);
        content.size_bytes = size_of(entry, "size_bytes", source);
        content.included = entry.at("included").as_boolean();
        if (!content.included)
            content.why_not = entry.at("why_not").as_string();
        if (!contents.emplace(parse_digest(entry.at("digest").as_string()), content).second)
            throw Error(ErrorKind::input, "a digest stands twice in the list of contents", source);
    }
    return contents;
}

std::string media_type_of(std::string_view name) {
    if (name.ends_with(".dsse.json"))
        return std::string(envelope_media_type);
    if (name.ends_with("record.json"))
        return "application/vnd.requal.run.v1+json";
    if (name.ends_with(".json") || name.ends_with("(result)"))
        return "application/json";
    if (name.ends_with(".jsonl"))
        return "application/vnd.requal.ledger.v1+jsonl";
    if (name.ends_with(".html"))
        return "text/html";
    if (name.ends_with(".yaml"))
        return "application/yaml";
    return "application/octet-stream";
}

std::string oci_manifest_text(const BlobOfPackage& config,
                              const std::vector<BlobOfPackage>& envelopes,
                              const Contents& contents) {
    Json layers = Json::array();
    for (const BlobOfPackage& envelope : envelopes)
        layers.push_back(
            titled(descriptor(envelope_media_type, envelope.digest, envelope.size_bytes),
                   "signatures/" + envelope.digest.hex().substr(0, 16) + ".dsse.json"));
    for (const auto& [digest, content] : contents) {
        if (content.included)
            layers.push_back(titled(
                descriptor(media_type_of(content.name), digest, content.size_bytes), content.name));
    }
    return write_json(
        Json::object({{"schemaVersion", 2},
                      {"mediaType", manifest_media_type},
                      {"artifactType", artifact_type},
                      {"config", descriptor(contents_media_type, config.digest, config.size_bytes)},
                      {"layers", layers}}));
}

std::string oci_index_text(std::string_view oci_manifest, const std::string& reference) {
    Json entry = descriptor(manifest_media_type, digest_of(oci_manifest), oci_manifest.size());
    entry["artifactType"] = artifact_type;
    entry["annotations"] = Json::object({{"org.opencontainers.image.ref.name", reference}});
    return write_json(Json::object({{"schemaVersion", 2},
                                    {"mediaType", index_media_type},
                                    {"manifests", Json::array({std::move(entry)})}}));
}

std::vector<BlobOfPackage> envelopes_of(const Json& oci_manifest, const std::string& source) {
    std::vector<BlobOfPackage> envelopes;
    for (const Json& layer : oci_manifest.at("layers").as_array()) {
        const std::string& title =
            layer.at("annotations").at("org.opencontainers.image.title").as_string();
        if (title.starts_with("signatures/"))
            envelopes.push_back(
                {parse_digest(layer.at("digest").as_string()), size_of(layer, "size", source)});
    }
    std::sort(envelopes.begin(), envelopes.end(),
              [](const auto& one, const auto& other) { return one.digest < other.digest; });
    return envelopes;
}

}  // namespace requal::evidence
