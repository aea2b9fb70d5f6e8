#include "store/merge.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "store/batch.h"
#include "store/views.h"

namespace requal::store {

namespace {

constexpr std::uint64_t record_limit_bytes = 256 << 20;

struct Incoming {
    std::string id;
    std::string path;
    Head end;
};

/// Checks the whole chain of a file from outside.
Incoming examine(const std::string& path, std::uint64_t end_offset = UINT64_MAX) {
    Incoming incoming;
    incoming.path = path;
    std::string torn;
    bool first = true;
    incoming.end = scan_ledger(
        path, {},
        [&](const Record& record) {
            if (!std::exchange(first, false))
                return;
            const Json& id = record.body.get("ledger");
            if (record.type != "ledger-started" || !id.is_string() || !is_ledger_id(id.as_string()))
                throw Error(ErrorKind::input, "the first record does not say which ledger this is",
                            path + ":1", "give what 'requal ledger export' wrote");
            incoming.id = id.as_string();
        },
        torn, end_offset);
    if (!torn.empty())
        throw Error(ErrorKind::input, torn, path + ":" + std::to_string(incoming.end.seq + 1),
                    "bring it again from where it came");
    if (first)
        throw Error(ErrorKind::input, "no record in it", path,
                    "give what 'requal ledger export' wrote");
    return incoming;
}

/// The digest that `path` has after `seq` records.
Digest digest_after(const std::string& path, std::uint64_t seq) {
    Digest found{};
    std::string torn;
    std::uint64_t count = 0;
    const Head end = scan_ledger(
        path, {},
        [&](const Record& record) {
            if (record.seq == seq)
                found = parse_digest(record.prev);
            ++count;
        },
        torn);
    return count == seq ? end.digest : found;
}

void take_in(Store& store, const Incoming& incoming, MergeReport& report) {
    const Layout& layout = store.layout();
    Writing writing(store);
    const std::string target = layout.ledger(incoming.id);
    Head have;
    if (incoming.id == store.ledger_id() || status_of(target).kind == Kind::file) {
        have = recover_ledger(layout, incoming.id);
        const std::uint64_t shared = std::min(have.seq, incoming.end.seq);
        const Digest ours = shared == have.seq ? have.digest : digest_after(target, shared);
        const Digest theirs =
            shared == incoming.end.seq ? incoming.end.digest : digest_after(incoming.path, shared);
        if (ours != theirs)
            throw Error(ErrorKind::input,
                        "ledger " + incoming.id +
                            " went another way than the one that is here, at or before record " +
                            std::to_string(shared),
                        incoming.path,
                        "one of the two was changed, or a store was copied and both copies were "
                        "written to");
        if (incoming.end.seq <= have.seq) {
            report.ledgers.push_back({incoming.id, have.seq, 0});
            return;
        }
        if (incoming.id == store.ledger_id())
            throw Error(ErrorKind::input,
                        "it has more records of this store's own ledger than the store itself",
                        incoming.path,
                        "this store is an old copy: bring the newer one here as a whole");
    }
    // Whole and under its name at once: the bytes as they came.
    const FileDescriptor source = open_regular_file(incoming.path);
    {
        AtomicFile file(target);
        std::string block(1 << 20, '\0');
        std::uint64_t left = incoming.end.offset;
        while (left > 0) {
            const ssize_t count =
                ::read(source.get(), block.data(),
                       static_cast<std::size_t>(std::min<std::uint64_t>(left, block.size())));
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                fail(count < 0 ? errno : EIO, "read", incoming.path);
            file.write(std::string_view(block).substr(0, static_cast<std::size_t>(count)));
            left -= static_cast<std::uint64_t>(count);
        }
        file.commit();
    }
    write_head(layout, incoming.id, incoming.end);
    writing.append({{"checkpoint", Json::object({{"ledger", incoming.id},
                                                 {"seq", incoming.end.seq - 1},
                                                 {"digest", incoming.end.digest.text()}})}});
    report.ledgers.push_back({incoming.id, incoming.end.seq, incoming.end.seq - have.seq});
}

}  // namespace

MergeReport merge(Store& store, const std::string& source) {
    MergeReport report;
    if (!folder_exists(source)) {
        open_regular_file(source);  // a plain file, or the error that says why not
        take_in(store, examine(source), report);
        Writing(store).finish();
        return report;
    }
    StoreOptions options;
    options.clock = &store.clock();
    Store other(source, options);
    std::vector<Incoming> all;
    for (const std::string& id : ledger_ids(other.layout())) {
        const Head head = read_head(other.layout(), id);
        all.push_back(
            examine(other.layout().ledger(id), head.offset == 0 ? UINT64_MAX : head.offset));
        if (all.back().id != id)
            damaged("the ledger of another name", other.layout().ledger(id));
    }
    // Blobs first: no record here may name what is not here.
    std::vector<BlobEntry> blobs;
    other.index().each_blob([&](const BlobEntry& blob) { blobs.push_back(blob); });
    std::size_t next = 0;
    while (next < blobs.size()) {
        Batch batch(store);
        for (; next < blobs.size() && batch.size() < 5000; ++next) {
            const std::string path = other.layout().blob(blobs[next].digest);
            if (store.index().blob_size(blobs[next].digest))
                continue;
            const PutItem item = batch.add_file(path);
            if (item.digest != blobs[next].digest)
                damaged("the blob's bytes do not have its digest", path);
            ++report.blobs;
        }
        if (batch.size() > 0)
            batch.commit();
    }
    for (const Incoming& incoming : all)
        take_in(store, incoming, report);
    Writing(store).finish();
    return report;
}

std::uint64_t export_ledger(Store& store, const std::string& id, const std::string& path) {
    const std::string source = store.layout().ledger(id);
    if (!is_ledger_id(id) || status_of(source).kind != Kind::file)
        throw Error(ErrorKind::input, "the store has no such ledger", id,
                    "see 'requal ledger list'");
    const Head head = store.index().head(id);
    const FileDescriptor file = open_file(source);
    std::unique_ptr<AtomicFile> target;
    if (!path.empty())
        target = std::make_unique<AtomicFile>(path);
    std::string block(1 << 20, '\0');
    std::uint64_t done = 0;
    while (done < head.offset) {
        const ssize_t count = ::pread(
            file.get(), block.data(),
            static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), head.offset - done)),
            static_cast<off_t>(done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            fail(count < 0 ? errno : EIO, "read", source);
        const std::string_view bytes =
            std::string_view(block).substr(0, static_cast<std::size_t>(count));
        if (target)
            target->write(bytes);
        else
            write_all(STDOUT_FILENO, std::as_bytes(std::span(bytes.data(), bytes.size())),
                      "standard output");
        done += bytes.size();
    }
    if (target)
        target->commit();
    return head.seq;
}

