#include "measure/accuracy/anomaly.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/progress.h"
#include "measure/accuracy/sample_flips.h"
#include "measure/accuracy/samples.h"
#include "tensor/npy.h"

namespace requal::measure {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr unsigned step_bits = 20;
constexpr double most_false = 0.3;

/// Floats in their order as unsigned numbers, cut to the leading bits.
std::uint32_t step_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);  // -0 becomes 0
    const std::uint32_t ordered = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
    return ordered >> (32 - step_bits);
}

/// Counts of pixels by score.
class PixelCounts {
public:
    PixelCounts()
        : good_(std::size_t{1} << step_bits, 0), bad_(std::size_t{1} << step_bits, 0),
          overlap_(std::size_t{1} << step_bits, 0.0) {}

    void add(float score, bool bad, double region_share) {
        const std::uint32_t step = step_of(score);
        (bad ? bad_ : good_)[step] += 1;
        overlap_[step] += region_share;
    }
    void add_regions(std::uint64_t count) { regions_ += count; }

    /// Area, and how far it may lie from that of the uncut scores.
    std::pair<double, double> auroc() const {
        double goods = 0, bads = 0, area = 0, unknown = 0;
        for (std::size_t i = good_.size(); i-- > 0;) {
            const auto good = static_cast<double>(good_[i]), bad = static_cast<double>(bad_[i]);
            area += good * (bads + bad / 2);
            unknown += good * bad / 2;
            goods += good;
            bads += bad;
        }
        if (goods == 0 || bads == 0) {
            return {none, none};
        }
        return {area / goods / bads, unknown / goods / bads};
    }

    double aupro() const {
        const double goods =
            std::accumulate(good_.begin(), good_.end(), 0.0, [](double sum, std::uint64_t n) {
                return sum + static_cast<double>(n);
            });
        if (goods == 0 || regions_ == 0) {
            return none;
        }
        double area = 0, rate = 0, overlap = 0;
        for (std::size_t i = good_.size(); i-- > 0;) {
            const double next_rate = rate + static_cast<double>(good_[i]) / goods;
            const double next = overlap + overlap_[i] / static_cast<double>(regions_);
            if (next_rate >= most_false) {
                const double at =
                    next_rate > rate
                        ? overlap + (next - overlap) * (most_false - rate) / (next_rate - rate)
                        : next;
                area += (most_false - rate) * (overlap + at) / 2;
                return area / most_false;
            }
            area += (next_rate - rate) * (overlap + next) / 2;
            rate = next_rate;
            overlap = next;
        }
        return (area + (most_false - rate) * overlap) / most_false;
    }

private:
    std::vector<std::uint64_t> good_, bad_;
    std::vector<double> overlap_;
    std::uint64_t regions_ = 0;
};

struct Truth {
    LabelledSamples samples;
    std::vector<std::uint8_t> defective;
    bool has_masks = false;
};

Tensor picture(const NpzReader& npz, const std::string& name, const std::string& path) {
    Tensor map = npz.read(name);
    if (map.shape().size() != 2 || map.type() == ElementType::string) {
        throw Error(ErrorKind::input, "shape " + text_of(map.shape()) + ", not height x width",
                    path + ": " + name);
    }
    return map;
}

std::vector<std::uint8_t> mask_of(const NpzReader& npz, const std::string& name,
                                  const std::string& path, Shape& shape) {
    const Tensor tensor = picture(npz, name, path);
    shape = tensor.shape();
    std::vector<std::uint8_t> mask(tensor.count());
    for (std::uint64_t i = 0; i < mask.size(); ++i) {
        mask[i] = tensor.number_at(i) != 0 ? 1 : 0;
    }
    return mask;
}

void read_truth(const NpzReader& npz, const std::string& path, Truth& truth) {
    for (const std::string& name : npz.names()) {
        if (name.rfind("masks/", 0) == 0) {
            truth.samples.names.push_back(name.substr(6));
            Shape shape;
            const auto mask = mask_of(npz, name, path, shape);
            truth.defective.push_back(
                std::any_of(mask.begin(), mask.end(), [](std::uint8_t m) { return m != 0; }) ? 1
                                                                                             : 0);
        }
    }
    truth.has_masks = !truth.samples.names.empty();
    if (!truth.has_masks) {
        const Tensor labels = npz.read("labels");
        for (std::uint64_t i = 0; i < labels.count(); ++i) {
            const double value = labels.number_at(i);
            if (value != 0 && value != 1) {
                throw Error(ErrorKind::input, "a label is neither 0 nor 1",
                            path + ": record " + std::to_string(i), "0: good, 1: defective");
            }
            truth.defective.push_back(value != 0 ? 1 : 0);
            truth.samples.names.push_back(std::to_string(i));
        }
        if (npz.has("samples")) {
            const Tensor names = npz.read("samples");
            if (names.strings().size() != truth.samples.names.size()) {
                throw Error(ErrorKind::input, "'samples' and 'labels' differ in length", path);
            }
            truth.samples.names = names.strings();
        }
    }
    if (truth.samples.names.empty()) {
        throw Error(ErrorKind::input, "no labelled picture", path, "give at least one");
    }
    read_sample_attributes(npz, path, truth.samples);
}

