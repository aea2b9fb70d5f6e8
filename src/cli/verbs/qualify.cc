// qualify: a protocol, run to its verdict.
// rooms: base qualify store toolchain
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/stored.h"
#include "cli/verb.h"
#include "qualify/run.h"

namespace requal::cli {

namespace {

std::string padded(std::string_view word, std::size_t width) {
    std::string text(word);
    text.resize(std::max(width, text.size()), ' ');
    return text;
}

std::string line_of(const qualify::Decision& decision) {
    return padded(name_of(decision.verdict), 11) + "  " + padded(printable(decision.id), 16) +
           "  " + printable(decision.reason);
}

Json gate_json(const qualify::Decision& decision) {
    return Json::object({{"id", decision.id},
                         {"criterion", decision.criterion},
                         {"value", decision.value},
                         {"verdict", name_of(decision.verdict)},
                         {"reason", decision.reason}});
}

Result run_qualify(const Arguments& arguments, const Common& common) {
    qualify::QualifyRequest request;
    request.protocol_path = arguments.text("PROTOCOL");
    if (const auto model = arguments.optional_text("--model"))
        request.model_path = stored_path(*model, common);
    request.store = common.store;
    request.rules = common.rules;
    request.command_line = common.command_line;
    request.wait = !arguments.flag("--no-wait");
    request.on_step = [](std::string_view step) {
        log_detail("step " + std::string(step));
        emit_event("step", Json::object({{"step", step}}));
    };
    request.on_gate = [&common](const qualify::Decision& decision) {
        emit_event("gate", gate_json(decision));
        if (common.json) {
            log_info(line_of(decision));
        } else if (!common.quiet) {
            // Printed as it is decided, not with the result: a qualification may take hours.
            const std::string line = line_of(decision) + "\n";
            write_all(STDOUT_FILENO, std::as_bytes(std::span(line)), "standard output");
        }
    };
    const qualify::QualifyOutcome outcome = qualify::qualify(request);

    Result result;
    result.status = exit_status_of(outcome.verdict);
    result.document = new_document("qualify", 1);
    result.document["verdict"] = name_of(outcome.verdict);
    result.document["run"] = outcome.run;
    result.document["record"] = outcome.record;
    result.document["report"] = outcome.report;
    result.document["baseline"] = Json();
    Json gates = Json::array();
    for (const qualify::Decision& decision : outcome.gates) {
        gates.push_back(gate_json(decision));
    }
    result.document["gates"] = gates;
    result.text = "verdict: " + std::string(name_of(outcome.verdict)) + "\nrun: " + outcome.run +
                  "\nrecord: " + printable(outcome.record) +
                  "\nreport: " + printable(outcome.report) + "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_qualify() {
    Verb verb;
    verb.name = "qualify";
    verb.summary =
        "runs a protocol: builds the engine, compares, times, judges, writes record and report";
    verb.description = "Reads a protocol (schema protocol/1), checks the model by digest, builds "
                       "the engine with the candidate's toolchain, runs "
                       "reference and engine on the same inputs, and decides every gate. Record "
                       "and report appear under STORE/runs when the "
                       "run is whole; a run that is interrupted or killed leaves nothing there. "
                       "Exit status 0 when all gates pass, 1 when one "
                       "fails, 6 when none fails and one could not be decided.";
    verb.positionals = {{.name = "PROTOCOL",
                         .kind = ValueKind::path,
                         .help = "the protocol (YAML)",
                         .required = true}};
    verb.options = {{.name = "--model",
                     .kind = ValueKind::path,
                     .help = "the model's file here, instead of where the protocol names it; its "
                             "digest must be the same",
                     .value_name = "FILE"},
                    {.name = "--no-wait",
                     .kind = ValueKind::flag,
                     .help = "when another process is at this run, say so (exit status 6) instead "
                             "of waiting for its result"}};
    verb.examples = {"requal qualify examples/ocr-detector/protocol.yaml",
                     "requal qualify protocol.yaml --model model.onnx --json"};
    verb.run = run_qualify;
    return {verb};
}

}  // namespace requal::cli
