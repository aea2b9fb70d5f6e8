#include "measure/accuracy/detection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/progress.h"
#include "base/text.h"
#include "measure/accuracy/box_flips.h"
#include "measure/accuracy/box_match.h"
#include "measure/accuracy/parallel.h"

namespace requal::measure {

namespace {

struct SizeRange {
    const char* name;
    double least, greatest;
};
constexpr double everything = 1e10;
constexpr SizeRange sizes[] = {
    {"small", 0, 1024}, {"medium", 1024, 9216}, {"large", 9216, everything}};

using Field = double CategoryScores::*;

/// Scores of every category in one view: of the whole set, and of each replicate.
struct ViewScores {
    std::vector<CategoryScores> whole;
    std::vector<std::vector<CategoryScores>> replicates;
};

struct ViewResult {
    ViewScores side[2];  ///< reference, candidate; the first one empty with one side
    std::vector<std::uint64_t> objects;  ///< by category
};

class DetectionRun {
public:
    DetectionRun(const LabelledBoxes& set, const DetectedBoxes* reference,
                 const DetectedBoxes& candidate, const DetectionOptions& options)
        : set_(set), sides_{reference, &candidate}, options_(options) {}

    /// Views that share their matching; results in their order.
    std::vector<ViewResult> score(const std::vector<BoxView>& views) {
        const std::size_t categories = set_.categories.size();
        std::vector<ViewResult> results(views.size());
        for (ViewResult& result : results) {
            result.objects.assign(categories, 0);
        }
        for (int s = 0; s < 2; ++s) {
            if (sides_[s] == nullptr) {
                continue;
            }
            const bool keep = options_.bootstrap.replicates > 0;
            std::vector<std::vector<CategoryMatches>> matches(categories);
            for (ViewResult& result : results) {
                result.side[s].whole.resize(categories);
            }
            parallel_for(categories, options_.bootstrap.threads, [&](std::size_t k) {
                ScoreScratch scratch;
                auto of_views =
                    match_category(set_, *sides_[s], static_cast<std::uint32_t>(k), views);
                for (std::size_t v = 0; v < views.size(); ++v) {
                    results[v].side[s].whole[k] = score_category(of_views[v], {}, scratch);
                    results[v].objects[k] = of_views[v].objects;
                }
                if (keep) {
                    matches[k] = std::move(of_views);
                }
            });
            if (keep) {
                resample(matches, s, results);
            }
        }
        return results;
    }

    MetricSeries series(const ViewResult& view, int side, Field field,
                        std::span<const std::uint32_t> categories) const {
        const auto mean = [&](const std::vector<CategoryScores>& scores) {
            double sum = 0;
            std::size_t count = 0;
            for (const std::uint32_t k : categories) {
                const double value = scores[k].*field;
                if (!std::isnan(value)) {
                    sum += value;
                    ++count;
                }
            }
            return count == 0 ? CategoryScores::none : sum / static_cast<double>(count);
        };
        MetricSeries result;
        result.value = mean(view.side[side].whole);
        for (const auto& replicate : view.side[side].replicates) {
            result.replicates.push_back(mean(replicate));
        }
        return result;
    }

    void add(SliceResult& slice, const char* name, const ViewResult& view, Field field,
             std::span<const std::uint32_t> categories) const {
        std::uint64_t n = 0;
        for (const std::uint32_t k : categories) {
            n += view.objects[k];
        }
        const MetricSeries candidate = series(view, 1, field, categories);
        if (sides_[0] == nullptr) {
            slice.metrics.push_back(
                estimate(name, nullptr, candidate, n, options_.bootstrap.confidence));
            return;
        }
        const MetricSeries reference = series(view, 0, field, categories);
        slice.metrics.push_back(
            estimate(name, &reference, candidate, n, options_.bootstrap.confidence));
    }

private:
    void resample(const std::vector<std::vector<CategoryMatches>>& matches, int side,
                  std::vector<ViewResult>& results) {
        const std::uint64_t count = options_.bootstrap.replicates;
        for (ViewResult& result : results) {
            result.side[side].replicates.resize(count);
        }
        const std::size_t block =
            static_cast<std::size_t>(std::max(1, options_.bootstrap.threads)) * 8;
        Progress progress("resampling", count);
        for (std::size_t first = 0; first < count; first += block) {
            const std::size_t here = std::min<std::size_t>(block, count - first);
            parallel_for(here, options_.bootstrap.threads, [&](std::size_t i) {
                const std::size_t r = first + i;
                std::vector<std::uint32_t> weights(set_.images.size());
                draw_weights(options_.bootstrap.seed, r, weights);
                ScoreScratch scratch;
                for (std::size_t v = 0; v < results.size(); ++v) {
                    auto& scores = results[v].side[side].replicates[r];
                    scores.resize(matches.size());
                    for (std::size_t k = 0; k < matches.size(); ++k) {
                        scores[k] = score_category(matches[k][v], weights, scratch);
                    }
                }
            });
            progress.advance(here);
        }
    }

