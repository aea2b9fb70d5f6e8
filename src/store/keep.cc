#include "store/keep.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "store/views.h"

namespace requal::store {

namespace {

constexpr std::uint64_t document_limit_bytes = 64 << 20;
constexpr std::size_t removed_per_record = 5000;

std::int64_t count_of(const std::string& word, std::string_view text) {
    const auto count = parse_integer(text);
    if (!count || *count < 0 || *count > 1'000'000'000)
        throw Error(ErrorKind::usage, "no count: '" + word + "'", "--keep",
                    "write runs:10 or days:30");
    return *count;
}

/// Everything that lies below what is kept.
class Marks {
public:
    explicit Marks(Store& store) : store_(store) {}

    void keep(const Reference& reference) {
        keep(reference.digest, reference.kind != "blob");
        for (const auto& [name, digest] : reference.files)
            keep(digest, name.ends_with(".json"));
    }

    /// `look_inside`: the blob may be a document that names others.
    void keep(const Digest& first, bool look_inside) {
        std::vector<Digest> waiting;
        if (kept_.insert(first).second && look_inside)
            waiting.push_back(first);
        while (!waiting.empty()) {
            const Digest digest = waiting.back();
            waiting.pop_back();
            for (const Digest& below : named_by(digest)) {
                if (store_.index().blob_size(below) && kept_.insert(below).second)
                    waiting.push_back(below);
            }
        }
    }

    void keep_all_in(const Json& json) {
        for (const Digest& digest : digests_in(json))
            keep(digest, true);
    }

    bool holds(const Digest& digest) const { return kept_.contains(digest); }
    std::size_t size() const { return kept_.size(); }

private:
    static std::vector<Digest> digests_in(const Json& json) {
        std::vector<Digest> found;
        collect(json, found);
        return found;
    }
    static void collect(const Json& json, std::vector<Digest>& found) {
        if (json.is_string()) {
            const std::string& text = json.as_string();
            if (text.size() == 71 && text.starts_with("sha256:")) {
                try {
                    found.push_back(parse_digest(text));
                } catch (const Error&) {
                    // a text that only looks like one
                }
            }
        } else if (json.is_array()) {
            for (const Json& item : json.as_array())
                collect(item, found);
        } else if (json.is_object()) {
            for (const auto& [key, value] : json.as_object())
                collect(value, found);
        }
    }

    std::vector<Digest> named_by(const Digest& digest) {
        const auto path = store_.find_blob(digest);
        if (!path || status_of(*path).size_bytes > document_limit_bytes)
            return {};
        const std::string text = read_whole(*path, document_limit_bytes);
        if (text.empty() || text.front() != '{')
            return {};
        try {
            return digests_in(parse_json(text, *path));
        } catch (const Error&) {
            return {};  // no document
        }
    }

    Store& store_;
    std::set<Digest> kept_;
};

bool is_open_deviation(const Reference& reference) {
    return reference.kind == "deviation" && std::find(reference.tags.begin(), reference.tags.end(),
                                                      "closed") == reference.tags.end();
}

}  // namespace

KeepPolicy parse_keep(const std::vector<std::string>& words) {
    KeepPolicy policy;
    policy.words = words;
    if (words.empty())
        policy.words = {"names"};
    for (const std::string& word : policy.words) {
        if (word == "names") {
            policy.names = true;
        } else if (word == "baselines") {
            // kept in any case
        } else if (word.starts_with("runs:")) {
            policy.runs = std::max(policy.runs, count_of(word, std::string_view(word).substr(5)));
        } else if (word.starts_with("days:")) {
            policy.days = std::max(policy.days, count_of(word, std::string_view(word).substr(5)));
        } else if (word.starts_with("tag:")) {
            check_tag(std::string_view(word).substr(4));
            policy.tags.push_back(word.substr(4));
        } else {
            throw Error(ErrorKind::usage, "unknown policy '" + word + "'", "--keep",
                        "write names, baselines, runs:N, days:N or tag:T");
        }
    }
    return policy;
}

GcReport collect_garbage(Store& store, const KeepPolicy& policy, bool dry_run) {
    const Layout& layout = store.layout();
    // Puts that have begun end first: they rely on what they found here.
    const ReserveUse reserve(layout);
    const FileDescriptor alone = lock_file(layout.blob_lock(), true, "puts blobs into this store");
    Writing writing(store);
    Index& index = store.index();
    Marks marks(store);

    std::string since;
    if (policy.days >= 0)
        since =
            iso_time(store.clock().wall_ns() - policy.days * std::int64_t{86'400} * 1'000'000'000);
    ReferenceFilter everything;
    everything.history = policy.days >= 0;
    std::vector<Reference> runs;
    std::vector<std::string> dropped_runs;
    for (const Reference& reference : index.references(everything)) {
        const bool tagged =
            std::any_of(policy.tags.begin(), policy.tags.end(), [&](const std::string& tag) {
                return std::find(reference.tags.begin(), reference.tags.end(), tag) !=
                       reference.tags.end();
            });
        const bool needed =
            reference.current && (reference.kind == "baseline" || is_open_deviation(reference));
        const bool named =
            policy.names && reference.current && (reference.kind != "run" || policy.runs < 0);
        if (needed || named || tagged || (policy.days >= 0 && reference.time >= since))
            marks.keep(reference);
        if (reference.kind == "run" && reference.current && reference.ledger == store.ledger_id())
            runs.push_back(reference);
    }
    // Order of the ledger, not of a clock that may have been moved.
    std::sort(runs.begin(), runs.end(),
              [](const Reference& a, const Reference& b) { return a.seq > b.seq; });
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (policy.runs >= 0 && i < static_cast<std::size_t>(policy.runs))
            marks.keep(runs[i]);
    }
    for (const Reference& run : runs) {
        if (!marks.holds(run.digest))
            dropped_runs.push_back(run.name);
    }
    for (const WorkEntry& work : index.works("open")) {
        for (const StepEntry& step : index.steps(work.id))
            marks.keep_all_in(step.outputs);
    }

    GcReport report;
    report.dry = dry_run;
    index.each_blob([&](const BlobEntry& blob) {
        if (marks.holds(blob.digest)) {
            ++report.kept;
        } else {
            report.removed.push_back(blob);
            report.removed_bytes += blob.size_bytes;
        }
    });
    std::vector<BlobEntry> orphans;
    for (const std::string& folder : names_in(layout.blobs())) {
        if (status_of(layout.blobs() + "/" + folder).kind != Kind::folder)
            continue;
        for (const std::string& name : names_in(layout.blobs() + "/" + folder)) {
            try {
                const Digest digest = parse_digest(name);
                const Status status = status_of(layout.blobs() + "/" + folder + "/" + name);
                if (status.kind == Kind::file && !index.blob_size(digest) &&
                    name.substr(0, 2) == folder)
                    orphans.push_back({digest, status.size_bytes});
            } catch (const Error&) {
                // not ours
            }
        }
    }
    report.orphans = orphans.size();
    if (dry_run) {
        for (const BlobEntry& orphan : orphans) {
            report.removed.push_back(orphan);
            report.removed_bytes += orphan.size_bytes;
        }
        return report;
    }

    Json words = Json::array();
    for (const std::string& word : policy.words)
        words.push_back(word);
    std::vector<NewRecord> records;
    for (std::size_t begin = 0; begin < report.removed.size(); begin += removed_per_record) {
        Json removed = Json::array();
        for (std::size_t i = begin; i < std::min(report.removed.size(), begin + removed_per_record);
             ++i)
            removed.push_back(Json::object({{"digest", report.removed[i].digest.text()},
                                            {"size_bytes", report.removed[i].size_bytes}}));
        records.push_back({"gc", Json::object({{"keep", words}, {"removed", removed}})});
    }
    for (const std::string& name : dropped_runs)
        records.push_back({"forget", Json::object({{"name", name}})});
    // The record first: killed between it and the removal, what is left is no longer anyone's and goes with the next gc.
    if (!records.empty())
        writing.append(records);
    for (const std::string& name : dropped_runs)
        remove_view(layout, name);
    report.removed.insert(report.removed.end(), orphans.begin(), orphans.end());
    for (const BlobEntry& blob : report.removed) {
        const std::string path = layout.blob(blob.digest);
        if (::unlink(path.c_str()) != 0 && errno != ENOENT)
            fail(errno, "remove", path);
    }
    for (const BlobEntry& orphan : orphans)
        report.removed_bytes += orphan.size_bytes;
    writing.finish();
    return report;
}

}  // namespace requal::store
