// Labels and predictions of classification from CSV and npz.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/accuracy/classification.h"
#include "measure/accuracy/csv.h"
#include "tensor/npy.h"

namespace requal::measure {

namespace {

bool is_zip(const std::string& path) {
    if (file_size(path) < 2) {
        return false;
    }
    const MappedFile mapped(path);
    return static_cast<char>(mapped.bytes()[0]) == 'P' &&
           static_cast<char>(mapped.bytes()[1]) == 'K';
}

std::string record_text(const std::string& path, std::size_t index) {
    return path + ": record " + std::to_string(index);
}

void refuse_twice(const std::vector<std::string>& names, const std::string& path) {
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto [first, fresh] = seen.emplace(names[i], i);
        if (!fresh) {
            throw Error(ErrorKind::input,
                        "sample '" + names[i] + "' stands twice (first at record " +
                            std::to_string(first->second) + ")",
                        record_text(path, i), "give every sample once");
        }
    }
}

/// Texts become indices into `classes`; when that is empty, it is made of the texts, sorted.
std::vector<std::uint32_t> index_labels(const std::vector<std::string>& texts,
                                        std::vector<std::string>& classes) {
    if (classes.empty()) {
        classes = texts;
        std::sort(classes.begin(), classes.end());
        classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    }
    std::unordered_map<std::string_view, std::uint32_t> index;
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
        index.emplace(classes[i], i);
    }
    std::vector<std::uint32_t> labels;
    for (const std::string& text : texts) {
        const auto found = index.find(text);
        labels.push_back(found == index.end() ? 0xffffffffU : found->second);
    }
    return labels;
}

ClassLabels labels_from_csv(const std::string& path) {
    CsvReader csv(path);
    const int sample = csv.find("sample"), label = csv.find("label"), tags = csv.find("tags");
    if (sample < 0 || label < 0) {
        throw Error(ErrorKind::input, "no column 'sample' or no column 'label'", path,
                    "the header names sample,label and more columns for slices");
    }
    ClassLabels result;
    result.names_given = true;
    std::vector<std::string> fields, texts;
    while (csv.next(fields)) {
        const auto owner = static_cast<std::uint32_t>(texts.size());
        result.samples.names.push_back(fields[static_cast<std::size_t>(sample)]);
        texts.push_back(fields[static_cast<std::size_t>(label)]);
        if (texts.back().empty()) {
            throw Error(ErrorKind::input, "the label is empty", csv.where(),
                        "label the sample or leave it out");
        }
        for (std::size_t c = 0; c < fields.size(); ++c) {
            const int column = static_cast<int>(c);
            if (column == sample || column == label || fields[c].empty()) {
                continue;
            }
            AttributeTable& table = result.samples.attributes;
            if (column == tags) {
                add_tags(table, fields[c], owner, csv.where());
            } else if (const auto number = parse_real(fields[c])) {
                table.add_number(table.number_name(csv.columns()[c], csv.where()), owner, *number);
            } else {
                table.add_tag(table.tag_name(csv.columns()[c] + "=" + fields[c], csv.where()),
                              owner);
            }
        }
    }
    refuse_twice(result.samples.names, path);
    // the model's class list may hold more than the labels: it is taken from the predictions when they name one
    result.labels = index_labels(texts, result.classes);
    return result;
}

std::vector<std::string> texts_of(const NpzReader& npz, std::string_view name,
                                  const std::string& path) {
    const Tensor tensor = npz.read(name);
    if (tensor.type() != ElementType::string || tensor.shape().size() != 1) {
        throw Error(ErrorKind::input, "array '" + std::string(name) + "' is no list of texts",
                    path);
    }
    return tensor.strings();
}

std::vector<std::uint32_t> class_numbers(const Tensor& tensor, std::string_view name,
                                         const std::string& path) {
    if (tensor.shape().size() != 1) {
        throw Error(ErrorKind::input,
                    "array '" + std::string(name) + "' has shape " + text_of(tensor.shape()), path,
                    "one class number a sample is needed");
    }
    std::vector<std::uint32_t> numbers;
    for (std::uint64_t i = 0; i < tensor.count(); ++i) {
        const double value = tensor.number_at(i);
        if (!(value >= 0) || value > 1e6 || value != std::floor(value)) {
            throw Error(ErrorKind::input, shortest(value) + " is no class number",
                        record_text(path, i), "class numbers count from 0");
        }
        numbers.push_back(static_cast<std::uint32_t>(value));
    }
    return numbers;
}

