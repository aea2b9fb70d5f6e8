// COCO annotations and results: anything but Error is a finding; what is read keeps its promises.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "measure/accuracy/detection.h"

namespace {

using namespace requal::measure;

/// A labelled set for results to refer to.
const LabelledBoxes& known_set() {
    static const LabelledBoxes set = [] {
        LabelledBoxes made;
        made.images = {{1, "one", 0, 0}, {5, "five", 0, 0}};
        made.categories = {{3, "screw"}, {9, "nut"}};
        LabelledBox box;
        box.width = box.height = 10;
        box.area = 100;
        box.id = 1;
        made.boxes = {box};
        return made;
    }();
    return set;
}

void check_order(const DetectedBoxes& detections) {
    for (std::size_t i = 1; i < detections.boxes.size(); ++i) {
        const DetectedBox& a = detections.boxes[i - 1];
        const DetectedBox& b = detections.boxes[i];
        if (std::pair(a.category, a.image) > std::pair(b.category, b.image) ||
            (a.category == b.category && a.image == b.image && a.score < b.score)) {
            std::abort();
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const requal::FileDescriptor file(memfd_create("fuzz", 0));
    requal::write_all(file.get(), {reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    try {
        const LabelledBoxes set = read_coco_annotations(path);
        for (const LabelledBox& box : set.boxes) {
            if (box.image >= set.images.size() || box.category >= set.categories.size() ||
                !(box.width >= 0) || !std::isfinite(box.area)) {
                std::abort();
            }
        }
        if (!set.images.empty() && !set.categories.empty()) {
            DetectionOptions options;
            options.bootstrap.replicates = 2;
            options.slices = {parse_slice("class", "fuzz"), parse_slice("tags", "fuzz")};
            evaluate_detection(set, nullptr, {}, options);
        }
    } catch (const requal::Error&) {
    }
    try {
        const DetectedBoxes detections = read_coco_results(path, known_set());
        check_order(detections);
        DetectionOptions options;
        options.bootstrap.replicates = 0;
        const Evaluation result = evaluate_detection(known_set(), &detections, detections, options);
        const double ap = result.overall.find("ap50_95")->candidate;
        if (!(ap >= 0 && ap <= 1)) {
            std::abort();
        }
    } catch (const requal::Error&) {
    }
    return 0;
}
