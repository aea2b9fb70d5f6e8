// Classification metrics of one or two sets of predictions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/accuracy/samples.h"

namespace requal::measure {

struct ClassLabels {
    LabelledSamples samples;
    bool names_given = false;          ///< false: samples are known by their place only
    bool classes_named = false;        ///< a list of classes was given, not only labels
    bool classes_fixed = false;        ///< a side was read: the other one must have the same list
    std::vector<std::string> classes;  ///< empty: the predictions say
    std::vector<std::uint32_t> labels;
};

/// Predictions in the order of the labels.
struct ClassPredictions {
    std::vector<std::string> classes;
    std::vector<std::uint32_t> predicted;
    std::vector<double> confidence;     ///< greatest score; empty when the file gives none
    std::vector<std::uint32_t> before;  ///< classes ranked before the label; empty without scores
    std::string no_calibration;         ///< why there is no calibration error; empty: there is
};

/// What scores are: `probability` refuses what is outside of [0, 1] or does not sum up to 1 (within 1e-3); `logit` takes the softmax;
/// `any` has a calibration error only where the scores happen to be probabilities.
enum class ScoreKind { any, probability, logit };

/// Labels from .csv (columns `sample`, `label`, `tags` split at ';', other columns: numbers, else tags NAME=TEXT) or .npz (`labels`
/// of integers or texts; `samples`, `classes` and `tags` of texts; other arrays of one number a sample). The content decides which.
/// Error(input) for samples that stand twice, and as the readers of CSV and npz.
ClassLabels read_class_labels(const std::string& path);

/// Predictions from .csv (`sample`, then `prediction`, or one column of scores a class) or .npz (`predictions`, or `scores` of samples x
/// classes; `samples`, `classes`). Error(input) naming the record for NaN scores, samples that the labels do not have or that are
/// missing, and for class lists that do not hold every label. `labels` learns its classes here when it has none.
ClassPredictions read_class_predictions(const std::string& path, ClassLabels& labels,
                                        ScoreKind scores);

struct ClassificationOptions {
    BootstrapOptions bootstrap;
    std::vector<SliceSpec> slices;
    std::uint32_t top_k = 5;
    std::size_t flip_samples = 100;
};

/// top1, topK, balanced_accuracy, precision_macro, recall_macro, f1_macro, ece; of class slices precision, recall, f1. As scikit-learn
/// with zero_division=0. ece: expected calibration error over 15 equal bins (Guo et al., ICML 2017). topK counts classes with a higher
/// score, or an equal one and a lower index, before the label.
Evaluation evaluate_classification(const ClassLabels& labels, const ClassPredictions* reference,
                                   const ClassPredictions& candidate,
                                   const ClassificationOptions& options);

}  // namespace requal::measure
