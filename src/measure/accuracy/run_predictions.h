// Predictions of a runnable on labelled pictures: run, decoded, kept sample by sample, so that an interrupted run goes on.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "data/dataset.h"
#include "data/decoder.h"
#include "data/preprocess.h"
#include "measure/accuracy/classification.h"
#include "measure/runnable.h"

namespace requal::measure {

struct PredictionRequest {
    std::string runnable;  ///< as for `infer`
    std::string on;        ///< "ssh://user@host", empty: here
    std::string
        annotations;  ///< labels of a task; of a detector or classifier also dataset/1 or a folder
    std::string images;      ///< folder of the pictures, empty: beside the annotations
    std::string part;        ///< of a dataset/1; empty: its only one
    std::string preprocess;  ///< preprocess/1
    std::string decoder;     ///< decoder/1
    std::string folder;      ///< where the predictions are kept
    std::string side;        ///< "candidate" or "reference": name of the files in `folder`
    unsigned threads = 1;    ///< that prepare pictures while the runnable runs
    RunOptions options;
};

/// Runs what is not there yet and writes FOLDER/SIDE.json (COCO results of a detector) or FOLDER/SIDE.csv (all scores of a classifier),
/// in the order of the annotations. FOLDER/SIDE.partial keeps a line a picture until then; it goes on after an interruption when it was
/// begun by the same runnable, specs and annotations, else Error(input). Memory does not grow with the pictures. Error(input) as
/// check_decoder(), and naming the picture for scores of a classifier that are no finite numbers.
/// Returns {"path", "runnable" (describe()), "samples", "resumed_samples", "not_finite" (boxes dropped)}.
Json run_predictions(const PredictionRequest& request);

/// The part of the labelled data that a request names.
data::DataPart part_of(const PredictionRequest& request);

/// Error(input) when the decoder is for another task than the data, or its classes are not the data's categories.
void check_decoder(const data::DecoderSpec& decoder, const data::DataPart& part,
                   const std::string& annotations);

/// What is predicted on, and where the predictions go.
struct PartPredictions {
    const data::DataPart& part;
    const data::PreprocessSpec& preprocess;
    const data::DecoderSpec& decoder;
    std::string folder, side;
    unsigned threads = 1;
};

struct PredictedPart {
    std::string path;
    std::uint64_t resumed = 0, not_finite = 0;
};

/// The work of run_predictions() on a side that is loaded; `made_by` says what FOLDER/SIDE.partial belongs to.
PredictedPart predict_part(RunningSide& side, const PartPredictions& what, const Json& made_by);

/// Labels of classification as the metrics want them: classes are the categories, samples the pictures. Error(input) for a sample
/// without a class.
ClassLabels class_labels_of(const data::DataPart& part);

}  // namespace requal::measure
