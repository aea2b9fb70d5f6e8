#include "measure/accuracy/label_maps.h"

#include <cmath>
#include <map>

#include "base/error.h"

namespace requal::measure {

namespace {

constexpr std::size_t most_classes = 65536;

std::int64_t label_at(const Tensor& map, std::uint64_t i, const std::string& where) {
    const double value = map.number_at(i);
    if (!(value >= 0) || value >= static_cast<double>(most_classes) || value != std::floor(value)) {
        throw Error(ErrorKind::input, "a pixel's label is not an integer from 0 to 65535", where,
                    "give label maps, not scores");
    }
    return static_cast<std::int64_t>(value);
}

void check_shape(const Tensor& truth, const Tensor& map, const std::string& where) {
    if (truth.shape() != map.shape()) {
        throw Error(ErrorKind::input,
                    "shape " + text_of(map.shape()) + " where the labels have " +
                        text_of(truth.shape()),
                    where, "bring the predictions to the size of the labels");
    }
}

}  // namespace

Tensor read_label_map(const NpzReader& npz, const std::string& name, const std::string& path) {
    Tensor map = npz.read(name);
    if (map.shape().size() != 2 || map.type() == ElementType::string) {
        throw Error(ErrorKind::input, "shape " + text_of(map.shape()) + ", not height x width",
                    path + ": " + name, "give one label map a picture");
    }
    return map;
}

PicturePixels count_pixels(const Tensor& truth, const Tensor* reference, const Tensor& predicted,
                           std::int64_t ignored, const std::string& truth_where,
                           const std::string& where) {
    check_shape(truth, predicted, where);
    if (reference != nullptr) {
        check_shape(truth, *reference, where);
    }
    std::map<std::int64_t, ClassPixels> counts;
    for (std::uint64_t i = 0; i < truth.count(); ++i) {
        const std::int64_t label = label_at(truth, i, truth_where);
        const std::int64_t guess = label_at(predicted, i, where);
        if (label == ignored) {
            continue;
        }
        ClassPixels& of_label = counts[label];
        ++of_label.truth;
        of_label.both += label == guess ? 1U : 0U;
        ++counts[guess].predicted;
        if (reference != nullptr) {
            const std::int64_t before = label_at(*reference, i, where);
            of_label.gained += before != label && guess == label ? 1U : 0U;
            of_label.lost += before == label && guess != label ? 1U : 0U;
            of_label.changed += before != guess ? 1U : 0U;
        }
    }
    PicturePixels picture;
    for (auto& [label, pixels] : counts) {
        pixels.label = static_cast<std::uint32_t>(label);
        picture.push_back(pixels);
    }
    return picture;
}

}  // namespace requal::measure
