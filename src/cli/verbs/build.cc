// build: an engine with its engine manifest.
// rooms: base tensor graph toolchain machine build data store
#include <algorithm>
#include <filesystem>

#include "base/document.h"
#include "base/progress.h"
#include "base/text.h"
#include "build/engine_build.h"
#include "cli/input_arguments.h"
#include "cli/outputs.h"
#include "cli/stored.h"
#include "cli/verb.h"
#include "data/inputs.h"
#include "toolchain/client.h"

namespace requal::cli {

namespace {

build::BuildRequest build_request(const Arguments& arguments, const Common& common) {
    build::BuildRequest request;
    request.model_path = stored_path(arguments.text("MODEL"), common);
    request.toolchain = arguments.text("--toolchain");
    request.output_path = output_of(arguments, true, "say where the engine shall be written");
    request.remote = arguments.text("--on");
    request.precision = arguments.text("--precision");
    request.overwrite = arguments.flag("--force");
    request.timeout_ns = timeout_ns(arguments);
    for (const std::string& text : arguments.all("--shape")) {
        if (!request.shapes.insert(data::parse_named_shape(text, "--shape")).second) {
            throw Error(ErrorKind::usage, "'" + text + "' names an input a second time", "--shape",
                        "name each once");
        }
    }
    for (const std::string& text : arguments.all("--option")) {
        const Json options = toolchain::parse_runnable_options(text);
        for (const auto& [name, value] : options.as_object()) {
            if (request.options.has(name)) {
                throw Error(ErrorKind::usage, "'" + name + "' is given a second time", "--option",
                            "give it once");
            }
            request.options[name] = value;
        }
    }
    return request;
}

Verdict verdict_of(const build::BuildResult& built, bool any_precision) {
    if (built.precision_as_requested || any_precision) {
        return Verdict::pass;
    }
    return built.precision_executed == "unknown" ? Verdict::undecidable : Verdict::fail;
}

std::string report_text(const Json& document, const std::string& requested, bool any_precision) {
    const Json& engine = document.at("engine");
    const Json& precision = document.at("precision");
    std::string text =
        "engine: " + printable(engine.at("path").as_string()) + " (" +
        readable_bytes(static_cast<unsigned long long>(engine.at("size_bytes").as_integer())) +
        ", " + engine.at("digest").as_string() +
        ")\nengine manifest: " + printable(engine.at("manifest").as_string()) +
        "\nprecision: requested " + requested + ", executed " +
        printable(precision.at("executed").as_string()) + " (learned by " +
        printable(precision.at("learned_by").as_string()) + ")\n";
    const Json& placement = document.at("placement");
    if (placement.is_object() && placement.has("nodes_total") &&
        placement.has("nodes_on_requested")) {
        text += "placement: " + std::to_string(placement.at("nodes_on_requested").as_integer()) +
                " of " + std::to_string(placement.at("nodes_total").as_integer()) +
                " nodes on the toolchain asked for\n";
    }
    const std::string verdict = document.at("verdict").as_string();
    if (verdict != "pass" && !any_precision) {
        text +=
            "the precision asked for was not shown to be executed; --allow-precision accepts it\n";
    }
    return text + "verdict: " + verdict + "\n";
}

Result run_build(const Arguments& arguments, const Common& common) {
    const build::BuildRequest request = build_request(arguments, common);
    const bool any_precision = arguments.flag("--allow-precision");
    const build::BuildResult built = build::build_engine(request);
    const Json& manifest = built.manifest;
    const Verdict verdict = verdict_of(built, any_precision);

    Result result;
    result.status = exit_status_of(verdict);
    Json& document = result.document;
    document = new_document("build", 1);
    document["verdict"] = name_of(verdict);
    document["engine"] =
        Json::object({{"name", manifest.at("engine").at("name")},
                      {"digest", manifest.at("engine").at("digest")},
                      {"size_bytes", manifest.at("engine").at("size_bytes")},
                      {"path", request.output_path},
                      {"manifest", built.manifest_path},
                      {"manifest_digest", digest_of(write_json(manifest)).text()}});
    document["precision"] = manifest.at("precision");
    document["placement"] = manifest.get("placement");
    document["model"] = Json::object({{"path", request.model_path},
                                      {"digest", manifest.at("model").at("digest")},
                                      {"size_bytes", manifest.at("model").at("size_bytes")}});
    document["toolchain"] = manifest.at("toolchain");
    document["elapsed_ms"] = manifest.at("built").at("elapsed_ms");
    if (manifest.at("built").has("peak_resident_bytes")) {
        document["peak_resident_bytes"] = manifest.at("built").at("peak_resident_bytes");
    }
    document["unknown"] = manifest.at("unknown");
    result.text = report_text(document, request.precision, any_precision);
    return result;
}

}  // namespace

std::vector<Verb> verbs_build() {
    Verb verb;
    verb.name = "build";
    verb.summary = "builds an engine with its engine manifest";
    verb.description = "Checks the model, builds it by the toolchain's runner and writes the "
                       "engine and FILE.manifest.json, both or none. Exit status 1 when "
                       "the precision that is executed is not the one asked for, 6 when the "
                       "toolchain does not tell.";
    verb.positionals = {
        {.name = "MODEL", .kind = ValueKind::path, .help = "an ONNX file", .required = true}};
    verb.options = {
        {.name = "--toolchain",
         .help = "what builds and will run the engine, as openvino:cpu",
         .value_name = "T",
         .required = true},
        {.name = "--output",
         .kind = ValueKind::path,
         .help = "where the engine is written",
         .value_name = "FILE"},
        {.name = "-o",
         .kind = ValueKind::path,
         .help = "the same as --output",
         .value_name = "FILE"},
        {.name = "--precision",
         .help = "precision to ask for; default: the toolchain's own choice",
         .value_name = "P",
         .fallback = "default",
         .choices = {"default", "f32", "f16", "bf16"}},
        {.name = "--allow-precision",
         .kind = ValueKind::flag,
         .help = "another precision than the one asked for is no failure"},
        {.name = "--shape",
         .help = "shape of an input with dynamic axes, as image:1x3x320x320",
         .value_name = "NAME:SHAPE",
         .repeated = true},
        {.name = "--option",
         .help = "an option of the toolchain; doctor lists them",
         .value_name = "KEY=VALUE",
         .repeated = true},
        {.name = "--force",
         .kind = ValueKind::flag,
         .help = "replaces an engine that is there already"},
        {.name = "--on", .help = "builds on another machine", .value_name = "ssh://USER@HOST"},
        {.name = "--timeout",
         .kind = ValueKind::number,
         .help = "seconds that the build may take",
         .value_name = "SECONDS",
         .fallback = "3600"},
    };
    verb.examples = {
        "requal build model.onnx --toolchain openvino:cpu -o model.blob --shape x:1x3x320x320"};
    verb.run = run_build;
    return {verb};
}

}  // namespace requal::cli