ClassLabels labels_from_npz(const std::string& path) {
    const NpzReader npz(path);
    ClassLabels result;
    if (npz.has("classes")) {
        result.classes = texts_of(npz, "classes", path);
        result.classes_named = true;
    }
    const Tensor labels = npz.read("labels");
    if (labels.type() == ElementType::string) {
        result.labels = index_labels(labels.strings(), result.classes);
    } else {
        result.labels = class_numbers(labels, "labels", path);
    }
    const std::size_t count = result.labels.size();
    for (std::size_t i = 0; i < count && !result.classes.empty(); ++i) {
        if (result.labels[i] >= result.classes.size()) {
            throw Error(ErrorKind::input, "the label is no class of 'classes'",
                        record_text(path, i), "name every class");
        }
    }
    if (npz.has("samples")) {
        result.samples.names = texts_of(npz, "samples", path);
        result.names_given = true;
        refuse_twice(result.samples.names, path);
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            result.samples.names.push_back(std::to_string(i));
        }
    }
    if (result.samples.names.size() != count) {
        throw Error(ErrorKind::input, "'samples' and 'labels' differ in length", path);
    }
    AttributeTable& table = result.samples.attributes;
    for (const std::string& name : npz.names()) {
        if (name == "classes" || name == "labels" || name == "samples") {
            continue;
        }
        const Tensor tensor = npz.read(name);
        if (tensor.shape().size() != 1 || tensor.count() != count) {
            throw Error(ErrorKind::input, "array '" + name + "' does not hold one value a sample",
                        path, "leave it out");
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            if (tensor.type() == ElementType::string) {
                add_tags(table,
                         name == "tags" ? tensor.strings()[i] : name + "=" + tensor.strings()[i], i,
                         path);
            } else if (const double value = tensor.number_at(i); std::isfinite(value)) {
                table.add_number(table.number_name(name, path), i, value);
            }
        }
    }
    return result;
}

/// Takes one sample's scores at a time.
class ScoreTaker {
public:
    ScoreTaker(ClassPredictions& into, const ClassLabels& labels, ScoreKind kind)
        : into_(into), labels_(labels), kind_(kind) {
        into.predicted.resize(labels.labels.size());
        into.confidence.resize(labels.labels.size());
        into.before.resize(labels.labels.size());
    }

    void take(std::uint32_t sample, std::span<double> scores, const std::string& where) {
        double sum = 0;
        bool in_range = true;
        for (std::size_t c = 0; c < scores.size(); ++c) {
            if (!std::isfinite(scores[c])) {
                throw Error(ErrorKind::input,
                            "the score of class '" + into_.classes[c] + "' is " +
                                shortest(scores[c]),
                            where, "a score that is no number decides nothing; mend what wrote it");
            }
            in_range = in_range && scores[c] >= 0 && scores[c] <= 1;
            sum += scores[c];
        }
        const bool probabilities = in_range && std::abs(sum - 1) <= 1e-3;
        if (!probabilities && kind_ == ScoreKind::probability) {
            throw Error(ErrorKind::input,
                        in_range ? "the scores sum up to " + readable(sum) + ", not to 1"
                                 : "a score lies outside of [0, 1]",
                        where, "say --scores logit when they are logits, or any");
        }
        if (!probabilities && kind_ == ScoreKind::any && into_.no_calibration.empty()) {
            into_.no_calibration = "scores are no probabilities (" + where + ")";
        }
        const auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) -
                                                   scores.begin());
        const std::uint32_t label = labels_.labels[sample];
        std::uint32_t before = 0;
        for (std::size_t c = 0; c < scores.size(); ++c) {
            before +=
                scores[c] > scores[label] || (scores[c] == scores[label] && c < label) ? 1U : 0U;
        }
        double confidence = scores[best];
        if (kind_ == ScoreKind::logit) {
            double total = 0;
            for (const double score : scores) {
                total += std::exp(score - scores[best]);
            }
            confidence = 1 / total;
        }
        into_.predicted[sample] = static_cast<std::uint32_t>(best);
        into_.confidence[sample] = confidence;
        into_.before[sample] = before;
    }

private:
    ClassPredictions& into_;
    const ClassLabels& labels_;
    ScoreKind kind_;
};

/// Where each record of the predictions belongs among the labels; every label is needed once.
class SampleOrder {
public:
    SampleOrder(const ClassLabels& labels, std::string path)
        : labels_(labels), path_(std::move(path)), seen_(labels.labels.size(), 0) {
        for (std::uint32_t i = 0; i < labels.samples.names.size(); ++i) {
            index_.emplace(labels.samples.names[i], i);
        }
    }

    std::uint32_t place(const std::string& name, const std::string& where) {
        const auto found = index_.find(name);
        if (found == index_.end()) {
            throw Error(ErrorKind::input, "sample '" + name + "' is not among the labels", where,
                        "judge both sides on the same samples");
        }
        if (seen_[found->second] != 0) {
            throw Error(ErrorKind::input, "sample '" + name + "' stands twice", where,
                        "give every sample once");
        }
        seen_[found->second] = 1;
        return found->second;
    }

