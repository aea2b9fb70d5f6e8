// Pictures into tensors. Values come from one table of 256 entries a channel, so that the arithmetic of a spec is done once.
#include "data/preprocess.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "data/large_blocks.h"
#include "data/resize.h"
#include "tensor/half.h"

namespace requal::data {

namespace {

struct Resizer {
    RequalResize resize = nullptr;
    std::string version;
};

Resizer load_resizer() {
    std::string why = "no folder holds it";
    std::vector<std::string> places;
    if (const char* folder = std::getenv("REQUAL_LIBEXEC")) {
        places.emplace_back(folder);
    }
    places.push_back(executable_folder() + "/../libexec/requal");
    for (const std::string& place : places) {
        const std::string path = place + "/requal-resize.so";
        if (!file_exists(path)) {
            continue;
        }
        void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            why = ::dlerror();
            continue;
        }
        Resizer resizer;
        resizer.resize = reinterpret_cast<RequalResize>(::dlsym(library, "requal_resize"));
        const auto version =
            reinterpret_cast<RequalResizeVersion>(::dlsym(library, "requal_resize_version"));
        if (resizer.resize != nullptr && version != nullptr) {
            resizer.version = version();
            return resizer;
        }
        why = path + " is another library";
    }
    throw Error(
        ErrorKind::missing, "pictures cannot be resized here: requal-resize.so: " + why, {},
        "install OpenCV's core and imgproc (libopencv-imgproc-dev), then build Requal again");
}

const Resizer& resizer() {
    static const Resizer loaded = load_resizer();
    return loaded;
}

std::int64_t rounded(double value, Rounding rule) {
    double whole = 0;
    switch (rule) {
    case Rounding::nearest:
        whole = std::nearbyint(value);
        break;
    case Rounding::half_up:
        whole = std::floor(value + 0.5);
        break;
    case Rounding::down:
        whole = std::floor(value);
        break;
    case Rounding::up:
        whole = std::ceil(value);
        break;
    }
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(whole));
}

/// The value of each pixel of a channel as the spec's steps make it, each step in float32.
std::array<float, 256> value_table(const PreprocessSpec& spec, std::size_t channel) {
    std::array<float, 256> table{};
    for (std::size_t pixel = 0; pixel < table.size(); ++pixel) {
        // volatile keeps each step a float32 rounding of its own (no contraction into a fused multiply-add)
        volatile float value = static_cast<float>(pixel);
        if (spec.divide) {
            value = value / *spec.divide;
        }
        if (spec.scale) {
            value = value * *spec.scale;
        }
        if (!spec.mean.empty()) {
            value = value - spec.mean[channel];
        }
        if (!spec.std.empty()) {
            value = value / spec.std[channel];
        }
        table[pixel] = value;
    }
    return table;
}

template <typename T>
std::vector<std::array<T, 256>> tables_of(const PreprocessSpec& spec) {
    std::vector<std::array<T, 256>> tables;
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(spec.channels()); ++channel) {
        const std::array<float, 256> values = value_table(spec, channel);
        std::array<T, 256> table{};
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (spec.range && (static_cast<double>(values[i]) < spec.range->first ||
                               static_cast<double>(values[i]) > spec.range->second)) {
                throw Error(ErrorKind::input,
                            "pixel " + std::to_string(i) + " becomes " +
                                shortest(static_cast<double>(values[i])) +
                                ", outside of the range that the spec states",
                            spec.path, "mend values or range");
            }
            if constexpr (std::is_same_v<T, std::uint16_t>) {
                table[i] = float_to_half(values[i]);
            } else if constexpr (std::is_same_v<T, std::int8_t>) {
                table[i] = static_cast<std::int8_t>(
                    std::clamp(std::nearbyint(values[i]), -128.0F, 127.0F));
            } else {
                table[i] = static_cast<T>(values[i]);
            }
        }
        tables.push_back(table);
    }
    return tables;
}

