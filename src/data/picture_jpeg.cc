// JPEG through libjpeg-turbo's TurboJPEG API.
#include <memory>
#include <string>

#include <turbojpeg.h>

#include "base/error.h"
#include "data/picture_formats.h"

namespace requal::data {

namespace {

struct Destroy {
    void operator()(void* handle) const { tjDestroy(handle); }
};
using Handle = std::unique_ptr<void, Destroy>;

Handle decompressor() {
    Handle handle(tjInitDecompress());
    if (!handle) {
        throw Error(ErrorKind::internal, "libjpeg-turbo cannot start");
    }
    return handle;
}

const unsigned char* pixels_of(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

/// EXIF orientation from the APP1 segment in front of the picture.
int orientation_of(std::span<const std::byte> bytes) {
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
    std::size_t at = 2;
    while (at + 4 <= bytes.size() && byte(at) == 0xFF) {
        const unsigned marker = byte(at + 1);
        if (marker == 0xFF) {
            ++at;
            continue;
        }
        const std::size_t length = byte(at + 2) << 8U | byte(at + 3);
        if (marker == 0xDA || marker == 0xD9 || length < 2 || at + 2 + length > bytes.size()) {
            break;
        }
        const std::string_view body(reinterpret_cast<const char*>(bytes.data()) + at + 4,
                                    length - 2);
        if (marker == 0xE1 && body.starts_with(std::string_view("Exif\0\0", 6))) {
            return orientation_of_exif(bytes.subspan(at + 10, length - 8));
        }
        at += 2 + length;
    }
    return 1;
}

[[noreturn]] void refuse(tjhandle handle, std::string_view source) {
    throw Error(ErrorKind::input,
                std::string("the JPEG is damaged or not supported: ") + tjGetErrorStr2(handle),
                std::string(source), "replace the file");
}

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
    return bytes.size() >= 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8} &&
           bytes[2] == std::byte{0xFF};
}

PictureHeader jpeg_header(std::span<const std::byte> bytes, std::string_view source) {
    const Handle handle = decompressor();
    int width = 0;
    int height = 0;
    int subsampling = 0;
    int colours = 0;
    if (tjDecompressHeader3(handle.get(), pixels_of(bytes), bytes.size(), &width, &height,
                            &subsampling, &colours) != 0) {
        refuse(handle.get(), source);
    }
    if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
        throw Error(ErrorKind::input, "is a CMYK JPEG; its colours depend on a printer's profile",
                    std::string(source), "convert it to RGB");
    }
    PictureHeader header;
    header.width = width;
    header.height = height;
    header.orientation = orientation_of(bytes);
    header.format = "jpeg";
    return header;
}

Picture decode_jpeg(std::span<const std::byte> bytes, std::string_view source) {
    const PictureHeader header = jpeg_header(bytes, source);
    const Handle handle = decompressor();
    Picture picture;
    picture.width = header.width;
    picture.height = header.height;
    picture.rgb.resize(static_cast<std::size_t>(3 * picture.width * picture.height));
    // A damaged file is refused, not filled with grey; and no file may take hours by thousands of scans.
    if (tjDecompress2(handle.get(), pixels_of(bytes), bytes.size(), picture.rgb.data(),
                      static_cast<int>(picture.width), 0, static_cast<int>(picture.height),
                      TJPF_RGB, TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0) {
        refuse(handle.get(), source);
    }
    return picture;
}

}  // namespace requal::data
