#include "qualify/protocol.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "qualify/protocol_fields.h"

namespace requal::qualify {

namespace {

constexpr std::size_t most_gates = 1000;

ModelRequest read_model(const Yaml& node) {
    node.allow_keys({"file", "digest", "shapes"});
    ModelRequest model;
    model.file = line_of_text(node.at("file"));
    model.digest = digest_at(node.at("digest"));
    if (const Yaml* shapes = node.find("shapes")) {
        for (const auto& [name, value] : shapes->members()) {
            Shape shape;
            try {
                shape = parse_shape(value.text());
            } catch (const Error& error) {
                value.fail(error.message(), "write the shape as 1x3x320x320");
            }
            for (const auto dimension : shape) {
                if (dimension < 1) {
                    value.fail("a shape at which a model is qualified has dimensions >= 1");
                }
            }
            model.shapes.emplace(name, std::move(shape));
        }
    }
    return model;
}

Json read_options(const Yaml& node) {
    for (const auto& [name, value] : node.members()) {
        if (value.kind() != Yaml::Kind::scalar) {
            value.fail("an option has one value");
        }
    }
    return node.to_json();
}

SideRequest read_side(const Yaml& node, bool candidate) {
    if (candidate) {
        node.allow_keys({"toolchain", "options", "run_options", "precision"});
    } else {
        node.allow_keys({"toolchain", "options"});
    }
    SideRequest side;
    side.toolchain = line_of_text(node.at("toolchain"));
    const bool well_formed = std::all_of(side.toolchain.begin(), side.toolchain.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == ':' || c == '_';
    });
    if (!well_formed || side.toolchain.front() == ':' || side.toolchain.front() == '-') {
        node.at("toolchain")
            .fail("'" + printable(side.toolchain) + "' is no toolchain name",
                  "for example onnxruntime:cpu; `requal doctor` lists them");
    }
    if (const Yaml* options = node.find("options")) {
        side.options = read_options(*options);
    }
    if (const Yaml* options = candidate ? node.find("run_options") : nullptr) {
        side.run_options = read_options(*options);
    }
    if (const Yaml* precision = candidate ? node.find("precision") : nullptr) {
        side.precision = precision->text();
        if (side.precision != "default" && side.precision != "f32" && side.precision != "f16" &&
            side.precision != "bf16") {
            precision->fail("'" + printable(side.precision) +
                                "' is no precision that can be requested",
                            "write default, f32, f16 or bf16");
        }
    }
    return side;
}

InputRequest read_inputs(const Yaml& node) {
    node.allow_keys({"file", "digest", "random"});
    InputRequest inputs;
    const Yaml* file = node.find("file");
    const Yaml* random = node.find("random");
    if ((file == nullptr) == (random == nullptr)) {
        node.fail("needs exactly one of 'file' and 'random'");
    }
    if (file != nullptr) {
        inputs.path = line_of_text(*file);
        if (const Yaml* digest = node.find("digest")) {
            inputs.digest = digest_at(*digest);
        }
        return inputs;
    }
    if (const Yaml* digest = node.find("digest")) {
        digest->fail("generated inputs have no digest; their seed fixes them");
    }
    random->allow_keys({"count", "seed", "ranges"});
    inputs.random_count = count(random->at("count"), 1);
    const std::int64_t seed = random->at("seed").integer();
    if (seed < 0) {
        random->at("seed").fail("must be >= 0");
    }
    inputs.seed = static_cast<std::uint64_t>(seed);
    if (const Yaml* ranges = random->find("ranges")) {
        for (const auto& [name, value] : ranges->members()) {
            if (value.kind() != Yaml::Kind::sequence || value.items().size() != 2) {
                value.fail("must be [low, high]");
            }
            const double low = value.items()[0].number();
            const double high = value.items()[1].number();
            if (!std::isfinite(low) || !std::isfinite(high) || !(low < high)) {
                value.fail("must be [low, high] with low < high");
            }
            inputs.ranges.emplace(name, std::make_pair(low, high));
        }
    }
    return inputs;
}

ParityGate read_parity(const Yaml& node) {
    node.allow_keys({"id", "kind", "output", "atol", "rtol", "rule", "max_cosine_drop"});
    ParityGate gate;
    if (const Yaml* output = node.find("output")) {
        gate.output = line_of_text(*output);
    }
    gate.tolerance.atol = bound(node.at("atol"));
    gate.tolerance.rtol = bound(node.at("rtol"));
    // The rule decides what atol and rtol mean, so it is never assumed.
    const Yaml& rule = node.at("rule");
    try {
        gate.tolerance.rule = measure::parse_tolerance_rule(rule.text());
    } catch (const Error& error) {
        rule.fail(error.message(), "write sum (numpy's rule) or either (Polygraphy's)");
    }
    if (const Yaml* drop = node.find("max_cosine_drop")) {
        gate.max_cosine_drop = bound(*drop);
    }
    return gate;
}

LatencyGate read_latency(const Yaml& node) {
    node.allow_keys({"id", "kind", "percentile", "limit_ms", "runs", "warmup"});
    LatencyGate gate;
    const Yaml& percentile = node.at("percentile");
    gate.percentile = percentile.text();
    if (gate.percentile == "p50") {
        gate.quantile = 0.5;
    } else if (gate.percentile == "p90") {
        gate.quantile = 0.9;
    } else if (gate.percentile == "p99") {
        gate.quantile = 0.99;
    } else {
        percentile.fail("'" + printable(gate.percentile) + "' is no percentile that a gate can use",
                        "write p50, p90 or p99");
    }
    gate.limit_ms = bound(node.at("limit_ms"));
    if (gate.limit_ms <= 0) {
        node.at("limit_ms").fail("must be > 0");
    }
    const Yaml& runs = node.at("runs");
    gate.runs = count(runs, 1);
    const std::uint64_t fewest = fewest_runs(gate.quantile);
    if (gate.runs < fewest) {
        runs.fail(std::to_string(gate.runs) + " runs can never decide a " + gate.percentile +
                      " limit: its 95 % interval has no upper bound",
                  "at least " + std::to_string(fewest) + " runs are needed");
    }
    gate.warmup = count(node.at("warmup"), 0);
    return gate;
}

Gate read_gate(const Yaml& node, const std::string& rules_folder) {
    Gate gate;
    const Yaml& kind_node = node.at("kind");
    const std::string kind = kind_node.text();
    if (kind == "parity") {
        gate.criterion = read_parity(node);
    } else if (kind == "finite") {
        node.allow_keys({"id", "kind"});
        gate.criterion = FiniteGate{};
    } else if (kind == "repeatability") {
        node.allow_keys({"id", "kind", "runs"});
        gate.criterion = RepeatabilityGate{count(node.at("runs"), 2)};
    } else if (kind == "latency") {
        gate.criterion = read_latency(node);
    } else if (kind == "accuracy") {
        gate.criterion = read_accuracy_criterion(node, rules_folder);
    } else {
        kind_node.fail("unknown kind of gate '" + printable(kind) + "'",
                       "write parity, finite, repeatability, latency or accuracy");
    }
    gate.id = identifier(node.at("id"));
    if (gate.id == "engine") {
        node.at("id").fail("'engine' is the id of a gate that every run has", "choose another id");
    }
    return gate;
}

/// Criteria that contradict each other or judge nothing are refused before anything is measured.
void check_gates(const Yaml& node, const std::vector<Gate>& gates) {
    std::set<std::string> ids;
    std::set<std::string> outputs;
    bool parity = false;
    for (std::size_t i = 0; i < gates.size(); ++i) {
        const Yaml& item = node.items()[i];
        if (!ids.insert(gates[i].id).second) {
            item.at("id").fail("a gate with the id '" + gates[i].id + "' stands above already");
        }
        if (const auto* gate = std::get_if<ParityGate>(&gates[i].criterion)) {
            parity = true;
            if (!outputs.insert(gate->output).second) {
                item.fail(gate->output.empty()
                              ? std::string("a parity gate for all outputs stands above already")
                              : "a parity gate for output '" + printable(gate->output) +
                                    "' stands above already");
            }
        }
    }
    if (!parity) {
        node.fail("no gate compares the engine with the reference", "add a gate of kind parity");
    }
}

void check_accuracy(const Yaml& root, Protocol& protocol) {
    bool flips = false;
    for (std::size_t i = 0; i < protocol.gates.size(); ++i) {
        const auto* accuracy = std::get_if<AccuracyCriterion>(&protocol.gates[i].criterion);
        if (accuracy == nullptr) {
            continue;
        }
        if (!protocol.data) {
            root.at("gates").items()[i].fail("an accuracy gate, and the protocol names no data",
                                             "add 'data' with its parts");
        }
        for (const AccuracyGate& gate : accuracy->gates) {
            protocol.accuracy.gates.push_back(gate);
            flips = flips || gate.kind == AccuracyGateKind::max_lost_share ||
                    gate.kind == AccuracyGateKind::max_gross_share;
        }
    }
    if (!protocol.data) {
        return;
    }
    const Yaml& data = root.at("data");
    if (protocol.accuracy.gates.empty()) {
        data.fail("labelled data, and no gate decides on it", "add a gate of kind accuracy");
    }
    if (flips && protocol.data->score_threshold < 0) {
        data.fail("a gate is on flips, and nothing says from which score on a box is a decision",
                  "add score_threshold");
    }
    check_accuracy_gates(protocol.accuracy);
}

}  // namespace