/// Pixels (interleaved, RGB or grey, of the input's size) into the tensor, with the order of colours and the layout of the spec.
template <typename T>
void fill(const Pixels& pixels, const PreprocessSpec& spec, std::span<T> out) {
    const auto tables = tables_of<T>(spec);
    const auto channels = static_cast<std::size_t>(spec.channels());
    const std::size_t count = pixels.size() / channels;
    const std::uint8_t* pixel = pixels.data();
    if (channels == 1) {
        for (std::size_t i = 0; i < count; ++i) {
            out[i] = tables[0][pixel[i]];
        }
        return;
    }
    // the table belongs to the channel of the tensor, the pixel to that of the picture
    const std::size_t first = spec.colour == Colour::bgr ? 2 : 0;
    const std::size_t last = 2 - first;
    const T* const table0 = tables[0].data();
    const T* const table1 = tables[1].data();
    const T* const table2 = tables[2].data();
    const bool planes = spec.layout == Layout::nchw;
    const std::size_t step = planes ? 1 : 3;
    T* const target0 = out.data();
    T* const target1 = out.data() + (planes ? count : 1);
    T* const target2 = out.data() + (planes ? 2 * count : 2);
    for (std::size_t i = 0; i < count; ++i, pixel += 3) {
        target0[i * step] = table0[pixel[first]];
        target1[i * step] = table1[pixel[1]];
        target2[i * step] = table2[pixel[last]];
    }
}

/// OpenCV's weights for RGB to grey of 8 bits: (9798 R + 19235 G + 3735 B + 16384) >> 15.
Pixels grey_of(const Pixels& rgb) {
    Pixels grey(rgb.size() / 3);
    for (std::size_t i = 0; i < grey.size(); ++i) {
        const std::uint32_t sum =
            9798U * rgb[3 * i] + 19235U * rgb[3 * i + 1] + 3735U * rgb[3 * i + 2];
        grey[i] = static_cast<std::uint8_t>((sum + 16384U) >> 15U);
    }
    return grey;
}

/// The border around the resized picture.
void fill_border(Pixels& canvas, const Placement& p, const PreprocessSpec& spec) {
    const auto channels = static_cast<std::size_t>(spec.channels());
    Pixels row(static_cast<std::size_t>(p.input_width) * channels);
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::size_t c = i % channels;
        row[i] = spec.pad[spec.colour == Colour::bgr ? 2 - c : c];
    }
    const auto left = static_cast<std::size_t>(std::max<std::int64_t>(p.left, 0)) * channels;
    const std::size_t right = left + static_cast<std::size_t>(p.new_width) * channels;
    for (std::int64_t y = 0; y < p.input_height; ++y) {
        std::uint8_t* target = canvas.data() + static_cast<std::size_t>(y) * row.size();
        if (y < p.top || y >= p.top + p.new_height) {
            std::memcpy(target, row.data(), row.size());
        } else {
            std::memcpy(target, row.data(), left);
            std::memcpy(target + right, row.data() + right, row.size() - right);
        }
    }
}

/// True when the picture is the input already.
bool in_place(const Placement& p) {
    return p.new_width == p.picture_width && p.new_height == p.picture_height &&
           p.input_width == p.new_width && p.input_height == p.new_height;
}

