#include "store/check.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "store/batch.h"
#include "store/check_places.h"
#include "store/files.h"
#include "store/index.h"
#include "store/layout.h"
#include "store/ledger.h"

namespace requal::store {

namespace {

struct FoundBlob {
    std::string path;
    Digest digest{};
    std::uint64_t size_bytes = 0;
    std::uint64_t inode = 0;
    bool known = false;
};

class Check {
public:
    Check(const std::string& folder, const CheckOptions& options) : options_(options) {
        layout_.root = folder;
    }

    CheckReport run() {
        if (!read_the_format())
            return std::move(report_);
        FileDescriptor lock, blob_lock;
        if (::access(layout_.root.c_str(), W_OK) == 0 &&
            status_of(layout_.lock()).kind == Kind::file) {
            blob_lock = guarded_lock(layout_.blob_lock(), false);
            lock = guarded_lock(layout_.lock(), true);
        }
        check_places(layout_, report_);
        Index expected(layout_.database(), Index::Open::memory, format_.ledger);
        check_ledgers(expected);
        check_index(expected);
        lock.reset();
        check_blobs(expected);
        check_runs(expected);
        return std::move(report_);
    }

private:
    std::string relative(const std::string& path) const {
        return path.starts_with(layout_.root + "/") ? path.substr(layout_.root.size() + 1) : path;
    }
    void damage(const std::string& path, const std::string& what) {
        report_.damages.push_back({relative(path), what});
    }
    void note(const std::string& text) { report_.notes.push_back(text); }
    /// Storage errors of `work` are damages.
    template <typename Work>
    bool guarded(Work work) {
        try {
            work();
            return true;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::storage && error.kind() != ErrorKind::input)
                throw;
            damage(error.where(), error.message());
            return false;
        }
    }
    static FileDescriptor guarded_lock(const std::string& path, bool exclusive) {
        if (status_of(path).kind == Kind::link)
            return {};  // named by check_places()
        return lock_file(path, exclusive, "writes to this store");
    }

    bool read_the_format() {
        if (status_of(layout_.format()).kind == Kind::absent &&
            status_of(layout_.database()).kind == Kind::file) {
            damage(layout_.format(), "the format file is missing");
            return false;
        }
        if (status_of(layout_.format()).kind == Kind::absent)
            read_format(layout_);  // throws: no store, or one of form 0
        return guarded([&] { format_ = read_format(layout_); });
    }

    void check_ledgers(Index& expected) {
        expected.begin();
        std::vector<std::string> ids = ledger_ids(layout_);
        std::set<std::string> known;
        for (const std::string& id : ids) {
            known.insert(id + ".jsonl");
            known.insert(id + ".head");
            guarded([&] { check_ledger(expected, id); });
        }
        expected.commit();
        if (status_of(layout_.ledgers()).kind == Kind::folder) {
            for (const std::string& name : names_in(layout_.ledgers())) {
                const std::string path = layout_.ledgers() + "/" + name;
                const std::size_t torn = name.find(".torn-");
                if (known.contains(name))
                    continue;
                if (torn == 16 && is_ledger_id(name.substr(0, 16))) {
                    guarded([&] {
                        if (digest_of(read_whole(path, line_limit_bytes)).hex().substr(0, 16) !=
                            name.substr(torn + 6))
                            damaged("a record that was set aside changed since", path);
                    });
                    continue;
                }
                note("ledger/" + name +
                     (name.starts_with(".requal-") ? ": left by a process that was killed"
                                                   : ": not of the store"));
            }
        }
        for (const auto& [place, digest] : checkpoints_) {
            const auto& [id, seq] = place;
            const auto found = digests_.find(id);
            if (found == digests_.end())
                damage(layout_.ledger(id), "the ledger is missing; a checkpoint names its record " +
                                               std::to_string(seq));
            else if (seq >= found->second.size())
                damage(layout_.ledger(id),
                       "records were removed: it has " + std::to_string(found->second.size()) +
                           ", a checkpoint names record " + std::to_string(seq));
            else if (found->second[static_cast<std::size_t>(seq)] != digest)
                damage(layout_.ledger(id),
                       "record " + std::to_string(seq) + " is not the one that a checkpoint names");
        }
    }

