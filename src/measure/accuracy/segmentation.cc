#include "measure/accuracy/segmentation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/error.h"
#include "base/progress.h"
#include "measure/accuracy/label_maps.h"
#include "measure/accuracy/samples.h"

namespace requal::measure {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// One side's file, with the same pictures as the labelled set.
class Side {
public:
    Side(std::string path, const std::vector<std::string>& pictures)
        : path_(std::move(path)), npz_(path_) {
        for (const std::string& name : pictures) {
            if (!npz_.has(name)) {
                throw Error(ErrorKind::input, "picture '" + name + "' has no prediction", path_,
                            "judge all sides on the same pictures");
            }
        }
        const std::unordered_set<std::string_view> known(pictures.begin(), pictures.end());
        for (const std::string& name : npz_.names()) {
            if (name.rfind(attribute_prefix, 0) != 0 && known.count(name) == 0) {
                throw Error(ErrorKind::input, "picture '" + name + "' has no labels", path_,
                            "judge all sides on the same pictures");
            }
        }
    }

    Tensor map(const std::string& name) const { return read_label_map(npz_, name, path_); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    NpzReader npz_;
};

/// miou, pixel accuracy, lost and gross share of pixels; then the IoU, lost and gross share of each class.
constexpr std::size_t general_outputs = 4;
constexpr std::size_t class_outputs = 3;

class SegmentationRun {
public:
    SegmentationRun(LabelledSamples samples, std::vector<PicturePixels> before,
                    std::vector<PicturePixels> after, bool paired,
                    const SegmentationOptions& options)
        : samples_(std::move(samples)), sides_{std::move(before), std::move(after)},
          paired_(paired), options_(options) {
        for (const auto& side : sides_) {
            for (const PicturePixels& picture : side) {
                for (const ClassPixels& pixels : picture) {
                    classes_ = std::max<std::size_t>(classes_, pixels.label + 1);
                }
            }
        }
    }

    SliceResult general(const SampleGroup& group) const {
        const Series series = series_of(group, false);
        SliceResult slice = start(group.name, group.members);
        add(slice, "miou", series, 0);
        add(slice, "pixel_accuracy", series, 1);
        add_shares(slice, series, 2);
        for (const std::uint32_t member : group.members) {
            for (const ClassPixels& pixels : sides_[1][member]) {
                slice.flips.gained += pixels.gained;
                slice.flips.lost += pixels.lost;
            }
        }
        return slice;
    }

    void add_slices(const SliceSpec& spec, Evaluation& into) const {
        for (const SampleGroup& group : sample_groups(samples_, spec, into.notes)) {
            if (has_class_term(spec)) {
                add_classes(spec, group, into);
            } else {
                into.slices.push_back(general(group));
            }
        }
    }

    Json flips() const {
        std::uint64_t gained = 0, lost = 0, gross = 0, all = 0, pictures = 0;
        struct Changed {
            std::uint32_t picture;
            std::uint64_t gained, lost, changed, pixels;
        };
        std::vector<Changed> changed;
        for (std::uint32_t i = 0; i < sides_[1].size(); ++i) {
            Changed here{i, 0, 0, 0, 0};
            for (const ClassPixels& pixels : sides_[1][i]) {
                here.gained += pixels.gained;
                here.lost += pixels.lost;
                here.changed += pixels.changed;
                here.pixels += pixels.truth;
            }
            gained += here.gained;
            lost += here.lost;
            gross += here.changed;
            all += here.pixels;
            if (here.changed > 0) {
                ++pictures;
                changed.push_back(here);
            }
        }
        std::stable_sort(changed.begin(), changed.end(), [](const Changed& a, const Changed& b) {
            return a.lost != b.lost ? a.lost > b.lost : a.changed > b.changed;
        });
        changed.resize(std::min(changed.size(), options_.flip_samples));
        Json list = Json::array();
        for (const Changed& entry : changed) {
            list.push_back(Json::object({{"change", "pixels"},
                                         {"sample", samples_.names[entry.picture]},
                                         {"gained", entry.gained},
                                         {"lost", entry.lost},
                                         {"changed", entry.changed},
                                         {"pixels", entry.pixels}}));
        }
        return Json::object(
            {{"unit", "pixels"},
             {"gained", gained},
             {"lost", lost},
             {"changed_wrong", gross - gained - lost},
             {"net", static_cast<std::int64_t>(gained) - static_cast<std::int64_t>(lost)},
             {"gross", gross},
             {"decisions", all},
             {"samples_total", pictures},
             {"samples", list}});
    }

private:
    struct Series {
        std::vector<MetricSeries> side[2];
    };

