#include "measure/accuracy/segmentation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/progress.h"
#include "measure/accuracy/samples.h"
#include "tensor/npy.h"

namespace requal::measure {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t most_classes = 65536;

/// Pixels of one class in one picture.
struct ClassPixels {
    std::uint32_t label = 0;
    std::uint64_t truth = 0, predicted = 0, both = 0;
};
using Picture = std::vector<ClassPixels>;

Tensor map_of(const NpzReader& npz, const std::string& name, const std::string& path) {
    Tensor map = npz.read(name);
    if (map.shape().size() != 2 || map.type() == ElementType::string) {
        throw Error(ErrorKind::input, "shape " + text_of(map.shape()) + ", not height x width",
                    path + ": " + name, "give one label map a picture");
    }
    return map;
}

std::int64_t label_at(const Tensor& map, std::uint64_t i, const std::string& where) {
    const double value = map.number_at(i);
    if (!(value >= 0) || value >= static_cast<double>(most_classes) || value != std::floor(value)) {
        throw Error(ErrorKind::input, "a pixel's label is not an integer from 0 to 65535", where,
                    "give label maps, not scores");
    }
    return static_cast<std::int64_t>(value);
}

Picture count_pixels(const Tensor& truth, const Tensor& predicted, std::int64_t ignored,
                     const std::string& truth_where, const std::string& where) {
    if (truth.shape() != predicted.shape()) {
        throw Error(ErrorKind::input,
                    "shape " + text_of(predicted.shape()) + " where the labels have " +
                        text_of(truth.shape()),
                    where, "bring the predictions to the size of the labels");
    }
    std::map<std::int64_t, ClassPixels> counts;
    for (std::uint64_t i = 0; i < truth.count(); ++i) {
        const std::int64_t label = label_at(truth, i, truth_where);
        const std::int64_t guess = label_at(predicted, i, where);
        if (label == ignored) {
            continue;
        }
        ++counts[label].truth;
        ++counts[guess].predicted;
        if (label == guess) {
            ++counts[label].both;
        }
    }
    Picture picture;
    for (auto& [label, pixels] : counts) {
        pixels.label = static_cast<std::uint32_t>(label);
        picture.push_back(pixels);
    }
    return picture;
}

class Side {
public:
    Side(std::string path, const NpzReader& truth) : path_(std::move(path)), npz_(path_) {
        for (const std::string& name : truth.names()) {
            if (!npz_.has(name)) {
                throw Error(ErrorKind::input, "picture '" + name + "' has no prediction", path_,
                            "judge all sides on the same pictures");
            }
        }
        if (npz_.names().size() != truth.names().size()) {
            for (const std::string& name : npz_.names()) {
                if (!truth.has(name)) {
                    throw Error(ErrorKind::input, "picture '" + name + "' has no labels", path_,
                                "judge all sides on the same pictures");
                }
            }
        }
    }

    void add(const std::string& name, const Tensor& truth, std::int64_t ignored,
             const std::string& truth_path) {
        pictures.push_back(count_pixels(truth, map_of(npz_, name, path_), ignored,
                                        truth_path + ": " + name, path_ + ": " + name));
    }

    std::vector<Picture> pictures;

private:
    std::string path_;
    NpzReader npz_;
};

/// miou, pixel accuracy, then the IoU of each class.
void score(const std::vector<Picture>& pictures, std::size_t classes,
           std::span<const std::uint32_t> weights, std::span<double> out) {
    std::vector<double> truth(classes), predicted(classes), both(classes);
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const double weight = weights[i];
        for (const ClassPixels& pixels : pictures[i]) {
            truth[pixels.label] += weight * static_cast<double>(pixels.truth);
            predicted[pixels.label] += weight * static_cast<double>(pixels.predicted);
            both[pixels.label] += weight * static_cast<double>(pixels.both);
        }
    }
    double sum = 0, seen = 0, right = 0, all = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        const double either = truth[c] + predicted[c] - both[c];
        out[2 + c] = either > 0 ? both[c] / either : none;
        sum += either > 0 ? out[2 + c] : 0;
        seen += either > 0 ? 1 : 0;
        right += both[c];
        all += truth[c];
    }
    out[0] = seen > 0 ? sum / seen : none;
    out[1] = all > 0 ? right / all : none;
}

}  // namespace

Evaluation evaluate_segmentation(const std::string& annotations,
                                 const std::optional<std::string>& reference,
                                 const std::optional<std::string>& candidate,
                                 const SegmentationOptions& options) {
    const NpzReader truth(annotations);
    if (truth.names().empty()) {
        throw Error(ErrorKind::input, "no label map", annotations, "give at least one picture");
    }
    for (const SliceSpec& spec : options.slices) {
        if (spec.size() != 1 || spec[0].kind != SliceTerm::Kind::category) {
            throw Error(ErrorKind::input, "label maps have no attributes to slice by", "slices",
                        "slice by class");
        }
    }
    std::optional<Side> sides[2];
    if (reference) {
        sides[0].emplace(*reference, truth);
    }
    sides[1].emplace(candidate.value_or(annotations), truth);
    Progress progress("reading pictures", truth.names().size());
    for (const std::string& name : truth.names()) {
        const Tensor labels = map_of(truth, name, annotations);
        for (auto& side : sides) {
            if (side) {
                side->add(name, labels, options.ignore_label, annotations);
            }
        }
        progress.advance();
    }
    std::size_t classes = 0;
    std::map<std::uint32_t, std::uint64_t> pictures_with;
    for (const auto& side : sides) {
        for (const Picture& picture : side ? side->pictures : std::vector<Picture>{}) {
            for (const ClassPixels& pixels : picture) {
                classes = std::max<std::size_t>(classes, pixels.label + 1);
                pictures_with[pixels.label] += &side == &sides[1] && pixels.truth > 0 ? 1U : 0U;
            }
        }
    }
    Evaluation result;
    result.task = "segmentation";
    result.paired = reference.has_value();
    result.confidence = options.bootstrap.confidence;
    result.samples = truth.names().size();
    std::vector<MetricSeries> series[2];
    for (int s = 0; s < 2; ++s) {
        if (sides[s]) {
            series[s] =
                resample(2 + classes, result.samples, options.bootstrap,
                         [&](std::span<const std::uint32_t> weights, std::span<double> out) {
                             score(sides[s]->pictures, classes, weights, out);
                         });
        }
    }
    const auto add = [&](SliceResult& slice, const char* name, std::size_t output) {
        slice.metrics.push_back(estimate(name, reference ? &series[0][output] : nullptr,
                                         series[1][output], slice.n, options.bootstrap.confidence));
    };
    result.overall.n = result.overall.samples = result.samples;
    add(result.overall, "miou", 0);
    add(result.overall, "pixel_accuracy", 1);
    for (std::size_t spec = 0; spec < std::min<std::size_t>(options.slices.size(), 1); ++spec) {
        for (const auto& [label, count] : pictures_with) {
            SliceResult slice;
            slice.name = {{"class", std::to_string(label)}};
            slice.n = slice.samples = count;
            add(slice, "iou", 2 + label);
            result.slices.push_back(std::move(slice));
        }
    }
    result.notes.push_back("flips are not counted for label maps");
    return result;
}

}  // namespace requal::measure