    void check_ledger(Index& expected, const std::string& id) {
        const std::string path = layout_.ledger(id);
        const Status status = status_of(path);
        if (status.kind != Kind::file)
            damaged(status.kind == Kind::absent ? "the ledger is missing" : "no regular file",
                    path);
        std::vector<Digest>& digests = digests_[id];
        if (!options_.checkpoint.is_null() && options_.checkpoint.at("ledger").as_string() == id)
            note_checkpoint(options_.checkpoint);
        Head head;
        const bool head_good = guarded([&] { head = read_head(layout_, id); });
        std::string last_wall, torn;
        Digest previous{};
        const Head end = scan_ledger(
            path, {},
            [&](const Record& record) {
                ++report_.records;
                // The digest of record n is what record n + 1 says of it; the last one's follows from the end of the scan.
                if (record.seq > 0)
                    digests.push_back(parse_digest(record.prev));
                const Json& wall = record.time.get("wall");
                last_wall = wall.is_string() ? wall.as_string() : std::string();
                if (record.type == "checkpoint" && record.body.has("ledger") &&
                    id == format_.ledger)
                    note_checkpoint(record.body);
                expected.apply(id, record);
            },
            torn);
        (void)previous;
        if (end.seq > 0)
            digests.push_back(end.digest);
        if (end.seq > 0)
            expected.set_head(id, end, last_wall);
        ends_[id] = end;
        if (!head_good) {
            if (!torn.empty())
                damage(path, torn);
            return;
        }
        if (end.offset < head.offset) {
            damaged(torn.empty() ? "records were removed from the end: it has " +
                                       std::to_string(end.seq) + " of " + std::to_string(head.seq)
                                 : torn,
                    path);
        }
        if (head.seq > 0 && (head.seq > digests.size() ||
                             digests[static_cast<std::size_t>(head.seq) - 1] != head.digest))
            damaged("record " + std::to_string(head.seq - 1) +
                        " was changed: it is not the one that the head names",
                    path);
        if (!torn.empty())
            note("ledger/" + id + ".jsonl: " + torn +
                 "; written by a process that was killed, the next writer sets it aside");
        heads_[id] = head;
    }

    void note_checkpoint(const Json& json) {
        try {
            const std::int64_t seq = json.at("seq").as_integer();
            if (seq >= 0)
                checkpoints_.insert(
                    {{json.at("ledger").as_string(), static_cast<std::uint64_t>(seq)},
                     parse_digest(json.at("digest").as_string())});
        } catch (const Error& error) {
            damage(layout_.ledger(format_.ledger),
                   "a checkpoint that names no record: " + error.message());
        }
    }