    const LabelledBoxes& set_;
    const DetectedBoxes* sides_[2];
    const DetectionOptions& options_;
};

void add_plain(DetectionRun& run, SliceResult& slice, const ViewResult& view,
               std::span<const std::uint32_t> categories) {
    run.add(slice, "ap50_95", view, &CategoryScores::ap50_95, categories);
    run.add(slice, "ap50", view, &CategoryScores::ap50, categories);
    run.add(slice, "ap75", view, &CategoryScores::ap75, categories);
    run.add(slice, "ar1", view, &CategoryScores::ar1, categories);
    run.add(slice, "ar10", view, &CategoryScores::ar10, categories);
    run.add(slice, "ar100", view, &CategoryScores::ar100, categories);
}

/// The twelve: `views` are everything, small, medium, large.
void add_twelve(DetectionRun& run, SliceResult& slice, const std::vector<ViewResult>& views,
                std::span<const std::uint32_t> categories) {
    add_plain(run, slice, views[0], categories);
    run.add(slice, "ap_small", views[1], &CategoryScores::ap50_95, categories);
    run.add(slice, "ap_medium", views[2], &CategoryScores::ap50_95, categories);
    run.add(slice, "ap_large", views[3], &CategoryScores::ap50_95, categories);
    run.add(slice, "ar_small", views[1], &CategoryScores::ar100, categories);
    run.add(slice, "ar_medium", views[2], &CategoryScores::ar100, categories);
    run.add(slice, "ar_large", views[3], &CategoryScores::ar100, categories);
}

/// A value of a term that is no class: what it leaves of the set.
struct TermValue {
    std::string by, value;
    double least_area = 0, greatest_area = everything;
    std::vector<std::uint8_t> keep_box, keep_image;
};

[[noreturn]] void unknown_name(const char* what, const std::string& name,
                               const std::vector<std::string>& first,
                               const std::vector<std::string>& second) {
    std::vector<std::string_view> known(first.begin(), first.end());
    known.insert(known.end(), second.begin(), second.end());
    const std::string near = nearest(name, known);
    throw Error(ErrorKind::input,
                std::string("no image and no annotation has the ") + what + " '" + name + "'",
                "slices", near.empty() ? "" : "did you mean '" + near + "'?");
}

std::vector<TermValue> number_values(const LabelledBoxes& set, const SliceTerm& term,
                                     std::vector<std::string>& notes) {
    std::vector<double> of_box = set.box_attributes.values(term.name, set.boxes.size());
    const std::vector<double> of_image = set.image_attributes.values(term.name, set.images.size());
    if (of_box.empty() && of_image.empty()) {
        unknown_name("number", term.name, set.box_attributes.numbers(),
                     set.image_attributes.numbers());
    }
    const bool by_box = !of_box.empty();
    const std::vector<double>& numbers = by_box ? of_box : of_image;
    std::vector<TermValue> values;
    for (std::size_t b = 0; b + 1 < term.bounds.size(); ++b) {
        TermValue value;
        value.by = term.name;
        value.value = band_name(term.bounds[b], term.bounds[b + 1]);
        auto& keep = by_box ? value.keep_box : value.keep_image;
        keep.resize(numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            keep[i] = band_of(term.bounds, numbers[i]) == static_cast<int>(b) ? 1 : 0;
        }
        values.push_back(std::move(value));
    }
    std::uint64_t missing = 0, outside = 0;
    for (const double number : numbers) {
        missing += std::isnan(number) ? 1U : 0U;
        outside += !std::isnan(number) && band_of(term.bounds, number) < 0 ? 1U : 0U;
    }
    if (missing + outside > 0) {
        notes.push_back(term.name + ": " + std::to_string(missing) +
                        (by_box ? " objects" : " images") + " have no value and " +
                        std::to_string(outside) +
                        " lie outside of the ranges; they are in no slice of it");
    }
    return values;
}

std::vector<TermValue> values_of(const LabelledBoxes& set, const SliceTerm& term,
                                 std::vector<std::string>& notes) {
    std::vector<TermValue> values;
    if (term.kind == SliceTerm::Kind::size) {
        for (const SizeRange& size : sizes) {
            values.push_back({"size", size.name, size.least, size.greatest, {}, {}});
        }
        return values;
    }
    if (term.kind == SliceTerm::Kind::number) {
        return number_values(set, term, notes);
    }
    std::vector<std::string> names = {term.name};
    if (term.name.empty()) {
        names = set.box_attributes.tags();
        names.insert(names.end(), set.image_attributes.tags().begin(),
                     set.image_attributes.tags().end());
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
    }
    for (const std::string& name : names) {
        TermValue value;
        value.by = "tag";
        value.value = name;
        value.keep_box = set.box_attributes.has_tag(name, set.boxes.size());
        const auto of_image = set.image_attributes.has_tag(name, set.images.size());
        if (value.keep_box.empty() && of_image.empty()) {
            unknown_name("tag", name, set.box_attributes.tags(), set.image_attributes.tags());
        }
        if (value.keep_box.empty()) {
            value.keep_image = of_image;
        } else if (!of_image.empty()) {
            // a tag that both kinds have holds for the objects of a tagged image too
            for (std::size_t i = 0; i < set.boxes.size(); ++i) {
                value.keep_box[i] |= of_image[set.boxes[i].image];
            }
        }
        values.push_back(std::move(value));
    }
    return values;
}

void keep_both(std::vector<std::uint8_t>& into, const std::vector<std::uint8_t>& other) {
    if (into.empty()) {
        into = other;
        return;
    }
    for (std::size_t i = 0; i < other.size(); ++i) {
        into[i] &= other[i];
    }
}

constexpr std::size_t most_slices = 20'000;

class SliceMaker {
public:
    SliceMaker(const LabelledBoxes& set, DetectionRun& run, const std::vector<ViewResult>& base,
               const BoxFlips* flips, Evaluation& into)
        : set_(set), run_(run), base_(base), flips_(flips), into_(into) {}

