#include "station/baseline.h"

#include <algorithm>
#include <map>
#include <set>

#include "artifact/recognise.h"
#include "base/digest.h"
#include "base/document.h"
#include "base/error.h"
#include "base/text.h"
#include "station/snapshot.h"

namespace requal::station {

namespace {

Json field(const char* status, Json value, std::string how) {
    return Json::object({{"status", status}, {"value", std::move(value)}, {"how", std::move(how)}});
}

/// The version of the runtime's library that the process has mapped, else the one that is installed, when there is exactly one.
std::string runtime_library_version(const Json& snapshot, std::string& how) {
    const auto versions = [](const Json& list) {
        std::set<std::string> found;
        if (list.is_array())
            for (const Json& library : list.as_array()) {
                const std::string path = text_at(library, "path");
                const std::string name = path.substr(path.rfind('/') + 1);
                for (const char* main :
                     {"libnvinfer.so", "libonnxruntime.so", "libopenvino.so", "libtensorrt_rtx.so"})
                    if (name.starts_with(main) && !text_at(library, "version").empty())
                        found.insert(text_at(library, "product") + " " +
                                     text_at(library, "version"));
            }
        return found;
    };
    if (const Json& application = snapshot.get("application"); application.is_object()) {
        const std::set<std::string> mapped = versions(application.get("libraries"));
        if (mapped.size() == 1) {
            how = "the library that the process has mapped";
            return *mapped.begin();
        }
    }
    const std::set<std::string> installed = versions(snapshot.get("libraries"));
    how = "the only runtime library that is installed";
    return installed.size() == 1 ? *installed.begin() : std::string();
}

/// Fields that the engine manifest beside the engine states; empty without one, or with one of another engine.
std::map<std::string, std::string> stated(const Json& entry) {
    std::map<std::string, std::string> result;
    const Json& from = entry.get("built_from");
    if (!from.is_object() || text_at(from, "engine_digest") != text_at(entry, "digest"))
        return result;
    for (const auto& [name, key] : {std::pair<const char*, const char*>{"model.digest", "model"},
                                    {"toolchain.name", "toolchain"},
                                    {"toolchain.version", "toolchain_version"},
                                    {"options.digest", "options"},
                                    {"preprocess.digest", "preprocess"},
                                    {"calibration.digest", "calibration"}})
        if (const std::string value = text_at(from, key); !value.empty())
            result[name] = value;
    return result;
}

}  // namespace

const std::vector<std::string_view>& baseline_fields() {
    static const std::vector<std::string_view> fields = {
        "engine.digest",      "engine.kind",       "runtime.version",   "runtime.library",
        "target.device",      "target.l4t",        "model.digest",      "checkpoint.digest",
        "toolchain.name",     "toolchain.version", "options.digest",    "preprocess.digest",
        "calibration.digest", "precision",         "reference.outputs", "latency.limits"};
    return fields;
}

Json adopt(const AdoptRequest& request, const Clock& clock) {
    const Json inspected = artifact::inspect_document(request.engine, true);
    const std::string digest = text_at(inspected, "digest");
    Json entry;
    for (const Json& item : request.snapshot.at("engines").as_array())
        if (text_at(item, "digest") == digest)
            entry = item;
    if (entry.is_null())
        throw Error(ErrorKind::undecidable, "the engine changed while it was read", request.engine,
                    "run it again while nothing writes it");
    std::map<std::string, Json> fields;
    const auto observe = [&](const char* name, const std::string& value, std::string how) {
        if (!value.empty())
            fields[name] = field("observed", value, std::move(how));
    };
    observe("engine.digest", digest, "the file's bytes");
    if (text_at(inspected, "kind") != "unknown")
        observe("engine.kind", text_at(inspected, "kind"), "the file's bytes");
    observe("runtime.version", text_at(inspected.get("recorded"), "runtime_version"),
            "recorded in the engine");
    std::string how;
    const std::string library = runtime_library_version(request.snapshot, how);
    observe("runtime.library", library, how);
    observe("target.device", text_at(request.snapshot.at("device"), "model"),
            "the machine that it runs on");
    if (const std::string release = text_at(request.snapshot.at("l4t"), "release");
        !release.empty())
        observe("target.l4t", "r" + release + "." + text_at(request.snapshot.at("l4t"), "revision"),
                "the machine that it runs on");
    for (const auto& [name, value] : stated(entry))
        fields[name] = field("claimed", value, "by the engine manifest beside it");
    for (const Claim& claim : request.claims) {
        const auto& known = baseline_fields();
        if (std::find(known.begin(), known.end(), claim.field) == known.end()) {
            const std::string near = nearest(claim.field, known);
            throw Error(ErrorKind::usage, "no such field '" + claim.field + "'", "--claim",
                        near.empty() ? "see docs/formats/baseline.md"
                                     : "did you mean '" + near + "'?");
        }
        if (request.by.empty())
            throw Error(ErrorKind::usage, "a claim needs a person behind it", "--claim",
                        "say who with --by NAME");
        const auto there = fields.find(claim.field);
        if (there != fields.end() && text_at(there->second, "status") == "observed") {
            if (text_at(there->second, "value") != claim.value)
                throw Error(ErrorKind::usage,
                            "'" + claim.field + "' was observed to be '" +
                                text_at(there->second, "value") + "'",
                            "--claim", "leave the claim out");
            continue;
        }
        fields[claim.field] = field("claimed", claim.value, "by " + request.by);
    }
    static const std::map<std::string_view, const char*> reasons = {
        {"reference.outputs", "the engine was not run"},
        {"engine.kind", "the bytes are of no kind that is known"},
        {"latency.limits", "nothing was measured"},
        {"runtime.version", "the bytes do not tell it"},
        {"runtime.library", "no runtime library, or more than one, was found"},
        {"precision", "an engine's bytes do not tell which precision it executes"}};
    Json stated_fields = Json::object();
    std::int64_t observed = 0, claimed = 0, unknown = 0;
    for (const std::string_view name : baseline_fields()) {
        const auto found = fields.find(std::string(name));
        if (found == fields.end()) {
            const auto reason = reasons.find(name);
            stated_fields[name] = field(
                "unknown", Json(),
                reason == reasons.end() ? "nobody said it and nothing shows it" : reason->second);
            ++unknown;
            continue;
        }
        (text_at(found->second, "status") == "observed" ? observed : claimed) += 1;
        stated_fields[name] = found->second;
    }
    Json document = new_document("baseline", 1);
    document["state"] = "adopted";
    document["adopted"] = time_stamp(clock);
    if (!request.by.empty())
        document["by"] = request.by;
    document["engine"] = Json::object(
        {{"path", request.engine}, {"digest", digest}, {"size_bytes", inspected.at("size_bytes")}});
    document["fields"] = std::move(stated_fields);
    document["known"] =
        Json::object({{"observed", observed}, {"claimed", claimed}, {"unknown", unknown}});
    document["snapshot"] = request.snapshot;
    document["content_digest"] = content_digest(document);
    return document;
}

std::string content_digest(const Json& baseline) {
    Json rest = baseline;
    rest.as_object().erase("content_digest");
    return digest_of(write_json_compact(rest)).text();
}

Json checked_baseline(Json document, const std::string& source) {
    require_schema(document, "baseline", 1, source);
    if (text_at(document, "content_digest") != content_digest(document))
        throw Error(ErrorKind::storage,
                    "it was altered: its content_digest is not that of its content", source,
                    "fetch the original, or adopt the engine again");
    checked_snapshot(document.at("snapshot"), source);
    return document;
}

Json snapshot_of(Json document, const std::string& source) {
    if (text_at(document, "schema").starts_with("baseline/"))
        return checked_baseline(std::move(document), source).at("snapshot");
    return checked_snapshot(std::move(document), source);
}

Json read_snapshot_or_baseline(const std::string& text, const std::string& source) {
    return snapshot_of(parse_json(text, source, {.size_bytes = std::size_t{64} << 20U}), source);
}

std::string baseline_text(const Json& baseline) {
    std::string text = "state: " + baseline.at("state").as_string() + ", not qualified\n";
    for (const auto& [name, item] : baseline.at("fields").as_object()) {
        std::string status = item.at("status").as_string(), padded = name;
        status.resize(10, ' ');
        padded.resize(std::max<std::size_t>(20, padded.size()), ' ');
        text +=
            status + padded +
            (item.at("value").is_string() ? printable(item.at("value").as_string()) + "  " : "") +
            "(" + printable(item.at("how").as_string()) + ")\n";
    }
    return text +
           "state of the machine: " + baseline.at("snapshot").at("state_digest").as_string() + "\n";
}

}  // namespace requal::station
