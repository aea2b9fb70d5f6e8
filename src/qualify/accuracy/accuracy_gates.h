// Gates on task metrics: which number, in which slice, against which limit, on which data, set by whom, decided how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/json.h"
#include "base/yaml.h"
#include "measure/accuracy/metric_table.h"
#include "measure/accuracy/slices.h"

namespace requal::qualify {

/// A part of the data. What selected the checkpoint, calibrated or tuned a tolerance carries no gate.
struct DataPart {
    std::string name;
    std::uint64_t samples = 0;  ///< of the whole part; a run on fewer is a subset
    std::vector<std::string>
        used_for;  ///< "checkpoint-selection", "calibration", "tolerance-tuning", or anything else ("training")
    std::string where;
};

enum class AccuracyGateKind {
    max_drop,         ///< reference minus candidate
    min_retention,    ///< candidate over reference
    min_value,        ///< of the candidate
    max_value,        ///< of the candidate
    max_lost_share,   ///< lost decisions over all
    max_gross_share,  ///< changed decisions over all
    no_collapse,      ///< no important class below a value or a retention
};
std::string_view name_of(AccuracyGateKind kind);

struct AccuracyGate {
    std::string id;
    AccuracyGateKind kind = AccuracyGateKind::max_drop;
    std::string metric;                 ///< not for flips
    double limit = 0;                   ///< not for no_collapse
    std::string slice_by, slice_value;  ///< empty: overall; value "*": every slice of that kind
    std::vector<std::string> classes;   ///< no_collapse
    double min_ap = 0, min_retention = 0;
    std::uint64_t min_count = 0;
    bool by_bound = true;  ///< decides_on: bound
    std::string reference, part, set_by, source;
    double expected_drop = 0;                  ///< for the plan
    double expected_flips = 0.05;              ///< for the plan: share of decisions that change
    std::optional<double> expected_reference;  ///< for the plan of retentions
    std::string where;

    Json criterion() const;
    std::string text() const;  ///< for people: "drop of ap50_95 <= 0.02, decided on the bound, ..."
};

struct AccuracyGates {
    std::vector<DataPart> parts;
    std::vector<measure::SliceSpec> slices;
    std::vector<AccuracyGate> gates;

    const DataPart& part(const AccuracyGate& gate) const;
};

/// Reads `accuracy-gates/1` (docs/formats/accuracy-gates.md). Error(input) by file and line for what is missing: nothing has a default
/// that decides; for a gate on a part that carries none; for a gate without reference where two sides are compared.
AccuracyGates read_accuracy_gates(const Yaml& file, const std::string& rules_folder);

/// The pieces of it, for protocols: `parts`, and an item of `gates` (several gates when it names a preset), with a key `kind` besides.
std::vector<DataPart> read_data_parts(const Yaml& sequence);
std::vector<AccuracyGate> read_accuracy_gate(const Yaml& item, const std::string& rules_folder);
/// Error(input) for ids that stand twice, parts that are not described or carry no gate; adds the slice `class` where a gate needs it.
void check_accuracy_gates(AccuracyGates& gates);

/// One decided gate. `slice` "overall" or "class bolt".
struct AccuracyDecision {
    std::string id, slice;
    Json criterion = Json::object(), value = Json::object();
    Verdict verdict = Verdict::undecidable;
    std::string reason;

    Json to_json() const;
};

/// The slices that (by, value) means; "*": all of that kind; "": overall. Error(input) with a suggestion when there is none.
std::vector<const measure::SliceResult*> slices_of_gate(const AccuracyGate& gate,
                                                        const measure::Evaluation& evaluation,
                                                        const std::string& by,
                                                        const std::string& value);

/// Decides every gate; one with value "*" gives a decision a slice. Fewer samples than the part has, or fewer objects than min_count:
/// undecidable, never passed. A metric that is not there, or whose interval is not known while `bound` decides: undecidable.
/// Error(input) for a metric or slice that the evaluation does not know.
std::vector<AccuracyDecision> decide_accuracy(const AccuracyGates& gates,
                                              const measure::Evaluation& evaluation);

}  // namespace requal::qualify