    void add(const SliceSpec& spec) {
        bool by_class = false;
        std::vector<std::vector<TermValue>> values;
        for (const SliceTerm& term : spec) {
            if (term.kind == SliceTerm::Kind::category) {
                by_class = true;
            } else {
                values.push_back(values_of(set_, term, into_.notes));
            }
        }
        walk(spec, by_class, values, {}, BoxView{});
    }

    SliceResult start(SliceName name, const BoxView& view,
                      std::span<const std::uint32_t> categories) const {
        SliceResult slice;
        slice.name = std::move(name);
        slice.paired = flips_ != nullptr;
        std::vector<std::uint8_t> wanted(set_.categories.size(), 0);
        for (const std::uint32_t k : categories) {
            wanted[k] = 1;
        }
        std::vector<std::uint8_t> seen(set_.images.size(), 0);
        for (std::size_t i = 0; i < set_.boxes.size(); ++i) {
            const LabelledBox& box = set_.boxes[i];
            if (wanted[box.category] == 0 || box.crowd || box.area < view.least_area ||
                box.area > view.greatest_area ||
                (!view.keep_box.empty() && view.keep_box[i] == 0) ||
                (!view.keep_image.empty() && view.keep_image[box.image] == 0)) {
                continue;
            }
            ++slice.n;
            seen[box.image] = 1;
            if (flips_ != nullptr) {
                slice.flips.gained += flips_->of_object[i] > 0 ? 1U : 0U;
                slice.flips.lost += flips_->of_object[i] < 0 ? 1U : 0U;
            }
        }
        slice.samples = static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), 1));
        return slice;
    }

