// Pictures that show the same thing though their bytes differ: a hash of 256 brightness differences.
#pragma once

#include <array>
#include <cstdint>

#include "data/picture.h"

namespace requal::data {

using PictureHash = std::array<std::uint64_t, 4>;

/// Difference hash: the picture is averaged to 17 x 16 cells of grey; bit 16 r + c says whether cell (r, c) is darker than (r, c + 1).
/// Re-encoding, resizing and small changes of light leave most bits. Source: N. Krawetz, "Kind of Like That" (2013).
PictureHash hash_of_picture(const Picture& picture);

/// Bits that differ, 0 to 256.
int distance(const PictureHash& a, const PictureHash& b);

}  // namespace requal::data
