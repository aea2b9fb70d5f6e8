#include "station/diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "station/baseline.h"
#include "station/diff_parts.h"
#include "station/snapshot.h"

namespace requal::station {

namespace {

/// Areas that no snapshot looks at.
constexpr std::pair<std::string_view, std::string_view> never_tracked[] = {
    {"application settings",
     "files of the application are seen only where a process has mapped them"},
    {"camera settings", "exposure, trigger, lens and light are not in a snapshot"},
    {"behaviour", "equal files are not equal outputs: run the engine on the reference inputs"}};

Verdict verdict_of(const Json& differences) {
    Verdict verdict = Verdict::pass;
    for (const Json& item : differences.as_array())
        verdict =
            combine(verdict, item.at("severity").as_string() == "unknown" ? Verdict::undecidable
                                                                          : Verdict::fail);
    return verdict;
}

Json side_json(const Side& side) {
    const Json& document = side.document;
    Json result = Json::object({{"from", side.from}, {"schema", document.at("schema")}});
    const auto text_or_null = [](std::string text) {
        return text.empty() ? Json() : Json(std::move(text));
    };
    result["state_digest"] = text_or_null(text_at(document, "state_digest"));
    result["taken"] = text_or_null(text_at(document.get("taken"), "wall"));
    const Json& l4t = document.get("l4t");
    const std::string release = text_at(l4t, "release");
    result["l4t"] = text_or_null(release.empty() ? "" : release + "." + text_at(l4t, "revision"));
    return result;
}

bool is_snapshot(const Json& document) {
    return text_at(document, "schema").starts_with("snapshot/");
}

std::string shown(const Json& value) {
    std::string text = value.is_null()     ? "absent"
                       : value.is_string() ? value.as_string()
                                           : write_json_compact(value);
    if (text.size() > 120)
        text = text.substr(0, 100) + "...";
    return printable(text);
}

}  // namespace

std::string_view name_of(Severity severity) {
    switch (severity) {
    case Severity::high:
        return "high";
    case Severity::medium:
        return "medium";
    case Severity::low:
        return "low";
    case Severity::unknown:
        break;
    }
    return "unknown";
}

const std::vector<DifferenceClass>& difference_classes() {
    using enum Severity;
    static const std::vector<DifferenceClass> classes = {{"new-weights", high},
                                                         {"preprocessing", high},
                                                         {"calibration", high},
                                                         {"runtime-version", high},
                                                         {"jetpack-major", high},
                                                         {"l4t-point-release", high},
                                                         {"kernel", high},
                                                         {"driver", high},
                                                         {"firmware", high},
                                                         {"power-mode", high},
                                                         {"library-replaced", high},
                                                         {"release-file", high},
                                                         {"engine-rebuilt", high},
                                                         {"engine-changed", high},
                                                         {"other-model", high},
                                                         {"library-moved", medium},
                                                         {"package-state", medium},
                                                         {"hold-lost", medium},
                                                         {"source-enabled", medium},
                                                         {"upgrades-enabled", medium},
                                                         {"disagreement", medium},
                                                         {"engine-restored", medium},
                                                         {"other-unit", medium},
                                                         {"camera", medium},
                                                         {"time-source", medium},
                                                         {"security", medium},
                                                         {"container", medium},
                                                         {"application", medium},
                                                         {"os", medium},
                                                         {"other", medium},
                                                         {"hold-added", low},
                                                         {"source-disabled", low},
                                                         {"upgrades-disabled", low},
                                                         {"other-packages", low},
                                                         {"unknown", unknown}};
    return classes;
}

Side read_side(const std::string& path) {
    const std::string text = read_file(path, std::uint64_t{64} << 20U);
    Json document = parse_json(text, path, {.size_bytes = std::size_t{64} << 20U});
    if (is_snapshot(document) || text_at(document, "schema").starts_with("baseline/"))
        return {snapshot_of(std::move(document), path), path};
    if (text_at(document, "schema").starts_with("engine-manifest/")) {
        require_schema(document, "engine-manifest", 1, path);
        return {std::move(document), path};
    }
    throw Error(ErrorKind::input, "neither a snapshot, a baseline nor an engine manifest", path,
                "give what 'requal snapshot', 'requal baseline adopt' or 'requal build' wrote");
}

ExitStatus exit_status_of_diff(const Json& diff) {
    return exit_status_of(parse_verdict(diff.at("verdict").as_string()));
}

Json snapshot_differences(const Json& before, const Json& after) {
    try {
        Differences found(before, after);
        compare_snapshots(found);
        return found.json();
    } catch (const Error& error) {
        if (!error.where().empty())
            throw;
        throw Error(error.kind(),
                    "a snapshot has a part of another type than it must have: " + error.message(),
                    "", "take a fresh one");
    }
}

Json diff_document(const Side& before, const Side& after) {
    if (is_snapshot(before.document) != is_snapshot(after.document))
        throw Error(ErrorKind::input, "one side is a snapshot and the other an engine manifest",
                    before.from + ", " + after.from, "compare two of one kind");
    Json document = new_document("diff", 1);
    document["before"] = side_json(before);
    document["after"] = side_json(after);
    Json untracked = Json::array(), notes = Json::array();
    if (is_snapshot(before.document)) {
        document["differences"] = snapshot_differences(before.document, after.document);
        std::map<std::string, std::string> reasons;
        for (const auto& [side, name] :
             {std::pair<const Side*, const char*>{&before, "before"}, {&after, "after"}})
            for (const Json& item : side->document.at("unknown").as_array()) {
                std::string& reason = reasons[item.at("what").as_string()];
                const std::string said = item.at("reason").as_string();
                if (reason.empty())
                    reason = std::string(name) + ": " + said;
                else if (reason == "before: " + said)
                    reason = said;
                else
                    reason += "; " + std::string(name) + ": " + said;
            }
        for (const auto& [what, reason] : reasons)
            untracked.push_back(Json::object({{"what", what}, {"reason", reason}}));
        for (const auto& [what, reason] : never_tracked)
            untracked.push_back(Json::object({{"what", what}, {"reason", reason}}));
        const std::string first = text_at(before.document.get("taken"), "wall");
        const std::string second = text_at(after.document.get("taken"), "wall");
        if (!first.empty() && !second.empty() && second < first)
            notes.push_back(
                "the second snapshot says that it is older than the first: the order was "
                "changed, or a clock was moved back");
        for (const auto& [side, name] :
             {std::pair<const Side*, const char*>{&before, "before"}, {&after, "after"}})
            if (side->document.get("scope").is_object() &&
                side->document.at("scope").get("trusted_digests").is_integer() &&
                side->document.at("scope").at("trusted_digests").as_integer() > 0)
                notes.push_back(
                    std::string(name) +
                    ": digests were taken over for files with equal times (--trust-mtime)");
    } else {
        Differences found(before.document, after.document);
        compare_manifests(found);
        document["differences"] = found.json();
        untracked.push_back(Json::object(
            {{"what", "machine"}, {"reason", "engine manifests were compared, not snapshots"}}));
    }
    document["untracked"] = std::move(untracked);
    document["notes"] = std::move(notes);
    document["verdict"] = name_of(verdict_of(document.at("differences")));
    return document;
}

std::string diff_text(const Json& diff) {
    std::string text;
    const auto padded = [](std::string word, std::size_t width) {
        word.resize(std::max(width, word.size()), ' ');
        return word;
    };
    const Json::Array& items = diff.at("differences").as_array();
    for (const Json& item : items)
        text += padded(item.at("severity").as_string(), 8) +
                padded(item.at("class").as_string(), 18) + printable(item.at("path").as_string()) +
                ": " + shown(item.at("before")) + " -> " + shown(item.at("after")) + "\n";
    text += items.empty() ? std::string("no difference in what is tracked\n")
                          : std::to_string(items.size()) +
                                (items.size() == 1 ? " difference\n" : " differences\n");
    for (const Json& note : diff.at("notes").as_array())
        text += "note: " + printable(note.as_string()) + "\n";
    for (const Json& item : diff.at("untracked").as_array())
        text += "untracked  " + printable(item.at("what").as_string()) + ": " +
                printable(item.at("reason").as_string()) + "\n";
    return text;
}

}  // namespace requal::station