    void check_complete() const {
        for (std::size_t i = 0; i < seen_.size(); ++i) {
            if (seen_[i] == 0) {
                throw Error(ErrorKind::input,
                            "sample '" + labels_.samples.names[i] + "' has no prediction", path_,
                            "judge both sides on the same samples");
            }
        }
    }

private:
    const ClassLabels& labels_;
    std::string path_;
    std::vector<std::uint8_t> seen_;
    std::unordered_map<std::string_view, std::uint32_t> index_;
};

/// The model's class list and the data's become one: every label must be a class of the model, and lists that both name must agree.
void join_classes(ClassLabels& labels, ClassPredictions& predictions, const std::string& path) {
    if (predictions.classes == labels.classes) {
        return;
    }
    auto sorted_model = predictions.classes, sorted_data = labels.classes;
    std::sort(sorted_model.begin(), sorted_model.end());
    std::sort(sorted_data.begin(), sorted_data.end());
    if (std::adjacent_find(sorted_model.begin(), sorted_model.end()) != sorted_model.end()) {
        throw Error(ErrorKind::input, "a class is named twice", path, "name each class once");
    }
    std::vector<std::string> missing;
    std::set_difference(sorted_data.begin(), sorted_data.end(), sorted_model.begin(),
                        sorted_model.end(), std::back_inserter(missing));
    if (!missing.empty()) {
        throw Error(ErrorKind::input,
                    "class '" + missing.front() + "' of the labels is no class of the predictions",
                    path, "the class lists of model and data must agree");
    }
    if (labels.classes_named || labels.classes_fixed) {
        throw Error(ErrorKind::input,
                    "the class list differs in number or order from that of the " +
                        std::string(labels.classes_fixed ? "other side" : "labels"),
                    path, "the class lists of model and data must agree");
    }
    const std::vector<std::string> old = labels.classes;
    labels.classes = predictions.classes;
    std::vector<std::string> texts;
    for (const std::uint32_t label : labels.labels) {
        texts.push_back(old[label]);
    }
    labels.labels = index_labels(texts, labels.classes);
}

void predictions_from_csv(const std::string& path, ClassLabels& labels, ScoreKind kind,
                          ClassPredictions& result) {
    CsvReader csv(path);
    const int sample = csv.find("sample"), prediction = csv.find("prediction");
    if (sample < 0 || (prediction < 0 && csv.columns().size() < 3)) {
        throw Error(ErrorKind::input, "no column 'sample', or neither 'prediction' nor scores",
                    path, "the header names sample,prediction or sample and one column a class");
    }
    std::vector<std::size_t> score_columns;
    if (prediction < 0) {
        for (std::size_t c = 0; c < csv.columns().size(); ++c) {
            if (static_cast<int>(c) != sample) {
                score_columns.push_back(c);
                result.classes.push_back(csv.columns()[c]);
            }
        }
        join_classes(labels, result, path);
    } else {
        result.classes = labels.classes;
    }
    SampleOrder order(labels, path);
    std::vector<std::string> fields;
    std::vector<double> scores(score_columns.size());
    if (prediction < 0) {
        ScoreTaker taker(result, labels, kind);
        while (csv.next(fields)) {
            const auto place = order.place(fields[static_cast<std::size_t>(sample)], csv.where());
            for (std::size_t i = 0; i < score_columns.size(); ++i) {
                const auto number = parse_real(fields[score_columns[i]]);
                if (!number) {
                    throw Error(ErrorKind::input,
                                "the score of class '" + result.classes[i] + "' is '" +
                                    fields[score_columns[i]] + "', no finite number",
                                csv.where(), "mend what wrote the file");
                }
                scores[i] = *number;
            }
            taker.take(place, scores, csv.where());
        }
    } else {
        result.predicted.resize(labels.labels.size());
        result.no_calibration = "the predictions have no scores";
        std::unordered_map<std::string, std::uint32_t> index;
        for (std::uint32_t i = 0; i < result.classes.size(); ++i) {
            index.emplace(result.classes[i], i);
        }
        while (csv.next(fields)) {
            const auto place = order.place(fields[static_cast<std::size_t>(sample)], csv.where());
            const std::string& text = fields[static_cast<std::size_t>(prediction)];
            const auto found = index.find(text);
            if (found == index.end()) {
                throw Error(ErrorKind::input, "'" + text + "' is no class of the labels",
                            csv.where(), "the class lists of model and data must agree");
            }
            result.predicted[place] = found->second;
        }
    }
    order.check_complete();
}

