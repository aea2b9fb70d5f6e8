// Which format some bytes are, and what the rules make of them; the decoders are in picture_jpeg.cc and picture_png.cc.
#include "data/picture.h"

#include "base/error.h"
#include "base/file.h"
#include "data/picture_formats.h"

namespace requal::data {

namespace {

constexpr std::uint64_t file_limit_bytes = std::uint64_t{512} << 20;

[[noreturn]] void refuse_format(std::span<const std::byte> bytes, std::string_view source) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                                std::min<std::size_t>(bytes.size(), 16));
    std::string name;
    if (text.empty()) {
        throw Error(ErrorKind::input, "the picture is empty", std::string(source));
    }
    if (text.starts_with("GIF8")) {
        name = "a GIF, which can hold many frames";
    } else if (text.starts_with("RIFF") && text.find("WEBP") == 8) {
        name = "a WebP picture";
    } else if (text.starts_with("BM")) {
        name = "a BMP picture";
    } else if (text.starts_with("II*") || text.starts_with(std::string_view("MM\0*", 4))) {
        name = "a TIFF picture";
    }
    throw Error(ErrorKind::input, name.empty() ? "is no picture that can be decoded" : "is " + name,
                std::string(source), "give JPEG or PNG");
}

}  // namespace

void check_pixels(std::uint64_t width, std::uint64_t height, std::uint64_t limit,
                  std::string_view source) {
    if (width == 0 || height == 0) {
        throw Error(ErrorKind::input, "the picture has no pixels", std::string(source));
    }
    if (width > limit || height > limit / width) {
        throw Error(ErrorKind::input,
                    "the picture claims " + std::to_string(width) + "x" + std::to_string(height) +
                        " pixels, more than the limit of " + std::to_string(limit),
                    std::string(source), "make it smaller, or raise decode.limit_pixels");
    }
}

int orientation_of_exif(std::span<const std::byte> tiff) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(tiff[i]); };
    if (tiff.size() < 14) {
        return 1;
    }
    const bool big = byte(0) == 'M';
    const auto number = [&](std::size_t at, unsigned size) {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < size; ++i) {
            value |= static_cast<std::uint32_t>(byte(at + i)) << (8 * (big ? size - 1 - i : i));
        }
        return value;
    };
    if (byte(0) != byte(1) || (byte(0) != 'M' && byte(0) != 'I') || number(2, 2) != 42) {
        return 1;
    }
    const std::uint64_t directory = number(4, 4);
    if (directory + 2 > tiff.size()) {
        return 1;
    }
    const std::uint64_t entries = number(directory, 2);
    for (std::uint64_t i = 0; i < entries && directory + 2 + 12 * (i + 1) <= tiff.size(); ++i) {
        const std::uint64_t entry = directory + 2 + 12 * i;
        if (number(entry, 2) == 0x0112 && number(entry + 2, 2) == 3) {
            const std::uint32_t value = number(entry + 8, 2);
            return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
        }
    }
    return 1;
}

Picture turned_upright(Picture picture, int orientation) {
    if (orientation < 2 || orientation > 8) {
        return picture;
    }
    const bool swapped = orientation >= 5;
    const std::int64_t w = picture.width;
    const std::int64_t h = picture.height;
    Picture result;
    result.width = swapped ? h : w;
    result.height = swapped ? w : h;
    result.rgb.resize(picture.rgb.size());
    for (std::int64_t y = 0; y < result.height; ++y) {
        for (std::int64_t x = 0; x < result.width; ++x) {
            std::int64_t sx = swapped ? y : x;
            std::int64_t sy = swapped ? x : y;
            if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) {
                sx = w - 1 - sx;
            }
            if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {
                sy = h - 1 - sy;
            }
            const auto from = static_cast<std::size_t>(3 * (sy * w + sx));
            const auto to = static_cast<std::size_t>(3 * (y * result.width + x));
            for (std::size_t c = 0; c < 3; ++c) {
                result.rgb[to + c] = picture.rgb[from + c];
            }
        }
    }
    return result;
}

PictureHeader read_picture_header(std::span<const std::byte> bytes, std::string_view source) {
    if (is_jpeg(bytes)) {
        return jpeg_header(bytes, source);
    }
    if (is_png(bytes)) {
        return png_header(bytes, source);
    }
    refuse_format(bytes, source);
}

Picture decode_picture(std::span<const std::byte> bytes, const PictureRules& rules,
                       std::string_view source) {
    const PictureHeader header = read_picture_header(bytes, source);
    check_pixels(static_cast<std::uint64_t>(header.width),
                 static_cast<std::uint64_t>(header.height), rules.limit_pixels, source);
    if (header.orientation != 1 && rules.exif == ExifRule::refuse) {
        throw Error(ErrorKind::input,
                    "is stored turned (EXIF orientation " + std::to_string(header.orientation) +
                        "), which decode.exif refuses",
                    std::string(source), "turn the pixels, or say decode.exif: apply");
    }
    Picture picture =
        header.format == "jpeg" ? decode_jpeg(bytes, source) : decode_png(bytes, rules, source);
    return rules.exif == ExifRule::apply ? turned_upright(std::move(picture), header.orientation)
                                         : picture;
}

Picture read_picture(const std::string& path, const PictureRules& rules) {
    const std::string bytes = read_file(path, file_limit_bytes);
    return decode_picture(std::as_bytes(std::span(bytes)), rules, path);
}

}  // namespace requal::data
