// A decoder spec (schema decoder/1): how a model's outputs become detections or class scores, bound by the digest of its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "data/detections.h"
#include "data/preprocess.h"
#include "tensor/tensor.h"

namespace requal::data {

/// What one number of an anchor's row means. `scores`: the rest of the row, one score a class.
enum class Column { x1, y1, x2, y2, cx, cy, w, h, objectness, score, class_index, batch, scores };
enum class Activation { none, sigmoid, softmax };
enum class NmsMode { none, class_wise, agnostic };
enum class BoxUnits {
    pixels,
    fraction
};  ///< of the input; fraction: 0 to 1 of its width and height

/// The spec. The kinds of the file (yolov5, yolov8, yolo11, yolov10, yolo26, end-to-end, efficient-nms, classification, label-map, anomaly-map) are presets of these
/// fields; `kind: rows` sets none. docs/formats/decoder.md has the table.
struct DecoderSpec {
    enum class Form { rows, separate, classification, label_map, anomaly_map };

    std::string kind;
    Form form = Form::rows;
    std::string output;           ///< rows, classification: empty means the only output
    std::string boxes_output;     ///< separate: [1, K, 4], x1 y1 x2 y2
    std::string scores_output;    ///< separate: [1, K]
    std::string classes_output;   ///< separate: [1, K]
    std::string count_output;     ///< separate: [1, 1] or [1]; empty: all K count
    std::vector<Column> columns;  ///< rows
    bool anchors_last =
        false;  ///< rows: the output is [1, columns, anchors] and not [1, anchors, columns]
    Activation activation = Activation::none;
    BoxUnits units = BoxUnits::pixels;
    std::vector<std::string> classes;        ///< names by index
    std::vector<std::int64_t> category_ids;  ///< by index; the index itself when empty
    double threshold = 0.25;                 ///< only scores above it
    bool multi_label = true;  ///< an anchor gives every class above the threshold, else its best
    NmsMode nms = NmsMode::none;
    double iou = 0.5;  ///< a box that overlaps a better one by more than this is dropped
    std::uint64_t max_candidates = 30000;
    std::uint64_t max_detections = 300;
    bool clip = true;       ///< boxes are cut at the picture's edges
    std::uint64_t top = 5;  ///< classification

    Digest digest;
    std::string path;
};

DecoderSpec parse_decoder(std::string_view text, const std::string& source);
DecoderSpec read_decoder(const std::string& path);

/// Decodes the outputs for one picture. Error(input) when the outputs do not have the names, shapes and numeric types that the spec
/// says. A stable order: by score downwards, equal scores by anchor and class.
Predictions decode(const NamedTensors& outputs, const DecoderSpec& spec,
                   const Placement& placement);

/// The map of one picture, height x width, at its own size: of kind label-map uint16 labels (the best channel, or the output itself when
/// it has one), of kind anomaly-map float32. Each pixel takes the cell of the output that lies over its middle. Error(input) as decode(),
/// and when the preprocessing cut part of the picture off.
Tensor decode_map(const NamedTensors& outputs, const DecoderSpec& spec, const Placement& placement);

/// Overlap of two boxes given by corners: intersection over union, 0 when the union is empty.
struct Corners {
    double x1 = 0;
    double y1 = 0;
    double x2 = 0;
    double y2 = 0;
};
double overlap(const Corners& a, const Corners& b);

}  // namespace requal::data
