// Task quality inside a run: the labelled data is read and checked before anything is built; later both sides predict on it, and the
// accuracy gates decide.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "data/dataset.h"
#include "data/decoder.h"
#include "data/preprocess.h"
#include "measure/accuracy/metric_table.h"
#include "measure/runnable.h"
#include "qualify/gates.h"
#include "qualify/protocol.h"

namespace requal::qualify {

/// What `data` of a protocol names, read. Only the parts that a gate is on are.
struct LabelledData {
    struct Part {
        data::DataPart part;
        AccuracyGates gates;  ///< those on this part
    };
    data::PreprocessSpec preprocess;
    data::DecoderSpec decoder;
    std::vector<Part> parts;

    /// Digests of all of it, for records and for the question whether a step must be done again.
    Json describe() const;
};

/// Error(input), before anything runs: files that are not there or not those of the protocol (digests), class lists of decoder and data
/// that differ, a spec that is not for the model's inputs, slices that the data does not have, gates that can never pass, parts of
/// another size than the protocol says.
LabelledData read_labelled_data(const Protocol& protocol,
                                const std::vector<data::InputPort>& ports);

/// One part, measured.
struct MeasuredPart {
    std::string part;
    measure::Evaluation evaluation;
    Json document;                   ///< entry of the record's `accuracy`
    std::vector<std::string> files;  ///< predictions, in the run's folder
    std::string
        labels;  ///< name of the copy of the label file there; empty for a folder of classes
};

/// Predictions of one side on every part: FOLDER/predictions-PART-SIDE.json (.csv of a classifier).
void predict_parts(const LabelledData& data, measure::RunningSide& side, const std::string& folder,
                   const std::string& name);

/// Judges what predict_parts() left of both sides.
std::vector<MeasuredPart> evaluate_parts(const Protocol& protocol, const LabelledData& data,
                                         const std::string& folder);

/// One decision of all slices that the gate is on: failed when one failed, else undecidable when one could not be decided.
Decision decide_accuracy_gate(const Gate& gate, const LabelledData& data,
                              const std::vector<MeasuredPart>& measured);

}  // namespace requal::qualify
