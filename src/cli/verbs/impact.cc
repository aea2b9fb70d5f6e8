// impact: what a change invalidates, and what to run again.
// rooms: station
#include "station/impact.h"

#include "base/file.h"
#include "cli/verb.h"
#include "station/baseline.h"
#include "station/snapshot.h"

namespace requal::cli {

namespace {

Result run_impact(const Arguments& arguments, const Common& common) {
    station::ImpactRequest request;
    request.rules = common.rules;
    for (const std::string& path : arguments.all("DIFF"))
        request.diffs.push_back(parse_json(read_file(path, std::uint64_t{64} << 20U), path));
    request.changes = arguments.all("--change");
    request.to = arguments.optional_text("--to").value_or("");
    for (const std::string& path : arguments.all("--from"))
        request.deployed.push_back(
            station::read_snapshot_or_baseline(read_file(path, std::uint64_t{64} << 20U), path));
    if (request.to.empty() != request.deployed.empty())
        throw Error(ErrorKind::usage, "a migration has a start and an end", "--from, --to",
                    "give both, or none");
    if (request.diffs.empty() && request.changes.empty() && request.to.empty())
        throw Error(ErrorKind::usage, "no change", "DIFF",
                    "give a difference, --change WORDS, or --from SNAPSHOT --to RELEASE");
    Result result;
    result.document = station::impact_document(station::load_impact_rules(common.rules), request);
    result.text = station::impact_text(result.document);
    return result;
}

}  // namespace

std::vector<Verb> verbs_impact() {
    Verb verb;
    verb.name = "impact";
    verb.summary = "what a change invalidates, and what to run again";
    verb.description = "By the matrix in rules/change-impact.yaml, for differences that 'requal "
                       "diff --json' wrote, for planned changes in words "
                       "(several are united), or for a migration of deployed stations to another "
                       "L4T release, planned from every state that is deployed.";
    verb.positionals = {
        {.name = "DIFF", .kind = ValueKind::path, .help = "a difference", .repeated = true}};
    verb.options = {
        {.name = "--change",
         .help = "a planned change: \"tensorrt version\", \"point release\", reflash, ...",
         .value_name = "WORDS",
         .repeated = true},
        {.name = "--from",
         .kind = ValueKind::path,
         .help = "snapshot of a deployed station",
         .value_name = "SNAPSHOT",
         .repeated = true},
        {.name = "--to",
         .help = "L4T release or JetPack version to migrate to",
         .value_name = "RELEASE"}};
    verb.examples = {"requal impact moved.json",
                     "requal impact --change 'point release' --change camera",
                     "requal impact --from station-1.json --from station-2.json --to r39.2.0"};
    verb.run = run_impact;
    return {verb};
}

}  // namespace requal::cli