    SliceResult start(SliceName name, std::span<const std::uint32_t> members) const {
        SliceResult slice;
        slice.name = std::move(name);
        slice.n = slice.samples = members.size();
        slice.paired = paired_;
        return slice;
    }

    void add(SliceResult& slice, const char* name, const Series& series, std::size_t output) const {
        slice.metrics.push_back(estimate(name, paired_ ? &series.side[0][output] : nullptr,
                                         series.side[1][output], slice.n,
                                         options_.bootstrap.confidence));
    }

    /// A share of flips belongs to both sides at once: it has a value and no drop.
    void add_shares(SliceResult& slice, const Series& series, std::size_t output) const {
        static constexpr const char* names[] = {"lost_share", "gross_share"};
        for (std::size_t i = 0; i < (paired_ ? 2U : 0U); ++i) {
            slice.metrics.push_back(estimate(names[i], nullptr, series.side[1][output + i], slice.n,
                                             options_.bootstrap.confidence));
            slice.metrics.back().lower_is_better = true;
        }
    }

    Series series_of(const SampleGroup& group, bool by_class) const {
        const std::size_t outputs = by_class ? class_outputs * classes_ : general_outputs;
        Series series;
        for (int s = paired_ ? 0 : 1; s < 2; ++s) {
            series.side[s] =
                resample(outputs, samples_.names.size(), options_.bootstrap,
                         [&](std::span<const std::uint32_t> weights, std::span<double> out) {
                             score(sides_[s], group.members, weights, by_class, out);
                         });
        }
        return series;
    }

    void score(const std::vector<PicturePixels>& pictures, std::span<const std::uint32_t> members,
               std::span<const std::uint32_t> weights, bool by_class, std::span<double> out) const {
        struct Sums {
            double truth = 0, predicted = 0, both = 0, lost = 0, changed = 0;
        };
        std::vector<Sums> sums(classes_);
        for (const std::uint32_t i : members) {
            const double weight = weights[i];
            for (const ClassPixels& pixels : pictures[i]) {
                Sums& sum = sums[pixels.label];
                sum.truth += weight * static_cast<double>(pixels.truth);
                sum.predicted += weight * static_cast<double>(pixels.predicted);
                sum.both += weight * static_cast<double>(pixels.both);
                sum.lost += weight * static_cast<double>(pixels.lost);
                sum.changed += weight * static_cast<double>(pixels.changed);
            }
        }
        double iou_sum = 0, seen = 0;
        Sums all;
        for (std::size_t c = 0; c < classes_; ++c) {
            const Sums& sum = sums[c];
            const double either = sum.truth + sum.predicted - sum.both;
            const double iou = either > 0 ? sum.both / either : none;
            iou_sum += either > 0 ? iou : 0;
            seen += either > 0 ? 1 : 0;
            all.truth += sum.truth;
            all.both += sum.both;
            all.lost += sum.lost;
            all.changed += sum.changed;
            if (by_class) {
                out[class_outputs * c] = iou;
                out[class_outputs * c + 1] = sum.truth > 0 ? sum.lost / sum.truth : none;
                out[class_outputs * c + 2] = sum.truth > 0 ? sum.changed / sum.truth : none;
            }
        }
        if (!by_class) {
            out[0] = seen > 0 ? iou_sum / seen : none;
            out[1] = all.truth > 0 ? all.both / all.truth : none;
            out[2] = all.truth > 0 ? all.lost / all.truth : none;
            out[3] = all.truth > 0 ? all.changed / all.truth : none;
        }
    }

