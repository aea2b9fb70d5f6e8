#include "measure/accuracy/run_predictions.h"

#include <unistd.h>

#include <limits>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/accuracy/kept_lines.h"
#include "measure/predict.h"

namespace requal::measure {

namespace {

using Form = data::DecoderSpec::Form;

std::int64_t category_of(const data::DecoderSpec& decoder, std::size_t index) {
    return decoder.category_ids.empty() ? static_cast<std::int64_t>(index)
                                        : decoder.category_ids[index];
}

Json boxes_line(const data::Predictions& predictions) {
    Json line =
        Json::object({{"boxes", Json::array()}, {"not_finite", predictions.dropped_not_finite}});
    for (const data::Detection& box : predictions.detections) {
        line["boxes"].push_back(Json::array({Json(box.category_id), Json(box.x), Json(box.y),
                                             Json(box.width), Json(box.height), Json(box.score)}));
    }
    return line;
}

data::Predictions boxes_of(const Json& line, const std::string& path) {
    data::Predictions predictions;
    predictions.dropped_not_finite = static_cast<std::uint64_t>(line.at("not_finite").as_integer());
    for (const Json& box : line.at("boxes").as_array()) {
        const auto& values = box.as_array();
        if (values.size() != 6) {
            throw Error(ErrorKind::input, "a box does not have six numbers", path,
                        "remove the file");
        }
        predictions.detections.push_back({values[0].as_integer(), values[1].as_number(),
                                          values[2].as_number(), values[3].as_number(),
                                          values[4].as_number(), values[5].as_number()});
    }
    return predictions;
}

/// All scores of a classifier in the order of the data's categories.
class ScoreColumns {
public:
    explicit ScoreColumns(const data::DataPart& part) {
        for (const data::Category& category : part.categories) {
            column_.emplace(category.id, column_.size());
            head_ += "," + quoted(category.name);
        }
    }

    Json line(const data::Predictions& predictions, const std::string& picture) const {
        std::vector<double> scores(column_.size(), std::numeric_limits<double>::quiet_NaN());
        for (const data::ClassScore& score : predictions.classes) {
            const auto found = column_.find(score.category_id);
            if (found == column_.end()) {
                throw Error(ErrorKind::input,
                            "a score is for class " + std::to_string(score.category_id) +
                                ", which is no category of the data",
                            picture, "the class lists of model and data must agree");
            }
            scores[found->second] = score.score;
        }
        Json line = Json::object({{"scores", Json::array()}});
        for (const double score : scores) {
            if (score != score) {
                throw Error(ErrorKind::input,
                            predictions.dropped_not_finite > 0
                                ? "a score is no finite number"
                                : "a category of the data has no score",
                            picture,
                            predictions.dropped_not_finite > 0
                                ? "a score that is no number decides nothing"
                                : "the class lists of model and data must agree");
            }
            line["scores"].push_back(score);
        }
        return line;
    }

    std::string head() const { return "sample" + head_ + "\n"; }

    static std::string row(const std::string& sample, const Json& line) {
        std::string text = quoted(sample);
        for (const Json& score : line.at("scores").as_array()) {
            text += "," + shortest(score.as_number());
        }
        return text + "\n";
    }

private:
    static std::string quoted(const std::string& text) {
        std::string result = "\"";
        for (const char c : text) {
            result += c == '"' ? "\"\"" : std::string(1, c);
        }
        return result + "\"";
    }

