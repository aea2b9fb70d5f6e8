#include "compat/request.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "compat/version.h"

namespace requal::compat {

std::string_view name_of(Needs needs) {
    return needs == Needs::now ? "now" : needs == Needs::later ? "later" : "not";
}

const std::vector<std::string_view>& question_names() {
    static const std::vector<std::string_view> names = {"operators", "numerics", "shapes",
                                                        "workload"};
    return names;
}

const std::vector<std::string_view>& regeneration_inputs() {
    static const std::vector<std::string_view> names = {
        "graph",  "parameters", "custom_operators", "plugins",
        "parser", "builder",    "configuration",    "shape_profiles"};
    return names;
}

const std::vector<std::string_view>& regeneration_statements() {
    static const std::vector<std::string_view> names = {
        "validation_report",  "changes_included", "returns_unsupported",    "returns_model_change",
        "dependencies_reach", "rights_to_modify", "rights_to_redistribute", "hand_off"};
    return names;
}

namespace {

const std::vector<std::string_view>& flag_names() {
    static const std::vector<std::string_view> names = {"version-compatible",
                                                        "exclude-lean-runtime",
                                                        "hardware-compatible-ampere-plus",
                                                        "hardware-compatible-same-cc",
                                                        "runtime-platform-windows-amd64",
                                                        "default-compute-capabilities",
                                                        "strict-versioning",
                                                        "plugins",
                                                        "refit",
                                                        "stripped"};
    return names;
}

class RequestReader {
public:
    RequestReader(const std::string& path, const Tables& tables) : tables_(tables) {
        request_.path = path;
        folder_ = std::filesystem::path(path).parent_path().string();
        if (folder_.empty())
            folder_ = ".";
    }

    Request read(const Yaml& yaml) {
        yaml.allow_keys({"schema", "name", "product", "workload", "acceptance", "targets",
                         "dimensions", "offers"});
        if (yaml.at("schema").text() != "coverage-request/1")
            yaml.at("schema").fail("'" + yaml.at("schema").text() + "' is not coverage-request/1",
                                   "write 'schema: coverage-request/1'");
        request_.name = yaml.text_or("name", "");
        request_.product = yaml.text_or("product", "tensorrt");
        if (const Yaml* workload = yaml.find("workload")) {
            workload->allow_keys({"model", "shapes"});
            request_.model = workload->text_or("model", "");
            if (const Yaml* shapes = workload->find("shapes"))
                for (const Yaml& shape : shapes->items())
                    request_.shapes.push_back(shape.text());
        }
        if (const Yaml* acceptance = yaml.find("acceptance")) {
            acceptance->allow_keys({"owner", "criteria"});
            request_.acceptance_owner = acceptance->text_or("owner", "");
            request_.acceptance_criteria = acceptance->text_or("criteria", "");
        }
        if (const Yaml* targets = yaml.find("targets"))
            for (const Yaml& item : targets->items())
                add_target(read_target(item), item);
        if (const Yaml* dimensions = yaml.find("dimensions"))
            read_dimensions(*dimensions);
        if (request_.targets.empty())
            yaml.fail("no target is named", "add 'targets' or 'dimensions'");
        if (const Yaml* offers = yaml.find("offers"))
            for (const Yaml& item : offers->items())
                read_offer(item);
        return std::move(request_);
    }

private:
    static Needs read_needs(const Yaml& map, Needs fallback) {
        const Yaml* value = map.find("needs");
        if (!value)
            return fallback;
        for (const Needs needs : {Needs::now, Needs::later, Needs::not_needed})
            if (value->text() == name_of(needs))
                return needs;
        value->fail("'" + value->text() + "' is none of now, later, not", "use one of them");
    }

    static std::string checked_text(const Yaml& value) {
        if (value.text().empty())
            value.fail("is empty", "write it, or leave the key out");
        return value.text();
    }

    static std::vector<std::string> words_of(const Yaml& value) {
        std::vector<std::string> words;
        if (value.kind() == Yaml::Kind::sequence)
            for (const Yaml& item : value.items())
                words.push_back(checked_text(item));
        else
            words.push_back(checked_text(value));
        return words;
    }

