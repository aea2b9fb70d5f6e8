// resize.h by OpenCV: the library requal-resize.so.
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include "data/resize.h"

extern "C" __attribute__((visibility("default"))) int
requal_resize(const std::uint8_t* source, int width, int height, int channels, std::uint8_t* target,
              int new_width, int new_height, int target_stride, int interpolation) {
    static const int codes[] = {cv::INTER_NEAREST, cv::INTER_LINEAR, cv::INTER_CUBIC,
                                cv::INTER_AREA, cv::INTER_LANCZOS4};
    try {
        // one thread: Requal runs pictures side by side itself
        static const bool once = (cv::setNumThreads(1), true);
        (void)once;
        // OpenCV takes no pointer to const, and reads only
        const cv::Mat from(height, width, CV_MAKETYPE(CV_8U, channels),
                           const_cast<std::uint8_t*>(source));
        cv::Mat to(new_height, new_width, CV_MAKETYPE(CV_8U, channels), target,
                   static_cast<std::size_t>(target_stride));
        cv::resize(from, to, to.size(), 0, 0, codes[interpolation]);
        return to.data == target ? 0 : 1;
    } catch (...) {
        return 1;
    }
}

extern "C" __attribute__((visibility("default"))) const char* requal_resize_version() {
    return "opencv " CV_VERSION;
}
