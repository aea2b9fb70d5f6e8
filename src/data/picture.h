// Pictures: JPEG and PNG bytes of unknown origin into RGB pixels, by stated rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/large_blocks.h"

namespace requal::data {

/// Bytes that are not filled with zeros first (a decoder writes every one), out of blocks that are used again.
template <typename T>
struct Unfilled {
    using value_type = T;  // NOLINT(readability-identifier-naming): the standard's name
    Unfilled() = default;
    template <typename U>
    explicit Unfilled(const Unfilled<U>& /*other*/) noexcept {}
    T* allocate(std::size_t count) { return reinterpret_cast<T*>(take_block(count * sizeof(T))); }
    void deallocate(T* place, std::size_t count) noexcept {
        give_block(reinterpret_cast<std::byte*>(place), count * sizeof(T));
    }
    bool operator==(const Unfilled& /*other*/) const { return true; }
    template <typename U>
    void construct(U* place) noexcept {
        ::new (static_cast<void*>(place)) U;
    }
    template <typename U, typename... Values>
    void construct(U* place, Values&&... values) {
        ::new (static_cast<void*>(place)) U(std::forward<Values>(values)...);
    }
};
using Pixels = std::vector<std::uint8_t, Unfilled<std::uint8_t>>;

/// Decoded pixels: 3 channels (red, green, blue), 8 bits, row by row without gaps.
struct Picture {
    std::int64_t width = 0;
    std::int64_t height = 0;
    Pixels rgb;  ///< 3 * width * height
};

/// What a rule does with something that pipelines treat differently.
enum class ExifRule { apply, ignore, refuse };  ///< of an orientation other than upright
enum class AlphaRule { drop, refuse };          ///< of an alpha channel
enum class DepthRule { refuse, high_byte };  ///< of 16 bits a channel; high_byte: the upper 8 bits

struct PictureRules {
    ExifRule exif = ExifRule::apply;
    AlphaRule alpha = AlphaRule::drop;
    DepthRule sixteen_bit = DepthRule::refuse;
    std::uint64_t limit_pixels = 100'000'000;  ///< before anything is allocated
};

/// Decodes JPEG (libjpeg-turbo: accurate integer DCT, smooth upsampling of chroma, which OpenCV and Pillow use too) or PNG.
/// Grey becomes RGB. Error(input) naming `source` for: other formats (by name), truncated or damaged files, CMYK, more than one
/// frame, 16 bits where the rule refuses them, more pixels than the limit. Colour profiles are not applied.
Picture decode_picture(std::span<const std::byte> bytes, const PictureRules& rules,
                       std::string_view source);
Picture read_picture(const std::string& path, const PictureRules& rules);

/// Width and height from the header, as stored (before any turning), and the EXIF orientation 1 to 8. The pixels are not looked at.
struct PictureHeader {
    std::int64_t width = 0;
    std::int64_t height = 0;
    int orientation = 1;
    std::string format;  ///< "jpeg", "png"
};
PictureHeader read_picture_header(std::span<const std::byte> bytes, std::string_view source);

/// The picture turned upright from EXIF orientation 1 to 8. Source: Exif 2.32, tag 0x0112.
Picture turned_upright(Picture picture, int orientation);

/// A PNG file of these pixels (for --draw).
std::string encode_png(const Picture& picture);

}  // namespace requal::data
