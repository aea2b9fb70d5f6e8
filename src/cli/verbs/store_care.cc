// store check, rebuild, gc, forget, quota, upgrade: the care of a store.
// rooms: base store
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/store_arguments.h"
#include "cli/verb.h"
#include "store/check.h"
#include "store/keep.h"
#include "store/merge.h"
#include "store/store.h"
#include "store/views.h"

namespace requal::cli {

namespace {

using store::Access;

Result run_rebuild(const Arguments&, const Common& common) {
    const std::uint64_t records = store::rebuild(common.store);
    store::Store here(common.store, store_options(Access::write));
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
    store::Store here(common.store, store_options(Access::write));
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
    store::Store here(common.store, store_options(Access::write));
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
    store::Store here(common.store, store_options(change ? Access::create : Access::read));
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
        store::hold_reserve(here.layout(), quota.held_bytes());
    }
    const store::Quota quota = here.quota();
    const std::uint64_t used = here.index().blob_bytes();
    Result result;
    result.document = new_document("store-quota", 1);
    result.document["max_bytes"] = quota.max_bytes;
    result.document["reserve_bytes"] = quota.reserve_bytes;
    result.document["used_bytes"] = used;
    result.document["held_bytes"] = quota.held_bytes();
    result.text = "used: " + readable_bytes(used) +
                  "\nlimit: " + (quota.max_bytes == 0 ? "none" : readable_bytes(quota.max_bytes)) +
                  "\nreserve: " + readable_bytes(quota.reserve_bytes) +
                  "\nheld back on the disk: " + readable_bytes(quota.held_bytes()) + "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_store_care() {
    Verb rebuild = grouped_verb(
        "store", "rebuild", "makes the index and the folders of runs again from ledgers and blobs",
        run_rebuild);
    Verb check = grouped_verb("store", "check",
                              "proves that no record and no blob was changed, removed or reordered",
                              run_check);
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

    Verb gc = grouped_verb("store", "gc", "removes blobs that nothing kept needs", run_gc);
    gc.description = "Policies, joined: names (all that has a name now; the default), baselines, "
                     "runs:N (the newest N runs), days:N, tag:T. "
                     "Whatever the policy, what a baseline, an open deviation or unfinished work "
                     "needs stays. What is removed is recorded first.";
    gc.options = {
        {.name = "--keep", .help = "what to keep", .value_name = "POLICY", .repeated = true},
        {.name = "--dry-run", .kind = ValueKind::flag, .help = "only say what would be removed"}};
    gc.examples = {"requal store gc --keep names --keep runs:20",
                   "requal store gc --keep baselines --dry-run"};

    Verb upgrade = grouped_verb("store", "upgrade",
                                "brings a store of an older form to the present one", run_upgrade);
    upgrade.description = "A folder of runs without a ledger (form 0) gets one; runs that the "
                          "ledger does not know are taken in.";
    Verb forget = grouped_verb("store", "forget",
                               "takes a name away; the next gc may remove its blob", run_forget);
    forget.positionals = {{.name = "NAME", .help = "the name", .required = true}};
    Verb quota =
        grouped_verb("store", "quota", "shows or sets how much the store may hold", run_quota);
    quota.description = "Puts end at the limit less the reserve; records and results of runs may "
                        "use the reserve, so that a verdict can still "
                        "be written. So much of the disk is held back too, 1 MiB at least: a full "
                        "disk does not keep a run from ending or gc from working.";
    quota.options = {{.name = "--max-bytes",
                      .help = "limit of all blobs together; 0 for none",
                      .value_name = "SIZE"},
                     {.name = "--reserve-bytes",
                      .help = "part of it that is kept for results",
                      .value_name = "SIZE"}};
    quota.examples = {"requal store quota --max-bytes 20GB --reserve-bytes 500MB"};
    return {check, rebuild, gc, forget, quota, upgrade};
}

}  // namespace requal::cli
