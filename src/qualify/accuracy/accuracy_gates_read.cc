#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/rules.h"
#include "base/text.h"
#include "qualify/accuracy/accuracy_gates.h"

namespace requal::qualify {

namespace {

struct KindKey {
    AccuracyGateKind kind;
    std::string_view key;
};
constexpr KindKey kinds[] = {
    {AccuracyGateKind::max_drop, "max_drop"},
    {AccuracyGateKind::min_retention, "min_retention"},
    {AccuracyGateKind::min_value, "min_value"},
    {AccuracyGateKind::max_value, "max_value"},
    {AccuracyGateKind::max_lost_share, "max_lost_share"},
    {AccuracyGateKind::max_gross_share, "max_gross_share"},
    {AccuracyGateKind::no_collapse, "no_collapse"},
};

/// Every metric and share lies between 0 and 1: a limit beyond them decides nothing (2 where 2 % is meant, that is 0.02).
void require_sensible(const Yaml& limit, AccuracyGateKind kind) {
    const double value = limit.number();
    const double low = kind == AccuracyGateKind::max_drop ? -1 : 0;
    const double high = kind == AccuracyGateKind::min_retention ? 100 : 1;
    if (!(value >= low && value <= high)) {
        limit.fail("a limit here lies between " + shortest(low) + " and " + shortest(high),
                   "write 0.02 for 2 %");
    }
}

bool about_flips(AccuracyGateKind kind) {
    return kind == AccuracyGateKind::max_lost_share || kind == AccuracyGateKind::max_gross_share;
}

std::uint64_t count_at(const Yaml& map, std::string_view key, std::int64_t least) {
    const Yaml& node = map.at(key);
    const std::int64_t value = node.integer();
    if (value < least) {
        node.fail("a count from " + std::to_string(least) + " up is needed");
    }
    return static_cast<std::uint64_t>(value);
}

std::string text_at(const Yaml& map, std::string_view key) {
    const Yaml& node = map.at(key);
    std::string text = node.text();
    if (text.empty()) {
        node.fail("empty");
    }
    return text;
}

double share_at(const Yaml& map, std::string_view key) {
    const Yaml& node = map.at(key);
    const double value = node.number();
    if (value < 0 || value > 1) {
        node.fail("a number from 0 to 1 is needed");
    }
    return value;
}

bool decides_on_bound(const Yaml& map) {
    const Yaml& node = map.at("decides_on");
    const std::string word = node.text();
    if (word != "bound" && word != "point") {
        node.fail("'" + word + "' is neither bound nor point",
                  "bound: the whole interval decides; point: the number alone (published rules)");
    }
    return word == "bound";
}

DataPart read_part(const Yaml& map) {
    map.allow_keys({"name", "samples", "used_for", "labels", "list"});
    DataPart part;
    part.where = map.where();
    part.name = text_at(map, "name");
    part.samples = count_at(map, "samples", 1);
    for (const Yaml& use : map.at("used_for").items()) {
        part.used_for.push_back(use.text());
    }
    return part;
}

void read_collapse(const Yaml& map, AccuracyGate& gate) {
    map.allow_keys({"classes", "min_ap", "min_retention", "min_count"});
    for (const Yaml& name : map.at("classes").items()) {
        gate.classes.push_back(name.text());
    }
    if (gate.classes.empty()) {
        map.fail("no class is named", "name the classes that may not collapse");
    }
    gate.min_ap = share_at(map, "min_ap");
    gate.min_retention = share_at(map, "min_retention");
    gate.min_count = count_at(map, "min_count", 1);
}

/// What gates of a file and of a preset have in common.
void read_responsibility(const Yaml& map, AccuracyGate& gate) {
    gate.where = map.where();
    gate.part = text_at(map, "part");
    gate.reference = text_at(map, "reference");
    gate.expected_drop = map.number_or("expected_drop", gate.expected_drop);
    gate.expected_flips = map.number_or("expected_flips", gate.expected_flips);
    if (map.has("expected_reference")) {
        gate.expected_reference = share_at(map, "expected_reference");
    }
}

AccuracyGate read_gate(const Yaml& map) {
    map.allow_keys({"id", "kind", "metric", "slice", "reference", "part", "set_by", "decides_on",
                    "min_count", "expected_drop", "expected_flips", "expected_reference",
                    "max_drop", "min_retention", "min_value", "max_value", "max_lost_share",
                    "max_gross_share", "no_collapse"});
    AccuracyGate gate;
    read_responsibility(map, gate);
    gate.id = text_at(map, "id");
    gate.set_by = text_at(map, "set_by");
    gate.by_bound = decides_on_bound(map);
    int found = 0;
    for (const KindKey& entry : kinds) {
        if (const Yaml* node = map.find(entry.key)) {
            ++found;
            gate.kind = entry.kind;
            if (entry.kind == AccuracyGateKind::no_collapse) {
                read_collapse(*node, gate);
            } else {
                gate.limit = node->number();
                require_sensible(*node, entry.kind);
            }
        }
    }
    if (found != 1) {
        map.fail("a gate has exactly one limit",
                 "give one of max_drop, min_retention, min_value, max_value, max_lost_share, "
                 "max_gross_share, no_collapse");
    }
    if (gate.kind == AccuracyGateKind::no_collapse) {
        gate.metric = map.text_or("metric", "ap50_95");
        return gate;
    }
    gate.min_count = count_at(map, "min_count", 1);
    if (!about_flips(gate.kind)) {
        gate.metric = text_at(map, "metric");
    } else if (map.has("metric")) {
        map.at("metric").fail("a gate on flips has no metric");
    }
    if (const Yaml* slice = map.find("slice")) {
        slice->allow_keys({"by", "value"});
        gate.slice_by = text_at(*slice, "by");
        gate.slice_value = text_at(*slice, "value");
        if (about_flips(gate.kind) && gate.kind == AccuracyGateKind::max_gross_share) {
            slice->fail("gross flips are counted overall only", "use max_lost_share in slices");
        }
    }
    return gate;
}

void read_preset(const Yaml& map, const std::string& rules_folder,
                 std::vector<AccuracyGate>& gates) {
    map.allow_keys({"id", "kind", "preset", "reference", "part", "min_count", "no_collapse",
                    "expected_drop", "expected_flips", "expected_reference"});
    const std::string name = text_at(map, "preset");
    const Yaml rules = read_rules("accuracy-presets.yaml", rules_folder);
    const Yaml* preset = nullptr;
    for (const Yaml& entry : rules.at("presets").items()) {
        if (entry.at("name").text() == name) {
            preset = &entry;
        }
    }
    if (preset == nullptr) {
        map.at("preset").fail("there is no preset '" + name + "'",
                              "rules/accuracy-presets.yaml names those there are");
    }
    AccuracyGate base;
    read_responsibility(map, base);
    base.set_by = preset->at("set_by").text();
    base.source = preset->at("source").text() + " (" + preset->at("date").text() + ")";
    base.by_bound = decides_on_bound(*preset);
    for (const Yaml& entry : preset->at("gates").items()) {
        AccuracyGate gate = base;
        gate.id = name + "-" + entry.at("metric").text();
        gate.metric = entry.at("metric").text();
        gate.kind = AccuracyGateKind::max_drop;
        gate.limit = entry.at("max_drop").number();
        gate.min_count = count_at(map, "min_count", 1);
        gates.push_back(std::move(gate));
    }
    if (preset->boolean_or("no_collapse", false)) {
        // the preset asks for it and names neither classes nor limits: those are the user's
        AccuracyGate gate = base;
        gate.id = name + "-no-collapse";
        gate.kind = AccuracyGateKind::no_collapse;
        gate.metric = "ap50_95";
        read_collapse(map.at("no_collapse"), gate);
        gates.push_back(std::move(gate));
    }
}

}  // namespace

std::string_view name_of(AccuracyGateKind kind) {
    return std::find_if(std::begin(kinds), std::end(kinds),
                        [&](const KindKey& entry) { return entry.kind == kind; })
        ->key;
}

Json AccuracyGate::criterion() const {
    Json json = Json::object({{"kind", name_of(kind)},
                              {"reference", reference},
                              {"part", part},
                              {"set_by", set_by},
                              {"decides_on", by_bound ? "bound" : "point"},
                              {"min_count", min_count}});
    if (!metric.empty()) {
        json["metric"] = metric;
    }
    if (!source.empty()) {
        json["source"] = source;
    }
    if (kind == AccuracyGateKind::no_collapse) {
        json["min_ap"] = min_ap;
        json["min_retention"] = min_retention;
    } else {
        json["limit"] = limit;
    }
    return json;
}

const DataPart& AccuracyGates::part(const AccuracyGate& gate) const {
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [&](const DataPart& part) { return part.name == gate.part; });
    if (found == parts.end()) {
        throw Error(ErrorKind::input,
                    "gate '" + gate.id + "' is on the part '" + gate.part +
                        "', which the file does not describe",
                    gate.where, "add it to parts");
    }
    return *found;
}