    void add_classes(const SliceSpec& spec, const SampleGroup& group, Evaluation& into) const {
        const Series series = series_of(group, true);
        for (std::uint32_t c = 0; c < classes_; ++c) {
            std::vector<std::uint32_t> members;
            FlipCounts flips;
            bool occurs = false;
            for (const std::uint32_t i : group.members) {
                for (const ClassPixels& pixels : sides_[1][i]) {
                    if (pixels.label != c) {
                        continue;
                    }
                    occurs = true;
                    flips.gained += pixels.gained;
                    flips.lost += pixels.lost;
                    if (pixels.truth > 0) {
                        members.push_back(i);
                    }
                }
            }
            if (!occurs && group.name.empty()) {
                continue;  // a number that no picture has is no class
            }
            SliceResult slice = start(with_class(spec, group.name, std::to_string(c)), members);
            slice.flips = flips;
            add(slice, "iou", series, class_outputs * c);
            add_shares(slice, series, class_outputs * c + 1);
            into.slices.push_back(std::move(slice));
        }
    }

    LabelledSamples samples_;
    std::vector<PicturePixels> sides_[2];
    bool paired_;
    const SegmentationOptions& options_;
    std::size_t classes_ = 0;
};

}  // namespace

Evaluation evaluate_segmentation(const std::string& annotations,
                                 const std::optional<std::string>& reference,
                                 const std::optional<std::string>& candidate,
                                 const SegmentationOptions& options) {
    const NpzReader truth(annotations);
    LabelledSamples samples;
    for (const std::string& name : truth.names()) {
        if (name.rfind(attribute_prefix, 0) != 0) {
            samples.names.push_back(name);
        }
    }
    if (samples.names.empty()) {
        throw Error(ErrorKind::input, "no label map", annotations, "give at least one picture");
    }
    read_sample_attributes(truth, annotations, samples);
    std::optional<Side> before;
    if (reference) {
        before.emplace(*reference, samples.names);
    }
    const Side after(candidate.value_or(annotations), samples.names);
    std::vector<PicturePixels> pixels[2];
    Progress progress("reading pictures", samples.names.size());
    for (const std::string& name : samples.names) {
        const Tensor labels = read_label_map(truth, name, annotations);
        const Tensor now = after.map(name);
        std::optional<Tensor> was;
        if (before) {
            was = before->map(name);
            pixels[0].push_back(count_pixels(labels, nullptr, *was, options.ignore_label,
                                             annotations + ": " + name,
                                             before->path() + ": " + name));
        }
        pixels[1].push_back(count_pixels(labels, was ? &*was : nullptr, now, options.ignore_label,
                                         annotations + ": " + name, after.path() + ": " + name));
        progress.advance();
    }
    Evaluation result;
    result.task = "segmentation";
    result.paired = reference.has_value();
    result.confidence = options.bootstrap.confidence;
    result.samples = samples.names.size();
    SampleGroup all;
    all.members.resize(samples.names.size());
    std::iota(all.members.begin(), all.members.end(), 0U);
    const SegmentationRun run(std::move(samples), std::move(pixels[0]), std::move(pixels[1]),
                              result.paired, options);
    result.overall = run.general(all);
    for (const SliceSpec& spec : options.slices) {
        run.add_slices(spec, result);
    }
    if (result.paired) {
        result.flips = run.flips();
        result.decisions = static_cast<std::uint64_t>(result.flips.at("decisions").as_integer());
    }
    return result;
}

}  // namespace requal::measure
