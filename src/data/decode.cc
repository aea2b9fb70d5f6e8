// Outputs into candidates, candidates through suppression, and back into the picture. All geometry is in double: the outputs' own
// type is exact in it, so another implementation gets the same decisions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "data/decoder.h"

namespace requal::data {

namespace {

struct Candidate {
    Corners box;
    double score = 0;
    std::size_t class_index = 0;
};

[[noreturn]] void refuse(const DecoderSpec& spec, const std::string& message) {
    throw Error(ErrorKind::input, message, spec.path,
                "the decoder spec must say what the model puts out");
}

const Tensor& output_of(const NamedTensors& outputs, const std::string& name,
                        const DecoderSpec& spec) {
    std::string names;
    for (const auto& [other, tensor] : outputs) {
        names += (names.empty() ? "" : ", ") + other;
    }
    const Tensor* tensor =
        name.empty() && outputs.size() == 1 ? &outputs.front().second : find_tensor(outputs, name);
    if (tensor == nullptr) {
        refuse(spec, name.empty()
                         ? "the model has several outputs and the spec names none: " + names
                         : "the model has no output '" + name + "'; it has: " + names);
    }
    if (tensor->type() == ElementType::string || tensor->type() == ElementType::complex64 ||
        tensor->type() == ElementType::complex128) {
        refuse(spec, "output '" + name + "' is of type " + std::string(name_of(tensor->type())));
    }
    return *tensor;
}

std::vector<double> numbers_of(const Tensor& tensor) {
    std::vector<double> values(tensor.count());
    tensor.copy_numbers(values);
    return values;
}

double activated(double value, Activation activation) {
    return activation == Activation::sigmoid ? 1.0 / (1.0 + std::exp(-value)) : value;
}

/// A class index as a whole number from 0 up; Error(input) when it is none.
std::size_t class_of(double value, const DecoderSpec& spec) {
    const std::size_t known =
        spec.category_ids.empty() ? spec.classes.size() : spec.category_ids.size();
    if (!(value >= 0 && value < 1e6) || value != std::floor(value) ||
        (known > 0 && value >= static_cast<double>(known))) {
        refuse(spec, "the model puts out class " + std::to_string(value) +
                         " where the spec knows " + std::to_string(known) + " classes");
    }
    return static_cast<std::size_t>(value);
}

/// Where each meaning of a row lies; -1: it has none.
struct Places {
    std::array<std::ptrdiff_t, 13> at{};
    explicit Places(const std::vector<Column>& columns) {
        at.fill(-1);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            at[static_cast<std::size_t>(columns[i])] = static_cast<std::ptrdiff_t>(i);
        }
    }
    std::ptrdiff_t operator[](Column column) const { return at[static_cast<std::size_t>(column)]; }
};

/// The row-shaped outputs: [1, N, columns], [1, columns, N] or the same without the first axis.
class Rows {
public:
    Rows(const Tensor& tensor, const DecoderSpec& spec) : values_(numbers_of(tensor)) {
        Shape shape = tensor.shape();
        if (shape.size() == 3 && shape[0] == 1) {
            shape.erase(shape.begin());
        }
        if (shape.size() != 2) {
            refuse(spec, "output of shape " + text_of(tensor.shape()) +
                             " where one picture's rows, 1xNx" +
                             std::to_string(spec.columns.size()) + " or more, are read");
        }
        anchors_ = static_cast<std::size_t>(shape[spec.anchors_last ? 1 : 0]);
        columns_ = static_cast<std::size_t>(shape[spec.anchors_last ? 0 : 1]);
        anchors_last_ = spec.anchors_last;
        const bool rest = spec.columns.back() == Column::scores;
        const std::size_t fixed = spec.columns.size() - (rest ? 1 : 0);
        const std::size_t classes = columns_ < fixed ? 0 : columns_ - fixed;
        const std::size_t known =
            spec.category_ids.empty() ? spec.classes.size() : spec.category_ids.size();
        if (columns_ < fixed || (!rest && classes != 0) || (rest && classes == 0)) {
            refuse(spec, "output of shape " + text_of(tensor.shape()) + " has " +
                             std::to_string(columns_) + " numbers an anchor; the spec reads " +
                             std::to_string(fixed) + (rest ? " and one a class" : ""));
        }
        if (rest && known > 0 && known != classes) {
            refuse(spec, "output of shape " + text_of(tensor.shape()) + " has " +
                             std::to_string(classes) + " classes where the spec names " +
                             std::to_string(known));
        }
        classes_ = rest ? classes : 0;
    }
    std::size_t anchors() const { return anchors_; }
    std::size_t classes() const { return classes_; }
    double operator()(std::size_t anchor, std::ptrdiff_t column) const {
        const auto c = static_cast<std::size_t>(column);
        return values_[anchors_last_ ? c * anchors_ + anchor : anchor * columns_ + c];
    }

private:
    std::vector<double> values_;
    std::size_t anchors_ = 0;
    std::size_t columns_ = 0;
    std::size_t classes_ = 0;
    bool anchors_last_ = false;
};

Corners box_of(const Rows& rows, std::size_t anchor, const Places& places) {
    if (places[Column::x1] >= 0) {
        return {rows(anchor, places[Column::x1]), rows(anchor, places[Column::y1]),
                rows(anchor, places[Column::x2]), rows(anchor, places[Column::y2])};
    }
    const double cx = rows(anchor, places[Column::cx]);
    const double cy = rows(anchor, places[Column::cy]);
    const double w = rows(anchor, places[Column::w]);
    const double h = rows(anchor, places[Column::h]);
    return {cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
}

std::vector<Candidate> candidates_of_rows(const NamedTensors& outputs, const DecoderSpec& spec) {
    const Rows rows(output_of(outputs, spec.output, spec), spec);
    const Places places(spec.columns);
    std::vector<Candidate> found;
    for (std::size_t anchor = 0; anchor < rows.anchors(); ++anchor) {
        if (places[Column::batch] >= 0 && rows(anchor, places[Column::batch]) != 0) {
            continue;
        }
        const double objectness =
            places[Column::objectness] < 0
                ? 1.0
                : activated(rows(anchor, places[Column::objectness]), spec.activation);
        // products in float32, as the pipelines that these heads come from compute them
        const auto score_at = [&](std::ptrdiff_t column) {
            const double score = activated(rows(anchor, column), spec.activation);
            return places[Column::objectness] < 0
                       ? score
                       : static_cast<double>(static_cast<float>(score) *
                                             static_cast<float>(objectness));
        };
        if (rows.classes() == 0) {
            const double score = score_at(places[Column::score]);
            if (score > spec.threshold) {
                found.push_back({box_of(rows, anchor, places), score,
                                 class_of(rows(anchor, places[Column::class_index]), spec)});
            }
            continue;
        }
        std::size_t best = 0;
        double best_score = -1;
        for (std::size_t k = 0; k < rows.classes(); ++k) {
            const double score = score_at(places[Column::scores] + static_cast<std::ptrdiff_t>(k));
            if (spec.multi_label && score > spec.threshold) {
                found.push_back({box_of(rows, anchor, places), score, k});
            }
            if (score > best_score) {
                best_score = score;
                best = k;
            }
        }
        if (!spec.multi_label && best_score > spec.threshold) {
            found.push_back({box_of(rows, anchor, places), best_score, best});
        }
    }
    return found;
}

std::vector<Candidate> candidates_of_lists(const NamedTensors& outputs, const DecoderSpec& spec) {
    const std::vector<double> boxes = numbers_of(output_of(outputs, spec.boxes_output, spec));
    const std::vector<double> scores = numbers_of(output_of(outputs, spec.scores_output, spec));
    const std::vector<double> classes = numbers_of(output_of(outputs, spec.classes_output, spec));
    if (boxes.size() != 4 * scores.size() || classes.size() != scores.size()) {
        refuse(spec, "the outputs hold " + std::to_string(boxes.size() / 4) + " boxes, " +
                         std::to_string(scores.size()) + " scores and " +
                         std::to_string(classes.size()) + " classes");
    }
    std::size_t count = scores.size();
    if (!spec.count_output.empty()) {
        const std::vector<double> counts = numbers_of(output_of(outputs, spec.count_output, spec));
        if (counts.size() != 1 || !(counts[0] >= 0) || counts[0] > static_cast<double>(count)) {
            refuse(spec, "output '" + spec.count_output +
                             "' is no number of detections from 0 to " + std::to_string(count));
        }
        count = static_cast<std::size_t>(counts[0]);
    }
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < count; ++i) {
        const double score = activated(scores[i], spec.activation);
        if (score > spec.threshold) {
            found.push_back({{boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]},
                             score,
                             class_of(classes[i], spec)});
        }
    }
    return found;
}

