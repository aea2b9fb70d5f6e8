// Reading a decoder spec. A kind is a preset; what the file says besides overrides it.
#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "data/decoder.h"

namespace requal::data {

namespace {

using C = Column;

template <typename T, std::size_t N>
T choice(const Yaml& node, const std::array<std::pair<std::string_view, T>, N>& words) {
    std::string known;
    for (const auto& [word, value] : words) {
        if (node.text() == word) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    node.fail("'" + node.text() + "' is not known", "known: " + known);
}

constexpr std::array<std::pair<std::string_view, Column>, 13> column_words{
    {{"x1", C::x1},
     {"y1", C::y1},
     {"x2", C::x2},
     {"y2", C::y2},
     {"cx", C::cx},
     {"cy", C::cy},
     {"w", C::w},
     {"h", C::h},
     {"objectness", C::objectness},
     {"score", C::score},
     {"class", C::class_index},
     {"batch", C::batch},
     {"scores", C::scores}}};

void preset(const Yaml& node, DecoderSpec& spec) {
    spec.kind = node.text();
    const std::vector<Column> rows = {C::x1, C::y1, C::x2, C::y2, C::score, C::class_index};
    if (spec.kind == "yolov5") {
        spec.columns = {C::cx, C::cy, C::w, C::h, C::objectness, C::scores};
        spec.nms = NmsMode::class_wise;
    } else if (spec.kind == "yolov8" || spec.kind == "yolo11") {
        spec.columns = {C::cx, C::cy, C::w, C::h, C::scores};
        spec.anchors_last = true;
        spec.nms = NmsMode::class_wise;
    } else if (spec.kind == "yolov10" || spec.kind == "yolo26" || spec.kind == "end-to-end") {
        spec.columns = rows;
    } else if (spec.kind == "efficient-nms") {
        spec.form = DecoderSpec::Form::separate;
        spec.count_output = "num_dets";
        spec.boxes_output = "det_boxes";
        spec.scores_output = "det_scores";
        spec.classes_output = "det_classes";
    } else if (spec.kind == "classification") {
        spec.form = DecoderSpec::Form::classification;
        spec.threshold = 0;
    } else if (spec.kind == "label-map") {
        spec.form = DecoderSpec::Form::label_map;
    } else if (spec.kind == "anomaly-map") {
        spec.form = DecoderSpec::Form::anomaly_map;
    } else if (spec.kind != "rows") {
        node.fail("'" + spec.kind + "' is not known",
                  "known: yolov5, yolov8, yolo11, yolov10, yolo26, end-to-end, efficient-nms, "
                  "classification, label-map, anomaly-map, and rows with columns of your own");
    }
}

void read_columns(const Yaml& node, DecoderSpec& spec) {
    spec.columns.clear();
    for (const Yaml& item : node.items()) {
        const Column column = choice(item, column_words);
        if (std::count(spec.columns.begin(), spec.columns.end(), column) > 0) {
            item.fail("'" + item.text() + "' is given twice");
        }
        if (!spec.columns.empty() && spec.columns.back() == C::scores) {
            item.fail("nothing can follow 'scores', which takes the rest of the row");
        }
        spec.columns.push_back(column);
    }
}

void check_columns(const Yaml& root, const DecoderSpec& spec) {
    const auto has = [&](Column column) {
        return std::count(spec.columns.begin(), spec.columns.end(), column) > 0;
    };
    const bool corners = has(C::x1) && has(C::y1) && has(C::x2) && has(C::y2);
    const bool centre = has(C::cx) && has(C::cy) && has(C::w) && has(C::h);
    if (corners == centre) {
        root.fail("columns need a box: either x1, y1, x2, y2 or cx, cy, w, h");
    }
    if (has(C::scores) == has(C::score) || (has(C::score) && !has(C::class_index)) ||
        (has(C::scores) && has(C::class_index))) {
        root.fail("columns need either 'scores', or 'score' and 'class'");
    }
}

void read_nms(const Yaml& node, DecoderSpec& spec) {
    node.allow_keys({"mode", "iou", "max_candidates", "max_detections"});
    if (const Yaml* mode = node.find("mode")) {
        spec.nms = choice(*mode, std::array<std::pair<std::string_view, NmsMode>, 3>{
                                     {{"none", NmsMode::none},
                                      {"class-wise", NmsMode::class_wise},
                                      {"agnostic", NmsMode::agnostic}}});
    }
    spec.iou = node.number_or("iou", spec.iou);
    if (spec.iou < 0 || spec.iou > 1) {
        node.at("iou").fail("must lie between 0 and 1");
    }
    for (const auto& [key, target] : {std::pair{"max_candidates", &spec.max_candidates},
                                      std::pair{"max_detections", &spec.max_detections}}) {
        if (const Yaml* limit = node.find(key)) {
            if (limit->integer() < 1 || limit->integer() > 1'000'000) {
                limit->fail("must lie between 1 and 1000000");
            }
            *target = static_cast<std::uint64_t>(limit->integer());
        }
    }
}

void read_classes(const Yaml& root, DecoderSpec& spec) {
    if (const Yaml* classes = root.find("classes")) {
        for (const Yaml& item : classes->items()) {
            spec.classes.push_back(item.text());
        }
    }
    if (const Yaml* ids = root.find("category_ids")) {
        std::set<std::int64_t> seen;
        for (const Yaml& item : ids->items()) {
            if (!seen.insert(item.integer()).second) {
                item.fail("id " + item.text() + " is given twice");
            }
            spec.category_ids.push_back(item.integer());
        }
        if (!spec.classes.empty() && spec.classes.size() != spec.category_ids.size()) {
            ids->fail("has " + std::to_string(spec.category_ids.size()) + " ids for " +
                      std::to_string(spec.classes.size()) + " classes");
        }
    }
}

}  // namespace

DecoderSpec parse_decoder(std::string_view text, const std::string& source) {
    const Yaml root = parse_yaml(text, source);
    root.allow_keys({"schema", "kind", "output", "outputs", "columns", "anchors_last", "activation",
                     "units", "classes", "category_ids", "threshold", "multi_label", "nms", "clip",
                     "top", "note"});
    if (root.at("schema").text() != "decoder/1") {
        root.at("schema").fail("is not a decoder spec", "write schema: decoder/1");
    }
    DecoderSpec spec;
    spec.path = source;
    spec.digest = digest_of(text);
    preset(root.at("kind"), spec);
    using Form = DecoderSpec::Form;
    const bool map = spec.form == Form::label_map || spec.form == Form::anomaly_map;
    const auto only_for = [&](const char* key, bool allowed) {
        const Yaml* given = root.find(key);
        if (given != nullptr && !allowed) {
            given->fail("kind '" + spec.kind + "' has no " + key);
        }
        return given;
    };
    if (const Yaml* output = only_for("output", spec.form != Form::separate)) {
        spec.output = output->text();
    }
    if (const Yaml* outputs = only_for("outputs", spec.form == Form::separate)) {
        outputs->allow_keys({"count", "boxes", "scores", "classes"});
        spec.count_output = outputs->text_or("count", "");
        spec.boxes_output = outputs->at("boxes").text();
        spec.scores_output = outputs->at("scores").text();
        spec.classes_output = outputs->at("classes").text();
    }
    if (const Yaml* columns = only_for("columns", spec.form == Form::rows)) {
        read_columns(*columns, spec);
    }
    if (const Yaml* last = only_for("anchors_last", spec.form == Form::rows)) {
        spec.anchors_last = last->boolean();
    }
    if (spec.form == Form::rows) {
        check_columns(root, spec);
    }
    if (const Yaml* activation = root.find("activation")) {
        spec.activation =
            choice(*activation, std::array<std::pair<std::string_view, Activation>, 3>{
                                    {{"none", Activation::none},
                                     {"sigmoid", Activation::sigmoid},
                                     {"softmax", Activation::softmax}}});
        if (spec.activation == Activation::softmax && spec.form != Form::classification) {
            activation->fail("only kind 'classification' has softmax");
        }
    }
    if (const Yaml* units = only_for("units", spec.form != Form::classification && !map)) {
        spec.units =
            choice(*units, std::array<std::pair<std::string_view, BoxUnits>, 2>{
                               {{"pixels", BoxUnits::pixels}, {"fraction", BoxUnits::fraction}}});
    }
    read_classes(root, spec);
    for (const char* key : {"threshold", "multi_label", "clip"}) {
        only_for(key, !map);
    }
    spec.threshold = root.number_or("threshold", spec.threshold);
    if (spec.form != Form::classification && (spec.threshold < 0 || spec.threshold > 1)) {
        root.at("threshold").fail("a score lies between 0 and 1", "give a threshold between them");
    }
    spec.multi_label = root.boolean_or("multi_label", spec.multi_label);
    spec.clip = root.boolean_or("clip", spec.clip);
    if (const Yaml* nms = only_for("nms", spec.form != Form::classification && !map)) {
        read_nms(*nms, spec);
    }
    if (const Yaml* top = only_for("top", spec.form == Form::classification)) {
        if (top->integer() < 1 || top->integer() > 100'000) {
            top->fail("must lie between 1 and 100000");
        }
        spec.top = static_cast<std::uint64_t>(top->integer());
    }
    return spec;
}

DecoderSpec read_decoder(const std::string& path) {
    return parse_decoder(read_file(path, std::uint64_t{1} << 20), path);
}

}  // namespace requal::data