std::uint64_t fewest_runs(double quantile) {
    const double larger = std::max(quantile, 1 - quantile);
    auto n = static_cast<std::uint64_t>(std::ceil(std::log(0.025) / std::log(larger)));
    while (std::pow(larger, static_cast<double>(n)) > 0.025) {
        ++n;
    }
    return n;
}

std::string_view kind_of(const Gate& gate) {
    static constexpr std::string_view names[] = {"parity", "finite", "repeatability", "latency",
                                                 "accuracy"};
    return names[gate.criterion.index()];
}

std::string criterion_text(const Gate& gate) {
    if (const auto* parity = std::get_if<ParityGate>(&gate.criterion)) {
        std::string text = parity->output.empty() ? "outputs" : "output " + parity->output;
        text += " within ";
        const std::string atol = shortest(parity->tolerance.atol);
        const std::string rtol = shortest(parity->tolerance.rtol);
        text += parity->tolerance.rule == measure::ToleranceRule::sum
                    ? "atol " + atol + " + rtol " + rtol + " * |reference|"
                    : "atol " + atol + " or rtol " + rtol + " * |reference|";
        if (parity->max_cosine_drop) {
            text += ", cosine drop <= " + shortest(*parity->max_cosine_drop);
        }
        return text;
    }
    if (std::holds_alternative<FiniteGate>(gate.criterion)) {
        return "no NaN and no infinity in the engine's outputs";
    }
    if (const auto* repeat = std::get_if<RepeatabilityGate>(&gate.criterion)) {
        return std::to_string(repeat->runs) + " runs of every sample give equal bytes";
    }
    if (const auto* accuracy = std::get_if<AccuracyCriterion>(&gate.criterion)) {
        std::string text;
        for (const AccuracyGate& one : accuracy->gates) {
            text += (text.empty() ? "" : "; ") + one.text();
        }
        return text;
    }
    const auto& latency = std::get<LatencyGate>(gate.criterion);
    return latency.percentile + " latency <= " + shortest(latency.limit_ms) + " ms over at least " +
           std::to_string(latency.runs) + " runs";
}

