#include "compat/guard.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "compat/assess.h"
#include "compat/version.h"

namespace requal::compat {

std::string_view name_of(Decision decision) {
    switch (decision) {
    case Decision::allowed:
        return "allowed";
    case Decision::allowed_by_route:
        return "allowed-by-route";
    case Decision::refused:
        return "refused";
    case Decision::cannot_tell:
        break;
    }
    return "cannot-tell";
}

ExitStatus exit_status_of(Decision decision) {
    return decision == Decision::refused       ? ExitStatus::failed
           : decision == Decision::cannot_tell ? ExitStatus::undecidable
                                               : ExitStatus::passed;
}

std::string product_of_kind(std::string_view kind) {
    static const std::map<std::string_view, std::string_view> products = {
        {"tensorrt-plan", "tensorrt"},
        {"tensorrt-rtx-plan", "tensorrt-rtx"},
        {"openvino-blob", "openvino"},
        {"qnn-context", "qnn"},
        {"hailo-hef", "hailo"}};
    const auto found = products.find(kind);
    return found == products.end() ? std::string() : std::string(found->second);
}

namespace {

std::string product_of_toolchain(const std::string& name) {
    const std::string head = name.substr(0, name.find(':'));
    if (head == "onnxruntime")
        return "onnxruntime-" + (name.size() > head.size() ? name.substr(head.size() + 1) : "");
    return head;
}

std::string text_of(const Json& object, const char* key) {
    return object.is_object() && object.get(key).is_string() ? object.get(key).as_string()
                                                             : std::string();
}

void set(Facts& facts, const std::string& name, const std::string& value) {
    if (!value.empty())
        facts[name] = {value};
}

std::vector<std::string> words_of(const Json& list) {
    std::vector<std::string> words;
    for (const Json& item : list.as_array())
        words.push_back(item.as_string());
    return words;
}

/// In words for people: "gpu: GPU model".
std::string first_part(const std::string& line) {
    return line.substr(0, line.find(':'));
}

class Table {
public:
    Table(const RuleSet& rules, const GuardInput& input) : rules_(rules), input_(input) {}

    GuardResult run() {
        if (damaged() || no_engine() || altered() || contradicted())
            return std::move(result_);
        result_.built = engine_facts(input_.artefact, input_.manifest, rules_.tables);
        result_.target = input_.machine;
        const auto product = word_of(result_.built, "product");
        if (product)
            result_.target["product"] = {*product};
        derive(result_.target, rules_.tables);
        const Product* known = product ? rules_.product(*product) : nullptr;
        if (!known || known->match.empty() || !rules_.rule(known->match)) {
            answer(Decision::cannot_tell, "GUARD-NO-RULE",
                   "no rule says where engines of " + product.value_or("this product") + " run",
                   "qualify it on this machine, or add a rule with its source");
            return std::move(result_);
        }
        by_rules(*known);
        return std::move(result_);
    }

private:
    void answer(Decision decision, const std::string& rule, const std::string& message,
                const std::string& next) {
        result_.decision = decision;
        result_.reasons.push_back({rule, message});
        if (!next.empty() &&
            std::find(result_.next.begin(), result_.next.end(), next) == result_.next.end())
            result_.next.push_back(next);
    }

    bool damaged() {
        if (input_.artefact.damage.empty())
            return false;
        answer(Decision::refused, "GUARD-DAMAGED", input_.artefact.damage.front(),
               "fetch the engine again and compare its digest");
        return true;
    }

    bool no_engine() {
        const std::string& kind = input_.artefact.kind;
        if (kind == "unknown" && input_.manifest.is_null()) {
            answer(Decision::cannot_tell, "GUARD-KIND", "the bytes are of no kind that is known",
                   "give the engine itself, or its engine manifest with --manifest");
            return true;
        }
        // toolchains that execute a model as it is name it in an engine manifest
        if (artifact::is_no_engine(kind) && input_.manifest.is_null()) {
            answer(Decision::refused, "GUARD-KIND",
                   "the bytes are of the kind " + kind + ", which is no engine: its role is '" +
                       std::string(artifact::role_of_kind(kind)) + "'",
                   "build an engine of it for this machine");
            return true;
        }
        return false;
    }

    bool altered() {
        if (input_.digest_matches != Truth::no)
            return false;
        answer(Decision::refused, "GUARD-DIGEST",
               "the bytes are not those that the engine manifest describes",
               "deploy the engine that was qualified, or the manifest that belongs to this one");
        return true;
    }

