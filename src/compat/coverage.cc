#include "compat/coverage.h"

#include <algorithm>
#include <set>

#include "artifact/recognise.h"
#include "base/digest.h"
#include "base/error.h"
#include "compat/findings.h"
#include "compat/guard.h"
#include "compat/version.h"

namespace requal::compat {

std::string_view name_of(Status status) {
    switch (status) {
    case Status::contradicted:
        return "contradicted";
    case Status::excluded:
        return "excluded";
    case Status::unaddressed:
        return "unaddressed";
    case Status::covered_by_route:
        return "covered-by-route";
    case Status::documented:
        break;
    }
    return "documented";
}

Bytes read_bytes(const Identity& identity) {
    Bytes bytes;
    if (identity.path.empty())
        return bytes;
    const Json document = artifact::inspect_document(identity.path, !identity.digest.empty());
    bytes.at_hand = true;
    bytes.kind = document.at("kind").as_string();
    if (document.at("digest").is_string())
        bytes.digest = document.at("digest").as_string();
    const Json& recorded = document.at("recorded");
    if (recorded.get("runtime_version").is_string())
        bytes.version = recorded.get("runtime_version").as_string();
    if (recorded.get("isa").is_string())
        bytes.isa = recorded.get("isa").as_string();
    if (recorded.get("hw_arch").is_string())
        bytes.soc = recorded.get("hw_arch").as_string();
    if (recorded.get("opsets").is_object() && recorded.get("opsets").get("ai.onnx").is_integer())
        bytes.opset = std::to_string(recorded.get("opsets").get("ai.onnx").as_integer());
    for (const Json& item : document.at("damage").as_array())
        bytes.damage.push_back(item.as_string());
    for (const Json& item : document.at("oddities").as_array())
        bytes.oddities.push_back(item.as_string());
    return bytes;
}

std::vector<std::string> contradictions(const Artefact& artefact, const Bytes& bytes) {
    std::vector<std::string> found;
    if (!bytes.at_hand)
        return found;
    const std::string name = artefact.id + ": ";
    // nothing that was said of an artefact holds of a file that is not whole; what is merely odd contradicts nobody
    for (const std::string& damage : bytes.damage)
        found.push_back(name + "the file at hand is damaged: " + damage);
    if (!artefact.kind.empty() && artefact.kind != bytes.kind)
        found.push_back(name + "stated as " + artefact.kind + ", the bytes are " + bytes.kind);
    if (!artefact.identity.digest.empty() && artefact.identity.digest != bytes.digest)
        found.push_back(name + "the digest stated is not that of the file, " + bytes.digest);
    const auto stated = word_of(artefact.built, "version");
    const auto a = stated ? parse_version(*stated) : std::nullopt;
    const auto b = parse_version(bytes.version);
    if (a && b && same_numbers(*a, *b, 4) == Truth::no)
        found.push_back(name + "stated as built by " + *stated + ", the bytes say " +
                        bytes.version);
    const auto soc = word_of(artefact.built, "soc");
    if (soc && !bytes.soc.empty() && *soc != bytes.soc)
        found.push_back(name + "stated as built for " + *soc + ", the bytes say " + bytes.soc);
    if (!artefact.opset.empty() && !bytes.opset.empty() && artefact.opset != bytes.opset)
        found.push_back(name + "stated as opset " + artefact.opset + ", the bytes say " +
                        bytes.opset);
    return found;
}

namespace {

Facts facts_with_bytes(const Artefact& artefact, const Bytes& bytes, const Tables& tables) {
    Facts facts = artefact.built;
    if (!bytes.at_hand)
        return facts;
    if (const std::string product = product_of_kind(bytes.kind); !product.empty())
        facts.try_emplace("product", std::vector<std::string>{product});
    if (!bytes.soc.empty())
        facts.try_emplace("soc", std::vector<std::string>{bytes.soc});
    if (!bytes.version.empty())
        facts.try_emplace("version", std::vector<std::string>{bytes.version});
    if (!bytes.isa.empty())
        facts.try_emplace("isa", std::vector<std::string>{bytes.isa});
    derive(facts, tables);
    return facts;
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
    for (const std::string& item : more)
        if (!item.empty() && std::find(list.begin(), list.end(), item) == list.end())
            list.push_back(item);
}

/// "version, gpu" of lines such as "version: TensorRT version with its build".
std::string axis_names(const std::vector<std::string>& lines) {
    std::string names;
    for (const std::string& line : lines)
        names += (names.empty() ? "" : ", ") + line.substr(0, line.find(':'));
    return names;
}

Entry cover_by(const RuleSet& rules, const Target& target, const Artefact& artefact,
               const Bytes& bytes) {
    Entry entry;
    entry.artefact = artefact.id;
    const Claim* claim = nullptr;
    for (const Claim& one : artefact.claims)
        if (!one.of_product &&
            std::find(one.targets.begin(), one.targets.end(), target.id) != one.targets.end())
            claim = &one;
    const bool input = artifact::is_no_engine(
        bytes.at_hand && bytes.kind != "unknown" ? bytes.kind : artefact.kind);
    const Assessment found =
        input ? Assessment{}
              : assess(rules, facts_with_bytes(artefact, bytes, rules.tables), target.facts);
    const std::vector<std::string> disagree = contradictions(artefact, bytes);
    const bool covers = found.match == Match::agree || found.match == Match::route;
    if (!disagree.empty() && (claim || covers)) {
        entry.status = Status::contradicted;
        entry.why = disagree;
        entry.next = {"have the supplier say which artefact is offered, with its digest"};
        return entry;
    }
    if (found.match == Match::excluded) {
        entry.status = Status::excluded;
        entry.rules = found.rule_ids();
        for (const Applied& one : found.excludes) {
            append(entry.met, one.met);
            append(entry.why, {one.rule->says});
            append(entry.next, {one.rule->next});
        }
        entry.claim_against_rule = claim != nullptr;
        return entry;
    }
    if (claim && !input) {
        entry.status = Status::documented;
        entry.by = claim->by;
        entry.why = {"documented by " + claim->by +
                     (claim->source.empty() ? "" : " in " + claim->source)};
        return entry;
    }
    if (covers) {
        entry.status = Status::covered_by_route;
        entry.rules = found.rule_ids();
        entry.met = found.met;
        entry.to_show = found.to_show;
        entry.prices = found.prices();
        for (const Applied& one : found.routes)
            append(entry.why, {one.rule->says});
        if (!entry.to_show.empty())
            entry.next = {"have what is still to be shown, shown"};
        return entry;
    }
    entry.artefact.clear();
    if (input)
        entry.why = {artefact.id + " is no engine: it is an input to a build"};
    if (!found.differs.empty())
        entry.why.push_back(artefact.id + " differs in " + axis_names(found.differs) +
                            ", and nothing stated opens a route");
    if (!found.unknown.empty())
        entry.why.push_back(artefact.id + ": not stated, or not stated well enough, are " +
                            axis_names(found.unknown));
    return entry;
}

}  // namespace

Entry cover(const RuleSet& rules, const Target& target, const Offer& offer,
            const std::vector<Bytes>& bytes) {
    Entry best;
    bool first = true;
    std::vector<std::string> open;
    for (std::size_t i = 0; i < offer.artefacts.size(); ++i) {
        Entry entry = cover_by(rules, target, offer.artefacts[i], bytes[i]);
        // a false claim is not mended by another artefact
        if (entry.status == Status::contradicted)
            return entry;
        if (entry.status == Status::unaddressed)
            append(open, entry.why);
        const bool better =
            entry.status > best.status ||
            (entry.status == best.status && entry.status == Status::covered_by_route &&
             entry.to_show.size() < best.to_show.size());
        if (first || better)
            best = std::move(entry);
        first = false;
    }
    if (best.status == Status::unaddressed) {
        best.why = open;
        if (best.why.empty())
            best.why = {"no artefact of the offer speaks of it"};
        best.next = {
            "ask the supplier which artefact is documented for it, or by which rule one covers it"};
    }
    return best;
}

Verdict coverage_verdict(const Request& request, const std::vector<std::vector<Entry>>& entries) {
    Verdict verdict = Verdict::pass;
    for (std::size_t t = 0; t < request.targets.size(); ++t) {
        if (request.targets[t].needs == Needs::not_needed)
            continue;
        std::optional<Status> best;
        for (const Entry& entry : entries[t])
            best = best ? std::max(*best, entry.status) : entry.status;
        const Status status = best.value_or(Status::unaddressed);
        verdict = combine(verdict, status >= Status::covered_by_route ? Verdict::pass
                                   : status == Status::unaddressed    ? Verdict::undecidable
                                                                      : Verdict::fail);
    }
    return verdict;
}

namespace {

Json facts_json(const Facts& facts) {
    Json object = Json::object();
    for (const auto& [name, words] : facts)
        object[name == "cc" ? "compute_capability" : name] =
            words.size() == 1 && name != "isa" && name != "flags" && name != "allows"
                ? Json(words.front())
                : text_array(words);
    return object;
}

Json entry_json(const Request& request, const Target& target, const Offer& offer,
                const Entry& entry) {
    const Regeneration& regeneration = offer.regeneration;
    const bool confirmed = std::find(regeneration.confirms.begin(), regeneration.confirms.end(),
                                     target.id) != regeneration.confirms.end();
    const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
    return Json::object(
        {{"id", target.id},
         {"offer", offer.id},
         {"needs", name_of(target.needs)},
         {"status", name_of(entry.status)},
         {"rule", entry.rules.empty() ? Json() : Json(entry.rules.front())},
         {"rules", text_array(entry.rules)},
         {"artefact", text(entry.artefact)},
         {"documented_by", text(entry.by)},
         {"conditions_met", text_array(entry.met)},
         {"conditions_to_show", text_array(entry.to_show)},
         {"price", text_array(entry.prices)},
         {"why", text_array(entry.why)},
         {"next", text_array(entry.next)},
         {"regeneration",
          Json::object({{"offered", regeneration.offered},
                        {"responsibility", responsibility_of(regeneration)},
                        {"confirmed", confirmed},
                        {"inputs_missing", text_array(missing_inputs(regeneration))}})},
         {"questions", question_states(request, offer, target)}});
}

Json artefact_json(const Artefact& artefact, const Bytes& bytes) {
    Json object = Json::object({{"id", artefact.id},
                                {"kind", artefact.kind.empty() ? Json() : Json(artefact.kind)},
                                {"built", facts_json(artefact.built)},
                                {"derived", text_array(artefact.notes)},
                                {"contradictions", text_array(contradictions(artefact, bytes))}});
    if (bytes.at_hand)
        object["bytes"] =
            Json::object({{"file", artefact.identity.file},
                          {"kind", bytes.kind},
                          {"damage", text_array(bytes.damage)},
                          {"oddities", text_array(bytes.oddities)},
                          {"runtime_version", bytes.version.empty() ? Json() : Json(bytes.version)},
                          {"digest", bytes.digest.empty() ? Json() : Json(bytes.digest)}});
    return object;
}

Json overdue_rules(const RuleSet& rules, const std::vector<std::vector<Entry>>& entries,
                   const std::string& today) {
    std::set<std::string> ids;
    for (const auto& row : entries)
        for (const Entry& entry : row)
            for (const std::string& id : entry.rules)
                if (const Rule* rule = rules.rule(id); rule && is_overdue(*rule, today))
                    ids.insert(id);
    return text_array({ids.begin(), ids.end()});
}

Json rules_used(const RuleSet& rules, const std::vector<std::vector<Entry>>& entries,
                const std::string& today) {
    std::set<std::string> ids;
    for (const auto& row : entries)
        for (const Entry& entry : row)
            ids.insert(entry.rules.begin(), entry.rules.end());
    Json list = Json::array();
    for (const std::string& id : ids)
        if (const Rule* rule = rules.rule(id))
            list.push_back(rule_json(rules, *rule, today));
    return list;
}

}  // namespace

Json coverage_document(const RuleSet& rules, const Request& request,
                       const CoverageOptions& options) {
    if (request.offers.size() * request.targets.size() > pair_limit)
        throw Error(ErrorKind::input,
                    std::to_string(request.targets.size()) + " targets and " +
                        std::to_string(request.offers.size()) + " offers make more than " +
                        std::to_string(pair_limit) + " pairs",
                    request.path, "split the request");
    std::vector<std::vector<Bytes>> bytes;
    for (const Offer& offer : request.offers) {
        bytes.emplace_back();
        for (const Artefact& artefact : offer.artefacts)
            bytes.back().push_back(read_bytes(artefact.identity));
    }
    std::vector<std::vector<Entry>> entries;
    Json targets = Json::array(), requested = Json::array();
    for (const Target& target : request.targets) {
        entries.emplace_back();
        for (std::size_t o = 0; o < request.offers.size(); ++o) {
            entries.back().push_back(cover(rules, target, request.offers[o], bytes[o]));
            targets.push_back(
                entry_json(request, target, request.offers[o], entries.back().back()));
        }
        requested.push_back(Json::object({{"id", target.id},
                                          {"needs", name_of(target.needs)},
                                          {"facts", facts_json(target.facts)},
                                          {"derived", text_array(target.notes)}}));
    }
    Json document = new_document("coverage", 1);
    document["verdict"] = name_of(coverage_verdict(request, entries));
    document["request"] =
        Json::object({{"name", request.name}, {"path", request.path}, {"digest", request.digest}});
    document["rule_set"] = rules.described;
    document["as_of"] = options.as_of.empty() ? Json() : Json(options.as_of);
    document["requested"] = std::move(requested);
    document["targets"] = std::move(targets);
    document["acceptance"] = Json::object(
        {{"owner", request.acceptance_owner.empty() ? Json() : Json(request.acceptance_owner)},
         {"criteria",
          request.acceptance_criteria.empty() ? Json() : Json(request.acceptance_criteria)},
         {"decided", false}});
    Json offers = Json::array(), findings = Json::array();
    for (const Json& finding : target_findings(rules, request))
        findings.push_back(finding);
    for (std::size_t o = 0; o < request.offers.size(); ++o) {
        const Offer& offer = request.offers[o];
        std::vector<Entry> column;
        for (const auto& row : entries)
            column.push_back(row[o]);
        const std::vector<Json> of_offer = offer_findings(request, offer, bytes[o], column);
        Json counts = Json::object();
        for (const Status status : {Status::documented, Status::covered_by_route, Status::excluded,
                                    Status::unaddressed, Status::contradicted})
            counts[std::string(name_of(status))] = static_cast<std::uint64_t>(
                std::count_if(column.begin(), column.end(),
                              [&](const Entry& entry) { return entry.status == status; }));
        Json artefacts = Json::array();
        for (std::size_t a = 0; a < offer.artefacts.size(); ++a)
            artefacts.push_back(artefact_json(offer.artefacts[a], bytes[o][a]));
        for (const Json& finding : of_offer)
            findings.push_back(finding);
        offers.push_back(Json::object(
            {{"id", offer.id},
             {"supplier", offer.supplier.empty() ? Json() : Json(offer.supplier)},
             {"artefacts", std::move(artefacts)},
             {"counts", std::move(counts)},
             {"regeneration", regeneration_json(offer.regeneration)},
             {"ask", text_array(supplier_questions(request, offer, column, of_offer))}}));
    }
    document["offers"] = std::move(offers);
    document["findings"] = std::move(findings);
    document["rules_used"] = rules_used(rules, entries, options.today);
    document["rules_overdue"] = overdue_rules(rules, entries, options.today);
    document["transition"] =
        options.transition ? transition_json(request, request.find(options.transition->first),
                                             request.find(options.transition->second), entries)
                           : Json();
    return document;
}

}  // namespace requal::compat
