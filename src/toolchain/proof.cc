#include "toolchain/proof.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "graph/model.h"
#include "toolchain/client.h"

namespace requal::toolchain {

namespace {

// The values of the tiny model are exact in every precision; a runtime that keeps them within this is taken to compute.
constexpr double tolerance = 1e-2;

struct Files {
    std::string model;
    std::string engine;
};

RunnerOptions options_for(const std::string& toolchain, const std::string& program,
                          const ProofLimits& limits) {
    RunnerOptions options;
    options.toolchain = toolchain;
    options.program = program;
    options.start_timeout_ns = limits.start_timeout_ns;
    options.answer_timeout_ns = limits.answer_timeout_ns;
    return options;
}

// Runs `path` and compares; Error(toolchain) when the output is wrong.
void run_tiny(Runner& runner, const std::string& path) {
    LoadedRunnable loaded = runner.load(path);
    if (loaded.inputs().size() != 1 || loaded.outputs().size() != 1)
        throw Error(ErrorKind::toolchain, "reports other inputs and outputs than the model has");
    const Tensor expected = graph::tiny_model_output();
    const NamedTensors outputs = loaded.run({{loaded.inputs()[0].name, graph::tiny_model_input()}});
    if (outputs.size() != 1 || outputs[0].second.count() != expected.count())
        throw Error(ErrorKind::toolchain, "gives an output of another size than the model's");
    for (std::uint64_t at = 0; at < expected.count(); ++at) {
        const double wanted = expected.number_at(at);
        const double got = outputs[0].second.number_at(at);
        if (!(std::abs(got - wanted) <= tolerance + tolerance * std::abs(wanted)))
            throw Error(ErrorKind::toolchain, "computes " + shortest(got) + " instead of " +
                                                  shortest(wanted) + " at element " +
                                                  std::to_string(at));
    }
    loaded.unload();
}

// One line for people out of any failure; an interruption is passed on.
std::string reason_of(const Error& error) {
    if (error.kind() == ErrorKind::interrupted)
        throw error;
    return error.what();
}

bool claims(const Json& toolchain, std::string_view what) {
    const Json& can = toolchain.get("can");
    if (!can.is_array())
        return false;
    return std::any_of(can.as_array().begin(), can.as_array().end(), [&](const Json& word) {
        return word.is_string() && word.as_string() == what;
    });
}

void add_reason(ToolchainProof& proof, const std::string& reason) {
    proof.why_not += (proof.why_not.empty() ? "" : "; ") + reason;
}

// Every step has a runner of its own: a crash in one does not hide what another would show.
void prove(ToolchainProof& proof, const Json& claimed, const Files& files,
           const ProofLimits& limits) {
    const auto step = [&](const std::string& what, const auto& action) {
        throw_if_cancelled();
        try {
            Runner runner(options_for(proof.name, proof.runner, limits));
            action(runner);
            return true;
        } catch (const Error& error) {
            add_reason(proof, what + ": " + reason_of(error));
            return false;
        }
    };
    bool ran = false, built = false;
    if (claims(claimed, "build"))
        built = step("build", [&](Runner& runner) {
            runner.build(files.model, files.engine);
            if (!file_exists(files.engine))
                throw Error(ErrorKind::toolchain, "says that it built an engine and wrote none");
        });
    if (claims(claimed, "run")) {
        ran = step("run", [&](Runner& runner) { run_tiny(runner, files.model); });
        if (built &&
            !step("run the engine", [&](Runner& runner) { run_tiny(runner, files.engine); }))
            ran = false;
    }
    if (built)
        proof.can.push_back("build");
    if (ran)
        proof.can.push_back("run");
    if (proof.can.empty() && proof.why_not.empty())
        proof.why_not = "the runner claims neither to build nor to run";
    proof.proof = ran ? "ran" : built ? "built" : "never run";
}

std::string text_or_empty(const Json& value) {
    return value.is_string() ? value.as_string() : std::string();
}

bool wanted(const std::string& name, const std::vector<std::string>& only) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

std::string program_of(std::string_view toolchain) {
    return std::string(toolchain.substr(0, toolchain.find(':')));
}

using Proofs = std::map<std::string, ToolchainProof, std::less<>>;

// The toolchains that a runner which cannot even be asked would have had.
std::vector<std::string> names_for(const std::string& program,
                                   const std::vector<KnownToolchain>& all) {
    std::vector<std::string> names;
    for (const KnownToolchain& known : all)
        if (program_of(known.name) == program)
            names.emplace_back(known.name);
    if (names.empty())
        names.push_back(program);
    return names;
}

void ask_runner(const std::string& program, const std::vector<std::string>& only,
                const std::vector<KnownToolchain>& all, const ProofLimits& limits, Proofs& proofs) {
    const std::string path = find_runner_program(program).value_or("");
    Json capabilities;
    try {
        Runner runner(options_for(program, path, limits));
        capabilities = runner.capabilities();
        if (!capabilities.get("toolchains").is_array())
            throw Error(ErrorKind::toolchain, "does not say which toolchains it has");
    } catch (const Error& error) {
        for (const std::string& name : names_for(program, all))
            if (wanted(name, only))
                proofs[name] = {.name = name,
                                .can = {},
                                .proof = "never run",
                                .version = {},
                                .why_not = reason_of(error),
                                .how_to_get = {},
                                .runner = path};
        return;
    }
    TemporaryFolder folder("requal-doctor");
    int number = 0;
    for (const Json& claimed : capabilities.at("toolchains").as_array()) {
        const std::string name = claimed.is_object() ? text_or_empty(claimed.get("name")) : "";
        if (program_of(name) != program || !wanted(name, only))
            continue;
        ToolchainProof proof;
        proof.name = name;
        proof.proof = "never run";
        proof.runner = path;
        proof.version = text_or_empty(capabilities.get("version"));
        const Json& works = claimed.get("works");
        if (works.is_boolean() && works.as_boolean()) {
            const std::string base = folder.path() + "/" + std::to_string(number++);
            const Files files = {base + ".onnx", base + ".engine"};
            write_file_atomically(files.model, graph::tiny_model_bytes());
            prove(proof, claimed, files, limits);
        } else {
            proof.why_not = text_or_empty(claimed.get("why_not"));
            if (proof.why_not.empty())
                proof.why_not = "the runner says that it does not work and not why";
        }
        proofs[name] = std::move(proof);
    }
}

}  // namespace

std::vector<ToolchainProof> prove_toolchains(const std::vector<std::string>& only,
                                             const std::string& rules_folder,
                                             const ProofLimits& limits) {
    const std::vector<KnownToolchain> all = known_toolchains(rules_folder);
    Proofs proofs;
    for (const std::string& program : list_runner_programs()) {
        throw_if_cancelled();
        const bool needed = std::any_of(only.begin(), only.end(), [&](const std::string& name) {
            return program_of(name) == program;
        });
        if (only.empty() || needed)
            ask_runner(program, only, all, limits, proofs);
    }
    for (const KnownToolchain& known : all) {
        const std::string& name = known.name;
        if (!wanted(name, only))
            continue;
        auto [entry, absent] = proofs.try_emplace(name);
        ToolchainProof& proof = entry->second;
        if (absent) {
            proof.name = name;
            proof.proof = "never run";
            const std::string program = program_of(name);
            proof.why_not = find_runner_program(program)
                                ? "the runner here does not offer it"
                                : "there is no runner program requal-runner-" + program;
        }
        if (!proof.works())
            proof.how_to_get = known.how_to_get;
    }
    std::vector<ToolchainProof> list;
    for (auto& [name, proof] : proofs)
        list.push_back(std::move(proof));
    return list;
}

}  // namespace requal::toolchain