    bool contradicted() {
        if (input_.manifest.is_null())
            return false;
        const Json& toolchain = input_.manifest.get("toolchain");
        const std::string of_bytes = product_of_kind(input_.artefact.kind);
        const std::string of_manifest = product_of_toolchain(text_of(toolchain, "name"));
        const char* next = "find out which of them is right before anything loads the engine";
        if (!of_bytes.empty() && !of_manifest.empty() && of_bytes != of_manifest &&
            !of_manifest.starts_with("onnxruntime")) {
            answer(Decision::refused, "GUARD-CONTRADICTION",
                   "the bytes are an engine of " + of_bytes + ", the engine manifest says " +
                       of_manifest,
                   next);
            return true;
        }
        const auto a = parse_version(text_of(input_.artefact.recorded, "runtime_version"));
        const auto b = parse_version(text_of(toolchain, "version"));
        if (a && b && !of_manifest.starts_with("onnxruntime") &&
            same_numbers(*a, *b, 4) == Truth::no) {
            answer(Decision::refused, "GUARD-CONTRADICTION",
                   "the bytes say version " + a->text + ", the engine manifest " + b->text, next);
            return true;
        }
        return false;
    }

    void by_rules(const Product& product) {
        const Assessment found = assess(rules_, result_.built, result_.target);
        if (found.match == Match::excluded) {
            for (const Applied& one : found.excludes)
                answer(Decision::refused, one.rule->id, one.rule->says, one.rule->next);
            return;
        }
        const bool device_recorded = product.name == "openvino" || product.name == "hailo" ||
                                     product.name == "qnn" || !input_.manifest.is_null();
        if (!device_recorded) {
            answer(
                Decision::cannot_tell, "GUARD-NO-MANIFEST",
                "a plan does not record its device, and there is no engine manifest",
                "give its engine manifest with --manifest, or build it again with 'requal build'");
            return;
        }
        const bool open = found.match == Match::not_addressed || !found.complete;
        if (open) {
            for (const std::string& axis : found.differs) {
                const bool known = result_.built.contains("flags");
                answer(known ? Decision::refused : Decision::cannot_tell, "GUARD-NO-ROUTE",
                       "this machine differs in " + axis,
                       known ? "build it for this machine"
                             : "state the flags of its build in the engine manifest");
            }
            if (result_.decision == Decision::refused && !found.differs.empty())
                return;
            for (const std::string& axis : found.unknown)
                answer(Decision::cannot_tell, "GUARD-UNKNOWN", not_known(product, axis),
                       "take a snapshot of the machine that tells it, or use an engine manifest "
                       "that does");
            for (const std::string& condition : found.to_show)
                if (is_condition(found, condition))
                    answer(Decision::cannot_tell, "GUARD-UNKNOWN", "not known: " + condition,
                           "take a snapshot of the machine that tells it, or use an engine "
                           "manifest that does");
            if (result_.reasons.empty())
                answer(Decision::cannot_tell, "GUARD-UNKNOWN", "too little is known",
                       "give its engine manifest with --manifest");
            return;
        }
        result_.decision =
            found.match == Match::agree ? Decision::allowed : Decision::allowed_by_route;
        for (const Applied& one : found.routes)
            result_.reasons.push_back({one.rule->id, one.rule->says});
        for (const Applied& one : found.duties) {
            result_.reasons.push_back({one.rule->id, one.rule->says});
            result_.duties.push_back(one.rule->says);
        }
        result_.prices = found.prices();
        for (const std::string& duty : result_.duties)
            result_.next.push_back("make sure of this before loading: " + duty);
    }

    /// A condition, not a duty in words.
    static bool is_condition(const Assessment& found, const std::string& text) {
        return std::none_of(found.duties.begin(), found.duties.end(),
                            [&](const Applied& one) { return one.rule->says == text; });
    }

    std::string not_known(const Product& product, const std::string& line) const {
        for (const Axis& axis : product.axes) {
            if (axis.name != first_part(line))
                continue;
            const auto stated = [&](const std::string& name) {
                const std::size_t dot = name.find('.');
                const Facts& facts = name.starts_with("built.") ? result_.built : result_.target;
                return word_of(facts, std::string_view(name).substr(dot + 1));
            };
            const auto side = [](const std::string& name) {
                return std::string(name.starts_with("built.") ? "of the engine"
                                                              : "of this machine");
            };
            const auto left = stated(axis.same.left), right = stated(axis.same.right);
            if (left && right)
                return axis.meaning + ": whether '" + *left + "' " + side(axis.same.left) +
                       " and '" + *right + "' " + side(axis.same.right) +
                       " are the same is not known";
            std::string who;
            for (const std::string* name : {&axis.same.left, &axis.same.right})
                if (!stated(*name))
                    who += (who.empty() ? "" : " and ") + side(*name);
            return axis.meaning + ": not known" + (who.empty() ? "" : " " + who);
        }
        return line;
    }