std::string AccuracyGate::text() const {
    const std::string in_slice =
        slice_by.empty() ? "" : " in " + slice_by + (slice_value == "*" ? "" : " " + slice_value);
    std::string what;
    switch (kind) {
    case AccuracyGateKind::max_drop:
        what = "drop of " + metric + in_slice + " <= " + shortest(limit);
        break;
    case AccuracyGateKind::min_retention:
        what = "retention of " + metric + in_slice + " >= " + shortest(limit);
        break;
    case AccuracyGateKind::min_value:
        what = metric + in_slice + " >= " + shortest(limit);
        break;
    case AccuracyGateKind::max_value:
        what = metric + in_slice + " <= " + shortest(limit);
        break;
    case AccuracyGateKind::max_lost_share:
        what = "lost decisions" + in_slice + " <= " + shortest(limit) + " of all";
        break;
    case AccuracyGateKind::max_gross_share:
        what = "changed decisions <= " + shortest(limit) + " of all";
        break;
    case AccuracyGateKind::no_collapse:
        what = "no class of";
        for (std::size_t i = 0; i < classes.size(); ++i) {
            what += (i == 0 ? " " : ", ") + classes[i];
        }
        what += " below " + metric + " " + shortest(min_ap) + " or retention " +
                shortest(min_retention);
        break;
    }
    return what + ", decided on the " + (by_bound ? "bound" : "point") + ", on part " + part +
           " with at least " + std::to_string(min_count) + ", set by " + set_by;
}