/// The picture resized and put in place: pixels of the input's size.
Pixels arranged(const Pixels& pixels, const Placement& p, const PreprocessSpec& spec,
                std::string_view source) {
    const auto channels = static_cast<std::size_t>(spec.channels());
    const bool same = p.new_width == p.picture_width && p.new_height == p.picture_height;
    const auto area = [&](std::int64_t w, std::int64_t h) {
        return static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * channels;
    };
    const bool cut = p.left < 0 || p.top < 0;
    Pixels canvas(area(p.input_width, p.input_height));
    const std::size_t stride = static_cast<std::size_t>(p.input_width) * channels;
    // a crop fills the input; so nothing is left unwritten
    if (!cut && (p.new_width < p.input_width || p.new_height < p.input_height)) {
        fill_border(canvas, p, spec);
    }
    Pixels whole;  // a crop needs the whole picture resized first
    std::uint8_t* target = canvas.data();
    std::size_t target_stride = stride;
    if (cut) {
        whole.resize(area(p.new_width, p.new_height));
        target = whole.data();
        target_stride = static_cast<std::size_t>(p.new_width) * channels;
    } else {
        target +=
            static_cast<std::size_t>(p.top) * stride + static_cast<std::size_t>(p.left) * channels;
    }
    if (same) {
        const std::size_t row = static_cast<std::size_t>(p.picture_width) * channels;
        for (std::size_t y = 0; y < static_cast<std::size_t>(p.new_height); ++y) {
            std::memcpy(target + y * target_stride, pixels.data() + y * row, row);
        }
    } else if (resizer().resize(pixels.data(), static_cast<int>(p.picture_width),
                                static_cast<int>(p.picture_height), static_cast<int>(channels),
                                target, static_cast<int>(p.new_width),
                                static_cast<int>(p.new_height), static_cast<int>(target_stride),
                                static_cast<int>(spec.interpolation)) != 0) {
        throw Error(ErrorKind::internal, "the picture cannot be resized", std::string(source));
    }
    if (cut) {
        for (std::size_t y = 0; y < static_cast<std::size_t>(p.input_height); ++y) {
            std::memcpy(canvas.data() + y * stride,
                        whole.data() + (y + static_cast<std::size_t>(-p.top)) * target_stride +
                            static_cast<std::size_t>(-p.left) * channels,
                        stride);
        }
    }
    return canvas;
}

}  // namespace

std::string resizer_version() {
    return resizer().version;
}

Placement place(std::int64_t width, std::int64_t height, const PreprocessSpec& spec,
                std::string_view source) {
    Placement p;
    p.picture_width = width;
    p.picture_height = height;
    const auto w = static_cast<double>(width);
    const auto h = static_cast<double>(height);
    const auto scaled = [&](double scale) {
        p.new_width = rounded(w * scale, spec.rounding);
        p.new_height = rounded(h * scale, spec.rounding);
    };
    p.input_width = spec.width;
    p.input_height = spec.height;
    switch (spec.mode) {
    case ResizeMode::none:
        p.new_width = p.input_width = width;
        p.new_height = p.input_height = height;
        break;
    case ResizeMode::stretch:
        p.new_width = spec.width;
        p.new_height = spec.height;
        break;
    case ResizeMode::letterbox: {
        const double scale =
            std::min(static_cast<double>(spec.width) / w, static_cast<double>(spec.height) / h);
        scaled(spec.enlarge ? scale : std::min(scale, 1.0));
        p.new_width = std::min(p.new_width, spec.width);
        p.new_height = std::min(p.new_height, spec.height);
        if (spec.pad_side != PadSide::end) {
            const std::int64_t parts = spec.pad_side == PadSide::centre ? 2 : 1;
            p.left = (spec.width - p.new_width) / parts;
            p.top = (spec.height - p.new_height) / parts;
        }
        break;
    }
    case ResizeMode::centre_crop:
        if (spec.short_side > 0) {
            scaled(static_cast<double>(spec.short_side) / std::min(w, h));
        } else {
            scaled(std::max(static_cast<double>(spec.width) / w,
                            static_cast<double>(spec.height) / h));
        }
        // rounding may not leave less than the crop takes
        p.new_width = std::max(p.new_width, spec.width);
        p.new_height = std::max(p.new_height, spec.height);
        p.left = -((p.new_width - spec.width) / 2);
        p.top = -((p.new_height - spec.height) / 2);
        break;
    case ResizeMode::short_side:
        scaled(static_cast<double>(spec.short_side) / std::min(w, h));
        p.input_width = p.new_width;
        p.input_height = p.new_height;
        break;
    }
    if (p.new_width > 65536 || p.new_height > 65536 || p.new_width * p.new_height > 400'000'000) {
        throw Error(ErrorKind::input,
                    "the picture would become " + std::to_string(p.new_width) + "x" +
                        std::to_string(p.new_height) + " pixels",
                    std::string(source), "its sides differ too much for this resize mode");
    }
    return p;
}

