// A preprocessing spec (schema preprocess/1): how a picture becomes a model's input, bound by the digest of its bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "data/inputs.h"
#include "data/picture.h"

namespace requal::data {

enum class Colour { rgb, bgr, grey };
enum class ResizeMode { none, stretch, letterbox, centre_crop, short_side };
enum class Interpolation { nearest, linear, cubic, area, lanczos4 };
/// Of a new size that is no whole number. nearest: halves to even (Python's round), half_up: halves up.
enum class Rounding { nearest, half_up, down, up };
enum class PadSide {
    centre,
    end,
    start
};  ///< where the border goes; centre: odd rests go to the end
enum class Layout { nchw, nhwc };

/// The spec. docs/formats/preprocess.md says each field; the defaults here are those of the file.
struct PreprocessSpec {
    std::string input;  ///< name of the model's input, empty: its only one
    PictureRules rules;
    Colour colour = Colour::rgb;
    ResizeMode mode = ResizeMode::none;
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::int64_t short_side = 0;
    Interpolation interpolation = Interpolation::linear;
    Rounding rounding = Rounding::nearest;
    bool enlarge = true;
    PadSide pad_side = PadSide::centre;
    std::array<std::uint8_t, 3> pad{114, 114, 114};  ///< in the order of `colour`
    // value = ((pixel / divide) * scale - mean) / std, each step in float32; absent steps are left out
    std::optional<float> divide;
    std::optional<float> scale;
    std::vector<float> mean;  ///< empty, or one a channel
    std::vector<float> std;
    std::optional<std::pair<double, double>> range;  ///< values must lie inside
    Layout layout = Layout::nchw;
    ElementType type = ElementType::float32;  ///< float32, float16, uint8, int8

    Digest digest;     ///< of the file's bytes
    std::string path;  ///< for messages and records

    std::int64_t channels() const { return colour == Colour::grey ? 1 : 3; }
};

/// Error(input) by file and line for what is unknown, missing, out of range, or contradicts itself.
PreprocessSpec parse_preprocess(std::string_view text, const std::string& source);
PreprocessSpec read_preprocess(const std::string& path);

/// Where a picture went in the input, and the way back.
struct Placement {
    std::int64_t picture_width = 0;  ///< after turning upright
    std::int64_t picture_height = 0;
    std::int64_t new_width = 0;  ///< after resizing
    std::int64_t new_height = 0;
    std::int64_t left = 0;  ///< of the resized picture in the input; negative: cut off
    std::int64_t top = 0;
    std::int64_t input_width = 0;
    std::int64_t input_height = 0;

    /// Input pixels to picture pixels, by the scale that the resizing really had on this axis.
    double to_picture_x(double x) const {
        return (x - static_cast<double>(left)) /
               (static_cast<double>(new_width) / static_cast<double>(picture_width));
    }
    double to_picture_y(double y) const {
        return (y - static_cast<double>(top)) /
               (static_cast<double>(new_height) / static_cast<double>(picture_height));
    }
    bool operator==(const Placement&) const = default;
};

/// Error(input) naming `source` when the crop is larger than the resized picture.
Placement place(std::int64_t width, std::int64_t height, const PreprocessSpec& spec,
                std::string_view source);

struct PreparedInput {
    Tensor tensor;  ///< [1, channels, height, width] or [1, height, width, channels]
    Placement placement;
};

/// Resizing is OpenCV's (core and imgproc, loaded when first needed; Error(missing) when they are not here). Safe from several
/// threads at once.
PreparedInput preprocess(const Picture& picture, const PreprocessSpec& spec,
                         std::string_view source);

/// Error(input) when the spec cannot be what this model's input wants: its name, type, layout, or size.
const InputPort& port_for(const PreprocessSpec& spec, const std::vector<InputPort>& ports);

/// Name and version of the library that resizes, for records.
std::string resizer_version();

/// Pictures of a folder (or a list of paths) as inputs of a model with one input.
std::unique_ptr<InputSource> pictures_as_inputs(std::vector<std::string> paths,
                                                const PreprocessSpec& spec,
                                                const std::vector<InputPort>& ports);
/// Pictures directly in `folder` by their extension (jpg, jpeg, png in either case), in name order; Error(input) when none.
std::vector<std::string> pictures_in(const std::string& folder);

std::string_view name_of(ResizeMode mode);
std::string_view name_of(Interpolation interpolation);

}  // namespace requal::data