struct Side {
    std::vector<double> scores;
    std::vector<std::uint32_t> order;
    std::optional<PixelCounts> pixels;
};

void add_picture(Side& side, const Tensor& map, const std::vector<std::uint8_t>& mask,
                 const Shape& shape, const std::string& where) {
    if (map.shape() != shape) {
        throw Error(ErrorKind::input,
                    "shape " + text_of(map.shape()) + " where the mask has " + text_of(shape),
                    where, "bring the maps to the size of the masks");
    }
    std::vector<std::uint32_t> regions;
    const auto sizes = label_regions(mask, static_cast<std::size_t>(shape[0]),
                                     static_cast<std::size_t>(shape[1]), regions);
    side.pixels->add_regions(sizes.size());
    for (std::uint64_t i = 0; i < mask.size(); ++i) {
        const double share = regions[i] == 0 ? 0 : 1 / static_cast<double>(sizes[regions[i] - 1]);
        side.pixels->add(static_cast<float>(map.number_at(i)), mask[i] != 0, share);
    }
}

double greatest(const Tensor& map, const std::string& where) {
    double most = -std::numeric_limits<double>::infinity();
    for (std::uint64_t i = 0; i < map.count(); ++i) {
        const double value = map.number_at(i);
        if (!std::isfinite(value)) {
            throw Error(ErrorKind::input, "pixel " + std::to_string(i) + " is no finite number",
                        where, "a score that is no number decides nothing");
        }
        most = std::max(most, value);
    }
    return most;
}

Side read_side(const std::string& path, const NpzReader& labels, const Truth& truth,
               const std::string& labels_path) {
    const NpzReader npz(path);
    Side side;
    const bool maps = std::any_of(npz.names().begin(), npz.names().end(),
                                  [](const auto& name) { return name.rfind("maps/", 0) == 0; });
    if (maps) {
        std::size_t count = 0;
        for (const std::string& name : npz.names()) {
            count += name.rfind("maps/", 0) == 0 ? 1U : 0U;
        }
        if (count != truth.samples.names.size()) {
            throw Error(ErrorKind::input,
                        std::to_string(count) + " maps for " +
                            std::to_string(truth.samples.names.size()) + " labelled pictures",
                        path, "judge all sides on the same pictures");
        }
        if (truth.has_masks) {
            side.pixels.emplace();
        }
        Progress progress("reading maps", truth.samples.names.size());
        for (const std::string& name : truth.samples.names) {
            if (!npz.has("maps/" + name)) {
                throw Error(ErrorKind::input, "picture '" + name + "' has no map", path,
                            "judge all sides on the same pictures");
            }
            const Tensor map = picture(npz, "maps/" + name, path);
            side.scores.push_back(greatest(map, path + ": maps/" + name));
            if (truth.has_masks) {
                Shape shape;
                const auto mask = mask_of(labels, "masks/" + name, labels_path, shape);
                add_picture(side, map, mask, shape, path + ": maps/" + name);
            }
            progress.advance();
        }
    }
    if (!maps || npz.has("scores")) {
        const Tensor scores = npz.read("scores");
        if (scores.count() != truth.samples.names.size()) {
            throw Error(ErrorKind::input,
                        std::to_string(scores.count()) + " scores for " +
                            std::to_string(truth.samples.names.size()) + " labelled pictures",
                        path, "judge all sides on the same pictures");
        }
        if (npz.has("samples") && npz.read("samples").strings() != truth.samples.names) {
            throw Error(ErrorKind::input, "'samples' differs from that of the labelled set", path,
                        "judge all sides on the same pictures, in one order");
        }
        side.scores.assign(truth.samples.names.size(), 0);
        for (std::uint64_t i = 0; i < scores.count(); ++i) {
            side.scores[i] = scores.number_at(i);
            if (!std::isfinite(side.scores[i])) {
                throw Error(ErrorKind::input, "the score is no finite number",
                            path + ": record " + std::to_string(i),
                            "a score that is no number decides nothing");
            }
        }
    }
    side.order.resize(side.scores.size());
    std::iota(side.order.begin(), side.order.end(), 0U);
    std::stable_sort(side.order.begin(), side.order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return side.scores[a] > side.scores[b];
    });
    return side;
}