Json to_json(const Gate& gate) {
    Json json = Json::object({{"kind", kind_of(gate)}});
    if (const auto* parity = std::get_if<ParityGate>(&gate.criterion)) {
        json["atol"] = parity->tolerance.atol;
        json["rtol"] = parity->tolerance.rtol;
        json["rule"] = measure::name_of(parity->tolerance.rule);
        if (!parity->output.empty()) {
            json["output"] = parity->output;
        }
        if (parity->max_cosine_drop) {
            json["max_cosine_drop"] = *parity->max_cosine_drop;
        }
    } else if (const auto* repeat = std::get_if<RepeatabilityGate>(&gate.criterion)) {
        json["runs"] = repeat->runs;
    } else if (const auto* latency = std::get_if<LatencyGate>(&gate.criterion)) {
        json["percentile"] = latency->percentile;
        json["limit_ms"] = latency->limit_ms;
        json["runs"] = latency->runs;
        json["warmup"] = latency->warmup;
    } else if (const auto* accuracy = std::get_if<AccuracyCriterion>(&gate.criterion)) {
        json["gates"] = Json::array();
        for (const AccuracyGate& one : accuracy->gates) {
            json["gates"].push_back(one.criterion());
        }
    }
    json["text"] = criterion_text(gate);
    return json;
}

Protocol parse_protocol(std::string_view text, const std::string& path,
                        const std::string& rules_folder) {
    const Yaml root = parse_yaml(text, path);
    if (root.kind() != Yaml::Kind::map) {
        root.fail("a protocol is a map of keys", "see docs/formats/protocol.md");
    }
    const Yaml& schema = root.at("schema");
    if (schema.text() != "protocol/1") {
        schema.fail("'" + printable(schema.text()) + "' is no protocol that this version reads",
                    "write protocol/1");
    }
    root.allow_keys(
        {"schema", "name", "title", "model", "reference", "candidate", "inputs", "data", "gates"});
    Protocol protocol;
    protocol.path = path;
    protocol.folder = std::filesystem::path(path).parent_path().string();
    if (protocol.folder.empty()) {
        protocol.folder = ".";
    }
    protocol.digest = digest_of(text);
    protocol.name = identifier(root.at("name"));
    if (const Yaml* title = root.find("title")) {
        protocol.title = line_of_text(*title);
    }
    protocol.model = read_model(root.at("model"));
    protocol.reference = read_side(root.at("reference"), false);
    protocol.candidate = read_side(root.at("candidate"), true);
    protocol.inputs = read_inputs(root.at("inputs"));
    if (const Yaml* data = root.find("data")) {
        protocol.data = read_labelled_data(*data, protocol.accuracy);
    }
    const Yaml& gates = root.at("gates");
    if (gates.kind() != Yaml::Kind::sequence || gates.items().empty()) {
        gates.fail("must be a sequence with at least one gate");
    }
    if (gates.items().size() > most_gates) {
        gates.fail("has more than " + std::to_string(most_gates) + " gates");
    }
    for (const Yaml& item : gates.items()) {
        protocol.gates.push_back(read_gate(item, rules_folder));
    }
    check_gates(gates, protocol.gates);
    check_accuracy(root, protocol);
    return protocol;
}

Protocol read_protocol(const std::string& path, const std::string& rules_folder) {
    return parse_protocol(read_file(path, std::uint64_t{16} << 20), path, rules_folder);
}

}  // namespace requal::qualify
