#include "qualify/gates.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace requal::qualify {

namespace {

Decision start(const Gate& gate) {
    Decision decision;
    decision.id = gate.id;
    decision.kind = std::string(kind_of(gate));
    decision.criterion = to_json(gate);
    return decision;
}

std::string plural(std::uint64_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// The verdict of one output, and in `reason` why it is not a pass.
Verdict judge_output(const ParityGate& criterion, const std::string& name,
                     const measure::Difference& difference, std::string& reason) {
    if (difference.count() == 0) {
        reason = "output " + name + ": nothing was compared";
        return Verdict::undecidable;
    }
    if (difference.outside() > 0) {
        reason = "output " + name + ": " + plural(difference.outside(), "element") + " of " +
                 std::to_string(difference.count()) + " outside, largest difference " +
                 readable(difference.max_abs()) + ", worst in sample " +
                 std::to_string(difference.worst_sample());
        if (difference.nan() + difference.inf() >
            difference.reference_nan() + difference.reference_inf()) {
            reason += "; " + std::to_string(difference.nan()) + " NaN and " +
                      std::to_string(difference.inf()) + " infinities in the engine's output";
        }
        return Verdict::fail;
    }
    if (difference.reference_nan() + difference.reference_inf() > 0) {
        // Agreement with something that is no number says nothing about the engine.
        reason = "output " + name + ": the reference itself has " +
                 std::to_string(difference.reference_nan()) + " NaN and " +
                 std::to_string(difference.reference_inf()) + " infinities";
        return Verdict::undecidable;
    }
    const Verdict verdict = difference.verdict();
    if (verdict != Verdict::pass) {
        reason = "output " + name + ": not within its tolerance";
        return verdict;
    }
    if (criterion.max_cosine_drop) {
        const double drop = 1 - difference.cosine();
        if (std::isnan(drop)) {
            // Two all-zero outputs have no direction; if they are equal there is no drop.
            if (difference.max_abs() == 0) {
                return verdict;
            }
            reason = "output " + name + ": cosine similarity is undefined (one side is all zero)";
            return Verdict::fail;
        }
        if (drop > *criterion.max_cosine_drop) {
            reason = "output " + name + ": cosine drop " + readable(drop) + " above " +
                     shortest(*criterion.max_cosine_drop);
            return Verdict::fail;
        }
    }
    return verdict;
}

}  // namespace

Json Decision::to_json() const {
    return Json::object({{"id", id},
                         {"kind", kind},
                         {"criterion", criterion},
                         {"value", value},
                         {"verdict", name_of(verdict)},
                         {"reason", reason}});
}

Decision decide_engine(const EngineOutcome& outcome) {
    Decision decision;
    decision.id = "engine";
    decision.kind = "engine";
    decision.criterion =
        Json::object({{"kind", "engine"},
                      {"precision", outcome.precision_requested},
                      {"text", "the engine builds, loads, runs" +
                                   (outcome.precision_requested == "default"
                                        ? std::string()
                                        : " and executes " + outcome.precision_requested)}});
    decision.value = Json::object({{"built", outcome.built},
                                   {"ran", outcome.ran},
                                   {"precision", outcome.precision_executed}});
    if (!outcome.failure.empty()) {
        decision.verdict = Verdict::fail;
        decision.reason = outcome.failure;
    } else if (!outcome.ran) {
        decision.reason = outcome.built ? "built, but nothing ran it" : "not built";
    } else if (outcome.precision_requested == "default" ||
               outcome.precision_requested == outcome.precision_executed) {
        decision.verdict = Verdict::pass;
        decision.reason = "built, loaded and ran";
    } else if (outcome.precision_executed.empty() || outcome.precision_executed == "unknown") {
        decision.reason =
            "ran, but which precision it executes cannot be learned from this toolchain";
    } else {
        decision.verdict = Verdict::fail;
        decision.reason = "executes " + outcome.precision_executed + ", not the requested " +
                          outcome.precision_requested;
    }
    return decision;
}

Decision decide_parity(const Gate& gate, const OutputDifferences& outputs) {
    const auto& criterion = std::get<ParityGate>(gate.criterion);
    Decision decision = start(gate);
    if (outputs.empty()) {
        decision.reason = "no output was compared";
        return decision;
    }
    decision.verdict = Verdict::pass;
    double largest = 0;
    std::uint64_t elements = 0;
    std::uint64_t outside = 0;
    Json list = Json::array();
    for (const auto& [name, difference] : outputs) {
        std::string reason;
        const Verdict verdict = judge_output(criterion, name, difference, reason);
        if (verdict != Verdict::pass &&
            (decision.reason.empty() ||
             (verdict == Verdict::fail && decision.verdict != Verdict::fail))) {
            decision.reason = reason;
        }
        decision.verdict = combine(decision.verdict, verdict);
        largest = std::max(largest, difference.max_abs());
        elements += difference.count();
        outside += difference.outside();
        Json entry = difference.to_json(name);
        entry["verdict"] = name_of(verdict);
        list.push_back(std::move(entry));
    }
    decision.value =
        Json::object({{"outputs", list}, {"elements", elements}, {"outside", outside}});
    decision.value.set_number("max_abs", largest);
    if (decision.verdict == Verdict::pass) {
        decision.reason = plural(elements, "element") +
                          " compared, none outside, largest difference " + readable(largest);
    }
    return decision;
}

Decision decide_finite(const Gate& gate, const OutputDifferences& outputs) {
    Decision decision = start(gate);
    std::uint64_t nan = 0;
    std::uint64_t inf = 0;
    std::uint64_t elements = 0;
    std::string where;
    for (const auto& [name, difference] : outputs) {
        nan += difference.nan();
        inf += difference.inf();
        elements += difference.count();
        if (where.empty() && difference.nan() + difference.inf() > 0) {
            where = name;
        }
    }
    if (elements == 0) {
        decision.reason = "no output was seen";
        return decision;
    }
    decision.value = Json::object({{"nan", nan}, {"inf", inf}, {"elements", elements}});
    decision.verdict = nan + inf == 0 ? Verdict::pass : Verdict::fail;
    decision.reason = nan + inf == 0 ? plural(elements, "element") + ", all finite"
                                     : std::to_string(nan) + " NaN and " + std::to_string(inf) +
                                           " infinities, first in output " + where;
    return decision;
}

Decision decide_repeatability(const Gate& gate, const Repeatability& measured) {
    const auto& criterion = std::get<RepeatabilityGate>(gate.criterion);
    Decision decision = start(gate);
    decision.value = Json::object({{"runs", measured.runs},
                                   {"samples", measured.samples},
                                   {"differing_runs", measured.differing_runs},
                                   {"other_process_compared", measured.other_process_compared},
                                   {"other_process_differing", measured.other_process_differing}});
    if (!measured.first_difference.empty()) {
        decision.value["first_difference"] = measured.first_difference;
    }
    if (measured.differing_runs > 0 || measured.other_process_differing > 0) {
        decision.verdict = Verdict::fail;
        decision.reason = measured.differing_runs > 0
                              ? plural(measured.differing_runs, "run") + " of " +
                                    std::to_string(measured.runs * measured.samples) +
                                    " gave other bytes"
                              : plural(measured.other_process_differing, "sample") +
                                    " gave other bytes in another process";
        if (!measured.first_difference.empty()) {
            decision.reason += ", first: " + measured.first_difference;
        }
        return decision;
    }
    if (measured.runs < criterion.runs || measured.samples == 0) {
        decision.reason = plural(measured.runs, "run") + " of " +
                          plural(measured.samples, "sample") + " made, " +
                          std::to_string(criterion.runs) + " runs needed";
        return decision;
    }
    decision.verdict = Verdict::pass;
    decision.reason = std::to_string(measured.runs * measured.samples) + " runs, all equal";
    if (measured.other_process_compared > 0) {
        decision.reason += ", also to another process";
    }
    return decision;
}

Decision decide_latency(const Gate& gate, const measure::LatencyStatistics& measured) {
    const auto& criterion = std::get<LatencyGate>(gate.criterion);
    Decision decision = start(gate);
    decision.value["samples"] = measured.samples();
    const auto percentile = measured.percentile(criterion.quantile);
    if (!percentile) {
        decision.reason =
            plural(measured.samples(), "run") + " cannot bear a " + criterion.percentile;
        return decision;
    }
    const std::string key = criterion.percentile;
    decision.value[key + "_ms"] = percentile->value_ms;
    const std::string value_text = key + " " + readable(percentile->value_ms) + " ms";
    if (!percentile->ci_low_ms || !percentile->ci_high_ms) {
        decision.reason = value_text + ", but " + plural(measured.samples(), "run") +
                          " cannot bear its 95 % interval";
        return decision;
    }
    const double low = *percentile->ci_low_ms;
    const double high = *percentile->ci_high_ms;
    decision.value[key + "_ci_low_ms"] = low;
    decision.value[key + "_ci_high_ms"] = high;
    // As `bench` defines it: the share of the limit that is left.
    decision.value["headroom"] = 1 - percentile->value_ms / criterion.limit_ms;
    const std::string interval =
        value_text + " (95 % interval " + readable(low) + " to " + readable(high) + " ms)";
    const std::string limit = shortest(criterion.limit_ms) + " ms";
    if (measured.samples() < criterion.runs) {
        decision.reason = interval + ", but " + std::to_string(measured.samples()) + " of " +
                          std::to_string(criterion.runs) + " runs made";
    } else if (high <= criterion.limit_ms) {
        decision.verdict = Verdict::pass;
        decision.reason = interval + ", limit " + limit;
    } else if (low > criterion.limit_ms) {
        decision.verdict = Verdict::fail;
        decision.reason = interval + " above the limit " + limit;
    } else {
        decision.reason = interval + " contains the limit " + limit;
    }
    return decision;
}

Decision not_measured(const Gate& gate, std::string reason) {
    Decision decision = start(gate);
    decision.reason = std::move(reason);
    return decision;
}

Verdict combined(const std::vector<Decision>& decisions) {
    if (decisions.empty()) {
        return Verdict::undecidable;
    }
    Verdict verdict = Verdict::pass;
    for (const Decision& decision : decisions) {
        verdict = combine(verdict, decision.verdict);
    }
    return verdict;
}

}  // namespace requal::qualify
