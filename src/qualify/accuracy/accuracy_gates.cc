#include "qualify/accuracy/accuracy_gates.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace requal::qualify {

namespace {

using measure::Evaluation;
using measure::Interval;
using measure::MetricEstimate;
using measure::SliceResult;

/// A measured number, its interval, and on which side of the limit it must lie.
struct Measured {
    double point = std::numeric_limits<double>::quiet_NaN();
    Interval interval;
    bool at_most = true;
    double limit = 0;

    bool inside(double value) const { return at_most ? value <= limit : value >= limit; }
    double unfavourable() const { return at_most ? interval.high : interval.low; }
    double favourable() const { return at_most ? interval.low : interval.high; }
};

std::string text_of(const Measured& m, double value) {
    return readable(value, 4) +
           (m.inside(value) ? (m.at_most ? " <= " : " >= ") : (m.at_most ? " > " : " < ")) +
           shortest(m.limit);
}

std::pair<Verdict, std::string> judge(const Measured& m, bool by_bound) {
    if (!std::isfinite(m.point)) {
        return {Verdict::undecidable, "the metric is not defined here"};
    }
    const std::string interval = m.interval.known() ? " [" + readable(m.interval.low, 4) + ", " +
                                                          readable(m.interval.high, 4) + "]"
                                                    : "";
    if (!by_bound) {
        return {m.inside(m.point) ? Verdict::pass : Verdict::fail,
                text_of(m, m.point) + ", decided on the point" + interval};
    }
    if (!m.interval.known()) {
        return {Verdict::undecidable,
                "no interval: " + (m.interval.why_not.empty() ? std::string("not resampled")
                                                              : m.interval.why_not)};
    }
    if (m.inside(m.unfavourable())) {
        return {Verdict::pass, "the unfavourable end " + text_of(m, m.unfavourable())};
    }
    if (!m.inside(m.favourable())) {
        return {Verdict::fail, "even the favourable end " + text_of(m, m.favourable())};
    }
    return {Verdict::undecidable,
            "the interval" + interval + " holds the limit " + shortest(m.limit)};
}

void set_number(Json& json, std::string_view key, double value) {
    json[key] = std::isfinite(value) ? Json(value) : Json(nullptr);
}

class Decider {
public:
    Decider(const AccuracyGates& gates, const Evaluation& evaluation)
        : gates_(gates), evaluation_(evaluation) {}

    std::vector<AccuracyDecision> all() {
        for (const AccuracyGate& gate : gates_.gates) {
            if (!evaluation_.paired && gate.kind != AccuracyGateKind::min_value &&
                gate.kind != AccuracyGateKind::max_value) {
                throw Error(ErrorKind::input,
                            "gate '" + gate.id + "' compares with a reference, and there is none",
                            gate.where, "give --reference-predictions");
            }
            if (evaluation_.flips.is_null() && (gate.kind == AccuracyGateKind::max_lost_share ||
                                                gate.kind == AccuracyGateKind::max_gross_share)) {
                throw Error(
                    ErrorKind::input, "gate '" + gate.id + "' is on flips, which were not counted",
                    gate.where, "a task without decisions has none; anomaly needs --threshold");
            }
            if (gate.kind == AccuracyGateKind::no_collapse) {
                for (const std::string& name : gate.classes) {
                    for (const SliceResult* slice :
                         slices_of_gate(gate, evaluation_, "class", name)) {
                        add(collapse(gate, *slice));
                    }
                }
            } else {
                for (const SliceResult* slice :
                     slices_of_gate(gate, evaluation_, gate.slice_by, gate.slice_value)) {
                    add(limit(gate, *slice));
                }
            }
        }
        return std::move(decisions_);
    }

private:
    void add(AccuracyDecision decision) { decisions_.push_back(std::move(decision)); }

    AccuracyDecision start(const AccuracyGate& gate, const SliceResult& slice) const {
        AccuracyDecision decision;
        decision.id = gate.id;
        decision.slice = slice.text();
        decision.criterion = gate.criterion();
        decision.value["n"] = slice.n;
        decision.value["samples"] = slice.samples;
        return decision;
    }

    /// Subset and minimum count; true when the gate may be decided.
    bool may_decide(const AccuracyGate& gate, std::uint64_t n, AccuracyDecision& decision) const {
        const DataPart& part = gates_.part(gate);
        if (evaluation_.samples < part.samples) {
            decision.reason = std::to_string(evaluation_.samples) + " of the " +
                              std::to_string(part.samples) + " samples of '" + part.name +
                              "': a subset passes no gate";
            return false;
        }
        if (evaluation_.samples > part.samples) {
            throw Error(ErrorKind::input,
                        std::to_string(evaluation_.samples) + " samples, and the part '" +
                            part.name + "' has " + std::to_string(part.samples),
                        part.where, "mend the number, or judge that part alone");
        }
        if (n < gate.min_count) {
            decision.reason =
                std::to_string(n) + " where " + std::to_string(gate.min_count) + " are the least";
            return false;
        }
        return true;
    }

