// The guard's decision: may this engine be loaded on this machine? A pure function of what is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "artifact/recognise.h"
#include "base/document.h"
#include "base/json.h"
#include "compat/rule_set.h"
#include "machine/gpus.h"

namespace requal::compat {

enum class Decision { allowed, allowed_by_route, refused, cannot_tell };
std::string_view
name_of(Decision decision);  ///< "allowed", "allowed-by-route", "refused", "cannot-tell"
ExitStatus exit_status_of(Decision decision);  ///< 0, 0, 1, 6

struct Reason {
    std::string rule;     ///< id of a rule
    std::string message;  ///< one sentence
};

/// What the guard looks at. `manifest` is engine-manifest/1, or null. `digest_matches`: the engine's bytes against the manifest's
/// digest; unknown where there is no manifest.
struct GuardInput {
    artifact::Recognised artefact;
    Json manifest;
    Truth digest_matches = Truth::unknown;
    Facts machine;  ///< of machine_facts(), without product: an engine is judged for its own
    std::vector<std::string> machine_unknown = {};  ///< why something of the machine is not known
};

struct GuardResult {
    Decision decision = Decision::cannot_tell;
    std::vector<Reason> reasons;    ///< at least one
    std::vector<std::string> next;  ///< what to do now
    std::vector<std::string>
        duties;  ///< what the loader must do when it loads the engine by a route
    std::vector<std::string> prices;
    Facts built, target;  ///< what was compared
};

/// The decision table, first row that fits:
///   bytes of no engine, or of an unknown kind        cannot-tell   GUARD-KIND
///   damaged                                          refused       GUARD-DAMAGED
///   digest differs from the engine manifest          refused       GUARD-DIGEST
///   bytes and engine manifest disagree               refused       GUARD-CONTRADICTION
///   no rule says where its product runs              cannot-tell   GUARD-NO-RULE
///   a rule excludes it                               refused       that rule
///   a plan without an engine manifest                cannot-tell   GUARD-NO-MANIFEST
///   something that decides is not known              cannot-tell   GUARD-UNKNOWN
///   it differs and no route is known                 refused where the build's flags are known, else cannot-tell   GUARD-NO-ROUTE
///   all agree                                        allowed       the product's match rule
///   all differences bridged, conditions met          allowed-by-route   the routes' rules
GuardResult decide(const RuleSet& rules, const GuardInput& input);

/// Facts of an engine from its manifest: product and version (toolchain), options.effective.flags, target{gpu, compute_capability, os,
/// architecture, l4t, soc, driver, abi}, host{architecture, cpu.isa}; and from its bytes. See docs/guard.md.
Facts engine_facts(const artifact::Recognised& artefact, const Json& manifest,
                   const Tables& tables);

/// Facts of a machine from snapshot/1: device{model, compute_capability, isa[], soc}, os{name, architecture}, l4t{release, revision},
/// libraries[]{soname, version}, driver. Two versions of one runtime's library leave the version unknown. Error(input) for another
/// schema and for values of a wrong type.
Facts machine_facts(const Json& snapshot, std::string_view product, const Tables& tables,
                    std::string_view source);

/// Facts of this computer: machine::host_facts(); the runtime version where the caller learned it (empty: unknown); its GPUs. GPUs
/// that differ leave the model unknown: which of them will run the engine is not known.
Facts host_machine_facts(const Json& host, const std::string& runtime_version, const Tables& tables,
                         const machine::Gpus& gpus = {});

/// Why the GPU of a machine is not known, one sentence; empty: it is known.
std::string why_no_gpu(const machine::Gpus& gpus);

/// Do the rules for this product ask for a GPU?
bool asks_for_gpu(const Product& product);

/// The product whose rules speak of this kind: "tensorrt" for "tensorrt-plan"; empty: none.
std::string product_of_kind(std::string_view kind);

/// The document guard/1.
Json guard_document(const RuleSet& rules, const std::string& path, const Json& machine,
                    const GuardInput& input, const GuardResult& result, const std::string& today);

}  // namespace requal::compat