    void check_index(const Index& expected) {
        const std::string path = layout_.database();
        const Status status = status_of(path);
        const bool bare = ends_.empty();
        if (status.kind == Kind::absent) {
            if (!bare)
                damage(path, "the index is missing; run 'requal store rebuild'");
            return;
        }
        if (status.kind != Kind::file)
            return;  // named already
        if (status_of(path + "-journal").kind == Kind::file &&
            status_of(path + "-journal").size_bytes > 0) {
            note("requal.db: a writer was killed in the middle of a change; the next one takes it "
                 "back");
            return;
        }
        bool sealed = false;
        const bool good = guarded([&] {
            if (status_of(layout_.seal()).kind == Kind::absent)
                return;
            const Json seal = read_sealed(layout_.seal());
            const std::uint64_t counter = Index::change_counter(path);
            if (counter == UINT64_MAX)
                damaged("the index was changed since it was written; run 'requal store rebuild'",
                        path);
            if (static_cast<std::uint64_t>(seal.at("changes").as_integer()) != counter)
                return;
            if (digest_of_file(path) != parse_digest(seal.at("digest").as_string()))
                damaged("the index was changed since it was written; run 'requal store rebuild'",
                        path);
            sealed = true;
        });
        if (!good)
            return;
        guarded([&] {
            const Index present(path, Index::Open::read, format_.ledger);
            if (!present.has_tables()) {
                note("requal.db: empty, since the process that made it was killed; the next writer "
                     "fills it");
                return;
            }
            const std::string integrity = present.integrity();
            if (integrity != "ok")
                damaged("the index: " + integrity + "; run 'requal store rebuild'", path);
            bool behind = false;
            for (const auto& [id, end] : ends_) {
                const Head known = present.head(id);
                if (known.seq > end.seq || known.offset > end.offset)
                    damaged("records were removed from the end: it has " + std::to_string(end.seq) +
                                ", the index knows " + std::to_string(known.seq),
                            layout_.ledger(id));
                behind = behind || !(known == end);
                if (known.seq > 0 &&
                    digests_[id][static_cast<std::size_t>(known.seq) - 1] != known.digest)
                    damaged("record " + std::to_string(known.seq - 1) +
                                " is not the one that the index knows",
                            layout_.ledger(id));
                if (known.seq > 0 && !heads_.contains(id) &&
                    status_of(layout_.head(id)).kind == Kind::absent)
                    damaged("the ledger's head is missing", layout_.head(id));
            }
            for (const std::string& id : present.ledgers()) {
                if (!ends_.contains(id) && present.head(id).seq > 0)
                    damaged("the ledger is missing", layout_.ledger(id));
            }
            if (behind) {
                note("requal.db: behind the ledger, since a writer was killed; the next one brings "
                     "it up");
            } else if (present.content_digest() != expected.content_digest()) {
                damaged("the index says other things than the ledger; run 'requal store rebuild'",
                        path);
            } else if (!sealed) {
                note("requal.db: its seal is older, since a writer was killed; its content is that "
                     "of the ledger");
            }
        });
    }

    void walk_blobs(const Index& expected) {
        if (status_of(layout_.blobs()).kind != Kind::folder)
            return;
        for (const std::string& part : names_in(layout_.root + "/blobs")) {
            if (part != "sha256")
                note("blobs/" + part + ": not of the store");
        }
        for (const std::string& folder : names_in(layout_.blobs())) {
            const std::string path = layout_.blobs() + "/" + folder;
            const Kind kind = status_of(path).kind;
            if (kind == Kind::link) {
                damage(path, "a link stands where the store has a folder");
                continue;
            }
            if (kind != Kind::folder) {
                note(relative(path) + ": not of the store");
                continue;
            }
            for (const std::string& name : names_in(path)) {
                FoundBlob blob;
                blob.path = path + "/" + name;
                const Status status = status_of(blob.path);
                try {
                    blob.digest = parse_digest(name);
                } catch (const Error&) {
                    note(relative(blob.path) + ": not of the store");
                    continue;
                }
                if (name.substr(0, 2) != folder) {
                    damage(blob.path, "a blob in the wrong folder");
                    continue;
                }
                if (status.kind != Kind::file) {
                    damage(blob.path, status.kind == Kind::link
                                          ? "a link stands where a blob belongs"
                                          : "no regular file");
                    continue;
                }
                blob.size_bytes = status.size_bytes;
                blob.inode = status.inode;
                const auto size = expected.blob_size(blob.digest);
                blob.known = size.has_value();
                if (!blob.known)
                    ++report_.orphans;
                found_.emplace(blob.digest, blob);
                if (size && *size != blob.size_bytes)
                    damage(blob.path, "has " + std::to_string(blob.size_bytes) +
                                          " bytes, the ledger says " + std::to_string(*size));
            }
        }
    }