void predictions_from_npz(const std::string& path, ClassLabels& labels, ScoreKind kind,
                          ClassPredictions& result) {
    const NpzReader npz(path);
    if (npz.has("classes")) {
        result.classes = texts_of(npz, "classes", path);
    }
    const bool scored = npz.has("scores");
    const Tensor tensor = npz.read(scored ? "scores" : "predictions");
    const std::size_t count = labels.labels.size();
    const std::size_t rows =
        tensor.shape().empty() ? 0 : static_cast<std::size_t>(tensor.shape()[0]);
    if (rows != count) {
        throw Error(ErrorKind::input,
                    std::to_string(rows) + " predictions for " + std::to_string(count) + " labels",
                    path, "judge both sides on the same samples");
    }
    if (scored && (tensor.shape().size() != 2 || tensor.type() == ElementType::string)) {
        throw Error(ErrorKind::input, "'scores' has shape " + text_of(tensor.shape()), path,
                    "samples x classes is needed");
    }
    if (scored && result.classes.empty()) {
        const auto columns = static_cast<std::size_t>(tensor.shape()[1]);
        if (!labels.classes.empty() && labels.classes.size() != columns) {
            throw Error(ErrorKind::input,
                        std::to_string(columns) + " columns of scores for " +
                            std::to_string(labels.classes.size()) + " classes of the labels",
                        path, "the class lists of model and data must agree");
        }
        result.classes = labels.classes;
        for (std::size_t c = result.classes.size(); c < columns; ++c) {
            result.classes.push_back(std::to_string(c));
        }
    } else if (result.classes.empty()) {
        result.classes = labels.classes;
    }
    if (scored && static_cast<std::size_t>(tensor.shape()[1]) != result.classes.size()) {
        throw Error(ErrorKind::input, "'scores' has another number of columns than 'classes' names",
                    path, "the class lists of model and data must agree");
    }
    std::vector<std::uint32_t> predicted;
    if (!scored) {
        predicted = tensor.type() == ElementType::string
                        ? index_labels(tensor.strings(), result.classes)
                        : class_numbers(tensor, "predictions", path);
    }
    if (labels.classes.empty() && result.classes.empty()) {
        const std::uint32_t most = std::max(
            count == 0 ? 0U : *std::max_element(labels.labels.begin(), labels.labels.end()),
            predicted.empty() ? 0U : *std::max_element(predicted.begin(), predicted.end()));
        for (std::uint32_t c = 0; c <= most; ++c) {
            result.classes.push_back(std::to_string(c));
        }
    }
    if (labels.classes.empty()) {
        labels.classes = result.classes;
    } else {
        join_classes(labels, result, path);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (labels.labels[i] >= labels.classes.size()) {
            throw Error(ErrorKind::input,
                        "label " + std::to_string(labels.labels[i]) + " of sample " +
                            std::to_string(i) + " is no class of the predictions",
                        path, "the class lists of model and data must agree");
        }
        if (!scored && predicted[i] >= labels.classes.size()) {
            throw Error(ErrorKind::input, "the prediction is no class of the labels",
                        record_text(path, i), "the class lists of model and data must agree");
        }
    }
    std::vector<std::uint32_t> place(count);
    SampleOrder order(labels, path);
    std::vector<std::string> names;
    if (npz.has("samples") && labels.names_given) {
        names = texts_of(npz, "samples", path);
        if (names.size() != count) {
            throw Error(ErrorKind::input, "'samples' has another length than the predictions",
                        path);
        }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        place[i] = names.empty() ? i : order.place(names[i], record_text(path, i));
    }
    if (!names.empty()) {
        order.check_complete();
    }
    if (scored) {
        ScoreTaker taker(result, labels, kind);
        const std::size_t columns = result.classes.size();
        std::vector<double> scores(columns);
        for (std::uint32_t i = 0; i < count; ++i) {
            for (std::size_t c = 0; c < columns; ++c) {
                scores[c] = tensor.number_at(i * columns + c);
            }
            taker.take(place[i], scores, record_text(path, i));
        }
        return;
    }
    result.no_calibration = "the predictions have no scores";
    result.predicted.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        result.predicted[place[i]] = predicted[i];
    }
}

}  // namespace

ClassLabels read_class_labels(const std::string& path) {
    ClassLabels labels = is_zip(path) ? labels_from_npz(path) : labels_from_csv(path);
    if (labels.labels.empty()) {
        throw Error(ErrorKind::input, "no labelled sample", path, "give at least one");
    }
    return labels;
}

ClassPredictions read_class_predictions(const std::string& path, ClassLabels& labels,
                                        ScoreKind scores) {
    ClassPredictions result;
    if (is_zip(path)) {
        predictions_from_npz(path, labels, scores, result);
    } else {
        predictions_from_csv(path, labels, scores, result);
    }
    labels.classes_fixed = true;
    return result;
}

}  // namespace requal::measure