    /// One fact of a target or a build; false: not the name of a fact.
    static bool read_fact(const std::string& key, const Yaml& value, Facts& facts) {
        static const std::set<std::string, std::less<>> lists = {"isa", "allows", "flags"};
        static const std::set<std::string, std::less<>> scalars = {
            "product", "version", "gpu",    "os",  "os_release", "arch", "jetpack",
            "l4t",     "cuda",    "driver", "cpu", "soc",        "abi"};
        if (lists.contains(key)) {
            facts[key] = words_of(value);
            return true;
        }
        if (key == "compute_capability") {
            if (!parse_version(value.text()))
                value.fail("'" + value.text() + "' is no compute capability", "write it as 8.7");
            facts["cc"] = {value.text()};
            return true;
        }
        if (key == "platform") {
            const std::string text = checked_text(value);
            const std::size_t dash = text.find('-');
            if (dash == std::string::npos || dash == 0 || dash + 1 == text.size())
                value.fail("'" + text + "' is no platform", "write it as linux-x86_64");
            set_once(facts, "os", text.substr(0, dash), value);
            set_once(facts, "arch", architecture_name(text.substr(dash + 1)), value);
            return true;
        }
        if (!scalars.contains(key))
            return false;
        std::string text = checked_text(value);
        if (key == "arch")
            text = architecture_name(text);
        if ((key == "version" || key == "cuda" || key == "driver" || key == "l4t") &&
            !parse_version(text))
            value.fail("'" + text + "' is no version",
                       "write it as 10.3.0.26 or 10.3.0.26-1+cuda12.5");
        if (key == "os")
            std::transform(text.begin(), text.end(), text.begin(), [](char c) {
                return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
            });
        if (key == "os" || key == "arch")
            set_once(facts, key, text, value);
        else
            facts[key] = {text};
        return true;
    }

    static void set_once(Facts& facts, const std::string& key, const std::string& text,
                         const Yaml& value) {
        const auto [entry, fresh] = facts.try_emplace(key, std::vector<std::string>{text});
        if (!fresh && entry->second != std::vector<std::string>{text})
            value.fail("'" + text + "' contradicts '" + entry->second.front() + "'",
                       "state 'platform', or 'os' and 'arch'");
    }

    /// What is stated against what the tables say of it.
    void check_facts(const Facts& facts, const Yaml& at) const {
        const auto gpu = word_of(facts, "gpu");
        const KnownGpu* known = gpu ? tables_.gpu(*gpu) : nullptr;
        const auto cc = word_of(facts, "cc");
        // Thor carries 10.1 in older CUDA releases and 11.0 in newer ones (JP-CC-THOR)
        if (known && cc && *cc != known->cc && !(known->cc == "11.0" && *cc == "10.1"))
            at.fail("compute capability " + *cc + " contradicts the GPU " + *gpu + ", which has " +
                        known->cc,
                    "correct one of them");
        const auto jetpack = word_of(facts, "jetpack");
        const auto l4t = word_of(facts, "l4t");
        const Stack* stack = l4t ? tables_.stack_of_l4t(*l4t) : nullptr;
        if (stack && jetpack && *jetpack != stack->jetpack)
            at.fail("JetPack " + *jetpack + " contradicts L4T " + *l4t + ", which is JetPack " +
                        stack->jetpack,
                    "correct one of them");
        if (jetpack || l4t) {
            if (known && !known->jetson)
                at.fail("the GPU " + *gpu + " is no Jetson, yet a JetPack or L4T release is named",
                        "correct one of them");
            const auto arch = word_of(facts, "arch");
            const auto os = word_of(facts, "os");
            if ((arch && *arch != "aarch64") || (os && *os != "linux"))
                at.fail("JetPack runs on linux-aarch64 only", "correct the platform");
        }
    }

