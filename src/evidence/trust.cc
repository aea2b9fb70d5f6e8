#include "evidence/trust.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "evidence/base64.h"

namespace requal::evidence {

namespace {

constexpr std::size_t most_slots = 12;

std::string date_at(const Yaml& node, std::string_view key) {
    const Yaml* found = node.find(key);
    if (found == nullptr)
        return {};
    const std::string text = found->text();
    const std::string form = "dddd-dd-dd";
    bool good = text.size() == form.size();
    for (std::size_t i = 0; good && i < form.size(); ++i)
        good = form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    if (!good || text.substr(5, 2) < "01" || text.substr(5, 2) > "12" || text.substr(8, 2) < "01" ||
        text.substr(8, 2) > "31")
        found->fail("no date", "write 2026-11-30");
    return text;
}

std::string name_at(const Yaml& node) {
    const std::string text = node.at("name").text();
    if (text.empty() || printable(text) != text)
        node.at("name").fail("no usable name");
    return text;
}

TrustedKey read_key(const Yaml& node, const std::string& folder) {
    node.allow_keys({"file", "der", "from", "until", "revoked"});
    if (node.has("file") == node.has("der"))
        node.fail("a key is given by 'file' or by 'der'");
    const auto read = [&] {
        if (node.has("file")) {
            const std::filesystem::path file(node.at("file").text());
            return PublicKey::from_file(
                file.is_absolute()
                    ? file.string()
                    : (std::filesystem::path(folder) / file).lexically_normal().string());
        }
        const std::string where = node.at("der").where();
        return PublicKey::from_der(decode_base64(node.at("der").text(), where), where);
    };
    TrustedKey key{read(), {}, {}, false, false, {}, {}, {}};
    key.from = date_at(node, "from");
    key.until = date_at(node, "until");
    if (!key.from.empty() && !key.until.empty() && key.until <= key.from)
        node.fail("the key ends to be valid before it begins");
    if (const Yaml* revoked = node.find("revoked")) {
        key.revoked = revoked->text();
        if (key.revoked.empty() || key.revoked == "false" || key.revoked == "true")
            revoked->fail("'revoked' says why",
                          "write for example: revoked: the laptop was stolen");
    }
    return key;
}

void read_holders(const Yaml& list, bool machine, const std::string& folder, TrustPolicy& policy) {
    for (const Yaml& node : list.items()) {
        if (machine)
            node.allow_keys({"name", "keys"});
        else
            node.allow_keys({"name", "roles", "keys"});
        const std::string name = name_at(node);
        std::vector<std::string> roles;
        if (!machine) {
            for (const Yaml& role : node.at("roles").items())
                roles.push_back(role.text());
            if (roles.empty())
                node.fail("a person without a role may sign nothing");
        }
        if (node.at("keys").items().empty())
            node.fail("no key");
        for (const Yaml& entry : node.at("keys").items()) {
            TrustedKey key = read_key(entry, folder);
            key.holder = name;
            key.roles = roles;
            key.machine = machine;
            for (const TrustedKey& other : policy.keys) {
                if (other.key.id() == key.key.id())
                    entry.fail("this key is also that of '" + printable(other.holder) + "'");
            }
            policy.keys.push_back(std::move(key));
        }
    }
}

Requirement read_requirement(const Yaml& node) {
    node.allow_keys({"of", "meaning", "role", "people"});
    Requirement requirement;
    requirement.on = node.at("of").text();
    if (requirement.on != "evidence" && requirement.on != "protocol")
        node.at("of").fail("no thing that is signed: '" + printable(requirement.on) + "'",
                           "write evidence or protocol");
    requirement.meaning = node.at("meaning").text();
    constexpr std::array<std::string_view, 4> meanings{"author", "reviewer", "approver",
                                                       "measured"};
    if (std::find(meanings.begin(), meanings.end(), requirement.meaning) == meanings.end())
        node.at("meaning").fail("no meaning of a signature: '" + printable(requirement.meaning) +
                                    "'",
                                "write author, reviewer, approver or measured");
    requirement.role = node.text_or("role", "");
    requirement.people = node.integer_or("people", 1);
    if (requirement.people < 1 || requirement.people > static_cast<std::int64_t>(most_slots))
        node.fail("'people' lies between 1 and 12");
    if (requirement.meaning == "measured" && !requirement.role.empty())
        node.fail("a machine has no role");
    return requirement;
}

std::string text_at(const Json& json, std::string_view key) {
    return json.is_object() && json.get(key).is_string() ? json.get(key).as_string()
                                                         : std::string();
}

/// Why a good signature of this key does not count; empty when it does.
std::string objection(const JudgedSignature& signature, const TrustedKey& key) {
    if (!key.revoked.empty())
        return "its key is revoked: " + printable(key.revoked);
    const std::string wall = text_at(signature.time, "wall");
    if (wall < "2024")
        return "the clock of its computer was not set: it said " + printable(wall);
    if (key.any)
        return {};
    const std::string day = wall.substr(0, 10);
    if (!key.from.empty() && day < key.from)
        return "signed on " + day + ", before its key was valid (from " + key.from + ")";
    if (!key.until.empty() && day >= key.until)
        return "signed on " + day + " with an expired key (until " + key.until + ")";
    if (key.machine)
        return signature.machine ? (signature.name == key.holder
                                        ? ""
                                        : "its key is that of station '" + printable(key.holder) +
                                              "', not of '" + printable(signature.name) + "'")
                                 : "the key of a machine can only say 'measured here'";
    if (signature.machine)
        return "the key of a person says 'measured here', which only a machine can say";
    if (signature.name != key.holder)
        return "its key is that of '" + printable(key.holder) + "', the signature says '" +
               printable(signature.name) + "'";
    if (std::find(key.roles.begin(), key.roles.end(), signature.role) == key.roles.end())
        return "'" + printable(key.holder) + "' may not sign as '" + printable(signature.role) +
               "'";
    return {};
}

/// Gives each slot a person of its own; Kuhn's algorithm.
bool assign(std::size_t slot, const std::vector<std::set<std::string>>& slots,
            std::set<std::string>& visited, std::map<std::string, std::size_t>& taken) {
    for (const std::string& person : slots[slot]) {
        if (!visited.insert(person).second)
            continue;
        const auto other = taken.find(person);
        if (other == taken.end() || assign(other->second, slots, visited, taken)) {
            taken[person] = slot;
            return true;
        }
    }
    return false;
}

}  // namespace

std::string Requirement::text() const {
    std::string words =
        meaning == "measured" ? "a machine's 'measured here'" : "a signature as " + meaning;
    if (!role.empty())
        words += " in the role '" + printable(role) + "'";
    if (people > 1)
        words += " by " + std::to_string(people) + " different people";
    return words + " on the " + on;
}

TrustPolicy parse_trust_policy(std::string_view text, const std::string& path) {
    const Yaml root = parse_yaml(text, path);
    root.allow_keys({"schema", "people", "machines", "require", "different_people"});
    if (root.at("schema").text() != "trust/1")
        root.at("schema").fail("no trust policy of this form", "write schema: trust/1");
    const std::string folder = std::filesystem::path(path).parent_path().string();
    TrustPolicy policy;
    if (const Yaml* people = root.find("people"))
        read_holders(*people, false, folder, policy);
    if (const Yaml* machines = root.find("machines"))
        read_holders(*machines, true, folder, policy);
    if (policy.keys.empty())
        root.fail("a policy that trusts nobody", "list people or machines with their keys");
    std::int64_t slots = 0;
    if (root.at("require").items().empty())
        root.at("require").fail("a policy that demands nothing");
    for (const Yaml& node : root.at("require").items()) {
        policy.require.push_back(read_requirement(node));
        slots += policy.require.back().people;
        if (slots > 100)
            node.fail("too many signatures are demanded");
    }
    policy.different_people = root.boolean_or("different_people", false);
    return policy;
}

TrustPolicy read_trust_policy(const std::string& path) {
    return parse_trust_policy(read_file(path, 4 << 20), path);
}

Json JudgedSignature::to_json() const {
    const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
    return Json::object({{"on", on},
                         {"status", status},
                         {"why", or_null(why)},
                         {"key", or_null(key)},
                         {"algorithm", or_null(algorithm)},
                         {"holder", or_null(holder)},
                         {"name", or_null(name)},
                         {"role", or_null(role)},
                         {"meaning", or_null(meaning)},
                         {"reason", or_null(reason)},
                         {"time", time}});
}

JudgedSignature judge_signature(const std::string& envelope_text, const std::string& on,
                                const std::vector<TrustedKey>& keys) {
    JudgedSignature judged;
    judged.on = on;
    Envelope envelope;
    try {
        envelope = read_envelope(envelope_text, "the envelope");
        judged.statement = read_statement(envelope.payload, "the statement");
    } catch (const Error& error) {
        judged.status = "damaged";
        judged.why = error.what();
        return judged;
    }
    const Json& predicate = judged.statement.predicate;
    judged.machine = judged.statement.predicate_type == measured_predicate;
    judged.time = predicate.get("time");
    judged.meaning = judged.machine ? "measured" : text_at(predicate, "meaning");
    const Json& signer = predicate.get(judged.machine ? "station" : "signer");
    judged.name = text_at(signer, "name");
    judged.role = text_at(signer, "role");
    judged.reason = text_at(predicate, "reason");
    // A signature that says it is of a known key and is not, is no signature of an unknown one.
    for (const TrustedKey& key : keys) {
        if (!signed_by(envelope, key.key))
            continue;
        judged.key = key.key.id();
        judged.algorithm = key.key.algorithm();
        judged.holder = key.holder;
        judged.why = objection(judged, key);
        judged.status = judged.why.empty() ? "good" : "refused";
        if (judged.status == "good" || !key.any)
            return judged;
    }
    if (!judged.status.empty())
        return judged;
    for (const EnvelopeSignature& signature : envelope.signatures) {
        for (const TrustedKey& key : keys) {
            if (signature.key_id == key.key.id()) {
                judged.status = "damaged";
                judged.key = signature.key_id;
                judged.holder = key.holder;
                judged.why = "it names the key " + signature.key_id.substr(0, 16) +
                             ", which did not sign these bytes";
                return judged;
            }
        }
    }
    judged.status = "unknown key";
    judged.why = "made by a key that was not given here";
    return judged;
}

std::vector<std::string> unmet(const TrustPolicy& policy, const std::string& on,
                               const std::vector<JudgedSignature>& signatures) {
    std::vector<std::string> missing;
    std::vector<std::set<std::string>> slots;
    for (const Requirement& requirement : policy.require) {
        if (requirement.on != on)
            continue;
        std::set<std::string> people;
        for (const JudgedSignature& signature : signatures) {
            if (signature.on == on && signature.status == "good" &&
                signature.meaning == requirement.meaning &&
                (requirement.role.empty() || signature.role == requirement.role))
                people.insert(signature.holder);
        }
        if (static_cast<std::int64_t>(people.size()) < requirement.people)
            missing.push_back(requirement.text() + " is missing");
        if (requirement.meaning != "measured")
            slots.insert(slots.end(), static_cast<std::size_t>(requirement.people), people);
    }
    if (missing.empty() && policy.different_people) {
        std::map<std::string, std::size_t> taken;
        for (std::size_t slot = 0; slot < slots.size(); ++slot) {
            std::set<std::string> visited;
            if (!assign(slot, slots, visited, taken)) {
                missing.push_back("the signatures on the " + on +
                                  " are not of different people, as the policy demands");
                break;
            }
        }
    }
    return missing;
}

}  // namespace requal::evidence
