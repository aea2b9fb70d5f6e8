// The two formats behind picture.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "data/picture.h"

namespace requal::data {

bool is_jpeg(std::span<const std::byte> bytes);
PictureHeader jpeg_header(std::span<const std::byte> bytes, std::string_view source);
/// Pixels as stored, not turned.
Picture decode_jpeg(std::span<const std::byte> bytes, std::string_view source);

bool is_png(std::span<const std::byte> bytes);
PictureHeader png_header(std::span<const std::byte> bytes, std::string_view source);
Picture decode_png(std::span<const std::byte> bytes, const PictureRules& rules,
                   std::string_view source);

/// Error(input) when there are no pixels or more than `limit`.
void check_pixels(std::uint64_t width, std::uint64_t height, std::uint64_t limit,
                  std::string_view source);

/// EXIF orientation (1 to 8) in a TIFF structure; 1 when it holds none or is damaged.
int orientation_of_exif(std::span<const std::byte> tiff);

}  // namespace requal::data
