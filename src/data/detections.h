// What decoders give: detections in pixels of the picture, and class scores; written as COCO results JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace requal::data {

/// One detection. The box is left, top, width, height in pixels of the picture (after turning upright), as COCO writes it.
struct Detection {
    std::int64_t category_id = 0;
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
    double score = 0;
};

struct ClassScore {
    std::int64_t category_id = 0;
    double score = 0;
};

/// Predictions of one sample, best first. A classifier gives `classes`, a detector `detections`.
struct Predictions {
    std::vector<Detection> detections;
    std::vector<ClassScore> classes;
    std::uint64_t dropped_not_finite = 0;  ///< boxes or scores that were NaN or infinite
};

/// Writes COCO results ([{"image_id", "category_id", "bbox", "score"}], shortest round-trip numbers; a class score has no "bbox"), one
/// line a result, sample by sample; the file appears at commit().
class ResultsWriter {
public:
    explicit ResultsWriter(const std::string& path) : file_(path) { file_.write("["); }
    void add(std::int64_t image_id, const Predictions& predictions);
    void commit();
    std::uint64_t count() const { return count_; }

private:
    void line(const std::string& text);

    AtomicFile file_;
    std::uint64_t count_ = 0;
};

}  // namespace requal::data