/// Best first; those that overlap a better one too much are gone.
std::vector<Candidate> suppressed(std::vector<Candidate> candidates, const DecoderSpec& spec) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    if (spec.nms == NmsMode::none) {
        candidates.resize(std::min<std::size_t>(candidates.size(), spec.max_detections));
        return candidates;
    }
    candidates.resize(std::min<std::size_t>(candidates.size(), spec.max_candidates));
    std::vector<Candidate> kept;
    std::vector<std::vector<Corners>> by_class(1);
    for (const Candidate& candidate : candidates) {
        const std::size_t group = spec.nms == NmsMode::class_wise ? candidate.class_index : 0;
        if (group >= by_class.size()) {
            by_class.resize(group + 1);
        }
        const bool covered =
            std::any_of(by_class[group].begin(), by_class[group].end(), [&](const Corners& better) {
                return overlap(better, candidate.box) > spec.iou;
            });
        if (!covered) {
            by_class[group].push_back(candidate.box);
            kept.push_back(candidate);
            if (kept.size() >= spec.max_detections) {
                break;
            }
        }
    }
    return kept;
}

std::int64_t category_of(std::size_t index, const DecoderSpec& spec) {
    return index < spec.category_ids.size() ? spec.category_ids[index]
                                            : static_cast<std::int64_t>(index);
}

