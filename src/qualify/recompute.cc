#include "qualify/recompute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "qualify/gates.h"
#include "qualify/protocol.h"
#include "tensor/npy.h"

namespace requal::qualify {

namespace {

using evidence::RecomputedGate;

/// What the values say: a verdict, or why they say nothing.
struct Judged {
    std::optional<Verdict> verdict;
    std::string
        why;  ///< without a verdict: why not; "differs: ..." is an inconsistency of the values themselves
    bool inconsistent = false;
};

Judged differs(std::string why) {
    return {std::nullopt, std::move(why), true};
}

std::uint64_t count_at(const Json& value, std::string_view key) {
    const std::int64_t count = value.at(key).as_integer();
    if (count < 0)
        throw Error(ErrorKind::input, "a count below zero: " + std::string(key));
    return static_cast<std::uint64_t>(count);
}

/// The entry of one output, judged as decide_parity() judges a Difference.
Judged judge_output(const ParityGate& criterion, const Json& entry) {
    const std::string& name = entry.at("name").as_string();
    if (entry.at("atol").as_number() != criterion.tolerance.atol ||
        entry.at("rtol").as_number() != criterion.tolerance.rtol ||
        entry.at("rule").as_string() != measure::name_of(criterion.tolerance.rule))
        return differs("output " + printable(name) + " was compared with another tolerance");
    if (count_at(entry, "elements") == 0)
        return {Verdict::undecidable, {}};
    if (count_at(entry, "outside") > 0)
        return {Verdict::fail, {}};
    if (entry.at("needed_atol").is_number() &&
        entry.at("needed_atol").as_number() > criterion.tolerance.atol * (1 + 1e-6))
        return differs("output " + printable(name) +
                       " needs a larger tolerance than the one that it is said to lie within");
    if (count_at(entry, "reference_nan") + count_at(entry, "reference_inf") > 0)
        return {Verdict::undecidable, {}};
    if (count_at(entry, "nan") + count_at(entry, "inf") > 0)
        return {Verdict::fail, {}};
    if (criterion.max_cosine_drop) {
        const Json& cosine = entry.at("cosine");
        if (!cosine.is_number())
            return {entry.at("max_abs") == Json(0.0) ? Verdict::pass : Verdict::fail, {}};
        if (1 - cosine.as_number() > *criterion.max_cosine_drop)
            return {Verdict::fail, {}};
    }
    return {Verdict::pass, {}};
}

/// Names of the outputs that a parity gate of the protocol judges.
std::set<std::string> outputs_of(const Protocol& protocol, const ParityGate& criterion,
                                 const Json& record) {
    if (!criterion.output.empty())
        return {criterion.output};
    std::set<std::string> names;
    for (const Json& output : record.at("outputs").as_array())
        names.insert(output.at("name").as_string());
    for (const Gate& gate : protocol.gates) {
        if (const auto* parity = std::get_if<ParityGate>(&gate.criterion))
            names.erase(parity->output);
    }
    return names;
}

Judged judge_parity(const Protocol& protocol, const ParityGate& criterion, const Json& value,
                    const Json& record) {
    if (!value.has("outputs"))
        return {Verdict::undecidable, {}};
    std::map<std::string, const Json*> measured;
    for (const Json& output : record.at("outputs").as_array())
        measured.emplace(output.at("name").as_string(), &output);
    Judged all{Verdict::pass, {}};
    std::set<std::string> names;
    std::uint64_t elements = 0, outside = 0;
    for (const Json& entry : value.at("outputs").as_array()) {
        const std::string& name = entry.at("name").as_string();
        names.insert(name);
        elements += count_at(entry, "elements");
        outside += count_at(entry, "outside");
        const auto found = measured.find(name);
        if (found == measured.end())
            return differs("output " + printable(name) + " was not measured in this run");
        for (const char* key : {"elements", "outside", "max_abs", "nan", "inf", "cosine"}) {
            if (found->second->get(key) != entry.get(key))
                return differs("the gate and the measurement differ about " + std::string(key) +
                               " of output " + printable(name));
        }
        const Judged one = judge_output(criterion, entry);
        if (!one.verdict)
            return one;
        if (name_of(*one.verdict) != entry.at("verdict").as_string())
            return differs("output " + printable(name) + " is said to be " +
                           printable(entry.at("verdict").as_string()) + ", its values say " +
                           std::string(name_of(*one.verdict)));
        all.verdict = combine(*all.verdict, *one.verdict);
    }
    if (names != outputs_of(protocol, criterion, record))
        return differs("the gate does not judge the outputs that the protocol says");
    if (names.empty())
        return {Verdict::undecidable, {}};
    if (elements != count_at(value, "elements") || outside != count_at(value, "outside"))
        return differs("the sums over the outputs are not the ones that the gate says");
    return all;
}

Judged judge_finite(const Json& value, const Json& record) {
    if (!value.has("elements"))
        return {Verdict::undecidable, {}};
    std::uint64_t elements = 0, wrong = 0;
    for (const Json& output : record.at("outputs").as_array()) {
        elements += count_at(output, "elements");
        wrong += count_at(output, "nan") + count_at(output, "inf");
    }
    if (elements != count_at(value, "elements") ||
        wrong != count_at(value, "nan") + count_at(value, "inf"))
        return differs("the gate and the measurement differ about elements, NaN or infinities");
    if (elements == 0)
        return {Verdict::undecidable, {}};
    return {wrong == 0 ? Verdict::pass : Verdict::fail, {}};
}

Judged judge_repeatability(const Gate& gate, const Json& value) {
    if (!value.has("runs"))
        return {Verdict::undecidable, {}};
    Repeatability measured;
    measured.runs = count_at(value, "runs");
    measured.samples = count_at(value, "samples");
    measured.differing_runs = count_at(value, "differing_runs");
    measured.other_process_compared = count_at(value, "other_process_compared");
    measured.other_process_differing = count_at(value, "other_process_differing");
    return {decide_repeatability(gate, measured).verdict, {}};
}

Judged judge_latency(const Gate& gate, const Json& value, const evidence::FileOfRunReader& file) {
    if (!value.has("samples"))
        return {Verdict::undecidable, {}};
    const auto series = file("latency_ns.npy");
    if (!series)
        return {std::nullopt, "the latency series is not in the package, or too large"};
    const Tensor tensor =
        read_npy(std::as_bytes(std::span(series->data(), series->size())), "latency_ns.npy");
    if (tensor.type() != ElementType::int64)
        return differs("the latency series does not hold nanoseconds as 64-bit integers");
    const measure::LatencyStatistics statistics(tensor.values<std::int64_t>());
    const Decision again = decide_latency(gate, statistics);
    if (write_json_compact(again.value) != write_json_compact(value))
        return differs("the latency series gives " + write_json_compact(again.value) +
                       ", the gate says " + write_json_compact(value).substr(0, 300));
    return {again.verdict, {}};
}

double number_at(const Json& value, std::string_view key) {
    return value.get(key).is_number() ? value.get(key).as_number()
                                      : std::numeric_limits<double>::quiet_NaN();
}

/// A number with its interval against a limit: what decide_accuracy() says of them.
Verdict judge_number(double point, double low, double high, bool at_most, double limit,
                     bool by_bound) {
    const auto inside = [&](double value) { return at_most ? value <= limit : value >= limit; };
    if (!std::isfinite(point))
        return Verdict::undecidable;
    if (!by_bound)
        return inside(point) ? Verdict::pass : Verdict::fail;
    if (!std::isfinite(low) || !std::isfinite(high))
        return Verdict::undecidable;
    if (inside(at_most ? high : low))
        return Verdict::pass;
    return inside(at_most ? low : high) ? Verdict::undecidable : Verdict::fail;
}

Verdict judge_accuracy_decision(const AccuracyGate& gate, const Json& value) {
    const double point = number_at(value, "value");
    const double low = number_at(value, "ci_low");
    const double high = number_at(value, "ci_high");
    if (count_at(value, "n") < gate.min_count)
        return Verdict::undecidable;
    if (gate.kind == AccuracyGateKind::no_collapse)
        return combine(judge_number(point, low, high, false, gate.min_ap, gate.by_bound),
                       judge_number(number_at(value, "retention"),
                                    number_at(value, "retention_ci_low"),
                                    number_at(value, "retention_ci_high"), false,
                                    gate.min_retention, gate.by_bound));
    const bool at_most =
        gate.kind != AccuracyGateKind::min_retention && gate.kind != AccuracyGateKind::min_value;
    return judge_number(point, low, high, at_most, gate.limit, gate.by_bound);
}

/// The entry of the record's `accuracy` for a part; nullptr when there is none.
const Json* accuracy_of(const Json& record, const std::string& part) {
    if (!record.get("accuracy").is_array())
        return nullptr;
    for (const Json& entry : record.at("accuracy").as_array()) {
        if (entry.at("part").as_string() == part)
            return &entry;
    }
    return nullptr;
}

/// How many slices a gate decides on, by the measured ones.
std::size_t slices_meant(const AccuracyGate& gate, const Json& accuracy) {
    if (gate.kind == AccuracyGateKind::no_collapse)
        return gate.classes.size();
    if (gate.slice_by.empty() || gate.slice_value != "*")
        return 1;
    const auto& slices = accuracy.at("slices").as_array();
    return static_cast<std::size_t>(
        std::count_if(slices.begin(), slices.end(),
                      [&](const Json& slice) { return slice.get("by") == Json(gate.slice_by); }));
}

Judged judge_accuracy(const Protocol& protocol, const AccuracyCriterion& criterion,
                      const Json& value, const Json& record) {
    if (!value.has("decisions"))
        return {Verdict::undecidable, {}};
    Judged all{Verdict::pass, {}};
    std::size_t expected = 0;
    const auto& decisions = value.at("decisions").as_array();
    for (const AccuracyGate& gate : criterion.gates) {
        const Json* measured = accuracy_of(record, gate.part);
        if (measured == nullptr)
            return differs("part '" + printable(gate.part) + "' was not measured in this run");
        expected += slices_meant(gate, *measured);
        const bool whole = count_at(*measured, "samples") == protocol.accuracy.part(gate).samples;
        const std::string wanted = write_json_compact(gate.criterion());
        std::size_t met = 0;
        for (const Json& decision : decisions) {
            if (decision.at("id") != Json(gate.id) ||
                write_json_compact(decision.at("criterion")) != wanted)
                continue;
            ++met;
            const Verdict one =
                whole ? judge_accuracy_decision(gate, decision.at("value")) : Verdict::undecidable;
            if (name_of(one) != decision.at("verdict").as_string())
                return differs(printable(decision.at("slice").as_string()) + " is said to be " +
                               printable(decision.at("verdict").as_string()) + ", its values say " +
                               std::string(name_of(one)));
            all.verdict = combine(*all.verdict, one);
        }
        if (met == 0)
            return differs("nothing was decided on '" + printable(gate.id) + "'");
    }
    if (decisions.size() != expected)
        return differs(std::to_string(decisions.size()) + " decisions, the criterion asks for " +
                       std::to_string(expected));
    return all;
}

/// A failure of the toolchain stands in the steps; without one, a run that built and ran is no failure.
Judged judge_engine(const Json& gate, const Json& record) {
    const Json& value = gate.at("value");
    EngineOutcome outcome;
    outcome.built = value.at("built").as_boolean();
    outcome.ran = value.at("ran").as_boolean();
    outcome.precision_executed = value.at("precision").as_string();
    outcome.precision_requested = gate.at("criterion").at("precision").as_string();
    const Verdict by_value = decide_engine(outcome).verdict;
    const auto& steps = record.at("steps").as_array();
    const bool step_failed = std::any_of(steps.begin(), steps.end(), [](const Json& step) {
        return step.at("state") == Json("failed");
    });
    if (gate.at("verdict") == Json("fail") && step_failed)
        return {Verdict::fail, {}};
    return {by_value, {}};
}

RecomputedGate judged(const Json& gate, const std::string& kind, const Judged& again) {
    RecomputedGate result{gate.at("id").as_string(), kind, "same", {}};
    const std::string& recorded = gate.at("verdict").as_string();
    if (again.inconsistent) {
        result.status = "differs";
        result.why = again.why;
    } else if (!again.verdict) {
        result.status = "not recomputed";
        result.why = again.why;
    } else if (name_of(*again.verdict) != recorded) {
        result.status = "differs";
        result.why = "the record says " + printable(recorded) + ", its values say " +
                     std::string(name_of(*again.verdict));
    }
    return result;
}

Judged judge(const Protocol& protocol, const Gate& wanted, const Json& gate, const Json& record,
             const evidence::FileOfRunReader& file) {
    const Json& value = gate.at("value");
    const std::string_view kind = kind_of(wanted);
    if (kind == "parity")
        return judge_parity(protocol, std::get<ParityGate>(wanted.criterion), value, record);
    if (kind == "finite")
        return judge_finite(value, record);
    if (kind == "repeatability")
        return judge_repeatability(wanted, value);
    if (kind == "latency")
        return judge_latency(wanted, value, file);
    if (kind == "accuracy")
        return judge_accuracy(protocol, std::get<AccuracyCriterion>(wanted.criterion), value,
                              record);
    return {std::nullopt, "gates of kind '" + printable(kind) + "' are not known here"};
}

}  // namespace

std::vector<RecomputedGate> recompute(const Json& record, const evidence::FileOfRunReader& file) {
    std::vector<RecomputedGate> results;
    std::optional<Protocol> protocol;
    std::string no_protocol = "its protocol is not in the package";
    if (const auto text = file("protocol.yaml")) {
        try {
            protocol = parse_protocol(*text, "protocol.yaml");
        } catch (const Error& error) {
            no_protocol = std::string("its protocol cannot be read here: ") + error.what();
        }
    }
    std::set<std::string> seen;
    for (const Json& gate : record.at("gates").as_array()) {
        const std::string& id = gate.at("id").as_string();
        const std::string kind = gate.has("kind") ? gate.at("kind").as_string() : "unknown";
        if (!seen.insert(id).second) {
            results.push_back({id, kind, "differs", "two gates of one name"});
            continue;
        }
        if (kind == "engine") {
            results.push_back(judged(gate, kind, judge_engine(gate, record)));
            continue;
        }
        if (!protocol) {
            results.push_back({id, kind, "not recomputed", no_protocol});
            continue;
        }
        const auto wanted = std::find_if(protocol->gates.begin(), protocol->gates.end(),
                                         [&](const Gate& one) { return one.id == id; });
        if (wanted == protocol->gates.end()) {
            const bool known = kind == "parity" || kind == "finite" || kind == "repeatability" ||
                               kind == "latency" || kind == "accuracy";
            results.push_back({id, kind, known ? "differs" : "not recomputed",
                               known ? "the protocol has no such gate"
                                     : "a gate of kind '" + printable(kind) +
                                           "' that is not in the protocol's list"});
            continue;
        }
        if (kind != kind_of(*wanted) ||
            write_json_compact(to_json(*wanted)) != write_json_compact(gate.at("criterion"))) {
            results.push_back(
                {id, kind, "differs", "its criterion is not the one that the protocol says"});
            continue;
        }
        results.push_back(judged(gate, kind, judge(*protocol, *wanted, gate, record, file)));
    }
    if (!seen.contains("engine"))
        results.push_back({"engine", "engine", "differs", "the record does not judge the engine"});
    if (protocol) {
        for (const Gate& wanted : protocol->gates) {
            if (!seen.contains(wanted.id))
                results.push_back({wanted.id, std::string(kind_of(wanted)), "differs",
                                   "a gate of the protocol that the record does not judge"});
        }
    }
    return results;
}

}  // namespace requal::qualify