private:
    void walk(const SliceSpec& spec, bool by_class, std::span<const std::vector<TermValue>> values,
              std::vector<const TermValue*> chosen, const BoxView& view) {
        if (!values.empty()) {
            for (const TermValue& value : values.front()) {
                BoxView inner = view;
                inner.least_area = std::max(inner.least_area, value.least_area);
                inner.greatest_area = std::min(inner.greatest_area, value.greatest_area);
                if (!value.keep_box.empty()) {
                    keep_both(inner.keep_box, value.keep_box);
                }
                if (!value.keep_image.empty()) {
                    keep_both(inner.keep_image, value.keep_image);
                }
                auto with = chosen;
                with.push_back(&value);
                walk(spec, by_class, values.subspan(1), with, inner);
            }
            return;
        }
        const bool plain = chosen.empty();
        const std::vector<ViewResult> own = plain ? std::vector<ViewResult>{} : run_.score({view});
        const auto make = [&](const std::string* category,
                              std::span<const std::uint32_t> categories) {
            SliceName name;
            std::size_t next = 0;
            for (const SliceTerm& term : spec) {
                if (term.kind == SliceTerm::Kind::category) {
                    name.emplace_back("class", *category);
                } else {
                    name.emplace_back(chosen[next]->by, chosen[next]->value);
                    ++next;
                }
            }
            SliceResult slice = start(std::move(name), view, categories);
            if (plain) {
                add_twelve(run_, slice, base_, categories);
            } else {
                add_plain(run_, slice, own[0], categories);
            }
            if (into_.slices.size() >= most_slices) {
                throw Error(ErrorKind::input, "more than 20000 slices", "slices",
                            "cross fewer properties");
            }
            into_.slices.push_back(std::move(slice));
        };
        if (by_class) {
            for (std::uint32_t k = 0; k < set_.categories.size(); ++k) {
                make(&set_.categories[k].name, std::span(&k, 1));
            }
        } else {
            std::vector<std::uint32_t> all(set_.categories.size());
            std::iota(all.begin(), all.end(), 0U);
            make(nullptr, all);
        }
    }

    const LabelledBoxes& set_;
    DetectionRun& run_;
    const std::vector<ViewResult>& base_;
    const BoxFlips* flips_;
    Evaluation& into_;
};

}  // namespace

Evaluation evaluate_detection(const LabelledBoxes& set, const DetectedBoxes* reference,
                              const DetectedBoxes& candidate, const DetectionOptions& options) {
    Evaluation result;
    result.task = "detection";
    result.paired = reference != nullptr;
    result.confidence = options.bootstrap.confidence;
    result.samples = set.images.size();
    if (set.images.empty() || set.categories.empty()) {
        throw Error(ErrorKind::input, "no images or no categories in the annotations", {},
                    "give the annotations of at least one image");
    }
    DetectionRun run(set, reference, candidate, options);
    std::vector<BoxView> views(1);
    for (const SizeRange& size : sizes) {
        BoxView view;
        view.least_area = size.least;
        view.greatest_area = size.greatest;
        views.push_back(view);
    }
    const std::vector<ViewResult> base = run.score(views);
    BoxFlips flips;
    if (reference != nullptr) {
        flips = find_box_flips(set, *reference, candidate, options.score_threshold,
                               options.flip_samples, options.bootstrap.confidence);
        result.flips = flips.document;
        result.decisions = flips.objects;
    }
    SliceMaker maker(set, run, base, reference != nullptr ? &flips : nullptr, result);
    std::vector<std::uint32_t> all(set.categories.size());
    std::iota(all.begin(), all.end(), 0U);
    result.overall = maker.start({}, views[0], all);
    add_twelve(run, result.overall, base, all);
    for (const SliceSpec& spec : options.slices) {
        maker.add(spec);
    }
    std::vector<double> scores[2];
    for (int s = 0; s < 2; ++s) {
        const DetectedBoxes* side = s == 0 ? reference : &candidate;
        for (std::size_t i = 0; side != nullptr && i < side->boxes.size(); ++i) {
            scores[s].push_back(side->boxes[i].score);
        }
    }
    if (Json histogram = score_histogram(scores[0], scores[1], reference != nullptr);
        !histogram.is_null()) {
        result.extra["scores"] = std::move(histogram);
    }
    if (set.areas_from_boxes > 0) {
        result.notes.push_back("area of " + std::to_string(set.areas_from_boxes) +
                               " annotations taken from width and height");
    }
    if (candidate.total == 0) {
        result.notes.push_back("the candidate has no detection at all");
    }
    return result;
}

}  // namespace requal::measure
