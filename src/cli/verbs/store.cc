// store: blobs and references to them.
// rooms: base store
#include "store/store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "base/document.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/keep.h"
#include "store/merge.h"
#include "store/views.h"

namespace requal::cli {

namespace {

using store::Access;
using store::Reference;

store::StoreOptions options_for(Access access) {
    store::StoreOptions options;
    options.access = access;
    options.lowers = store::lowers_from_environment();
    return options;
}

Json reference_json(const Reference& reference) {
    Json tags = Json::array();
    for (const std::string& tag : reference.tags)
        tags.push_back(tag);
    Json files = Json::object();
    for (const auto& [name, digest] : reference.files)
        files[name] = digest.text();
    return Json::object({{"name", reference.name},
                         {"kind", reference.kind},
                         {"tags", tags},
                         {"files", files},
                         {"digest", reference.digest.text()},
                         {"size_bytes", reference.size_bytes},
                         {"ledger", reference.ledger},
                         {"seq", reference.seq},
                         {"time", reference.time},
                         {"current", reference.current},
                         {"present", reference.present}});
}

// --- put ----------------------------------------------------------------------------------------------------------------------

constexpr std::size_t group_files = 20'000;
constexpr std::uint64_t group_bytes = std::uint64_t{4} << 30;

std::vector<std::string> paths_to_put(const Arguments& arguments) {
    std::vector<std::string> paths;
    const auto add = [&](const std::string& path) {
        if (path == "-" || !folder_exists(path)) {
            paths.push_back(path);
            return;
        }
        if (!arguments.flag("--recursive"))
            throw Error(ErrorKind::input, "a folder", path,
                        "give --recursive to put the files below it");
        const std::size_t before = paths.size();
        std::error_code error;
        for (std::filesystem::recursive_directory_iterator i(path, error), end; !error && i != end;
             i.increment(error)) {
            if (i->is_regular_file() && !i->is_symlink())
                paths.push_back(i->path().string());
        }
        if (error)
            throw Error(ErrorKind::input, "cannot read the folder: " + error.message(), path);
        std::sort(paths.begin() + static_cast<std::ptrdiff_t>(before), paths.end());
    };
    for (const std::string& path : arguments.all("FILE"))
        add(path);
    if (const auto list = arguments.optional_text("--list")) {
        std::string text = read_file(*list, 1 << 30);
        std::size_t begin = 0;
        while (begin < text.size()) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            if (end > begin)
                add(text.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    if (paths.empty())
        throw Error(ErrorKind::usage, "nothing to put", "FILE",
                    "name files, or a list of them with --list");
    return paths;
}

Result run_put(const Arguments& arguments, const Common& common) {
    const std::vector<std::string> paths = paths_to_put(arguments);
    store::ItemInfo info;
    info.name = arguments.optional_text("--name").value_or("");
    info.kind = arguments.text("--kind");
    info.tags = arguments.all("--tag");
    if (!info.name.empty() && paths.size() != 1)
        throw Error(ErrorKind::usage, "one name for " + std::to_string(paths.size()) + " files",
                    "--name", "put them one by one");
    if (arguments.given("--name"))
        store::check_name(info.name);
    store::check_word(info.kind, "a kind");
    for (const std::string& tag : info.tags)
        store::check_tag(tag);
    // Looked at before a store is made: bad input changes nothing.
    for (const std::string& path : paths) {
        if (path != "-" && !file_exists(path))
            open_regular_file(path);
    }

    store::Store here(common.store, options_for(Access::create));
    Result result;
    result.document = new_document("store-put", 1);
    Json items = Json::array();
    std::uint64_t fresh = 0, fresh_bytes = 0, total_bytes = 0;
    Progress progress("put", paths.size());
    std::size_t next = 0;
    while (next < paths.size()) {
        store::Batch batch(here);
        for (;
             next < paths.size() && batch.size() < group_files && batch.fresh_bytes() < group_bytes;
             ++next) {
            const std::string& path = paths[next];
            const store::PutItem item = path == "-"
                                            ? batch.add_stream(STDIN_FILENO, "standard input", info)
                                            : batch.add_file(path, info);
            fresh += item.fresh ? 1 : 0;
            fresh_bytes += item.fresh ? item.size_bytes : 0;
            total_bytes += item.size_bytes;
            if (common.json)
                items.push_back(Json::object({{"digest", item.digest.text()},
                                              {"size_bytes", item.size_bytes},
                                              {"fresh", item.fresh},
                                              {"source", path}}));
            else if (paths.size() <= 100)
                result.text += item.digest.text() + "  " + printable(path) +
                               (item.fresh ? "" : "  (was here)") + "\n";
            progress.advance();
        }
        batch.commit();
    }
    result.document["items"] = items;
    result.document["name"] = info.name.empty() ? Json() : Json(info.name);
    result.document["fresh"] = fresh;
    result.document["fresh_bytes"] = fresh_bytes;
    result.document["total_bytes"] = total_bytes;
    if (paths.size() > 1)
        result.text += std::to_string(paths.size()) + " files, " + std::to_string(fresh) +
                       " new, " + readable_bytes(fresh_bytes) + "\n";
    return result;
}

// --- get ----------------------------------------------------------------------------------------------------------------------

Result run_get(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, options_for(Access::read));
    const Reference reference = here.resolve(arguments.text("NAME"));
    const std::string path = here.blob_path(reference.digest);
    const FileDescriptor source = store::open_file(path);
    const auto refuse = [&] { store::damaged("the blob's bytes do not have its digest", path); };
    Result result;
    const auto target = arguments.optional_text("--out");
    if (target) {
        AtomicFile file(*target);
        if (store::copy_and_hash(source.get(), path, file.fd(), *target).digest != reference.digest)
            refuse();
        file.commit();
        result.text = printable(*target) + "\n";
    } else {
        // Nothing of a damaged blob may leave, so it is read twice.
        if (store::copy_and_hash(source.get(), path, -1, {}).digest != reference.digest)
            refuse();
        if (!common.json) {
            if (::lseek(source.get(), 0, SEEK_SET) != 0)
                store::fail(errno, "read", path);
            if (store::copy_and_hash(source.get(), path, STDOUT_FILENO, "standard output").digest !=
                reference.digest)
                refuse();
        }
    }
    result.document = new_document("store-get", 1);
    result.document["reference"] = reference_json(reference);
    result.document["path"] = target ? *target : path;
    return result;
}

// --- list ---------------------------------------------------------------------------------------------------------------------

Result run_list(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, options_for(Access::read));
    Result result;
    result.document = new_document("store-list", 1);
    if (arguments.flag("--blobs")) {
        Json blobs = Json::array();
        here.index().each_blob([&](const store::BlobEntry& blob) {
            if (common.json) {
                blobs.push_back(Json::object(
                    {{"digest", blob.digest.text()}, {"size_bytes", blob.size_bytes}}));
                return;
            }
            result.text += blob.digest.text();
            result.text += "  ";
            result.text += std::to_string(blob.size_bytes);
            result.text += '\n';
        });
        result.document["blobs"] = blobs;
        return result;
    }
    store::ReferenceFilter filter;
    filter.name = arguments.optional_text("--name").value_or("");
    filter.kind = arguments.optional_text("--kind").value_or("");
    filter.tag = arguments.optional_text("--tag").value_or("");
    filter.history = arguments.flag("--history");
    Json references = Json::array();
    std::vector<std::vector<std::string>> rows{
        {"name", "kind", "size", "digest", "recorded", "tags"}};
    for (const Reference& reference : here.references(filter)) {
        if (common.json) {
            references.push_back(reference_json(reference));
            continue;
        }
        std::string tags;
        for (const std::string& tag : reference.tags)
            tags += (tags.empty() ? "" : " ") + tag;
        if (!reference.current)
            tags += tags.empty() ? "(earlier)" : " (earlier)";
        if (!reference.present)
            tags += tags.empty() ? "(removed)" : " (removed)";
        rows.push_back({reference.name.empty() ? "-" : reference.name, reference.kind,
                        readable_bytes(reference.size_bytes), reference.digest.hex().substr(0, 12),
                        reference.time.substr(0, 19), tags});
    }
    result.document["references"] = references;
    const std::uint64_t count = here.index().blob_count();
    const std::uint64_t bytes = here.index().blob_bytes();
    result.document["blob_count"] = count;
    result.document["blob_bytes"] = bytes;
    if (rows.size() > 1)
        result.text = table_text(rows);
    result.text += std::to_string(count) + (count == 1 ? " blob, " : " blobs, ") +
                   readable_bytes(bytes) + "\n";
    return result;
}

// --- care ---------------------------------------------------------------------------------------------------------------------

Result run_rebuild(const Arguments&, const Common& common) {
    const std::uint64_t records = store::rebuild(common.store);
    store::Store here(common.store, options_for(Access::write));
    const std::uint64_t views = store::make_views(here);
    Result result;
    result.document = new_document("store-rebuild", 1);
    result.document["records"] = records;
    result.document["blobs"] = here.index().blob_count();
    result.document["runs_restored"] = views;
    result.text = std::to_string(records) + " records read, " +
                  std::to_string(here.index().blob_count()) + " blobs, " + std::to_string(views) +
                  " folders of runs restored\n";
    return result;
}

Result run_check(const Arguments& arguments, const Common& common) {
    store::CheckOptions options;
    if (common.jobs > 0)
        options.threads = common.jobs;
    options.blobs = !arguments.flag("--quick");
    if (const auto path = arguments.optional_text("--checkpoint")) {
        const Json document = parse_json(read_file(*path, 1 << 20), *path);
        require_schema(document, "ledger-checkpoint", 1, *path);
        document.at("ledger").as_string();
        document.at("seq").as_integer();
        parse_digest(document.at("digest").as_string());
        options.checkpoint = document;
    }
    const store::CheckReport report = store::check_store(common.store, options);
    Result result;
    result.document = new_document("store-check", 1);
    result.document["verdict"] = name_of(report.clean() ? Verdict::pass : Verdict::fail);
    Json damages = Json::array(), notes = Json::array();
    for (const store::Damage& damage : report.damages) {
        damages.push_back(Json::object({{"path", damage.path}, {"what", damage.what}}));
        result.text += (damages.size() == 1 ? "first damage: " : "damage: ") +
                       printable(damage.path) + ": " + printable(damage.what) + "\n";
    }
    for (const std::string& note : report.notes) {
        notes.push_back(note);
        result.text += "note: " + printable(note) + "\n";
    }
    result.document["damages"] = damages;
    result.document["notes"] = notes;
    result.document["records"] = report.records;
    result.document["blobs"] = report.blobs;
    result.document["blob_bytes"] = report.blob_bytes;
    result.document["references"] = report.references;
    result.document["orphans"] = report.orphans;
    result.text += std::to_string(report.records) + " records, " + std::to_string(report.blobs) +
                   " blobs, " + readable_bytes(report.blob_bytes) + ": " +
                   (report.clean() ? "clean"
                                   : std::to_string(report.damages.size()) +
                                         (report.damages.size() == 1 ? " damage" : " damages")) +
                   "\n";
    result.status = report.clean() ? ExitStatus::passed : ExitStatus::storage;
    return result;
}

Result run_gc(const Arguments& arguments, const Common& common) {
    const store::KeepPolicy policy = store::parse_keep(arguments.all("--keep"));
    store::Store here(common.store, options_for(Access::write));
    const store::GcReport report =
        store::collect_garbage(here, policy, arguments.flag("--dry-run"));
    Result result;
    result.document = new_document("store-gc", 1);
    Json removed = Json::array();
    for (const store::BlobEntry& blob : report.removed)
        removed.push_back(
            Json::object({{"digest", blob.digest.text()}, {"size_bytes", blob.size_bytes}}));
    result.document["dry_run"] = report.dry;
    result.document["removed"] = removed;
    result.document["removed_bytes"] = report.removed_bytes;
    result.document["orphans"] = report.orphans;
    result.document["kept"] = report.kept;
    result.text = std::to_string(report.removed.size()) +
                  (report.dry ? " blobs would be removed, " : " blobs removed, ") +
                  readable_bytes(report.removed_bytes) + "; " + std::to_string(report.kept) +
                  " kept\n";
    return result;
}

Result run_upgrade(const Arguments&, const Common& common) {
    const store::UpgradeReport report = store::upgrade(common.store);
    Result result;
    result.document = new_document("store-upgrade", 1);
    result.document["from"] = report.from;
    result.document["to"] = store::format_version;
    result.document["runs"] = report.runs;
    result.text = "form " + std::to_string(report.from) + " to " +
                  std::to_string(store::format_version) + ", " + std::to_string(report.runs) +
                  (report.runs == 1 ? " run taken in\n" : " runs taken in\n");
    return result;
}

Result run_forget(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, options_for(Access::write));
    const std::string name = arguments.text("NAME");
    const auto reference = here.index().find(name);
    if (!reference || reference->ledger != here.ledger_id())
        throw Error(ErrorKind::input, "the store has nothing of this name", name,
                    "see 'requal store list'");
    if (reference->kind == "run")
        throw Error(ErrorKind::input, "a run is evidence and is not forgotten by name", name,
                    "see 'requal store gc --keep runs:N'");
    here.append({{"forget", Json::object({{"name", name}})}});
    Result result;
    result.document = new_document("store-forget", 1);
    result.document["reference"] = reference_json(*reference);
    result.text = printable(name) +
                  " is forgotten; its blob goes with the next gc unless something else needs it\n";
    return result;
}

std::uint64_t size_argument(const Arguments& arguments, std::string_view name) {
    const std::string text = arguments.text(name);
    std::string digits = text;
    std::uint64_t unit = 1;
    for (const auto& [suffix, factor] : {std::pair{"KB", 1'000ULL},
                                         {"MB", 1'000'000ULL},
                                         {"GB", 1'000'000'000ULL},
                                         {"TB", 1'000'000'000'000ULL}}) {
        if (text.ends_with(suffix)) {
            digits = text.substr(0, text.size() - 2);
            unit = factor;
        }
    }
    const auto value = parse_integer(digits);
    if (!value || *value < 0 ||
        static_cast<std::uint64_t>(*value) > 9'000'000'000'000'000'000ULL / unit)
        throw Error(ErrorKind::usage, "no size: '" + text + "'", std::string(name),
                    "write 20GB, 500MB or bytes; 0 for none");
    return static_cast<std::uint64_t>(*value) * unit;
}

Result run_quota(const Arguments& arguments, const Common& common) {
    const bool change = arguments.given("--max-bytes") || arguments.given("--reserve-bytes");
    store::Store here(common.store, options_for(change ? Access::create : Access::read));
    if (change) {
        store::Quota quota = here.quota();
        if (arguments.given("--max-bytes"))
            quota.max_bytes = size_argument(arguments, "--max-bytes");
        if (arguments.given("--reserve-bytes"))
            quota.reserve_bytes = size_argument(arguments, "--reserve-bytes");
        if (quota.max_bytes > 0 && quota.reserve_bytes >= quota.max_bytes)
            throw Error(ErrorKind::usage, "the reserve takes all of it", "--reserve-bytes",
                        "give less than --max-bytes");
        here.append({{"settings", Json::object({{"max_bytes", quota.max_bytes},
                                                {"reserve_bytes", quota.reserve_bytes}})}});
    }
    const store::Quota quota = here.quota();
    const std::uint64_t used = here.index().blob_bytes();
    Result result;
    result.document = new_document("store-quota", 1);
    result.document["max_bytes"] = quota.max_bytes;
    result.document["reserve_bytes"] = quota.reserve_bytes;
    result.document["used_bytes"] = used;
    result.text = "used: " + readable_bytes(used) +
                  "\nlimit: " + (quota.max_bytes == 0 ? "none" : readable_bytes(quota.max_bytes)) +
                  "\nreserve: " + readable_bytes(quota.reserve_bytes) + "\n";
    return result;
}

Verb verb_of(std::string_view name, std::string_view summary,
             Result (*run)(const Arguments&, const Common&)) {
    Verb verb;
    verb.group = "store";
    verb.name = name;
    verb.summary = summary;
    verb.run = run;
    return verb;
}

}  // namespace

std::vector<Verb> verbs_store() {
    Verb put = verb_of("put", "puts files into the store, each once by its digest", run_put);
    put.description = "Reads each file once, hashing while writing. Files that are here already "
                      "take no place again. Many files are flushed as one "
                      "group. Without --name a file is found by its digest; a name that exists "
                      "gets a new meaning and keeps its history.";
    put.positionals = {{.name = "FILE",
                        .kind = ValueKind::path,
                        .help = "files, '-' for standard input",
                        .repeated = true}};
    put.options = {
        {.name = "--name", .help = "name of the one file", .value_name = "NAME"},
        {.name = "--kind",
         .help = "what it is: model, engine, dataset, …",
         .value_name = "WORD",
         .fallback = "blob"},
        {.name = "--tag", .help = "a tag of the reference", .value_name = "TAG", .repeated = true},
        {.name = "--recursive",
         .kind = ValueKind::flag,
         .help = "put the files below folders, too"},
        {.name = "--list",
         .kind = ValueKind::path,
         .help = "a file with one path a line",
         .value_name = "FILE"}};
    put.examples = {"requal store put model.onnx --name ocr-detector --kind model",
                    "requal store put --recursive images/"};

    Verb get =
        verb_of("get", "writes a blob of the store to a file or to standard output", run_get);
    get.description = "The bytes are checked against the digest before anything appears. With "
                      "--json and without --out only says where the "
                      "blob lies.";
    get.positionals = {{.name = "NAME",
                        .help = "a name, or a digest, or its first 8 digits or more",
                        .required = true}};
    get.options = {{.name = "--out",
                    .kind = ValueKind::path,
                    .help = "the file to write",
                    .value_name = "FILE"}};
    get.examples = {"requal store get ocr-detector --out model.onnx"};

    Verb list = verb_of("list", "lists references, or all blobs", run_list);
    list.options = {
        {.name = "--name", .help = "only this name", .value_name = "NAME"},
        {.name = "--kind", .help = "only this kind", .value_name = "WORD"},
        {.name = "--tag", .help = "only what has this tag", .value_name = "TAG"},
        {.name = "--history", .kind = ValueKind::flag, .help = "also what a name meant earlier"},
        {.name = "--blobs", .kind = ValueKind::flag, .help = "all blobs, with or without a name"}};
    list.examples = {"requal store list --kind model", "requal store list --blobs"};

    Verb rebuild =
        verb_of("rebuild", "makes the index and the folders of runs again from ledgers and blobs",
                run_rebuild);
    Verb check = verb_of(
        "check", "proves that no record and no blob was changed, removed or reordered", run_check);
    check.description = "Reads every ledger from its first record, the index, every blob and the "
                        "folders of runs, changes nothing, and names "
                        "the first damage. Traces of killed processes are notes and no damage. "
                        "Exit status 0 when clean, 4 when not.";
    check.options = {
        {.name = "--quick",
         .kind = ValueKind::flag,
         .help = "do not read the blobs, only see that they are there"},
        {.name = "--checkpoint",
         .kind = ValueKind::path,
         .help = "a checkpoint kept elsewhere (ledger checkpoint): the ledger must hold it",
         .value_name = "FILE"}};
    check.examples = {"requal store check", "requal store check --checkpoint monday.json --json"};

    Verb gc = verb_of("gc", "removes blobs that nothing kept needs", run_gc);
    gc.description = "Policies, joined: names (all that has a name now; the default), baselines, "
                     "runs:N (the newest N runs), days:N, tag:T. "
                     "Whatever the policy, what a baseline, an open deviation or unfinished work "
                     "needs stays. What is removed is recorded first.";
    gc.options = {
        {.name = "--keep", .help = "what to keep", .value_name = "POLICY", .repeated = true},
        {.name = "--dry-run", .kind = ValueKind::flag, .help = "only say what would be removed"}};
    gc.examples = {"requal store gc --keep names --keep runs:20",
                   "requal store gc --keep baselines --dry-run"};

    Verb upgrade =
        verb_of("upgrade", "brings a store of an older form to the present one", run_upgrade);
    upgrade.description = "A folder of runs without a ledger (form 0) gets one; runs that the "
                          "ledger does not know are taken in.";
    Verb forget =
        verb_of("forget", "takes a name away; the next gc may remove its blob", run_forget);
    forget.positionals = {{.name = "NAME", .help = "the name", .required = true}};
    Verb quota = verb_of("quota", "shows or sets how much the store may hold", run_quota);
    quota.description = "Puts end at the limit less the reserve; records and results of runs may "
                        "use the reserve, so that a verdict can still "
                        "be written.";
    quota.options = {{.name = "--max-bytes",
                      .help = "limit of all blobs together; 0 for none",
                      .value_name = "SIZE"},
                     {.name = "--reserve-bytes",
                      .help = "part of it that is kept for results",
                      .value_name = "SIZE"}};
    quota.examples = {"requal store quota --max-bytes 20GB --reserve-bytes 500MB"};
    return {put, get, list, check, rebuild, gc, forget, quota, upgrade};
}

}  // namespace requal::cli
