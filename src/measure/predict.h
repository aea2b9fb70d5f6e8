// Pictures through a runnable to predictions: pictures are decoded and preprocessed beside the inference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "data/dataset.h"
#include "data/decoder.h"
#include "data/preprocess.h"
#include "measure/numerics/parity.h"

namespace requal::measure {

/// One picture to run. Where a digest is stated, another file is Error(input).
struct PictureSample {
    std::int64_t id = 0;
    std::string name;
    std::string path;
    std::optional<Digest> digest;
};

/// The samples of a part; Error(input) when they are no pictures.
std::vector<PictureSample> pictures_of(const data::DataPart& part);
/// A picture, or the pictures of a folder in name order; ids from 1.
std::vector<PictureSample> pictures_of(const std::string& path);

struct PredictRequest {
    std::vector<PictureSample> samples;
    data::PreprocessSpec preprocess;
    std::optional<data::DecoderSpec> decoder;  ///< without: predictions stay empty
    unsigned threads =
        1;  ///< that prepare pictures while the runnable runs; each holds one picture
    std::string progress_name = "infer";  ///< empty: none
};

/// What came out for one picture.
struct PredictedPicture {
    std::size_t index = 0;
    const PictureSample& sample;
    const NamedTensors& inputs;
    const data::Placement& placement;
    const NamedTensors& outputs;
    const data::Predictions& predictions;
};

/// Where the time went. Pictures are prepared beside the inference: `wall_ms` is less than the sum of the others where two cores are free.
struct PredictTimes {
    double prepare_ms = 0;  ///< processor time of reading, decoding, preprocessing; all threads
    double run_ms = 0;      ///< in the runnable
    double wall_ms = 0;     ///< from the first to the last
};

/// Runs all samples in their order; `use` is called for each, in order, by the calling thread. `ports` are the runnable's inputs: a spec that
/// contradicts them is Error(input). Memory does not grow with the number of samples. Saved outputs as a side are decoded the same way.
PredictTimes predict(OutputSource& side, const std::vector<data::InputPort>& ports,
                     const PredictRequest& request,
                     const std::function<void(const PredictedPicture&)>& use);

/// For records: {"kind": "pictures", "samples", "digest", "preprocess": {"path", "digest", "resizer"}}; the digest is over names and bytes.
Json describe_pictures(const PredictRequest& request);

}  // namespace requal::measure