    std::map<std::int64_t, std::size_t> column_;
    std::string head_;
};

}  // namespace

void check_decoder(const data::DecoderSpec& decoder, const data::DataPart& part,
                   const std::string& annotations) {
    const bool classes = part.task == data::Task::classification;
    if ((decoder.form == Form::classification) != classes) {
        throw Error(ErrorKind::input,
                    classes ? "does not decode classes, and the task is classification"
                            : "decodes classes, and the task is detection",
                    decoder.path);
    }
    if (decoder.form == Form::label_map || decoder.form == Form::anomaly_map) {
        throw Error(ErrorKind::input, "decodes maps, and the task is detection", decoder.path);
    }
    for (std::size_t i = 0; i < decoder.classes.size(); ++i) {
        const std::int64_t id = category_of(decoder, i);
        const data::Category* category = part.category(id);
        if (category == nullptr || category->name != decoder.classes[i]) {
            throw Error(ErrorKind::input,
                        "class '" + decoder.classes[i] + "' has category id " + std::to_string(id) +
                            ", which is " +
                            (category == nullptr ? "no category" : "'" + category->name + "'") +
                            " of " + annotations,
                        decoder.path, "the class lists of model and data must agree");
        }
    }
}

PredictedPart predict_part(RunningSide& side, const PartPredictions& what, const Json& made_by) {
    make_folders(what.folder);
    const std::string partial = what.folder + "/" + what.side + ".partial";
    KeptLines kept(partial, made_by);
    PredictedPart result;
    result.resumed = kept.size();
    PredictRequest request;
    request.samples = pictures_of(what.part);
    std::unordered_map<std::int64_t, std::string> names;
    for (const PictureSample& sample : request.samples) {
        names.emplace(sample.id, sample.name);
    }
    std::erase_if(request.samples, [&](const PictureSample& s) { return kept.has(s.id); });
    request.preprocess = what.preprocess;
    request.decoder = what.decoder;
    request.threads = what.threads;
    request.progress_name = what.side;
    const bool classes = what.decoder.form == Form::classification;
    if (classes) {
        // every score is wanted, not the best few above a threshold
        request.decoder->top = 100'000;
        request.decoder->threshold = -std::numeric_limits<double>::infinity();
    }
    const ScoreColumns columns(what.part);
    predict(side, ports_of(side.loaded()), request, [&](const PredictedPicture& picture) {
        kept.add(picture.sample.id, classes ? columns.line(picture.predictions, picture.sample.name)
                                            : boxes_line(picture.predictions));
    });
    result.path = what.folder + "/" + what.side + (classes ? ".csv" : ".json");
    if (classes) {
        AtomicFile file(result.path);
        file.write(columns.head());
        kept.each([&](std::int64_t id, const Json& line) {
            file.write(ScoreColumns::row(names.at(id), line));
        });
        file.commit();
    } else {
        data::ResultsWriter writer(result.path);
        kept.each([&](std::int64_t id, const Json& line) {
            const data::Predictions predictions = boxes_of(line, partial);
            result.not_finite += predictions.dropped_not_finite;
            writer.add(id, predictions);
        });
        writer.commit();
    }
    unlink(partial.c_str());
    return result;
}

data::DataPart part_of(const PredictionRequest& request) {
    const data::DataSetSpec spec = data::read_dataset_spec(request.annotations, request.images);
    if (request.part.empty() && spec.parts.size() == 1) {
        return data::load_part(spec, spec.parts.front().name);
    }
    return data::load_part(spec, request.part);
}

Json run_predictions(const PredictionRequest& request) {
    const data::PreprocessSpec preprocess = data::read_preprocess(request.preprocess);
    const data::DecoderSpec decoder = data::read_decoder(request.decoder);
    const data::DataPart part = part_of(request);
    check_decoder(decoder, part, request.annotations);
    const Runnable runnable = resolve_runnable(request.runnable, request.on);
    if (runnable.saved) {
        throw Error(ErrorKind::usage, "saved outputs are no runnable here", request.runnable,
                    "give a model or an engine");
    }
    const Json made_by =
        Json::object({{"requal-partial", 1},
                      {"runnable", request.runnable},
                      {"on", request.on},
                      {"artefact", digest_in_background(runnable.spec.artefact).get().text()},
                      {"preprocess", preprocess.digest.text()},
                      {"decoder", decoder.digest.text()},
                      {"annotations", part.labels_digest.text()}});
    SideOpener opener(runnable, request.options);
    const std::unique_ptr<RunningSide> side = opener.open_running();
    const PredictedPart predicted = predict_part(
        *side, {part, preprocess, decoder, request.folder, request.side, request.threads}, made_by);
    return Json::object({{"path", predicted.path},
                         {"runnable", side->describe()},
                         {"samples", static_cast<std::uint64_t>(part.samples.size())},
                         {"resumed_samples", predicted.resumed},
                         {"not_finite", predicted.not_finite}});
}

ClassLabels class_labels_of(const data::DataPart& part) {
    ClassLabels labels;
    labels.names_given = true;
    labels.classes_named = true;
    std::map<std::int64_t, std::uint32_t> index;
    for (const data::Category& category : part.categories) {
        index.emplace(category.id, static_cast<std::uint32_t>(index.size()));
        labels.classes.push_back(category.name);
    }
    AttributeTable& table = labels.samples.attributes;
    for (const data::LabelledSample& sample : part.samples) {
        const auto owner = static_cast<std::uint32_t>(labels.labels.size());
        const auto found = sample.category_id ? index.find(*sample.category_id) : index.end();
        if (found == index.end()) {
            throw Error(ErrorKind::input, "the sample has no class", sample.name,
                        "label it or leave it out");
        }
        labels.samples.names.push_back(sample.name);
        labels.labels.push_back(found->second);
        for (const auto& [name, value] : sample.attributes) {
            table.add_number(table.number_name(name, sample.name), owner, value);
        }
        for (const std::string& tag : sample.tags) {
            table.add_tag(table.tag_name(tag, sample.name), owner);
        }
    }
    if (labels.labels.empty()) {
        throw Error(ErrorKind::input, "no labelled sample", part.source.labels,
                    "give at least one");
    }
    return labels;
}

}  // namespace requal::measure
