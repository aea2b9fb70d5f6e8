// lock: is the state frozen, and what would freeze it?
// rooms: station machine
#include "station/lock.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/verb.h"
#include "station/baseline.h"
#include "station/snapshot.h"

namespace requal::cli {

namespace {

Json read(const std::string& path) {
    return station::read_snapshot_or_baseline(read_file(path, std::uint64_t{64} << 20U), path);
}

Result run_lock(const Arguments& arguments, const Common& common) {
    Json snapshot;
    if (const auto path = arguments.optional_text("--snapshot")) {
        if (arguments.given("--sysroot") || arguments.given("--engine"))
            throw Error(ErrorKind::usage, "a snapshot says already what it looked at", "--snapshot",
                        "leave --sysroot and --engine out");
        snapshot = read(*path);
    } else {
        station::SnapshotRequest request;
        request.sysroot = arguments.optional_text("--sysroot").value_or("");
        request.engines = arguments.all("--engine");
        request.jobs = common.jobs;
        request.stop = cancelled;
        snapshot = station::take_snapshot(request, system_clock());
    }
    Json qualified;
    if (const auto path = arguments.optional_text("--qualified"))
        qualified = read(*path);
    Result result;
    result.document =
        station::lock_document(station::load_lock_rules(common.rules), snapshot, qualified);
    result.status = exit_status_of(parse_verdict(result.document.at("verdict").as_string()));
    result.text = station::lock_text(result.document);
    return result;
}

}  // namespace

std::vector<Verb> verbs_lock() {
    Verb verb;
    verb.name = "lock";
    verb.summary = "is the state of this machine frozen? prints what would freeze it";
    verb.description = "Checks holds, apt sources, automatic upgrades, the release file, the "
                       "engine and the boot state, and prints the "
                       "commands that would freeze what is open, with their undo. It changes "
                       "nothing. Exit status: 0 frozen, 1 "
                       "something is open, 6 something is not known.";
    verb.options = {{.name = "--sysroot",
                     .kind = ValueKind::path,
                     .help = "the root of another machine instead of this computer",
                     .value_name = "DIR"},
                    {.name = "--snapshot",
                     .kind = ValueKind::path,
                     .help = "look at this snapshot instead of taking one",
                     .value_name = "FILE"},
                    {.name = "--engine",
                     .kind = ValueKind::path,
                     .help = "an engine in service",
                     .value_name = "FILE",
                     .repeated = true},
                    {.name = "--qualified",
                     .kind = ValueKind::path,
                     .help = "snapshot of the qualified state",
                     .value_name = "FILE"}};
    verb.examples = {"requal lock --engine /opt/line/detector.plan --qualified qualified.json"};
    verb.run = run_lock;
    return {verb};
}

}  // namespace requal::cli