    Measured measured(const AccuracyGate& gate, const SliceResult& slice) const {
        Measured m;
        m.limit = gate.limit;
        const bool lost = gate.kind == AccuracyGateKind::max_lost_share;
        if (lost || gate.kind == AccuracyGateKind::max_gross_share) {
            // where decisions are pixels, those of one picture change together: the share was resampled over pictures
            if (const MetricEstimate* share = slice.find(lost ? "lost_share" : "gross_share")) {
                m.point = share->candidate;
                m.interval = share->value_interval;
                return m;
            }
        }
        if (lost) {
            m.point = slice.n == 0
                          ? m.point
                          : static_cast<double>(slice.flips.lost) / static_cast<double>(slice.n);
            m.interval = measure::share_interval(slice.flips.lost, slice.n, evaluation_.confidence);
            return m;
        }
        if (gate.kind == AccuracyGateKind::max_gross_share) {
            const auto gross =
                static_cast<std::uint64_t>(evaluation_.flips.at("gross").as_integer());
            const auto all =
                static_cast<std::uint64_t>(evaluation_.flips.at("decisions").as_integer());
            m.point = all == 0 ? m.point : static_cast<double>(gross) / static_cast<double>(all);
            m.interval = measure::share_interval(gross, all, evaluation_.confidence);
            return m;
        }
        const MetricEstimate& metric = metric_of(gate, slice);
        switch (gate.kind) {
        case AccuracyGateKind::max_drop:
            m.point = metric.lower_is_better ? -metric.drop : metric.drop;
            m.interval = metric.drop_interval;
            if (metric.lower_is_better) {
                // for an error the loss is its rise
                std::swap(m.interval.low, m.interval.high);
                m.interval.low = -m.interval.low;
                m.interval.high = -m.interval.high;
            }
            break;
        case AccuracyGateKind::min_retention:
            m.point = metric.retention;
            m.interval = metric.retention_interval;
            m.at_most = false;
            break;
        default:
            m.point = metric.candidate;
            m.interval = metric.value_interval;
            m.at_most = gate.kind == AccuracyGateKind::max_value;
            break;
        }
        return m;
    }

    const MetricEstimate& metric_of(const AccuracyGate& gate, const SliceResult& slice) const {
        const MetricEstimate* metric = slice.find(gate.metric);
        if (metric == nullptr) {
            std::string known;
            for (const MetricEstimate& other : slice.metrics) {
                known += (known.empty() ? "" : " ") + other.name;
            }
            throw Error(ErrorKind::input,
                        "gate '" + gate.id + "': there is no metric '" + gate.metric + "' in " +
                            slice.text(),
                        gate.where, "it has " + known);
        }
        return *metric;
    }

    AccuracyDecision limit(const AccuracyGate& gate, const SliceResult& slice) const {
        AccuracyDecision decision = start(gate, slice);
        const Measured m = measured(gate, slice);
        set_number(decision.value, "value", m.point);
        set_number(decision.value, "ci_low", m.interval.low);
        set_number(decision.value, "ci_high", m.interval.high);
        std::uint64_t n = slice.n;
        if (!gate.metric.empty()) {
            n = metric_of(gate, slice).n;
            decision.value["n"] = n;
        }
        if (may_decide(gate, n, decision)) {
            std::tie(decision.verdict, decision.reason) = judge(m, gate.by_bound);
        }
        return decision;
    }

    AccuracyDecision collapse(const AccuracyGate& gate, const SliceResult& slice) const {
        AccuracyDecision decision = start(gate, slice);
        const MetricEstimate& metric = metric_of(gate, slice);
        Measured value, kept;
        value.point = metric.candidate;
        value.interval = metric.value_interval;
        value.limit = gate.min_ap;
        kept.point = metric.retention;
        kept.interval = metric.retention_interval;
        kept.limit = gate.min_retention;
        value.at_most = kept.at_most = false;
        set_number(decision.value, "value", value.point);
        set_number(decision.value, "ci_low", value.interval.low);
        set_number(decision.value, "ci_high", value.interval.high);
        set_number(decision.value, "retention", kept.point);
        set_number(decision.value, "retention_ci_low", kept.interval.low);
        set_number(decision.value, "retention_ci_high", kept.interval.high);
        if (!may_decide(gate, metric.n, decision)) {
            return decision;
        }
        const auto [value_verdict, value_reason] = judge(value, gate.by_bound);
        const auto [kept_verdict, kept_reason] = judge(kept, gate.by_bound);
        decision.verdict = combine(value_verdict, kept_verdict);
        decision.reason = gate.metric + ": " + value_reason + "; retention: " + kept_reason;
        return decision;
    }

    const AccuracyGates& gates_;
    const Evaluation& evaluation_;
    std::vector<AccuracyDecision> decisions_;
};

}  // namespace

Json AccuracyDecision::to_json() const {
    return Json::object({{"id", id},
                         {"slice", slice},
                         {"criterion", criterion},
                         {"value", value},
                         {"verdict", name_of(verdict)},
                         {"reason", reason}});
}

std::vector<const SliceResult*> slices_of_gate(const AccuracyGate& gate,
                                               const Evaluation& evaluation, const std::string& by,
                                               const std::string& value) {
    if (by.empty()) {
        return {&evaluation.overall};
    }
    std::vector<const SliceResult*> found;
    std::vector<std::string> values;
    for (const SliceResult& slice : evaluation.slices) {
        if (measure::by_of(slice.name) != by) {
            continue;
        }
        values.push_back(measure::value_of(slice.name));
        if (value == "*" || values.back() == value) {
            found.push_back(&slice);
        }
    }
    if (found.empty()) {
        const std::vector<std::string_view> known(values.begin(), values.end());
        const std::string near = nearest(value, known);
        throw Error(ErrorKind::input,
                    "gate '" + gate.id + "': there is no slice " + by + " '" + value + "'",
                    gate.where,
                    !near.empty()    ? "did you mean '" + near + "'?"
                    : values.empty() ? "add '" + by + "' to slices"
                                     : "");
    }
    return found;
}

std::vector<AccuracyDecision> decide_accuracy(const AccuracyGates& gates,
                                              const Evaluation& evaluation) {
    return Decider(gates, evaluation).all();
}

}  // namespace requal::qualify
