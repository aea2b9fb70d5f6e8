// guard: may this engine be loaded on this machine?
// rooms: station compat machine toolchain store
#include "compat/guard.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/stored.h"
#include "cli/verb.h"
#include "machine/gpus.h"
#include "machine/host.h"
#include "station/baseline.h"
#include "toolchain/client.h"

namespace requal::cli {

namespace {

Json read_document(const std::string& path) {
    return parse_json(read_file(path, std::uint64_t{64} << 20U), path);
}

/// A snapshot, or the one inside a baseline.
Json machine_document(const std::string& path) {
    Json document = read_document(path);
    if (document.is_object() && document.get("schema").is_string() &&
        document.at("schema").as_string().starts_with("baseline/"))
        return station::snapshot_of(std::move(document), path);
    return document;
}

/// An error that does not say where is in `path`.
template <typename Work>
auto placed(const std::string& path, const Work& work) {
    try {
        return work();
    } catch (const Error& error) {
        if (!error.where().empty())
            throw;
        throw Error(error.kind(), error.message(), path, error.next());
    }
}

Digest digest_in(const Json& manifest, const std::string& path) {
    return placed(path,
                  [&] { return parse_digest(manifest.at("engine").at("digest").as_string()); });
}

/// The version of the runtime as its runner tells it; empty where there is no runner or it does not start.
std::string runtime_version(const std::string& product, const Json& manifest) {
    std::string toolchain = product == "openvino" ? "openvino:cpu" : product;
    if (manifest.is_object() && manifest.get("toolchain").is_object() &&
        manifest.at("toolchain").get("name").is_string())
        toolchain = manifest.at("toolchain").at("name").as_string();
    if (toolchain.empty() ||
        !toolchain::find_runner_program(toolchain.substr(0, toolchain.find(':'))))
        return {};
    try {
        toolchain::RunnerOptions options;
        options.toolchain = toolchain;
        const toolchain::Runner runner(options);
        const Json& version = runner.capabilities().get("version");
        return version.is_string() ? version.as_string() : std::string();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted)
            throw;
        return {};
    }
}

Result run_guard(const Arguments& arguments, const Common& common) {
    const compat::RuleSet rules = compat::load_rules(common.rules);
    const std::string path = stored_path(arguments.text("ENGINE"), common);
    compat::GuardInput input;
    {
        const artifact::ByteSource source = artifact::ByteSource::open(path);
        if (source.size() == 0)
            throw Error(ErrorKind::input, "the file is empty", path, "give the engine itself");
        input.artefact = artifact::recognise(source);
    }
    std::string manifest_path;
    if (const auto given = arguments.optional_text("--manifest"))
        manifest_path = stored_path(*given, common);
    if (manifest_path.empty() && file_exists(path + ".manifest.json"))
        manifest_path = path + ".manifest.json";
    if (!manifest_path.empty()) {
        input.manifest = read_document(manifest_path);
        require_schema(input.manifest, "engine-manifest", 1, manifest_path);
        input.digest_matches =
            compat::truth_of(digest_of_file(path) == digest_in(input.manifest, manifest_path));
    }
    const compat::Facts engine = placed(manifest_path.empty() ? path : manifest_path, [&] {
        return compat::engine_facts(input.artefact, input.manifest, rules.tables);
    });
    const std::string product = compat::word_of(engine, "product").value_or("");
    Json machine;
    if (const auto snapshot = arguments.optional_text("--as-machine")) {
        machine = *snapshot;
        input.machine = placed(*snapshot, [&] {
            return compat::machine_facts(machine_document(*snapshot), product, rules.tables,
                                         *snapshot);
        });
    } else {
        machine = "this machine";
        const bool compared = input.digest_matches != compat::Truth::no;
        const compat::Product* known = rules.product(product);
        machine::Gpus gpus;
        if (known && compat::asks_for_gpu(*known)) {
            gpus = machine::probe_gpus();
            if (const std::string why = compat::why_no_gpu(gpus); !why.empty())
                input.machine_unknown.push_back(why);
        }
        input.machine = compat::host_machine_facts(
            machine::host_facts(),
            compared ? runtime_version(product, input.manifest) : std::string(), rules.tables,
            gpus);
    }
    const compat::GuardResult decided = compat::decide(rules, input);
    const std::string today = time_stamp(system_clock()).at("wall").as_string().substr(0, 10);
    Result result;
    result.status = compat::exit_status_of(decided.decision);
    result.document = compat::guard_document(rules, path, machine, input, decided, today);
    result.text = printable(path) + ": " + std::string(name_of(decided.decision)) + "\n";
    for (const Json& reason : result.document.at("reasons").as_array()) {
        result.text += "  " + reason.at("rule").as_string() + ": " +
                       printable(reason.at("message").as_string());
        if (reason.at("overdue").is_boolean() && reason.at("overdue").as_boolean())
            result.text += " (past its review date)";
        result.text += "\n";
    }
    if (decided.decision == compat::Decision::cannot_tell)
        for (const std::string& unknown : input.machine_unknown)
            result.text += "  not known of this machine: " + printable(unknown) + "\n";
    for (const std::string& price : decided.prices)
        result.text += "  price: " + printable(price) + "\n";
    for (const std::string& next : decided.next)
        result.text += "  next: " + printable(next) + "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_guard() {
    Verb verb;
    verb.name = "guard";
    verb.summary = "says whether an engine may be loaded on this machine, and by which rule";
    verb.description = "Decided from the engine's bytes, its engine manifest and the machine, by "
                       "the compatibility rules: allowed, "
                       "allowed-by-route (with the price), refused, or cannot-tell. A plan does "
                       "not record its device, so "
                       "without an engine manifest it is never allowed. Exit status: 0 allowed, 1 "
                       "refused, 6 cannot tell.";
    verb.positionals = {
        {.name = "ENGINE", .kind = ValueKind::path, .help = "the engine", .required = true}};
    verb.options = {{.name = "--manifest",
                     .kind = ValueKind::path,
                     .help = "its engine manifest; else ENGINE.manifest.json where it lies beside",
                     .value_name = "FILE"},
                    {.name = "--as-machine",
                     .kind = ValueKind::path,
                     .help = "decide for the machine of this snapshot, not for this one",
                     .value_name = "SNAPSHOT"}};
    verb.examples = {"requal guard model.plan",
                     "requal guard model.plan --as-machine station-7.json"};
    verb.run = run_guard;
    return {verb};
}

}  // namespace requal::cli