    Target read_target(const Yaml& item) const {
        Target target;
        target.where = item.where();
        target.id = checked_text(item.at("id"));
        target.needs = read_needs(item, Needs::now);
        for (const auto& [key, value] : item.members()) {
            if (key == "id" || key == "needs")
                continue;
            if (key == "flags" || !read_fact(key, value, target.facts))
                item.allow_keys({"id", "needs", "product", "version", "gpu", "compute_capability",
                                 "os", "os_release", "arch", "platform", "jetpack", "l4t", "cuda",
                                 "driver", "isa", "cpu", "soc", "abi", "allows"});
        }
        return target;
    }

    void add_target(Target target, const Yaml& at) {
        if (request_.targets.size() == target_limit)
            at.fail("more than " + std::to_string(target_limit) + " targets", "split the request");
        for (const auto& [name, words] : target.facts)
            target.stated.push_back(name);
        target.facts.try_emplace("product", std::vector<std::string>{request_.product});
        check_facts(target.facts, at);
        if (const Target* other = request_.target(target.id))
            at.fail("a second target '" + target.id + "', the first is at " + other->where,
                    "give it another id");
        if (const auto [same, fresh] = tuples_.emplace(target.facts, target.id); !fresh)
            at.fail("'" + target.id + "' is the same target as '" + same->second + "'",
                    "keep one of them, with one 'needs'");
        target.notes = derive(target.facts, tables_);
        ids_.insert(target.id);
        request_.targets.push_back(std::move(target));
    }

    void read_dimensions(const Yaml& yaml) {
        yaml.allow_keys({"id", "needs", "first", "values"});
        const std::string prefix = checked_text(yaml.at("id"));
        const Needs needs = read_needs(yaml, Needs::now);
        const std::int64_t first = yaml.integer_or("first", 1);
        const auto& dimensions = yaml.at("values").members();
        std::size_t count = 1;
        for (const auto& [key, values] : dimensions) {
            const std::size_t size = values.items().size();
            if (size == 0)
                values.fail("a dimension without values", "add values or leave it out");
            if (size > target_limit || count * size > target_limit)
                values.fail("the product of the dimensions passes " + std::to_string(target_limit) +
                                " targets",
                            "name the targets that are needed, or split the request");
            count *= size;
        }
        for (std::size_t index = 0; index < count; ++index) {
            Target target;
            target.where = yaml.where();
            target.needs = needs;
            target.id = prefix + std::to_string(first + static_cast<std::int64_t>(index));
            std::size_t rest = index;
            for (const auto& [key, values] : dimensions) {
                const Yaml& value = values.items()[rest % values.items().size()];
                rest /= values.items().size();
                if (key == "flags" || !read_fact(key, value, target.facts))
                    yaml.at("values").allow_keys({"product", "version", "gpu", "compute_capability",
                                                  "os", "os_release", "arch", "platform", "jetpack",
                                                  "l4t", "cuda", "driver", "isa", "cpu", "soc",
                                                  "abi"});
            }
            add_target(std::move(target), yaml);
        }
    }

    std::vector<std::string> target_ids(const Yaml& list) const {
        std::vector<std::string> ids;
        for (const Yaml& item : list.items()) {
            if (!ids_.contains(item.text())) {
                std::vector<std::string_view> known(ids_.begin(), ids_.end());
                const std::string near = nearest(item.text(), known);
                item.fail("no target '" + item.text() + "'",
                          near.empty() ? "name a target of this request" : "is it " + near + "?");
            }
            ids.push_back(item.text());
        }
        return ids;
    }

    Identity read_identity(const Yaml& map) const {
        Identity identity;
        identity.file = map.text_or("file", "");
        identity.digest = map.text_or("digest", "");
        identity.container = map.text_or("container", "");
        identity.text = map.text_or("identity", "");
        if (!identity.digest.empty()) {
            try {
                identity.digest = parse_digest(identity.digest).text();
            } catch (const Error& error) {
                map.at("digest").fail(error.message(), "write sha256: and 64 hexadecimal digits");
            }
        }
        if (!identity.file.empty()) {
            try {
                identity.path = path_inside(folder_, identity.file);
            } catch (const Error& error) {
                map.at("file").fail(error.message(), "name a file beside the request or below it");
            }
            if (!file_exists(identity.path))
                map.at("file").fail("no such file: " + identity.file,
                                    "leave 'file' out where it is not at hand");
        }
        return identity;
    }

