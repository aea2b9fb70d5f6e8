// Predictions of a runnable on labelled pictures: run, decoded, kept sample by sample, so that an interrupted run goes on.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "measure/runnable.h"

namespace requal::measure {

struct PredictionRequest {
    std::string runnable;     ///< as for `infer`
    std::string on;           ///< "ssh://user@host", empty: here
    std::string annotations;  ///< COCO annotations
    std::string images;       ///< folder of the pictures, empty: beside the annotations
    std::string preprocess;   ///< preprocess/1
    std::string decoder;      ///< decoder/1 of a detector
    std::string folder;       ///< where the predictions are kept
    std::string side;         ///< "candidate" or "reference": name of the files in `folder`
    RunOptions options;
};

/// Runs what is not there yet and writes FOLDER/SIDE.json (COCO results, in the order of the annotations). FOLDER/SIDE.partial keeps a line a
/// picture until then; it goes on after an interruption when it was begun by the same runnable, specs and annotations, else
/// Error(input). Memory does not grow with the pictures. Error(input) when the decoder's classes are not the annotations' categories.
/// Returns {"path", "runnable" (describe()), "samples", "resumed_samples", "not_finite" (boxes dropped)}.
Json run_predictions(const PredictionRequest& request);

}  // namespace requal::measure
