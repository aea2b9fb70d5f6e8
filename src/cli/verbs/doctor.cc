// doctor: which toolchains work here, proved.
// rooms: toolchain_proof machine
#include "base/document.h"
#include "base/progress.h"
#include "base/rules.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/verb.h"
#include "machine/host.h"
#include "toolchain/proof.h"

namespace requal::cli {

namespace {

using toolchain::ToolchainProof;

Json text_or_null(const std::string& text) {
    return text.empty() ? Json() : Json(text);
}

Json entry_of(const ToolchainProof& proof) {
    return Json::object({{"name", proof.name},
                         {"works", proof.works()},
                         {"can", text_array(proof.can)},
                         {"proof", proof.proof},
                         {"version", text_or_null(proof.version)},
                         {"why_not", text_or_null(proof.why_not)},
                         {"how_to_get", text_or_null(proof.how_to_get)},
                         {"runner", text_or_null(proof.runner)}});
}

std::string text_of(const std::vector<ToolchainProof>& proofs) {
    std::string text;
    for (const ToolchainProof& proof : proofs) {
        text += proof.works() ? "works   " : "absent  ";
        if (!proof.works() && !proof.runner.empty())
            text.replace(text.size() - 8, 8, "broken  ");
        text += printable(proof.name);
        if (!proof.version.empty())
            text += " " + printable(proof.version);
        if (proof.works())
            text += ": " + proof.proof + " the tiny model";
        text += "\n";
        if (!proof.why_not.empty())
            text += "          " + wrapped(printable(proof.why_not), 10, 10) + "\n";
        if (!proof.how_to_get.empty())
            text += "          " +
                    wrapped("how to get it: " + printable(proof.how_to_get), 10, 10) + "\n";
    }
    return text;
}

Result run_doctor(const Arguments& arguments, const Common& common) {
    const std::vector<std::string> only = arguments.all("--toolchain");
    const std::vector<ToolchainProof> proofs = toolchain::prove_toolchains(only, common.rules);
    for (const std::string& name : only) {
        bool found = false;
        for (const ToolchainProof& proof : proofs)
            found = found || proof.name == name;
        if (found)
            continue;
        const auto known = toolchain::known_toolchains(common.rules);
        std::vector<std::string_view> names;
        for (const toolchain::KnownToolchain& one : known)
            names.push_back(one.name);
        const std::string near = nearest(name, names);
        throw Error(ErrorKind::usage, "unknown toolchain '" + name + "'", "--toolchain",
                    near.empty() ? "see 'requal doctor'" : "did you mean '" + near + "'?");
    }
    Result result;
    result.document = new_document("doctor", 1);
    result.document["host"] = machine::host_facts();
    result.document["rules"] = describe_rules(common.rules);
    result.document["toolchains"] = Json::array();
    bool any = false, all = true;
    for (const ToolchainProof& proof : proofs) {
        any = any || proof.works();
        all = all && proof.works();
        result.document["toolchains"].push_back(entry_of(proof));
    }
    result.text = text_of(proofs);
    // toolchains asked for by name must all work; otherwise one is enough to go on with
    const bool good = only.empty() ? any : all;
    result.status = good ? ExitStatus::passed : ExitStatus::missing;
    if (!any)
        result.text += "No toolchain works here.\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_doctor() {
    Verb verb;
    verb.name = "doctor";
    verb.summary = "says which toolchains work here, proved by running a tiny model on each";
    verb.description = "Each runner program is asked for its toolchains; each toolchain builds and "
                       "runs a tiny model, and the output is "
                       "compared. A runner that crashes or hangs is reported and the others go on. "
                       "Toolchains without a runner are listed with "
                       "what they need. The exit status is 0 when a toolchain works (with "
                       "--toolchain: when all named ones do), else 3.";
    verb.options = {{.name = "--toolchain",
                     .help = "look at this toolchain only",
                     .value_name = "NAME",
                     .repeated = true}};
    verb.examples = {"requal doctor", "requal doctor --toolchain onnxruntime:cpu --json"};
    verb.run = run_doctor;
    return {verb};
}

}  // namespace requal::cli