std::vector<ClassScore> class_scores(const NamedTensors& outputs, const DecoderSpec& spec) {
    const Tensor& tensor = output_of(outputs, spec.output, spec);
    std::vector<double> values = numbers_of(tensor);
    const std::size_t known =
        spec.category_ids.empty() ? spec.classes.size() : spec.category_ids.size();
    if (values.empty() || (known > 0 && values.size() != known)) {
        refuse(spec, "output of shape " + text_of(tensor.shape()) + " where one picture's " +
                         (known > 0 ? std::to_string(known) + " " : std::string()) +
                         "class scores are read");
    }
    if (spec.activation == Activation::softmax) {
        const double peak = *std::max_element(values.begin(), values.end());
        double sum = 0;
        for (double& value : values) {
            value = std::exp(value - peak);
            sum += value;
        }
        for (double& value : values) {
            value /= sum;
        }
    }
    std::vector<ClassScore> scores;
    for (std::size_t i = 0; i < values.size(); ++i) {
        scores.push_back({category_of(i, spec), activated(values[i], spec.activation)});
    }
    return scores;
}

bool finite(const Candidate& candidate) {
    return std::isfinite(candidate.score) && std::isfinite(candidate.box.x1) &&
           std::isfinite(candidate.box.y1) && std::isfinite(candidate.box.x2) &&
           std::isfinite(candidate.box.y2);
}

Detection in_picture(const Candidate& candidate, const DecoderSpec& spec, const Placement& p) {
    const double sx = spec.units == BoxUnits::fraction ? static_cast<double>(p.input_width) : 1.0;
    const double sy = spec.units == BoxUnits::fraction ? static_cast<double>(p.input_height) : 1.0;
    double x1 = p.to_picture_x(candidate.box.x1 * sx);
    double y1 = p.to_picture_y(candidate.box.y1 * sy);
    double x2 = p.to_picture_x(candidate.box.x2 * sx);
    double y2 = p.to_picture_y(candidate.box.y2 * sy);
    if (spec.clip) {
        const auto w = static_cast<double>(p.picture_width);
        const auto h = static_cast<double>(p.picture_height);
        x1 = std::clamp(x1, 0.0, w);
        x2 = std::clamp(x2, 0.0, w);
        y1 = std::clamp(y1, 0.0, h);
        y2 = std::clamp(y2, 0.0, h);
    }
    return {category_of(candidate.class_index, spec), x1, y1, x2 - x1, y2 - y1, candidate.score};
}

}  // namespace

double overlap(const Corners& a, const Corners& b) {
    const double w = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1), 0.0);
    const double h = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1), 0.0);
    const double inter = w * h;
    const double all = (a.x2 - a.x1) * (a.y2 - a.y1) + (b.x2 - b.x1) * (b.y2 - b.y1) - inter;
    return all > 0 ? inter / all : 0.0;
}

Predictions decode(const NamedTensors& outputs, const DecoderSpec& spec,
                   const Placement& placement) {
    Predictions result;
    if (spec.form == DecoderSpec::Form::label_map || spec.form == DecoderSpec::Form::anomaly_map) {
        refuse(spec, "kind '" + spec.kind + "' gives maps, which only `evaluate` reads");
    }
    if (spec.form == DecoderSpec::Form::classification) {
        std::vector<ClassScore> scores = class_scores(outputs, spec);
        const auto bad = std::remove_if(scores.begin(), scores.end(), [](const ClassScore& s) {
            return !std::isfinite(s.score);
        });
        result.dropped_not_finite = static_cast<std::uint64_t>(scores.end() - bad);
        scores.erase(bad, scores.end());
        std::stable_sort(
            scores.begin(), scores.end(),
            [](const ClassScore& a, const ClassScore& b) { return a.score > b.score; });
        scores.resize(std::min<std::size_t>(scores.size(), spec.top));
        std::erase_if(scores, [&](const ClassScore& s) { return s.score < spec.threshold; });
        result.classes = std::move(scores);
        return result;
    }
    std::vector<Candidate> candidates = spec.form == DecoderSpec::Form::rows
                                            ? candidates_of_rows(outputs, spec)
                                            : candidates_of_lists(outputs, spec);
    result.dropped_not_finite =
        std::erase_if(candidates, [](const Candidate& candidate) { return !finite(candidate); });
    for (const Candidate& candidate : suppressed(std::move(candidates), spec)) {
        result.detections.push_back(in_picture(candidate, spec, placement));
    }
    return result;
}

}  // namespace requal::data