/// auroc, f1, precision, recall of pictures.
void score(const Side& side, const Truth& truth, double threshold,
           std::span<const std::uint32_t> weights, std::span<double> out) {
    out[0] = weighed_auroc(side.scores, truth.defective, side.order, weights);
    double found = 0, called = 0, defective = 0;
    for (std::size_t i = 0; i < truth.defective.size(); ++i) {
        const double weight = weights[i];
        const bool call = side.scores[i] >= threshold, bad = truth.defective[i] != 0;
        found += call && bad ? weight : 0;
        called += call ? weight : 0;
        defective += bad ? weight : 0;
    }
    out[1] = called + defective > 0 ? 2 * found / (called + defective) : none;
    out[2] = called > 0 ? found / called : none;
    out[3] = defective > 0 ? found / defective : none;
}

constexpr const char* picture_metrics[] = {"image_auroc", "image_f1", "image_precision",
                                           "image_recall"};

/// Slices without any measured number, for a plan.
void count_slices(const Truth& truth, const std::vector<SliceSpec>& slices, Evaluation& into) {
    for (const SliceSpec& spec : slices) {
        for (const SampleGroup& group : sample_groups(truth.samples, spec, into.notes)) {
            for (std::uint8_t c = 0; c < 2; ++c) {
                SliceResult slice;
                if (!has_class_term(spec)) {
                    slice.name = group.name;
                    slice.n = group.members.size();
                } else {
                    slice.name = with_class(spec, group.name, c == 0 ? "good" : "defective");
                    slice.n = static_cast<std::uint64_t>(
                        std::count_if(group.members.begin(), group.members.end(),
                                      [&](std::uint32_t i) { return truth.defective[i] == c; }));
                }
                slice.samples = slice.n;
                into.slices.push_back(std::move(slice));
                if (!has_class_term(spec)) {
                    break;
                }
            }
        }
    }
}

/// The numbers of pictures, of some of them.
SliceResult slice_of(SliceName name, std::span<const std::uint32_t> members,
                     const std::optional<Side> (&sides)[2], const Truth& truth,
                     const AnomalyOptions& options, const SampleDecisions* decisions) {
    SliceResult slice;
    slice.name = std::move(name);
    slice.n = slice.samples = members.size();
    slice.paired = decisions != nullptr;
    if (decisions != nullptr) {
        slice.flips = count_flips(*decisions, members);
    }
    std::vector<MetricSeries> series[2];
    for (int s = 0; s < 2; ++s) {
        if (sides[s]) {
            series[s] =
                resample(4, truth.defective.size(), options.bootstrap,
                         [&](std::span<const std::uint32_t> weights, std::span<double> out) {
                             std::vector<std::uint32_t> own(weights.size(), 0);
                             for (const std::uint32_t i : members) {
                                 own[i] = weights[i];
                             }
                             score(*sides[s], truth, options.threshold.value_or(0), own, out);
                         });
        }
    }
    for (std::size_t m = 0; m < (options.threshold ? 4U : 1U); ++m) {
        slice.metrics.push_back(estimate(picture_metrics[m], sides[0] ? &series[0][m] : nullptr,
                                         series[1][m], slice.n, options.bootstrap.confidence));
    }
    return slice;
}

}  // namespace

double weighed_auroc(const std::vector<double>& scores, const std::vector<std::uint8_t>& positive,
                     const std::vector<std::uint32_t>& order,
                     std::span<const std::uint32_t> weights) {
    double goods = 0, bads = 0, area = 0;
    for (std::size_t i = 0; i < order.size();) {
        double good = 0, bad = 0;
        std::size_t j = i;
        for (; j < order.size() && scores[order[j]] == scores[order[i]]; ++j) {
            (positive[order[j]] != 0 ? bad : good) += weights[order[j]];
        }
        area += good * (bads + bad / 2);
        goods += good;
        bads += bad;
        i = j;
    }
    return goods > 0 && bads > 0 ? area / goods / bads : none;
}

std::vector<std::uint64_t> label_regions(const std::vector<std::uint8_t>& mask, std::size_t height,
                                         std::size_t width, std::vector<std::uint32_t>& regions) {
    regions.assign(mask.size(), 0);
    std::vector<std::uint64_t> sizes;
    std::vector<std::size_t> open;
    for (std::size_t start = 0; start < mask.size(); ++start) {
        if (mask[start] == 0 || regions[start] != 0) {
            continue;
        }
        sizes.push_back(0);
        const auto region = static_cast<std::uint32_t>(sizes.size());
        regions[start] = region;
        open.push_back(start);
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            ++sizes.back();
            const std::size_t y = at / width, x = at % width;
            for (std::size_t ny = y == 0 ? 0 : y - 1; ny <= std::min(y + 1, height - 1); ++ny) {
                for (std::size_t nx = x == 0 ? 0 : x - 1; nx <= std::min(x + 1, width - 1); ++nx) {
                    const std::size_t next = ny * width + nx;
                    if (mask[next] != 0 && regions[next] == 0) {
                        regions[next] = region;
                        open.push_back(next);
                    }
                }
            }
        }
    }
    return sizes;
}

