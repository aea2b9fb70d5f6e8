// baseline adopt: freezes an engine that is already in service.
// rooms: station machine
#include <filesystem>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/verb.h"
#include "machine/application.h"
#include "machine/gpus.h"
#include "station/baseline.h"
#include "station/snapshot.h"

namespace requal::cli {

namespace {

Result run_adopt(const Arguments& arguments, const Common& common) {
    station::AdoptRequest request;
    request.engine = std::filesystem::absolute(arguments.text("--engine")).string();
    request.by = arguments.optional_text("--by").value_or("");
    for (const std::string& text : arguments.all("--claim")) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals + 1 == text.size())
            throw Error(ErrorKind::usage, "no claim '" + text + "'", "--claim",
                        "write FIELD=VALUE");
        request.claims.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    station::SnapshotRequest wanted;
    wanted.engines = {request.engine};
    wanted.jobs = common.jobs;
    wanted.stop = cancelled;
    wanted.gpus = machine::probe_gpus();
    if (arguments.given("--pid") || arguments.given("--unit") || arguments.given("--container")) {
        machine::ApplicationRequest running;
        if (arguments.given("--pid"))
            running.pid = arguments.integer("--pid");
        running.unit = arguments.optional_text("--unit").value_or("");
        running.container = arguments.optional_text("--container").value_or("");
        running.hashing.jobs = common.jobs;
        machine::Unknown unknown;
        wanted.application = machine::probe_application(running, unknown);
        wanted.application_unknown = unknown.json();
    }
    request.snapshot = station::take_snapshot(wanted, system_clock());
    Result result;
    result.document = station::adopt(request, system_clock());
    result.text = station::baseline_text(result.document);
    if (const auto out = arguments.optional_text("--output"))
        write_file_atomically(*out, write_json(result.document));
    return result;
}

}  // namespace

std::vector<Verb> verbs_adopt() {
    Verb verb;
    verb.group = "baseline";
    verb.name = "adopt";
    verb.summary =
        "freezes an engine that is already in service, and says how each part of it is known";
    verb.description = "Each field of the engine is observed, claimed (and by whom) or unknown. "
                       "The baseline's state is adopted, never "
                       "qualified; diff, fleet, lock and guard work on it.";
    verb.options = {
        {.name = "--engine",
         .kind = ValueKind::path,
         .help = "the engine in service",
         .value_name = "FILE",
         .required = true},
        {.name = "--pid",
         .kind = ValueKind::integer,
         .help = "the process that runs it",
         .value_name = "N"},
        {.name = "--unit", .help = "the systemd unit that runs it", .value_name = "NAME"},
        {.name = "--container", .help = "the container that runs it", .value_name = "ID"},
        {.name = "--claim",
         .help = "what is said of it and cannot be observed",
         .value_name = "FIELD=VALUE",
         .repeated = true},
        {.name = "--by", .help = "who says so", .value_name = "NAME"},
        {.name = "--output",
         .kind = ValueKind::path,
         .help = "write the baseline there",
         .value_name = "FILE"}};
    verb.examples = {"requal baseline adopt --engine /opt/line/detector.plan --unit inspection "
                     "--output adopted.json",
                     "requal baseline adopt --engine detector.plan --claim model.digest=sha256:... "
                     "--by 'A. Engineer'"};
    verb.run = run_adopt;
    return {verb};
}

}  // namespace requal::cli
