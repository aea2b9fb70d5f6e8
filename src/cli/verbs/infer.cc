// infer: runs inputs through one runnable and saves the outputs.
// rooms: base tensor data measure toolchain machine
#include <chrono>

#include "base/cancel.h"
#include "base/document.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/input_arguments.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "measure/numerics/output_summary.h"
#include "measure/numerics/output_writer.h"
#include "measure/runnable.h"

namespace requal::cli {

namespace {

std::string shape_text(const Json& shape) {
    Shape result;
    for (const Json& extent : shape.as_array()) {
        result.push_back(extent.as_integer());
    }
    return text_of(result);
}

std::string number_text(const Json& value) {
    return value.is_null() ? "-" : readable(value.as_number(), 5);
}

Result run_infer(const Arguments& arguments, const Common&) {
    const auto started = std::chrono::steady_clock::now();
    const data::InputRequest request = input_request(arguments);
    if (request.empty()) {
        throw Error(ErrorKind::usage, "no inputs are given", {},
                    "give --inputs PATH or --random N --seed S");
    }
    measure::RunOptions options;
    options.answer_timeout_ns = static_cast<std::int64_t>(arguments.number("--timeout") * 1e9);
    measure::SideOpener opener(
        measure::resolve_runnable(arguments.text("RUNNABLE"), arguments.text("--on")), options);
    std::optional<measure::OutputWriter> writer;
    if (const auto folder = arguments.optional_text("--save")) {
        writer.emplace(*folder, arguments.flag("--force"));
    }
    const std::unique_ptr<measure::RunningSide> side = opener.open_running();
    const auto inputs = data::open_inputs(request, measure::ports_of(side->loaded()));

    measure::OutputSummary summary;
    {
        Progress progress("infer", inputs->size());
        for (std::uint64_t i = 0; i < inputs->size(); ++i) {
            const NamedTensors sample = inputs->sample(i);
            const NamedTensors outputs = side->outputs(i, sample);
            summary.add(outputs);
            if (writer) {
                writer->add(inputs->sample_name(i), data::digest_of_sample(sample), outputs);
            }
            throw_if_cancelled();
            progress.advance();
        }
    }

    Result result;
    Json& document = result.document;
    document = new_document("infer", 1);
    document["samples"] = inputs->size();
    document["runnable"] = side->describe();
    document["inputs"] = inputs->describe();
    document["outputs"] = summary.to_json();
    if (writer) {
        document["saved"] = writer->commit(document.at("runnable"), document.at("inputs"));
    }
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - started;
    document["elapsed_ms"] = elapsed.count();

    std::vector<std::vector<std::string>> rows = {
        {"output", "type", "shape", "min", "max", "mean", "NaN", "Inf"}};
    for (const Json& output : document.at("outputs").as_array()) {
        rows.push_back({output.at("name").as_string(), output.at("type").as_string(),
                        shape_text(output.at("shape")), number_text(output.at("min")),
                        number_text(output.at("max")), number_text(output.at("mean")),
                        std::to_string(output.at("nan").as_integer()),
                        std::to_string(output.at("inf").as_integer())});
    }
    result.text = table_text(rows) + std::to_string(inputs->size()) +
                  (inputs->size() == 1 ? " sample" : " samples") +
                  (writer ? " saved in " + printable(document.at("saved").at("path").as_string())
                          : std::string()) +
                  "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_infer() {
    Verb verb;
    verb.name = "infer";
    verb.summary = "runs inputs through a runnable and saves the outputs";
    verb.description = "Saved outputs are a runnable too: `compare` takes the folder as one of its "
                       "sides. The folder appears when it is "
                       "complete, with one .npz file a sample and samples.json (order, digests of "
                       "outputs and inputs).";
    verb.positionals = {
        {.name = "RUNNABLE", .help = "ARTEFACT[@TOOLCHAIN[?key=value&...]]", .required = true}};
    verb.options = input_arguments();
    const std::vector<Argument> own = {
        {.name = "--save",
         .kind = ValueKind::path,
         .help = "saves the outputs in this folder",
         .value_name = "DIR"},
        {.name = "--force",
         .kind = ValueKind::flag,
         .help = "replaces saved outputs that are there already"},
        {.name = "--on", .help = "runs on another machine", .value_name = "ssh://USER@HOST"},
        {.name = "--timeout",
         .kind = ValueKind::number,
         .help = "seconds that loading or one run may take",
         .value_name = "SECONDS",
         .fallback = "600"},
    };
    verb.options.insert(verb.options.end(), own.begin(), own.end());
    verb.examples = {"requal infer model.onnx@onnxruntime:cpu --random 4 --seed 1 --shape "
                     "x:1x3x320x320 --save golden"};
    verb.run = run_infer;
    return {verb};
}

}  // namespace requal::cli