Evaluation evaluate_anomaly(const std::string& annotations,
                            const std::optional<std::string>& reference,
                            const std::optional<std::string>& candidate,
                            const AnomalyOptions& options) {
    const NpzReader labels(annotations);
    Truth truth;
    read_truth(labels, annotations, truth);
    Evaluation result;
    result.task = "anomaly";
    result.paired = reference.has_value();
    result.confidence = options.bootstrap.confidence;
    result.samples = result.overall.n = result.overall.samples = truth.samples.names.size();
    result.overall.paired = reference.has_value() && options.threshold.has_value();
    if (!candidate) {
        count_slices(truth, options.slices, result);
        return result;
    }
    std::optional<Side> sides[2];
    std::vector<MetricSeries> series[2];
    const double threshold = options.threshold.value_or(0);
    for (int s = 0; s < 2; ++s) {
        if (s == 0 && !reference) {
            continue;
        }
        sides[s] = read_side(s == 0 ? *reference : *candidate, labels, truth, annotations);
        series[s] = resample(4, truth.samples.names.size(), options.bootstrap,
                             [&](std::span<const std::uint32_t> weights, std::span<double> out) {
                                 score(*sides[s], truth, threshold, weights, out);
                             });
    }
    const auto add = [&](const char* name, const MetricSeries* before, const MetricSeries& after) {
        result.overall.metrics.push_back(
            estimate(name, before, after, result.samples, options.bootstrap.confidence));
    };
    for (std::size_t m = 0; m < (options.threshold ? 4U : 1U); ++m) {
        add(picture_metrics[m], reference ? &series[0][m] : nullptr, series[1][m]);
    }
    if (sides[1]->pixels && (!reference || sides[0]->pixels)) {
        MetricSeries auroc[2], aupro[2];
        double resolution = 0;
        for (int s = 0; s < 2; ++s) {
            if (sides[s]) {
                const auto [area, unknown] = sides[s]->pixels->auroc();
                auroc[s].value = area;
                aupro[s].value = sides[s]->pixels->aupro();
                resolution = std::max(resolution, unknown);
            }
        }
        add("pixel_auroc", reference ? &auroc[0] : nullptr, auroc[1]);
        add("aupro", reference ? &aupro[0] : nullptr, aupro[1]);
        if (std::isfinite(resolution)) {
            result.extra["pixel_resolution"] = resolution;
        }
        result.notes.push_back("pixel metrics are not resampled: they have no interval");
    }
    if (options.threshold) {
        result.extra["threshold"] = *options.threshold;
    }
    const std::vector<std::string> classes = {"good", "defective"};
    const std::vector<std::uint32_t> label(truth.defective.begin(), truth.defective.end());
    std::vector<std::uint32_t> calls[2];
    std::optional<SampleDecisions> decided;
    if (reference && options.threshold) {
        for (int s = 0; s < 2; ++s) {
            for (const double value : sides[s]->scores) {
                calls[s].push_back(value >= threshold ? 1 : 0);
            }
        }
        const SampleDecisions& decisions =
            decided.emplace(SampleDecisions{truth.samples.names, classes, label, calls[0], calls[1],
                                            sides[0]->scores, sides[1]->scores});
        result.flips = sample_flips(decisions, options.flip_samples, options.bootstrap.confidence);
        result.decisions = truth.samples.names.size();
        std::vector<std::uint32_t> all(truth.samples.names.size());
        std::iota(all.begin(), all.end(), 0U);
        result.overall.flips = count_flips(decisions, all);
    }
    for (const SliceSpec& spec : options.slices) {
        for (const SampleGroup& group : sample_groups(truth.samples, spec, result.notes)) {
            if (!has_class_term(spec)) {
                result.slices.push_back(slice_of(group.name, group.members, sides, truth, options,
                                                 decided ? &*decided : nullptr));
                continue;
            }
            for (std::uint32_t c = 0; c < 2; ++c) {
                std::vector<std::uint32_t> members;
                std::copy_if(group.members.begin(), group.members.end(),
                             std::back_inserter(members),
                             [&](std::uint32_t i) { return truth.defective[i] == c; });
                result.slices.push_back(slice_of(with_class(spec, group.name, classes[c]), members,
                                                 sides, truth, options,
                                                 decided ? &*decided : nullptr));
            }
        }
    }
    return result;
}

}  // namespace requal::measure
