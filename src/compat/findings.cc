#include "compat/findings.h"

#include <algorithm>
#include <map>

#include "compat/version.h"

namespace requal::compat {

namespace {

/// Findings of one text are one finding with many subjects.
class Findings {
public:
    explicit Findings(std::string offer) : offer_(std::move(offer)) {}

    void add(const std::string& kind, const std::string& text, const std::string& subject) {
        for (Json& known : list_)
            if (known.at("kind").as_string() == kind && known.at("text").as_string() == text) {
                known["subjects"].push_back(subject);
                return;
            }
        list_.push_back(Json::object({{"kind", kind},
                                      {"offer", offer_.empty() ? Json() : Json(offer_)},
                                      {"subjects", Json::array({Json(subject)})},
                                      {"text", text}}));
    }
    std::vector<Json> take() { return std::move(list_); }

private:
    std::string offer_;
    std::vector<Json> list_;
};

bool contains(const std::vector<std::string>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

/// Of another model or another shape than the request is about; empty: of this one.
std::string other_subject(const Request& request, const Evidence& evidence) {
    if (!request.model.empty() && !evidence.model.empty() && evidence.model != request.model)
        return "the model " + evidence.model;
    if (!request.shapes.empty() && !evidence.shape.empty() &&
        !contains(request.shapes, evidence.shape))
        return "the shape " + evidence.shape;
    return {};
}

bool is_model(std::string_view kind) {
    return kind == "onnx" || kind == "openvino-ir" || kind == "torch-checkpoint" ||
           kind == "torchscript" || kind == "safetensors";
}

std::string sentence_name(std::string_view name) {
    static const std::map<std::string, std::string, std::less<>> names = {
        {"graph", "the model's graph"},
        {"parameters", "its parameters"},
        {"custom_operators", "definitions of custom operators (or that none are needed)"},
        {"plugins", "plugin dependencies (or that none are needed)"},
        {"parser", "the parser's release"},
        {"builder", "the builder's release"},
        {"configuration", "the build configuration"},
        {"shape_profiles", "the input shape profiles"},
        {"validation_report", "validation report that comes with a regenerated engine"},
        {"changes_included", "requested changes that regeneration includes"},
        {"returns_unsupported", "how the finding 'unsupported' comes back"},
        {"returns_model_change", "how the finding 'needs a model change' comes back"},
        {"dependencies_reach", "how target-specific dependencies reach the destination"},
        {"rights_to_modify", "who may modify the contents"},
        {"rights_to_redistribute", "who may redistribute the contents"},
        {"hand_off", "the physical hand-off"}};
    const auto found = names.find(name);
    return found == names.end() ? std::string(name) : found->second;
}

}  // namespace

std::vector<Json> target_findings(const RuleSet& rules, const Request& request) {
    Findings findings("");
    for (const Target& target : request.targets) {
        const auto gpu = word_of(target.facts, "gpu");
        const KnownGpu* known = gpu ? rules.tables.gpu(*gpu) : nullptr;
        const bool l4t = target.facts.contains("l4t");
        if (known && known->has_variants && gpu_key(*gpu) == known->key)
            findings.add("loose-target",
                         "'" + *gpu +
                             "' names several products: say which variant, as the driver names it",
                         target.id);
        if (gpu && !known)
            findings.add("loose-target",
                         "'" + *gpu +
                             "' is not in the table of known GPUs: it is kept as written and taken "
                             "for no other",
                         target.id);
        if (!gpu && !target.facts.contains("soc") && !target.facts.contains("isa"))
            findings.add("loose-target", "no device is named", target.id);
        const auto version = word_of(target.facts, "version");
        const auto parsed = version ? parse_version(*version) : std::nullopt;
        if (!version)
            findings.add("loose-target", "no runtime version is named", target.id);
        else if (parsed && parsed->numbers.size() < 4 &&
                 word_of(target.facts, "product").value_or("").starts_with("tensorrt"))
            findings.add("loose-target",
                         "'" + *version + "' has no build number, and the default match needs one",
                         target.id);
        if (!target.facts.contains("platform"))
            findings.add("loose-target",
                         "the operating system or the CPU architecture is not named", target.id);
        if (!target.facts.contains("os_release") && !l4t)
            findings.add("loose-target", "the release of the operating system is not named",
                         target.id);
        if (target.facts.contains("jetpack") && !l4t) {
            const std::string name = target.facts.at("jetpack").front();
            const auto stacks = rules.tables.stacks_of_jetpack(name);
            std::string text = "JetPack " + name +
                               " is no key of an environment: name the L4T release and "
                               "the installed TensorRT version";
            if (stacks.size() > 1)
                text += " (it shipped " + std::to_string(stacks.size()) + " TensorRT builds)";
            findings.add("jetpack-as-key", text, target.id);
        }
        if (l4t && !rules.tables.stack_of_l4t(target.facts.at("l4t").front()))
            findings.add("loose-target",
                         "L4T " + target.facts.at("l4t").front() +
                             " is not in the table of known releases",
                         target.id);
    }
    return findings.take();
}

std::vector<Json> offer_findings(const Request& request, const Offer& offer,
                                 const std::vector<Bytes>& bytes,
                                 const std::vector<Entry>& entries) {
    Findings findings(offer.id);
    for (std::size_t a = 0; a < offer.artefacts.size(); ++a) {
        const Artefact& artefact = offer.artefacts[a];
        const Identity& identity = artefact.identity;
        if (!identity.container.empty() &&
            identity.container.find("@sha256:") == std::string::npos && identity.digest.empty())
            findings.add("named-not-identified",
                         "a container is named by its tag, which can be moved: state its digest",
                         artefact.id);
        else if (identity.digest.empty() && !bytes[a].at_hand &&
                 identity.container.find("@sha256:") == std::string::npos)
            findings.add("named-not-identified",
                         "it is identified by a name and by nothing else: state its digest",
                         artefact.id);
        for (const Claim& claim : artefact.claims)
            if (claim.of_product)
                findings.add(
                    "general-capability",
                    "what " + claim.by +
                        " says is what the product can do, not how this artefact was built",
                    artefact.id);
        const std::string& kind = bytes[a].at_hand ? bytes[a].kind : artefact.kind;
        if (is_model(kind) && !artefact.claims.empty())
            findings.add(
                "input-as-engine",
                "a model is offered as covering targets: it is an input to a build, no engine",
                artefact.id);
        if (is_model(kind) && !artefact.opset.empty() && artefact.parser.empty())
            findings.add(
                "opset-only",
                "an opset number does not say that a parser release reads every operator and "
                "attribute: name the release",
                artefact.id);
        else if (is_model(kind) && artefact.parser.empty())
            findings.add("parser-not-named", "the parser release that reads the model is not named",
                         artefact.id);
    }
    const Regeneration& regeneration = offer.regeneration;
    if (regeneration.offered) {
        const auto parser = regeneration.inputs.find("parser");
        if (parser == regeneration.inputs.end() || !parser->second.identity.named())
            findings.add("parser-not-named",
                         "the parser release that reads the graph at regeneration is not named",
                         "regeneration");
    }
    for (const Evidence& evidence : offer.evidence)
        if (const std::string other = other_subject(request, evidence); !other.empty())
            findings.add("evidence-of-another",
                         "evidence on " + evidence.question + " is of " + other +
                             " and says nothing of what was asked",
                         evidence.what);
    if (offer.inference_memory.empty())
        findings.add(
            "memory-not-shown",
            "that weights, activations and workspace fit the memory of the targets is not shown",
            offer.id);
    for (std::size_t t = 0; t < entries.size(); ++t)
        if (entries[t].claim_against_rule)
            findings.add("claim-against-rule",
                         "documented by the supplier and excluded by " + entries[t].rules.front() +
                             "; the stricter statement decides",
                         request.targets[t].id);
    return findings.take();
}

std::string_view responsibility_of(const Regeneration& regeneration) {
    if (!regeneration.offered)
        return "not offered";
    return regeneration.party.empty() ? "unresolved" : "named";
}

std::vector<std::string> missing_inputs(const Regeneration& regeneration) {
    std::vector<std::string> missing;
    if (!regeneration.offered)
        return missing;
    for (const std::string_view name : regeneration_inputs()) {
        const auto found = regeneration.inputs.find(name);
        if (found == regeneration.inputs.end() ||
            (!found->second.not_needed && !found->second.identity.named()))
            missing.emplace_back(name);
    }
    return missing;
}

Json regeneration_json(const Regeneration& regeneration) {
    Json result =
        Json::object({{"offered", regeneration.offered},
                      {"responsibility", responsibility_of(regeneration)},
                      {"party", regeneration.party.empty() ? Json() : Json(regeneration.party)},
                      {"confirms", text_array(regeneration.confirms)}});
    Json inputs = Json::object(), statements = Json::object();
    const std::vector<std::string> missing = missing_inputs(regeneration);
    if (regeneration.offered) {
        for (const std::string_view name : regeneration_inputs()) {
            const auto found = regeneration.inputs.find(name);
            const bool absent = contains(missing, name);
            Json entry = Json::object({{"state", absent                     ? "missing"
                                                 : found->second.not_needed ? "not needed"
                                                                            : "identified"}});
            if (!absent && !found->second.not_needed) {
                const Identity& identity = found->second.identity;
                entry["identity"] = !identity.digest.empty() ? identity.digest
                                    : !identity.text.empty() ? identity.text
                                    : !identity.file.empty() ? identity.file
                                                             : identity.container;
                if (!identity.path.empty()) {
                    const Bytes bytes = read_bytes(identity);
                    entry["kind"] = bytes.kind;
                    if (!identity.digest.empty() && identity.digest != bytes.digest)
                        entry["state"] = "contradicted";
                }
            }
            entry["label"] = sentence_name(name);
            inputs[name] = std::move(entry);
        }
        for (const std::string_view name : regeneration_statements()) {
            const auto found = regeneration.statements.find(name);
            statements[name] = found == regeneration.statements.end()
                                   ? Json::object({{"state", "unstated"}})
                                   : Json::object({{"state", "stated"}, {"text", found->second}});
            statements[name]["label"] = sentence_name(name);
        }
    }
    result["inputs"] = std::move(inputs);
    result["statements"] = std::move(statements);
    return result;
}

Json question_states(const Request& request, const Offer& offer, const Target& target) {
    Json result = Json::object();
    for (const std::string_view question : question_names()) {
        std::string_view state = "unanswered";
        for (const Evidence& evidence : offer.evidence) {
            if (evidence.question != question ||
                (!evidence.targets.empty() && !contains(evidence.targets, target.id)))
                continue;
            if (other_subject(request, evidence).empty())
                state = "evidence";
            else if (state == "unanswered")
                state = "evidence of another";
        }
        result[question] = state;
    }
    return result;
}

std::vector<std::string> supplier_questions(const Request& request, const Offer& offer,
                                            const std::vector<Entry>& entries,
                                            const std::vector<Json>& findings) {
    std::vector<std::string> list;
    std::string unaddressed;
    std::size_t count = 0;
    for (std::size_t t = 0; t < entries.size(); ++t)
        if (entries[t].status == Status::unaddressed &&
            request.targets[t].needs != Needs::not_needed) {
            if (++count <= 16)
                unaddressed += (unaddressed.empty() ? "" : ", ") + request.targets[t].id;
        }
    if (count > 16)
        unaddressed += " and " + std::to_string(count - 16) + " more";
    if (count > 0)
        list.push_back("Which artefact covers " + unaddressed +
                       ": documented for it, or by which build flags and which rule?");
    // conditions that are open for several targets are asked once
    std::map<std::string, std::vector<std::string>> open;
    std::vector<std::string> order;
    for (std::size_t t = 0; t < entries.size(); ++t) {
        for (const std::string& text : entries[t].to_show) {
            if (!open.contains(text))
                order.push_back(text);
            open[text].push_back(request.targets[t].id);
        }
        if (entries[t].status == Status::contradicted)
            list.push_back("For " + request.targets[t].id +
                           ": why do the bytes and what is stated disagree (" +
                           entries[t].why.front() + ")?");
    }
    for (const std::string& text : order) {
        const auto& ids = open[text];
        list.push_back("Please show for " + ids.front() +
                       (ids.size() > 1 ? " and " + std::to_string(ids.size() - 1) + " more" : "") +
                       ": " + text);
    }
    for (const Json& finding : findings) {
        const std::string& kind = finding.at("kind").as_string();
        const std::string subject = finding.at("subjects").as_array().front().as_string();
        const std::size_t others = finding.at("subjects").size() - 1;
        const std::string whom =
            subject + (others > 0 ? " and " + std::to_string(others) + " more" : "");
        if (kind == "named-not-identified")
            list.push_back("What is the digest of " + whom + "?");
        else if (kind == "general-capability")
            list.push_back("Was " + whom +
                           " itself built with that capability, and with which flags?");
        else if (kind == "parser-not-named" || kind == "opset-only")
            list.push_back("Which parser release reads the graph (" + whom + ")?");
        else if (kind == "memory-not-shown")
            list.push_back(
                "How much memory does inference need on each target, and how was it measured?");
        else if (kind == "evidence-of-another")
            list.push_back("Is there such evidence of what was asked (" + whom + ")?");
    }
    const Regeneration& regeneration = offer.regeneration;
    if (!regeneration.offered) {
        if (count > 0)
            list.push_back(
                "Is regeneration offered for the targets that are not covered, and by whom?");
    } else {
        if (regeneration.party.empty())
            list.push_back("Which named party supplies a regenerated engine?");
        if (regeneration.confirms.empty())
            list.push_back("Which of the requested targets does that party confirm as supported?");
        for (const std::string& name : missing_inputs(regeneration))
            list.push_back("Please identify for regeneration: " + sentence_name(name) + ".");
        static const std::vector<std::pair<std::string_view, std::string_view>> statements = {
            {"validation_report", "Which validation report comes with a regenerated engine?"},
            {"changes_included", "Which requested changes does regeneration include?"},
            {"returns_unsupported", "How is the finding returned that a target is unsupported?"},
            {"returns_model_change",
             "How is the finding returned that a target needs a model change?"},
            {"dependencies_reach",
             "How will each target-specific dependency be available at the destination?"},
            {"rights_to_modify", "Who may modify the contents?"},
            {"rights_to_redistribute", "Who may redistribute the contents?"},
            {"hand_off", "Which physical hand-off does the software team need?"}};
        for (const auto& [name, question] : statements)
            if (!regeneration.statements.contains(name))
                list.emplace_back(question);
    }
    for (const std::string_view question : question_names()) {
        const bool answered =
            std::any_of(request.targets.begin(), request.targets.end(), [&](const Target& target) {
                return question_states(request, offer, target).at(question).as_string() ==
                       "evidence";
            });
        if (answered)
            continue;
        if (question == "operators")
            list.emplace_back("Does the named parser, with its plugins, implement every operator "
                              "and attribute of this graph?");
        else if (question == "numerics")
            list.emplace_back("What shows that the engine keeps the required numerical behaviour?");
        else if (question == "shapes")
            list.emplace_back(
                "What shows that the engine covers the intended input shapes and batches?");
        else
            list.emplace_back("What shows that the application meets its workload on the target?");
    }
    return list;
}

Json transition_json(const Request& request, const Target& from, const Target& to,
                     const std::vector<std::vector<Entry>>& entries) {
    const auto index = [&](const Target& target) {
        return static_cast<std::size_t>(&target - request.targets.data());
    };
    Json offers = Json::array();
    for (std::size_t o = 0; o < request.offers.size(); ++o) {
        const Offer& offer = request.offers[o];
        const Entry& before = entries[index(from)][o];
        const Entry& after = entries[index(to)][o];
        const bool covered = after.status >= Status::covered_by_route;
        const bool same_artefact = covered && before.artefact == after.artefact;
        Json steps = Json::array();
        const auto step = [&](const char* question, const std::string& answer, bool settled) {
            steps.push_back(
                Json::object({{"question", question}, {"answer", answer}, {"settled", settled}}));
        };
        step("does an engine of the offer have coverage at the destination?",
             std::string(name_of(after.status)) + (covered ? ", by " + after.artefact : ""),
             covered);
        if (covered && !same_artefact && !before.artefact.empty())
            step("is it the engine in service?",
                 "no: " + before.artefact + " is in service, " + after.artefact +
                     " covers the destination",
                 true);
        const Regeneration& regeneration = offer.regeneration;
        if (!covered) {
            const bool confirmed = contains(regeneration.confirms, to.id);
            step("who supplies a replacement?",
                 !regeneration.offered        ? "nobody: regeneration is not offered"
                 : regeneration.party.empty() ? "unresolved: inputs without a party"
                 : confirmed
                     ? regeneration.party + ", confirmed for this target"
                     : regeneration.party + ", for targets it confirms; this one is not confirmed",
                 confirmed && !regeneration.party.empty());
            const std::vector<std::string> missing = missing_inputs(regeneration);
            if (regeneration.offered)
                step("are the inputs identified?",
                     missing.empty() ? "all of them"
                                     : std::to_string(missing.size()) + " are missing",
                     missing.empty());
        }
        std::string unanswered;
        const Json states = question_states(request, offer, to);
        for (const std::string_view question : question_names())
            if (states.at(question).as_string() != "evidence")
                unanswered += (unanswered.empty() ? "" : ", ") + std::string(question);
        step("is there evidence at the destination?",
             unanswered.empty() ? "on all four questions" : "not on " + unanswered,
             unanswered.empty());
        step("who accepts it?",
             (request.acceptance_owner.empty() ? std::string("nobody is named")
                                               : request.acceptance_owner) +
                 "; what was accepted for " + from.id + " settles nothing for " + to.id,
             false);
        offers.push_back(Json::object({{"offer", offer.id}, {"steps", std::move(steps)}}));
    }
    Json changes = Json::array();
    for (const auto& [name, words] : to.facts) {
        const auto before = from.facts.find(name);
        if (name == "platform" || (before != from.facts.end() && before->second == words))
            continue;
        std::string was = before == from.facts.end() ? "not stated" : "", is;
        if (before != from.facts.end())
            for (const std::string& word : before->second)
                was += (was.empty() ? "" : " ") + word;
        for (const std::string& word : words)
            is += (is.empty() ? "" : " ") + word;
        changes.push_back(Json::object({{"what", name == "cc" ? "compute_capability" : name},
                                        {"before", was},
                                        {"after", is}}));
    }
    return Json::object({{"from", from.id},
                         {"to", to.id},
                         {"changes", std::move(changes)},
                         {"offers", std::move(offers)}});
}

}  // namespace requal::compat