Json run_summary(const Json& record) {
    Json summary = Json::object({{"verdict", record.at("verdict")}});
    const auto copy = [&summary](const char* name, const Json& from, const char* key) {
        if (from.is_object() && from.has(key))
            summary[name] = from.at(key);
    };
    copy("protocol", record.get("protocol"), "name");
    copy("protocol_digest", record.get("protocol"), "digest");
    copy("model_digest", record.get("model"), "digest");
    copy("started", record.get("started"), "wall");
    if (record.get("candidate").is_object())
        copy("toolchain", record.get("candidate"), "toolchain");
    if (!summary.has("toolchain") && record.get("engine_manifest").is_object())
        copy("toolchain", record.get("engine_manifest"), "toolchain");
    copy("p50_ms", record.get("latency"), "p50_ms");
    copy("p99_ms", record.get("latency"), "p99_ms");
    copy("host", record.get("host"), "hostname");
    Json failed = Json::array();
    for (const Json& gate : record.at("gates").as_array()) {
        if (gate.at("verdict") != Json("pass"))
            failed.push_back(gate.at("id"));
    }
    summary["not_passed"] = failed;
    return summary;
}

UpgradeReport upgrade(const std::string& folder, const Clock& clock) {
    UpgradeReport report;
    Layout layout{folder};
    report.from = format_version;
    if (status_of(layout.format()).kind == Kind::absent) {
        if (version_without_format(layout) != 0)
            read_format(layout);  // says that there is no store
        report.from = 0;
        for (const std::string& place :
             {folder + "/blobs", layout.blobs(), layout.ledgers(), layout.tmp()})
            make_folder(place);
        const FileDescriptor lock = lock_file(layout.lock(), true, "upgrades this store");
        if (status_of(layout.format()).kind == Kind::absent) {
            Format format;
            format.ledger = random_hex(8);
            write_format(layout, format);
        }
    }
    StoreOptions options;
    options.access = Access::write;
    options.clock = &clock;
    Store store(folder, options);
    for (const std::string& name : names_in(layout.runs())) {
        const std::string run = layout.runs() + "/" + name;
        const std::string record_path = run + "/record.json";
        if (status_of(run).kind != Kind::folder || status_of(record_path).kind != Kind::file ||
            store.index().find(name))
            continue;
        const Json record = parse_json(read_whole(record_path, record_limit_bytes), record_path);
        require_schema(record, "run", 1, record_path);
        if (record.at("run").as_string() != name)
            throw Error(ErrorKind::input, "the record of another run", record_path,
                        "take this folder out of the store");
        Batch batch(store);
        ItemInfo info;
        Digest record_digest{};
        for (const std::string& file : names_in(run)) {
            if (status_of(run + "/" + file).kind != Kind::file)
                continue;
            check_name(file);
            const Digest digest = batch.adopt_file(run + "/" + file).digest;
            info.files.emplace(file, digest);
            if (file == "record.json")
                record_digest = digest;
        }
        for (const Json& file : record.at("files").as_array()) {
            const auto found = info.files.find(file.at("name").as_string());
            if (found == info.files.end() ||
                found->second != parse_digest(file.at("digest").as_string()))
                damaged("not the file that the record names",
                        run + "/" + file.at("name").as_string());
        }
        info.name = name;
        info.kind = "run";
        info.summary = run_summary(record);
        batch.add_reference(record_digest, info);
        batch.commit();
        ++report.runs;
    }
    return report;
}

}  // namespace requal::store
