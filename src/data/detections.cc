#include "data/detections.h"

#include "base/text.h"

namespace requal::data {

void ResultsWriter::line(const std::string& text) {
    file_.write((count_ == 0 ? "\n" : ",\n") + text);
    ++count_;
}

void ResultsWriter::add(std::int64_t image_id, const Predictions& predictions) {
    const std::string image = "{\"image_id\": " + std::to_string(image_id);
    for (const Detection& found : predictions.detections) {
        line(image + ", \"category_id\": " + std::to_string(found.category_id) + ", \"bbox\": [" +
             shortest(found.x) + ", " + shortest(found.y) + ", " + shortest(found.width) + ", " +
             shortest(found.height) + "], \"score\": " + shortest(found.score) + "}");
    }
    for (const ClassScore& found : predictions.classes) {
        line(image + ", \"category_id\": " + std::to_string(found.category_id) +
             ", \"score\": " + shortest(found.score) + "}");
    }
}

void ResultsWriter::commit() {
    file_.write("\n]\n");
    file_.commit();
}

}  // namespace requal::data
