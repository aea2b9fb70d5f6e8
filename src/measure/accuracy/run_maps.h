// Maps of a runnable on labelled pictures (segmentation, anomaly inspection): run, brought to the pictures' size, kept picture by picture.
#pragma once

#include <string>

#include "base/json.h"
#include "measure/accuracy/run_predictions.h"

namespace requal::measure {

/// Runs what is not there yet and writes FOLDER/SIDE.npz, as evaluate_segmentation() and evaluate_anomaly() read it. The pictures are
/// those of the labelled set (its label maps, `masks/NAME`, or `samples`), in IMAGES as NAME or NAME.png, .jpg, .jpeg. FOLDER/SIDE.partial
/// holds a map a picture until then and is gone on with as in run_predictions(). Error(input) for a decoder of another task, pictures that
/// are not there and names that leave the folder. Returns {"path", "runnable", "samples", "resumed_samples", "not_finite": 0}.
Json run_maps(const PredictionRequest& request, bool anomaly);

}  // namespace requal::measure
