// PNG through libspng.
#include <cstdlib>
#include <memory>
#include <string>

#include <spng.h>

#include "base/error.h"
#include "data/picture_formats.h"

namespace requal::data {

namespace {

struct Free {
    void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, Free>;

[[noreturn]] void refuse(int error, std::string_view source) {
    throw Error(ErrorKind::input,
                std::string("the PNG is damaged or not supported: ") + spng_strerror(error),
                std::string(source), "replace the file");
}

void require(int error, std::string_view source) {
    if (error != 0) {
        refuse(error, source);
    }
}

Context reader(std::span<const std::byte> bytes, std::string_view source) {
    Context context(spng_ctx_new(0));
    if (!context) {
        throw Error(ErrorKind::internal, "libspng cannot start");
    }
    // metadata may not take the memory that the pixel limit keeps
    require(spng_set_chunk_limits(context.get(), std::size_t{16} << 20, std::size_t{64} << 20),
            source);
    require(spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR), source);
    require(spng_set_png_buffer(context.get(), bytes.data(), bytes.size()), source);
    return context;
}

/// True when a chunk acTL stands in front of the pixels: an animated PNG.
bool is_animated(std::span<const std::byte> bytes) {
    std::size_t at = 8;
    while (at + 8 <= bytes.size()) {
        std::uint64_t length = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            length = length << 8U | std::to_integer<unsigned>(bytes[at + i]);
        }
        const std::string_view name(reinterpret_cast<const char*>(bytes.data()) + at + 4, 4);
        if (name == "acTL") {
            return true;
        }
        if (name == "IDAT" || length > bytes.size()) {
            return false;
        }
        at += 12 + length;
    }
    return false;
}

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
    return bytes.size() >= 8 && std::string_view(reinterpret_cast<const char*>(bytes.data()), 8) ==
                                    std::string_view("\x89PNG\r\n\x1a\n", 8);
}

PictureHeader png_header(std::span<const std::byte> bytes, std::string_view source) {
    const Context context = reader(bytes, source);
    spng_ihdr ihdr{};
    require(spng_get_ihdr(context.get(), &ihdr), source);
    PictureHeader header;
    header.width = ihdr.width;
    header.height = ihdr.height;
    header.format = "png";
    spng_exif exif{};
    if (spng_get_exif(context.get(), &exif) == 0) {
        header.orientation = orientation_of_exif(std::as_bytes(std::span(exif.data, exif.length)));
    }
    return header;
}

Picture decode_png(std::span<const std::byte> bytes, const PictureRules& rules,
                   std::string_view source) {
    if (is_animated(bytes)) {
        throw Error(ErrorKind::input, "is an animated PNG", std::string(source),
                    "save the frame that is meant");
    }
    const Context context = reader(bytes, source);
    spng_ihdr ihdr{};
    require(spng_get_ihdr(context.get(), &ihdr), source);
    if (ihdr.bit_depth == 16 && rules.sixteen_bit == DepthRule::refuse) {
        throw Error(ErrorKind::input, "has 16 bits a channel, which decode.sixteen_bit refuses",
                    std::string(source), "convert it, or say decode.sixteen_bit: high-byte");
    }
    spng_trns transparency{};
    const bool alpha = ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
                       ihdr.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA ||
                       spng_get_trns(context.get(), &transparency) == 0;
    if (alpha && rules.alpha == AlphaRule::refuse) {
        throw Error(ErrorKind::input, "has an alpha channel, which decode.alpha refuses",
                    std::string(source), "flatten it, or say decode.alpha: drop");
    }
    std::size_t size = 0;
    require(spng_decoded_image_size(context.get(), SPNG_FMT_RGB8, &size), source);
    Picture picture;
    picture.width = ihdr.width;
    picture.height = ihdr.height;
    if (size != static_cast<std::size_t>(3 * picture.width * picture.height)) {
        refuse(SPNG_EINTERNAL, source);
    }
    picture.rgb.resize(size);
    require(spng_decode_image(context.get(), picture.rgb.data(), size, SPNG_FMT_RGB8, 0), source);
    return picture;
}

std::string encode_png(const Picture& picture) {
    const Context context(spng_ctx_new(SPNG_CTX_ENCODER));
    spng_ihdr ihdr{};
    ihdr.width = static_cast<std::uint32_t>(picture.width);
    ihdr.height = static_cast<std::uint32_t>(picture.height);
    ihdr.bit_depth = 8;
    ihdr.color_type = SPNG_COLOR_TYPE_TRUECOLOR;
    int error = context ? spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1) : SPNG_EMEM;
    if (error == 0) {
        error = spng_set_option(context.get(), SPNG_IMG_COMPRESSION_LEVEL, 3);
    }
    if (error == 0) {
        error = spng_set_ihdr(context.get(), &ihdr);
    }
    if (error == 0) {
        error = spng_encode_image(context.get(), picture.rgb.data(), picture.rgb.size(),
                                  SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
    }
    std::size_t size = 0;
    const std::unique_ptr<void, decltype(&std::free)> buffer(
        error == 0 ? spng_get_png_buffer(context.get(), &size, &error) : nullptr, &std::free);
    if (!buffer || error != 0) {
        throw Error(ErrorKind::internal,
                    std::string("a picture cannot be written: ") + spng_strerror(error));
    }
    return {static_cast<const char*>(buffer.get()), size};
}

}  // namespace requal::data
