// Pixels of label maps, counted picture by picture: what segmentation metrics are summed from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/npy.h"

namespace requal::measure {

/// Pixels of one class in one picture. gained, lost and changed are of pixels labelled so, between two sides.
struct ClassPixels {
    std::uint32_t label = 0;
    std::uint64_t truth = 0, predicted = 0, both = 0;
    std::uint64_t gained = 0, lost = 0, changed = 0;
};
using PicturePixels = std::vector<ClassPixels>;

/// Two dimensions of numbers; Error(input) names FILE: PICTURE.
Tensor read_label_map(const NpzReader& npz, const std::string& name, const std::string& path);

/// `reference` may be null. Error(input) for other shapes and for what is no label (0 to 65535).
PicturePixels count_pixels(const Tensor& truth, const Tensor* reference, const Tensor& predicted,
                           std::int64_t ignored, const std::string& truth_where,
                           const std::string& where);

}  // namespace requal::measure