    static void check_flags(const Facts& built, const Yaml& at) {
        const auto flags = built.find("flags");
        if (flags == built.end())
            return;
        bool ampere = false, same = false;
        for (const std::string& flag : flags->second) {
            const auto& known = flag_names();
            if (std::find(known.begin(), known.end(), flag) == known.end()) {
                const std::string near = nearest(flag, known);
                at.fail("unknown flag '" + flag + "'", near.empty()
                                                           ? "see docs/formats/coverage-request.md"
                                                           : "is it " + near + "?");
            }
            ampere = ampere || flag == "hardware-compatible-ampere-plus";
            same = same || flag == "hardware-compatible-same-cc";
        }
        if (ampere && same)
            at.fail("two hardware compatibility levels contradict each other", "keep one of them");
    }

    Claim read_claim(const Yaml& item) const {
        item.allow_keys({"targets", "by", "source", "scope"});
        Claim claim;
        claim.targets = target_ids(item.at("targets"));
        claim.by = checked_text(item.at("by"));
        claim.source = item.text_or("source", "");
        const std::string scope = item.text_or("scope", "artefact");
        if (scope != "artefact" && scope != "product")
            item.at("scope").fail("'" + scope + "' is neither artefact nor product",
                                  "use one of them");
        claim.of_product = scope == "product";
        return claim;
    }

    Artefact read_artefact(const Yaml& item, const Offer& offer) const {
        item.allow_keys({"id", "kind", "file", "digest", "container", "identity", "built",
                         "documents", "opset", "parser"});
        Artefact artefact;
        artefact.where = item.where();
        artefact.id = checked_text(item.at("id"));
        for (const Artefact& other : offer.artefacts)
            if (other.id == artefact.id)
                item.at("id").fail("a second artefact '" + artefact.id + "' in this offer",
                                   "give it another id");
        artefact.kind = item.text_or("kind", "");
        artefact.identity = read_identity(item);
        artefact.opset = item.text_or("opset", "");
        artefact.parser = item.text_or("parser", "");
        if (const Yaml* built = item.find("built")) {
            for (const auto& [key, value] : built->members())
                if (key == "allows" || !read_fact(key, value, artefact.built))
                    built->allow_keys({"product", "version", "gpu", "compute_capability", "os",
                                       "os_release", "arch", "platform", "jetpack", "l4t", "cuda",
                                       "driver", "isa", "cpu", "soc", "abi", "flags"});
            check_facts(artefact.built, *built);
            if (const Yaml* flags = built->find("flags"))
                check_flags(artefact.built, *flags);
        }
        if (!artefact.built.contains("product")) {
            static const std::map<std::string, std::string, std::less<>> products = {
                {"tensorrt-plan", "tensorrt"},
                {"tensorrt-rtx-plan", "tensorrt-rtx"},
                {"openvino-blob", "openvino"},
                {"qnn-context", "qnn"},
                {"hailo-hef", "hailo"}};
            if (const auto known = products.find(artefact.kind); known != products.end())
                artefact.built["product"] = {known->second};
        }
        artefact.notes = derive(artefact.built, tables_);
        if (const Yaml* claims = item.find("documents"))
            for (const Yaml& claim : claims->items())
                artefact.claims.push_back(read_claim(claim));
        return artefact;
    }