std::vector<DataPart> read_data_parts(const Yaml& sequence) {
    std::vector<DataPart> parts;
    for (const Yaml& part : sequence.items()) {
        parts.push_back(read_part(part));
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            if (parts[i].name == parts.back().name) {
                part.fail("a second part is called '" + parts[i].name + "'");
            }
        }
    }
    return parts;
}

std::vector<AccuracyGate> read_accuracy_gate(const Yaml& item, const std::string& rules_folder) {
    std::vector<AccuracyGate> gates;
    if (item.has("preset")) {
        read_preset(item, rules_folder, gates);
    } else {
        gates.push_back(read_gate(item));
    }
    return gates;
}

void check_accuracy_gates(AccuracyGates& all) {
    std::set<std::string> ids;
    for (const AccuracyGate& gate : all.gates) {
        if (!ids.insert(gate.id).second) {
            throw Error(ErrorKind::input, "a second gate is called '" + gate.id + "'", gate.where);
        }
        for (const std::string& use : all.part(gate).used_for) {
            // whatever the part was used for, it is no longer independent of the engine
            throw Error(ErrorKind::input,
                        "gate '" + gate.id + "' is on the part '" + gate.part +
                            "', which was used for " + use,
                        gate.where, "decide on data that had no part in making the engine");
        }
    }
    const bool by_class =
        std::any_of(all.slices.begin(), all.slices.end(), [](const measure::SliceSpec& spec) {
            return spec.size() == 1 && spec[0].kind == measure::SliceTerm::Kind::category;
        });
    const bool needs_class =
        std::any_of(all.gates.begin(), all.gates.end(), [](const AccuracyGate& gate) {
            return gate.kind == AccuracyGateKind::no_collapse || gate.slice_by == "class";
        });
    if (needs_class && !by_class) {
        all.slices.push_back({measure::SliceTerm{}});
    }
}

AccuracyGates read_accuracy_gates(const Yaml& file, const std::string& rules_folder) {
    file.allow_keys({"schema", "parts", "slices", "gates"});
    if (file.at("schema").text() != "accuracy-gates/1") {
        file.at("schema").fail("not accuracy-gates/1");
    }
    AccuracyGates result;
    result.parts = read_data_parts(file.at("parts"));
    for (const Yaml& part : file.at("parts").items()) {
        part.allow_keys({"name", "samples", "used_for"});  // digests stand in protocols
    }
    if (const Yaml* slices = file.find("slices")) {
        result.slices = measure::read_slices(*slices);
    }
    for (const Yaml& node : file.at("gates").items()) {
        if (const Yaml* kind = node.find("kind")) {
            kind->fail("only gates of a protocol have a kind");
        }
        if (node.has("preset") && node.has("id")) {
            node.at("id").fail("the gates of a preset have ids of their own");
        }
        for (AccuracyGate& gate : read_accuracy_gate(node, rules_folder)) {
            result.gates.push_back(std::move(gate));
        }
    }
    if (result.gates.empty()) {
        file.at("gates").fail("no gate");
    }
    check_accuracy_gates(result);
    return result;
}

}  // namespace requal::qualify