PreparedInput preprocess(const Picture& picture, const PreprocessSpec& spec,
                         std::string_view source) {
    PreparedInput result;
    result.placement = place(picture.width, picture.height, spec, source);
    const Placement& p = result.placement;
    const Pixels grey = spec.colour == Colour::grey ? grey_of(picture.rgb) : Pixels();
    const Pixels& whole = spec.colour == Colour::grey ? grey : picture.rgb;
    const Pixels moved = in_place(p) ? Pixels() : arranged(whole, p, spec, source);
    const Pixels& pixels = in_place(p) ? whole : moved;
    const Shape shape = spec.layout == Layout::nchw
                            ? Shape{1, spec.channels(), p.input_height, p.input_width}
                            : Shape{1, p.input_height, p.input_width, spec.channels()};
    // every element is written: no zeros first
    const std::size_t size_bytes = pixels.size() * size_of(spec.type);
    const std::shared_ptr<std::byte> block = shared_block(size_bytes);
    result.tensor = Tensor(spec.type, shape, {block.get(), size_bytes}, block);
    const auto values = [&]<typename T>(T) {
        return std::span<T>(reinterpret_cast<T*>(block.get()), pixels.size());
    };
    switch (spec.type) {
    case ElementType::float16:
        fill(pixels, spec, values(std::uint16_t{}));
        break;
    case ElementType::uint8:
        fill(pixels, spec, values(std::uint8_t{}));
        break;
    case ElementType::int8:
        fill(pixels, spec, values(std::int8_t{}));
        break;
    default:
        fill(pixels, spec, values(float{}));
    }
    return result;
}

const InputPort& port_for(const PreprocessSpec& spec, const std::vector<InputPort>& ports) {
    const InputPort* found = nullptr;
    std::string names;
    for (const InputPort& port : ports) {
        names += (names.empty() ? "" : ", ") + port.name;
        if (port.name == spec.input || (spec.input.empty() && ports.size() == 1)) {
            found = &port;
        }
    }
    const auto refuse = [&](const std::string& message, const std::string& next) {
        throw Error(ErrorKind::input, message, spec.path, next);
    };
    if (found == nullptr) {
        refuse(spec.input.empty() ? "the model has " + std::to_string(ports.size()) +
                                        " inputs and the spec names none"
                                  : "the model has no input '" + spec.input + "'",
               "its inputs are: " + names);
    }
    if (ports.size() != 1) {
        refuse("the model has further inputs that pictures cannot fill",
               "its inputs are: " + names);
    }
    if (found->type != spec.type) {
        refuse("type " + std::string(name_of(spec.type)) + " where the model's input '" +
                   found->name + "' wants " + std::string(name_of(found->type)),
               "mend type");
    }
    const bool fixed = spec.width > 0;
    const std::int64_t h = fixed ? spec.height : -1;
    const std::int64_t w = fixed ? spec.width : -1;
    const Shape wanted = spec.layout == Layout::nchw ? Shape{1, spec.channels(), h, w}
                                                     : Shape{1, h, w, spec.channels()};
    bool fits = found->shape.size() == 4;
    for (std::size_t axis = 0; fits && axis < 4; ++axis) {
        fits = found->shape[axis] < 0 || wanted[axis] < 0 || found->shape[axis] == wanted[axis];
    }
    if (!fits) {
        refuse("shape " + text_of(wanted) + " where the model's input '" + found->name + "' is " +
                   text_of(found->shape),
               "mend resize, layout or decode.colour");
    }
    return *found;
}

}  // namespace requal::data
