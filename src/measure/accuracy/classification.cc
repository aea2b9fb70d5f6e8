#include "measure/accuracy/classification.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "measure/accuracy/sample_flips.h"

namespace requal::measure {

namespace {

constexpr std::size_t bins = 15;
constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Counts of one weighing of some samples, and the numbers made of them.
class Counts {
public:
    explicit Counts(std::size_t classes) : truth_(classes), predicted_(classes), right_(classes) {}

    void add(const ClassLabels& labels, const ClassPredictions& side, std::uint32_t top_k,
             std::span<const std::uint32_t> members, std::span<const std::uint32_t> weights) {
        for (const std::uint32_t i : members) {
            const double weight = weights[i];
            if (weight == 0) {
                continue;
            }
            const std::uint32_t label = labels.labels[i], guess = side.predicted[i];
            all_ += weight;
            truth_[label] += weight;
            predicted_[guess] += weight;
            right_[label] += label == guess ? weight : 0;
            if (!side.before.empty()) {
                top_k_ += side.before[i] < top_k ? weight : 0;
                add_confidence(side.confidence[i], label == guess, weight);
            }
        }
    }

    double recall(std::size_t c) const { return truth_[c] > 0 ? right_[c] / truth_[c] : 0; }
    double precision(std::size_t c) const {
        return predicted_[c] > 0 ? right_[c] / predicted_[c] : 0;
    }
    double f1(std::size_t c) const {
        const double both = truth_[c] + predicted_[c];
        return both > 0 ? 2 * right_[c] / both : 0;
    }
    bool seen(std::size_t c) const { return truth_[c] + predicted_[c] > 0; }

    /// top1, topK, balanced_accuracy, precision_macro, recall_macro, f1_macro, ece.
    void general(std::span<double> out) const {
        std::fill(out.begin(), out.end(), none);
        if (all_ == 0) {
            return;
        }
        double precisions = 0, recalls = 0, f1s = 0, balanced = 0, present = 0, labelled = 0;
        for (std::size_t c = 0; c < truth_.size(); ++c) {
            precisions += precision(c);
            recalls += recall(c);
            f1s += f1(c);
            balanced += truth_[c] > 0 ? recall(c) : 0;
            present += seen(c) ? 1 : 0;
            labelled += truth_[c] > 0 ? 1 : 0;
        }
        out[0] = std::accumulate(right_.begin(), right_.end(), 0.0) / all_;
        out[1] = top_k_ / all_;
        out[2] = balanced / labelled;
        out[3] = precisions / present;
        out[4] = recalls / present;
        out[5] = f1s / present;
        double gap = 0;
        for (std::size_t b = 0; b < bins; ++b) {
            gap += std::abs(bin_right_[b] - bin_confidence_[b]);
        }
        out[6] = gap / all_;
    }

private:
    void add_confidence(double confidence, bool right, double weight) {
        // bins (0, 1/15], (1/15, 2/15] ...
        const double place = std::ceil(confidence * static_cast<double>(bins)) - 1;
        const auto bin =
            static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)));
        bin_right_[bin] += right ? weight : 0;
        bin_confidence_[bin] += confidence * weight;
    }

    double all_ = 0, top_k_ = 0;
    std::vector<double> truth_, predicted_, right_;
    std::array<double, bins> bin_right_{}, bin_confidence_{};
};

class ClassificationRun {
public:
    ClassificationRun(const ClassLabels& labels, const ClassPredictions* reference,
                      const ClassPredictions& candidate, const ClassificationOptions& options)
        : labels_(labels), sides_{reference, &candidate}, options_(options) {
        if (reference != nullptr) {
            decisions_.emplace(SampleDecisions{labels.samples.names, labels.classes, labels.labels,
                                               reference->predicted, candidate.predicted,
                                               reference->confidence, candidate.confidence});
        }
    }

    void add_slices(const SliceSpec& spec, Evaluation& into) {
        for (const SampleGroup& group : sample_groups(labels_.samples, spec, into.notes)) {
            if (has_class_term(spec)) {
                add_classes(spec, group, into);
            } else {
                into.slices.push_back(general(group));
            }
        }
    }

    SliceResult general(const SampleGroup& group) {
        SliceResult slice = start(group.name, group.members);
        const std::string top = "top" + std::to_string(options_.top_k);
        const std::string names[] = {
            "top1", top, "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro", "ece"};
        std::vector<MetricSeries> series[2];
        for (int s = 0; s < 2; ++s) {
            if (sides_[s] != nullptr) {
                series[s] = resample(
                    7, labels_.labels.size(), options_.bootstrap,
                    [&](std::span<const std::uint32_t> weights, std::span<double> out) {
                        Counts counts(labels_.classes.size());
                        counts.add(labels_, *sides_[s], options_.top_k, group.members, weights);
                        counts.general(out);
                    });
            }
        }
        for (std::size_t m = 0; m < 7; ++m) {
            if (m == 1 &&
                (options_.top_k == 1 || options_.top_k >= labels_.classes.size() || !scored())) {
                continue;
            }
            if (m == 6 && !calibrated(slice, group)) {
                continue;
            }
            slice.metrics.push_back(estimate(names[m],
                                             sides_[0] != nullptr ? &series[0][m] : nullptr,
                                             series[1][m], slice.n, options_.bootstrap.confidence));
            slice.metrics.back().lower_is_better = m == 6;
        }
        return slice;
    }

