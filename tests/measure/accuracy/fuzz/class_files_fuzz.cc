// Labels and predictions of classes (CSV, npz), label maps and masks (npz), and gates files: anything but Error is a finding.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "measure/accuracy/anomaly.h"
#include "measure/accuracy/classification.h"
#include "measure/accuracy/segmentation.h"
#include "qualify/accuracy/accuracy_gates.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace requal::measure;
    const requal::FileDescriptor file(memfd_create("fuzz", 0));
    requal::write_all(file.get(), {reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    try {
        ClassLabels labels = read_class_labels(path);
        if (labels.labels.size() != labels.samples.names.size()) {
            std::abort();
        }
        ClassPredictions right;
        right.predicted = labels.labels;
        ClassLabels same = labels;
        try {
            right = read_class_predictions(path, same, ScoreKind::any);
        } catch (const requal::Error&) {
        }
    } catch (const requal::Error&) {
    }
    try {
        ClassLabels labels;
        labels.names_given = true;
        labels.samples.names = {"a", "b"};
        labels.classes = {"cat", "dog"};
        labels.labels = {0, 1};
        const ClassPredictions side = read_class_predictions(path, labels, ScoreKind::any);
        ClassificationOptions options;
        options.bootstrap.replicates = 2;
        options.slices = {parse_slice("class", "fuzz")};
        evaluate_classification(labels, &side, side, options);
    } catch (const requal::Error&) {
    }
    try {
        SegmentationOptions options;
        options.bootstrap.replicates = 2;
        options.slices = {parse_slice("class*tags", "fuzz")};
        const Evaluation result = evaluate_segmentation(path, path, path, options);
        if (result.flips.at("gross").as_integer() != 0) {
            std::abort();  // a side against itself
        }
    } catch (const requal::Error&) {
    }
    try {
        AnomalyOptions options;
        options.bootstrap.replicates = 2;
        options.threshold = 0.5;
        options.slices = {parse_slice("tags", "fuzz")};
        evaluate_anomaly(path, path, path, options);
    } catch (const requal::Error&) {
    }
    try {
        requal::qualify::read_accuracy_gates(
            requal::parse_yaml({reinterpret_cast<const char*>(data), size}, "fuzz"), {});
    } catch (const requal::Error&) {
    }
    return 0;
}
