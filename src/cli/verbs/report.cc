// report: the record of a run as one HTML page.
// rooms: base evidence qualify
#include "evidence/report.h"

#include <string>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "cli/verb.h"
#include "qualify/run_folder.h"

namespace requal::cli {

namespace {

Result run_report(const Arguments& arguments, const Common& common) {
    const std::string folder = qualify::find_run(common.store, arguments.text("RUN"));
    const std::string source = folder + "/record.json";
    const Json record = parse_json(read_file(source), source);
    std::string html;
    try {
        html = evidence::render_report(record);
    } catch (const Error& error) {
        throw Error(error.kind(), error.message(), source,
                    "the record is not one that `qualify` wrote");
    }
    const std::string target = arguments.optional_text("--out").value_or(folder + "/report.html");
    for (const char* const name : {"/record.json", "/protocol.yaml"}) {
        refuse_to_replace(target, folder + name, "--out");
    }
    write_file_atomically(target, html);
    Result result;
    result.document = new_document("report", 1);
    result.document["run"] = record.at("run");
    result.document["verdict"] = record.at("verdict");
    result.document["report"] = target;
    result.text = "report: " + printable(target) + "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_report() {
    Verb verb;
    verb.name = "report";
    verb.summary = "writes the report of a run: one HTML file with plots and no script";
    verb.description = "Reads the record of the run and nothing else; equal records give equal "
                       "bytes. Exit status 0 whatever the run's "
                       "verdict was.";
    verb.positionals = {{.name = "RUN",
                         .help = "id of a run in the store, or the folder of a run",
                         .required = true}};
    verb.options = {{.name = "--out",
                     .kind = ValueKind::path,
                     .help = "where to write it, instead of report.html in the folder of the run",
                     .value_name = "FILE"}};
    verb.examples = {"requal report .requal/runs/20261130T181136Z-1a2b3c4d --out report.html"};
    verb.run = run_report;
    return {verb};
}

}  // namespace requal::cli