    void check_blobs(const Index& expected) {
        guarded([&] { walk_blobs(expected); });
        std::vector<const FoundBlob*> all;
        for (const auto& [digest, blob] : found_) {
            all.push_back(&blob);
            report_.blob_bytes += blob.size_bytes;
        }
        report_.blobs = all.size();
        if (options_.blobs)
            hash_blobs(all);
        if (report_.orphans > 0)
            note(std::to_string(report_.orphans) +
                 " blobs that no record names: left by a put that was killed, or by gc; 'store gc' "
                 "removes them");
        std::map<Digest, std::string> names;
        ReferenceFilter filter;
        for (const Reference& reference : expected.references(filter)) {
            ++report_.references;
            names.emplace(reference.digest, reference.name);
        }
        expected.each_blob([&](const BlobEntry& entry) {
            if (found_.contains(entry.digest))
                return;
            const auto name = names.find(entry.digest);
            damage(layout_.blob(entry.digest), name == names.end() || name->second.empty()
                                                   ? "the blob is missing"
                                                   : "the blob is missing: '" + name->second + "'");
        });
    }

    void hash_blobs(const std::vector<const FoundBlob*>& all) {
        std::atomic<std::size_t> next{0};
        std::mutex mutex;
        std::map<std::size_t, Damage> bad;
        Progress progress("blobs", all.size());
        const auto work = [&] {
            while (!cancelled()) {
                const std::size_t i = next.fetch_add(1);
                if (i >= all.size())
                    return;
                std::string what;
                try {
                    if (digest_of_file(all[i]->path) != all[i]->digest)
                        what = "the blob's bytes do not have its digest";
                } catch (const Error& error) {
                    what = error.message();
                }
                const std::lock_guard guard(mutex);
                progress.advance();
                if (!what.empty())
                    bad.emplace(i, Damage{relative(all[i]->path), what});
            }
        };
        std::vector<std::thread> threads;
        const auto count = std::min<std::size_t>(
            static_cast<std::size_t>(std::max(1, options_.threads)), all.size());
        for (std::size_t i = 1; i < count; ++i)
            threads.emplace_back(work);
        work();
        for (std::thread& thread : threads)
            thread.join();
        throw_if_cancelled();
        for (auto& [i, damage] : bad)
            report_.damages.push_back(std::move(damage));
    }

    void check_runs(const Index& expected) {
        if (status_of(layout_.runs()).kind != Kind::folder)
            return;
        std::map<std::string, Reference> runs;
        ReferenceFilter filter;
        filter.kind = "run";
        filter.ledger = format_.ledger;
        for (Reference& run : expected.references(filter)) {
            const std::string name = run.name;
            runs.emplace(name, std::move(run));
        }
        for (const std::string& name : names_in(layout_.runs())) {
            const std::string folder = layout_.runs() + "/" + name;
            const auto run = runs.find(name);
            if (run == runs.end()) {
                note("runs/" + name +
                     ": the ledger knows no such run; 'requal store upgrade' takes it in");
                continue;
            }
            if (status_of(folder).kind != Kind::folder) {
                damage(folder, "no folder");
                continue;
            }
            for (const std::string& file : names_in(folder)) {
                const std::string path = folder + "/" + file;
                const auto known = run->second.files.find(file);
                if (known == run->second.files.end()) {
                    note("runs/" + name + "/" + file + ": not of the run");
                    continue;
                }
                guarded([&] {
                    const Status status = status_of(path);
                    if (status.kind != Kind::file)
                        damaged("no regular file", path);
                    const auto blob = found_.find(known->second);
                    // One file under two names was hashed under the other.
                    if (blob != found_.end() && blob->second.inode == status.inode)
                        return;
                    if (digest_of_file(path) != known->second)
                        damaged("the file is not the one that the run left; 'requal store rebuild' "
                                "brings it back",
                                path);
                });
            }
        }
    }

    CheckOptions options_;
    Layout layout_;
    Format format_;
    CheckReport report_;
    std::map<std::string, std::vector<Digest>> digests_;
    std::map<std::string, Head> ends_, heads_;
    std::map<std::pair<std::string, std::uint64_t>, Digest> checkpoints_;
    std::map<Digest, FoundBlob> found_;
};

}  // namespace

CheckReport check_store(const std::string& folder, const CheckOptions& options) {
    return Check(folder, options).run();
}

}  // namespace requal::store
