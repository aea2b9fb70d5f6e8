// A coverage request: the targets that someone needs, and what is offered for them. Strict YAML, docs/formats/coverage-request.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "compat/facts.h"

namespace requal {
class Yaml;
}

namespace requal::compat {

enum class Needs { now, later, not_needed };
std::string_view name_of(Needs needs);  ///< "now", "later", "not"

struct Target {
    std::string id;
    Needs needs = Needs::now;
    Facts facts;                      ///< stated and derived
    std::vector<std::string> notes;   ///< what was derived, and from what
    std::vector<std::string> stated;  ///< names of the facts that the request states
    std::string where;
};

/// Someone says that an artefact runs on targets.
struct Claim {
    std::vector<std::string> targets;  ///< ids
    std::string by, source;
    bool of_product =
        false;  ///< a general capability of the product, not a property of this artefact
};

/// Something that is at hand or named.
struct Identity {
    std::string text;    ///< as it is named, may be empty
    std::string file;    ///< as written, relative to the request
    std::string path;    ///< where it is, empty: not at hand
    std::string digest;  ///< "sha256:…", stated
    std::string container;
    bool named() const {
        return !text.empty() || !file.empty() || !digest.empty() || !container.empty();
    }
};

struct Artefact {
    std::string id;
    std::string kind;  ///< of docs/formats/inspect.md; empty: not stated
    Identity identity;
    Facts built;  ///< stated and derived
    std::vector<std::string> notes;
    std::vector<Claim> claims;
    std::string opset;   ///< stated opset number of a model
    std::string parser;  ///< release that reads it
    std::string where;
};

/// The four questions that stay apart, and nothing else.
const std::vector<std::string_view>& question_names();  ///< operators numerics shapes workload

struct Evidence {
    std::string question, what, by, model, shape;
    std::vector<std::string> targets;
};

struct Input {
    Identity identity;
    bool not_needed = false;
};

/// Statements of a regeneration, by name; a name that is absent is unstated.
const std::vector<std::string_view>& regeneration_inputs();
const std::vector<std::string_view>& regeneration_statements();

struct Regeneration {
    bool offered = false;
    std::map<std::string, Input, std::less<>> inputs;
    std::string party;
    std::vector<std::string> confirms;  ///< ids of targets that the party confirmed
    std::map<std::string, std::string, std::less<>> statements;
};

struct Offer {
    std::string id, supplier;
    std::vector<Artefact> artefacts;
    std::vector<Evidence> evidence;
    Regeneration regeneration;
    std::string inference_memory;  ///< how it is shown to fit; empty: not
};

struct Request {
    std::string name, path, digest;
    std::string product;  ///< of targets that name none
    std::string model;
    std::vector<std::string> shapes;
    std::string acceptance_owner, acceptance_criteria;
    std::vector<Target> targets;
    std::vector<Offer> offers;

    const Target* target(std::string_view id) const;
    /// A target by its id, or by the end of its id behind '-' when only one has it ("T7"). Error(usage).
    const Target& find(std::string_view id) const;
};

/// Products of dimensions with more targets are refused.
constexpr std::size_t target_limit = 4096;

/// Reads a request; files are looked for in its folder and below it. Error(input) by file and line for unknown keys, flags and targets,
/// for two targets that are one, and for facts that contradict each other or the tables.
Request read_request(const std::string& path, const Tables& tables);
Request read_request(const Yaml& yaml, const std::string& path, const Tables& tables);

}  // namespace requal::compat
