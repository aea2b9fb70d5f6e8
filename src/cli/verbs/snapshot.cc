// snapshot, diff: what this machine is, and what moved.
// rooms: station machine
#include "station/snapshot.h"

#include <filesystem>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/verb.h"
#include "machine/application.h"
#include "machine/gpus.h"
#include "station/diff.h"

namespace requal::cli {

namespace {

Result run_snapshot(const Arguments& arguments, const Common& common) {
    station::SnapshotRequest request;
    request.sysroot = arguments.optional_text("--sysroot").value_or("");
    request.folders = arguments.all("--library-folder");
    request.engines = arguments.all("--engine");
    if (request.sysroot.empty())
        for (std::vector<std::string>* paths : {&request.engines, &request.folders})
            for (std::string& path : *paths)
                path = std::filesystem::absolute(path).string();
    if (const auto earlier = arguments.optional_text("--trust-mtime"))
        request.earlier =
            station::read_snapshot(read_file(*earlier, std::uint64_t{64} << 20U), *earlier);
    request.jobs = common.jobs;
    request.idle = arguments.flag("--idle");
    const double rate = arguments.given("--rate") ? arguments.number("--rate") : 0;
    if (arguments.given("--rate") && !(rate > 0 && rate < 1e9))
        throw Error(ErrorKind::usage, "no rate", "--rate", "give MB per second above 0");
    request.bytes_per_second = static_cast<std::uint64_t>(rate * 1e6);
    request.stop = cancelled;
    const int ways = (arguments.given("--pid") ? 1 : 0) + (arguments.given("--unit") ? 1 : 0) +
                     (arguments.given("--container") ? 1 : 0);
    if (ways > 1 || (ways == 1 && !request.sysroot.empty()))
        throw Error(ErrorKind::usage, "one running application of this computer at a time",
                    ways > 1 ? "--pid, --unit, --container" : "--sysroot", "leave one out");
    if (ways == 1) {
        machine::ApplicationRequest wanted;
        if (arguments.given("--pid"))
            wanted.pid = arguments.integer("--pid");
        wanted.unit = arguments.optional_text("--unit").value_or("");
        wanted.container = arguments.optional_text("--container").value_or("");
        wanted.hashing = {.jobs = common.jobs,
                          .idle = request.idle,
                          .bytes_per_second = request.bytes_per_second};
        machine::Unknown unknown;
        request.application = machine::probe_application(wanted, unknown);
        request.application_unknown = unknown.json();
    }
    if (request.sysroot.empty())
        request.gpus = machine::probe_gpus();
    Result result;
    result.document = station::take_snapshot(request, system_clock());
    if (const auto out = arguments.optional_text(arguments.given("-o") ? "-o" : "--output")) {
        write_file_atomically(*out, write_json(result.document));
        result.text = "state " + result.document.at("state_digest").as_string() + "\n";
    } else {
        result.text = station::snapshot_text(result.document);
    }
    return result;
}

Result run_diff(const Arguments& arguments, const Common&) {
    Result result;
    const station::Side before = station::read_side(arguments.text("BEFORE"));
    const station::Side after = station::read_side(arguments.text("AFTER"));
    result.document = station::diff_document(before, after);
    result.status = station::exit_status_of_diff(result.document);
    result.text = station::diff_text(result.document);
    return result;
}

}  // namespace

std::vector<Verb> verbs_snapshot() {
    Verb snapshot;
    snapshot.name = "snapshot";
    snapshot.summary =
        "says what this machine is: device, L4T, kernel, libraries, packages, settings";
    snapshot.description = "Reads and hashes; changes nothing. With --sysroot nothing outside that "
                           "folder is read: links are followed as if it were "
                           "the root. What cannot be read is listed as unknown, with the reason. "
                           "state_digest is equal for equal states; it holds no "
                           "serial number and nothing that changes by itself.";
    snapshot.options = {
        {.name = "--sysroot",
         .kind = ValueKind::path,
         .help = "the root of another machine instead of this computer",
         .value_name = "DIR"},
        {.name = "--output",
         .kind = ValueKind::path,
         .help = "write the document there",
         .value_name = "FILE"},
        {.name = "-o", .kind = ValueKind::path, .help = "the same", .value_name = "FILE"},
        {.name = "--engine",
         .kind = ValueKind::path,
         .help =
             "an engine in service, as the machine sees it; its digest becomes part of the state",
         .value_name = "FILE",
         .repeated = true},
        {.name = "--library-folder",
         .kind = ValueKind::path,
         .help = "search here for libraries, too",
         .value_name = "DIR",
         .repeated = true},
        {.name = "--trust-mtime",
         .kind = ValueKind::path,
         .help = "an earlier snapshot: do not hash a library again whose size, inode and times are "
                 "those of then; marked in the document",
         .value_name = "SNAPSHOT"},
        {.name = "--pid",
         .kind = ValueKind::integer,
         .help = "the files that this process has mapped, too",
         .value_name = "N"},
        {.name = "--unit",
         .help = "the same for the main process of a systemd unit",
         .value_name = "NAME"},
        {.name = "--container",
         .help = "the same for the first process of a container",
         .value_name = "ID"},
        {.name = "--idle",
         .kind = ValueKind::flag,
         .help = "hash at the lowest priority of processor and disk"},
        {.name = "--rate",
         .kind = ValueKind::number,
         .help = "hash at most so many MB each second",
         .value_name = "MB"}};
    snapshot.examples = {"requal snapshot -o station-7.json",
                         "requal snapshot --sysroot /mnt/image --json",
                         "requal snapshot --trust-mtime station-7.json -o now.json --idle"};
    snapshot.run = run_snapshot;
    Verb diff;
    diff.name = "diff";
    diff.summary = "what moved between two snapshots or two engine manifests";
    diff.description = "Each difference has a class and a severity; what is equal is not "
                       "mentioned, and what is not tracked is listed, so that no "
                       "difference does not say more than was seen. Exit status: 0 nothing "
                       "differs, 1 something differs, 6 all that "
                       "differs is known on one side only.";
    diff.positionals = {
        {.name = "BEFORE", .kind = ValueKind::path, .help = "the older one", .required = true},
        {.name = "AFTER", .kind = ValueKind::path, .help = "the newer one", .required = true}};
    diff.examples = {"requal diff qualified.json now.json",
                     "requal diff a.manifest.json b.manifest.json --json"};
    diff.run = run_diff;
    return {snapshot, diff};
}

}  // namespace requal::cli