    void read_regeneration(const Yaml& yaml, Regeneration& regeneration) const {
        yaml.allow_keys({"inputs", "party", "confirms", "validation_report", "changes_included",
                         "returns_unsupported", "returns_model_change", "dependencies_reach",
                         "rights_to_modify", "rights_to_redistribute", "hand_off"});
        regeneration.offered = true;
        regeneration.party = yaml.text_or("party", "");
        if (const Yaml* confirms = yaml.find("confirms"))
            regeneration.confirms = target_ids(*confirms);
        for (const std::string_view name : regeneration_statements())
            if (const std::string text = yaml.text_or(name, ""); !text.empty())
                regeneration.statements[std::string(name)] = text;
        const Yaml* inputs = yaml.find("inputs");
        if (!inputs)
            return;
        inputs->allow_keys({"graph", "parameters", "custom_operators", "plugins", "parser",
                            "builder", "configuration", "shape_profiles"});
        for (const auto& [name, value] : inputs->members()) {
            Input input;
            if (value.kind() == Yaml::Kind::map) {
                value.allow_keys({"file", "digest", "container", "identity"});
                input.identity = read_identity(value);
            } else if (!value.is_null()) {
                input.not_needed = value.text() == "none needed";
                input.identity.text = input.not_needed ? "" : value.text();
            }
            regeneration.inputs[name] = std::move(input);
        }
    }

    void read_offer(const Yaml& item) {
        item.allow_keys(
            {"id", "supplier", "artefacts", "evidence", "regeneration", "inference_memory"});
        Offer offer;
        offer.id = checked_text(item.at("id"));
        for (const Offer& other : request_.offers)
            if (other.id == offer.id)
                item.at("id").fail("a second offer '" + offer.id + "'", "give it another id");
        offer.supplier = item.text_or("supplier", "");
        offer.inference_memory = item.text_or("inference_memory", "");
        if (const Yaml* artefacts = item.find("artefacts"))
            for (const Yaml& artefact : artefacts->items())
                offer.artefacts.push_back(read_artefact(artefact, offer));
        if (const Yaml* evidence = item.find("evidence"))
            for (const Yaml& entry : evidence->items()) {
                entry.allow_keys({"question", "what", "by", "model", "shape", "targets"});
                Evidence one;
                one.question = entry.at("question").text();
                const auto& names = question_names();
                if (std::find(names.begin(), names.end(), one.question) == names.end())
                    entry.at("question")
                        .fail("'" + one.question +
                                  "' is none of operators, numerics, shapes, workload",
                              "use one of them");
                one.what = checked_text(entry.at("what"));
                one.by = checked_text(entry.at("by"));
                one.model = entry.text_or("model", "");
                one.shape = entry.text_or("shape", "");
                if (const Yaml* targets = entry.find("targets"))
                    one.targets = target_ids(*targets);
                offer.evidence.push_back(std::move(one));
            }
        if (const Yaml* regeneration = item.find("regeneration"))
            read_regeneration(*regeneration, offer.regeneration);
        if (request_.offers.size() >= 64)
            item.fail("more than 64 offers", "split the request");
        request_.offers.push_back(std::move(offer));
    }

    const Tables& tables_;
    Request request_;
    std::string folder_;
    std::map<Facts, std::string> tuples_;
    std::set<std::string, std::less<>> ids_;
};

}  // namespace

const Target* Request::target(std::string_view id) const {
    for (const Target& item : targets)
        if (item.id == id)
            return &item;
    return nullptr;
}

const Target& Request::find(std::string_view id) const {
    if (const Target* exact = target(id))
        return *exact;
    const Target* found = nullptr;
    for (const Target& item : targets) {
        if (!item.id.ends_with("-" + std::string(id)))
            continue;
        if (found)
            throw Error(ErrorKind::usage, "more than one target ends in '" + std::string(id) + "'",
                        "", "write its whole id");
        found = &item;
    }
    if (!found)
        throw Error(ErrorKind::usage, "no target '" + std::string(id) + "' in the request", path,
                    "name one of its targets");
    return *found;
}

Request read_request(const Yaml& yaml, const std::string& path, const Tables& tables) {
    return RequestReader(path, tables).read(yaml);
}

Request read_request(const std::string& path, const Tables& tables) {
    const std::string text = read_file(path, std::uint64_t{16} << 20U);
    Request request = read_request(parse_yaml(text, path), path, tables);
    request.digest = digest_of(text).text();
    return request;
}

}  // namespace requal::compat
