// The one function that OpenCV does for us. It lives in a library of its own that is loaded when a picture is resized: OpenCV's
// core brings twenty shared objects, which no other verb should wait for.
#pragma once

#include <cstdint>

extern "C" {

/// Resizes 8-bit interleaved pixels of `channels` (1 or 3); `interpolation` is the number of requal::data::Interpolation. Returns 0, or
/// 1 when OpenCV refused.
using RequalResize = int (*)(const std::uint8_t* source, int width, int height, int channels,
                             std::uint8_t* target, int new_width, int new_height, int target_stride,
                             int interpolation);
/// "opencv 4.6.0"
using RequalResizeVersion = const char* (*)();
}