    const RuleSet& rules_;
    const GuardInput& input_;
    GuardResult result_;
};

std::string runtime_library(std::string_view product) {
    static const std::map<std::string_view, std::string_view> names = {
        {"tensorrt", "libnvinfer.so"},
        {"tensorrt-rtx", "libtensorrt_rtx.so"},
        {"openvino", "libopenvino.so"},
        {"qnn", "libQnnSystem.so"},
        {"hailo", "libhailort.so"}};
    const auto found = names.find(product);
    return found == names.end() ? std::string() : std::string(found->second);
}

}  // namespace

Facts engine_facts(const artifact::Recognised& artefact, const Json& manifest,
                   const Tables& tables) {
    Facts facts;
    set(facts, "product", product_of_kind(artefact.kind));
    set(facts, "version", text_of(artefact.recorded, "runtime_version"));
    if (artefact.kind == "hailo-hef") {
        set(facts, "soc", text_of(artefact.recorded, "hw_arch"));
        if (parse_version(text_of(artefact.recorded, "sdk_version")))
            set(facts, "version", text_of(artefact.recorded, "sdk_version"));
    }
    if (!manifest.is_object()) {
        derive(facts, tables);
        return facts;
    }
    const Json& toolchain = manifest.get("toolchain");
    if (!facts.contains("product"))
        set(facts, "product", product_of_toolchain(text_of(toolchain, "name")));
    // the manifest's version is the longer one: a blob does not record the build
    if (const std::string version = text_of(toolchain, "version"); parse_version(version))
        facts["version"] = {version};
    const Json& host = manifest.get("host");
    set(facts, "arch", architecture_name(text_of(host, "architecture")));
    if (host.is_object() && host.get("kernel").is_string())
        facts["os"] = {"linux"};
    if (host.is_object() && host.get("cpu").is_object() && host.get("cpu").get("isa").is_array())
        facts["isa"] = words_of(host.get("cpu").get("isa"));
    const Json& target = manifest.get("target");
    if (target.is_object()) {
        set(facts, "gpu", text_of(target, "gpu"));
        set(facts, "cc", text_of(target, "compute_capability"));
        set(facts, "l4t", text_of(target, "l4t"));
        set(facts, "soc", text_of(target, "soc"));
        set(facts, "driver", text_of(target, "driver"));
        set(facts, "abi", text_of(target, "abi"));
        set(facts, "os", text_of(target, "os"));
        set(facts, "arch", architecture_name(text_of(target, "architecture")));
        if (target.get("isa").is_array())
            facts["isa"] = words_of(target.get("isa"));
    }
    const Json& options = manifest.get("options");
    if (options.is_object() && options.get("effective").is_object() &&
        options.get("effective").get("flags").is_array())
        facts["flags"] = words_of(options.get("effective").get("flags"));
    derive(facts, tables);
    return facts;
}

Facts machine_facts(const Json& snapshot, std::string_view product, const Tables& tables,
                    std::string_view source) {
    require_schema(snapshot, "snapshot", 1, source);
    Facts facts;
    const auto part = [&](const char* key) -> const Json& {
        const Json& value = snapshot.get(key);
        if (!value.is_null() && !value.is_object())
            throw Error(ErrorKind::input, std::string("'") + key + "' is no object",
                        std::string(source), "give a snapshot as 'requal snapshot' writes it");
        return value;
    };
    const Json& device = part("device");
    set(facts, "gpu", text_of(device, "model"));
    set(facts, "cc", text_of(device, "compute_capability"));
    set(facts, "soc", text_of(device, "soc"));
    if (device.is_object() && device.get("isa").is_array())
        facts["isa"] = words_of(device.get("isa"));
    const Json& os = part("os");
    set(facts, "os", text_of(os, "name"));
    set(facts, "os_release", text_of(os, "release"));
    set(facts, "arch", architecture_name(text_of(os, "architecture")));
    const Json& l4t = part("l4t");
    if (!text_of(l4t, "release").empty())
        facts["l4t"] = {"r" + text_of(l4t, "release") +
                        (text_of(l4t, "revision").empty() ? "" : "." + text_of(l4t, "revision"))};
    if (snapshot.get("driver").is_string())
        set(facts, "driver", snapshot.get("driver").as_string());
    const std::string library = runtime_library(product);
    std::set<std::string> versions;
    if (snapshot.get("libraries").is_array() && !library.empty())
        for (const Json& item : snapshot.get("libraries").as_array())
            if (text_of(item, "soname").starts_with(library) &&
                parse_version(text_of(item, "version")))
                versions.insert(text_of(item, "version"));
    if (versions.size() == 1)
        facts["version"] = {*versions.begin()};
    else if (versions.size() > 1)
        // two libraries: which one a process loads is not known, and L4T does not tell either
        facts["version"] = {versions.begin(), versions.end()};
    facts.try_emplace("product", std::vector<std::string>{std::string(product)});
    // what L4T is said to ship is not what is installed: the version is never derived for a machine
    const bool has_version = facts.contains("version");
    if (!has_version)
        facts["version"] = {};
    derive(facts, tables);
    if (!has_version)
        facts.erase("version");
    return facts;
}

std::string why_no_gpu(const machine::Gpus& gpus) {
    if (!gpus.why_not.empty())
        return "GPU: " + gpus.why_not;
    if (gpus.list.empty())
        return "GPU: the driver counts none";
    for (const machine::Gpu& gpu : gpus.list)
        if (gpu != gpus.list.front())
            return "GPU: this machine has " + gpus.list.front().model + " and " + gpu.model +
                   ", and which of them will run the engine is not known";
    return {};
}

bool asks_for_gpu(const Product& product) {
    return std::any_of(product.axes.begin(), product.axes.end(), [](const Axis& axis) {
        return axis.same.left.ends_with(".gpu") || axis.same.left.ends_with(".cc");
    });
}

Facts host_machine_facts(const Json& host, const std::string& runtime_version, const Tables& tables,
                         const machine::Gpus& gpus) {
    Facts facts;
    set(facts, "arch", architecture_name(text_of(host, "architecture")));
    if (host.get("kernel").is_string())
        facts["os"] = {"linux"};
    if (host.get("cpu").is_object() && host.get("cpu").get("isa").is_array())
        facts["isa"] = words_of(host.get("cpu").get("isa"));
    set(facts, "version", runtime_version);
    set(facts, "driver", gpus.driver);
    if (why_no_gpu(gpus).empty()) {
        set(facts, "gpu", gpus.list.front().model);
        set(facts, "cc", gpus.list.front().compute_capability);
    }
    derive(facts, tables);
    return facts;
}

GuardResult decide(const RuleSet& rules, const GuardInput& input) {
    return Table(rules, input).run();
}

namespace {

Json facts_json(const Facts& facts) {
    Json object = Json::object();
    for (const auto& [name, words] : facts) {
        Json list = Json::array();
        for (const std::string& word : words)
            list.push_back(word);
        object[name == "cc" ? "compute_capability" : name] =
            words.size() == 1 && name != "isa" && name != "flags" ? Json(words.front())
                                                                  : std::move(list);
    }
    return object;
}

}  // namespace

Json guard_document(const RuleSet& rules, const std::string& path, const Json& machine,
                    const GuardInput& input, const GuardResult& result, const std::string& today) {
    Json document = new_document("guard", 1);
    document["decision"] = name_of(result.decision);
    document["verdict"] = name_of(result.decision == Decision::refused       ? Verdict::fail
                                  : result.decision == Decision::cannot_tell ? Verdict::undecidable
                                                                             : Verdict::pass);
    document["engine"] = Json::object({{"path", path},
                                       {"kind", input.artefact.kind},
                                       {"manifest", !input.manifest.is_null()},
                                       {"facts", facts_json(result.built)}});
    document["machine"] = Json::object({{"from", machine},
                                        {"facts", facts_json(result.target)},
                                        {"unknown", text_array(input.machine_unknown)}});
    Json reasons = Json::array();
    for (const Reason& reason : result.reasons) {
        const Rule* rule = rules.rule(reason.rule);
        reasons.push_back(
            Json::object({{"rule", reason.rule},
                          {"message", reason.message},
                          {"certainty", rule ? Json(name_of(rule->certainty)) : Json()},
                          {"overdue", rule ? Json(is_overdue(*rule, today)) : Json()}}));
    }
    document["reasons"] = std::move(reasons);
    document["next"] = text_array(result.next);
    document["duties"] = text_array(result.duties);
    document["price"] = text_array(result.prices);
    document["rule_set"] = rules.described;
    return document;
}

}  // namespace requal::compat