    const std::optional<SampleDecisions>& decisions() const { return decisions_; }

private:
    bool scored() const {
        return !sides_[1]->before.empty() && (sides_[0] == nullptr || !sides_[0]->before.empty());
    }

    /// When there is no calibration error, the metric stands there without a value and says why.
    bool calibrated(SliceResult& slice, const SampleGroup& group) const {
        for (const ClassPredictions* side : sides_) {
            if (side != nullptr && !side->no_calibration.empty()) {
                MetricEstimate empty;
                empty.name = "ece";
                empty.n = group.members.size();
                empty.paired = sides_[0] != nullptr;
                empty.lower_is_better = true;
                empty.why_not = side->no_calibration;
                slice.metrics.push_back(std::move(empty));
                return false;
            }
        }
        return true;
    }

    SliceResult start(SliceName name, std::span<const std::uint32_t> members) const {
        SliceResult slice;
        slice.name = std::move(name);
        slice.n = slice.samples = members.size();
        slice.paired = sides_[0] != nullptr;
        if (decisions_) {
            slice.flips = count_flips(*decisions_, members);
        }
        return slice;
    }

    void add_classes(const SliceSpec& spec, const SampleGroup& group, Evaluation& into) {
        const std::size_t classes = labels_.classes.size();
        std::vector<MetricSeries> series[2];
        for (int s = 0; s < 2; ++s) {
            if (sides_[s] != nullptr) {
                series[s] = resample(
                    3 * classes, labels_.labels.size(), options_.bootstrap,
                    [&](std::span<const std::uint32_t> weights, std::span<double> out) {
                        Counts counts(classes);
                        counts.add(labels_, *sides_[s], options_.top_k, group.members, weights);
                        for (std::size_t c = 0; c < classes; ++c) {
                            const bool seen = counts.seen(c);
                            out[3 * c] = seen ? counts.precision(c) : none;
                            out[3 * c + 1] = seen ? counts.recall(c) : none;
                            out[3 * c + 2] = seen ? counts.f1(c) : none;
                        }
                    });
            }
        }
        static constexpr const char* names[] = {"precision", "recall", "f1"};
        for (std::uint32_t c = 0; c < classes; ++c) {
            std::vector<std::uint32_t> members;
            for (const std::uint32_t i : group.members) {
                if (labels_.labels[i] == c) {
                    members.push_back(i);
                }
            }
            SliceResult slice = start(with_class(spec, group.name, labels_.classes[c]), members);
            for (std::size_t m = 0; m < 3; ++m) {
                const std::size_t o = std::size_t{3} * c + m;
                slice.metrics.push_back(
                    estimate(names[m], sides_[0] != nullptr ? &series[0][o] : nullptr, series[1][o],
                             slice.n, options_.bootstrap.confidence));
            }
            into.slices.push_back(std::move(slice));
        }
    }

    const ClassLabels& labels_;
    const ClassPredictions* sides_[2];
    const ClassificationOptions& options_;
    std::optional<SampleDecisions> decisions_;
};

Json confusion_json(const ClassLabels& labels, const ClassPredictions& side) {
    const std::size_t classes = labels.classes.size();
    std::vector<std::uint64_t> cells(classes * classes, 0);
    for (std::size_t i = 0; i < labels.labels.size(); ++i) {
        ++cells[labels.labels[i] * classes + side.predicted[i]];
    }
    Json rows = Json::array();
    for (std::size_t r = 0; r < classes; ++r) {
        Json row = Json::array();
        for (std::size_t c = 0; c < classes; ++c) {
            row.push_back(cells[r * classes + c]);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace

Evaluation evaluate_classification(const ClassLabels& labels, const ClassPredictions* reference,
                                   const ClassPredictions& candidate,
                                   const ClassificationOptions& options) {
    Evaluation result;
    result.task = "classification";
    result.paired = reference != nullptr;
    result.confidence = options.bootstrap.confidence;
    result.samples = result.decisions = labels.labels.size();
    ClassificationRun run(labels, reference, candidate, options);
    SampleGroup all;
    all.members.resize(labels.labels.size());
    std::iota(all.members.begin(), all.members.end(), 0U);
    result.overall = run.general(all);
    for (const SliceSpec& spec : options.slices) {
        run.add_slices(spec, result);
    }
    if (run.decisions()) {
        result.flips =
            sample_flips(*run.decisions(), options.flip_samples, options.bootstrap.confidence);
    }
    static const std::vector<double> no_scores;
    if (Json histogram = score_histogram(reference != nullptr ? reference->confidence : no_scores,
                                         candidate.confidence, reference != nullptr);
        !histogram.is_null()) {
        result.extra["scores"] = std::move(histogram);
    }
    // 1000 x 1000 cells make a document of some MB; beyond that nobody reads it
    if (labels.classes.size() <= 1000) {
        Json confusion = Json::object({{"classes", Json::array()}});
        for (const std::string& name : labels.classes) {
            confusion["classes"].push_back(name);
        }
        confusion["candidate"] = confusion_json(labels, candidate);
        if (reference != nullptr) {
            confusion["reference"] = confusion_json(labels, *reference);
        }
        result.extra["confusion"] = std::move(confusion);
    }
    return result;
}

}  // namespace requal::measure
