#include "qualify/accuracy_step.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "measure/accuracy/classification.h"
#include "measure/accuracy/detection.h"
#include "measure/accuracy/run_predictions.h"
#include "qualify/accuracy/accuracy_plan.h"

namespace fs = std::filesystem;

namespace requal::qualify {

namespace {

std::string in_folder(const std::string& folder, const std::string& name) {
    const fs::path path(name);
    return path.is_absolute() ? name : (fs::path(folder) / path).lexically_normal().string();
}

void check_digest(const Digest& have, const Digest& want, const std::string& what,
                  const std::string& path) {
    if (have != want) {
        throw Error(ErrorKind::input,
                    "the " + what + "'s digest is " + have.text() +
                        ", the protocol is written for " + want.text(),
                    path, "use the " + what + " that the protocol names");
    }
}

bool classifies(const data::DataPart& part) {
    return part.task == data::Task::classification;
}

std::string predictions_name(const data::DataPart& part, const std::string& side) {
    return "predictions-" + part.source.name + "-" + side + (classifies(part) ? ".csv" : ".json");
}

/// The labels alone, counted: what slices there are and how much is in each.
measure::Evaluation counted(const data::DataPart& part,
                            const std::vector<measure::SliceSpec>& slices) {
    if (classifies(part)) {
        const measure::ClassLabels labels = measure::class_labels_of(part);
        measure::ClassPredictions same;
        same.classes = labels.classes;
        same.predicted = labels.labels;
        measure::ClassificationOptions options;
        options.slices = slices;
        options.bootstrap.replicates = 0;
        return measure::evaluate_classification(labels, nullptr, same, options);
    }
    measure::DetectionOptions options;
    options.slices = slices;
    options.bootstrap.replicates = 0;
    return measure::evaluate_detection(measure::read_coco_annotations(part.source.labels), nullptr,
                                       {}, options);
}

/// A gate that can never pass is refused before it costs anything.
void check_plan(const AccuracyGates& gates, const measure::Evaluation& evaluation) {
    const auto plans = plan_accuracy(
        gates, [&](const AccuracyGate& gate, const std::string& by, const std::string& value) {
            std::vector<std::pair<std::string, std::uint64_t>> counts;
            for (const measure::SliceResult* slice : slices_of_gate(gate, evaluation, by, value)) {
                const measure::MetricEstimate* metric = slice->find(gate.metric);
                counts.emplace_back(slice->text(), metric != nullptr ? metric->n : slice->n);
            }
            return counts;
        });
    for (const GatePlan& plan : plans) {
        if (!plan.never.empty()) {
            const auto gate = std::find_if(gates.gates.begin(), gates.gates.end(),
                                           [&](const AccuracyGate& g) { return g.id == plan.id; });
            throw Error(ErrorKind::input, "gate '" + plan.id + "' can never pass: " + plan.never,
                        gate->where, "change its limit, or decide it on the point");
        }
    }
}

void check_size(const Protocol& protocol, const data::DataPart& part) {
    const auto described =
        std::find_if(protocol.accuracy.parts.begin(), protocol.accuracy.parts.end(),
                     [&](const DataPart& p) { return p.name == part.source.name; });
    if (described->samples != part.samples.size()) {
        throw Error(ErrorKind::input,
                    "part '" + part.source.name + "' has " + std::to_string(part.samples.size()) +
                        " samples here, the protocol says " + std::to_string(described->samples),
                    described->where, "a subset decides nothing: give the whole part");
    }
    if (!classifies(part)) {
        // the metrics read the label file itself, so that it must hold the part and nothing else
        const measure::LabelledBoxes set = measure::read_coco_annotations(part.source.labels);
        if (set.images.size() != part.samples.size()) {
            throw Error(ErrorKind::input,
                        "the part lists " + std::to_string(part.samples.size()) + " of the " +
                            std::to_string(set.images.size()) + " pictures of its labels",
                        part.source.labels, "give the part a label file of its own");
        }
    }
}

measure::Evaluation evaluate(const Protocol& protocol, const LabelledData::Part& part,
                             const std::string& folder) {
    const std::string reference = folder + "/" + predictions_name(part.part, "reference");
    const std::string candidate = folder + "/" + predictions_name(part.part, "candidate");
    measure::BootstrapOptions bootstrap = protocol.data->intervals;
    bootstrap.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (classifies(part.part)) {
        measure::ClassLabels labels = measure::class_labels_of(part.part);
        const auto before =
            measure::read_class_predictions(reference, labels, measure::ScoreKind::any);
        const auto after =
            measure::read_class_predictions(candidate, labels, measure::ScoreKind::any);
        measure::ClassificationOptions options;
        options.bootstrap = bootstrap;
        options.slices = part.gates.slices;
        return measure::evaluate_classification(labels, &before, after, options);
    }
    const measure::LabelledBoxes set = measure::read_coco_annotations(part.part.source.labels);
    const auto before = measure::read_coco_results(reference, set);
    const auto after = measure::read_coco_results(candidate, set);
    measure::DetectionOptions options;
    options.bootstrap = bootstrap;
    options.slices = part.gates.slices;
    options.score_threshold = std::max(0.0, protocol.data->score_threshold);
    return measure::evaluate_detection(set, &before, after, options);
}

}  // namespace

Json LabelledData::describe() const {
    Json json = Json::object({{"preprocess", preprocess.digest.text()},
                              {"resizer", data::resizer_version()},
                              {"decoder", decoder.digest.text()},
                              {"parts", Json::array()}});
    for (const Part& part : parts) {
        Json entry = Json::object({{"name", part.part.source.name},
                                   {"samples", part.part.samples.size()},
                                   {"labels", part.part.labels_digest.text()}});
        if (part.part.list_digest) {
            entry["list"] = part.part.list_digest->text();
        }
        json["parts"].push_back(std::move(entry));
    }
    return json;
}

LabelledData read_labelled_data(const Protocol& protocol,
                                const std::vector<data::InputPort>& ports) {
    const LabelledDataRequest& request = *protocol.data;
    LabelledData result;
    const std::string preprocess = in_folder(protocol.folder, request.preprocess);
    result.preprocess = data::read_preprocess(preprocess);
    check_digest(result.preprocess.digest, request.preprocess_digest, "preprocessing spec",
                 preprocess);
    const std::string decoder = in_folder(protocol.folder, request.decoder);
    result.decoder = data::read_decoder(decoder);
    check_digest(result.decoder.digest, request.decoder_digest, "decoder spec", decoder);
    (void)data::port_for(result.preprocess, ports);
    const data::DataSetSpec dataset =
        data::read_dataset_spec(in_folder(protocol.folder, request.dataset));
    for (const LabelledDataRequest::Part& wanted : request.parts) {
        LabelledData::Part part;
        part.gates.parts = protocol.accuracy.parts;
        part.gates.slices = protocol.accuracy.slices;
        for (const AccuracyGate& gate : protocol.accuracy.gates) {
            if (gate.part == wanted.name) {
                part.gates.gates.push_back(gate);
            }
        }
        if (part.gates.gates.empty()) {
            continue;
        }
        part.part = data::load_part(dataset, wanted.name);
        check_digest(part.part.labels_digest, wanted.labels, "label file", part.part.source.labels);
        if (wanted.list) {
            if (!part.part.list_digest) {
                throw Error(ErrorKind::input, "part '" + wanted.name + "' has no list file",
                            dataset.path, "add it, or leave 'list' out of the protocol");
            }
            check_digest(*part.part.list_digest, *wanted.list, "list file", part.part.source.list);
        }
        measure::check_decoder(result.decoder, part.part, part.part.source.labels);
        check_size(protocol, part.part);
        check_plan(part.gates, counted(part.part, part.gates.slices));
        result.parts.push_back(std::move(part));
    }
    return result;
}

void predict_parts(const LabelledData& data, measure::RunningSide& side, const std::string& folder,
                   const std::string& name) {
    for (const LabelledData::Part& part : data.parts) {
        measure::predict_part(side,
                              {part.part, data.preprocess, data.decoder, folder,
                               "predictions-" + part.part.source.name + "-" + name,
                               std::max(1U, std::thread::hardware_concurrency())},
                              Json::object({{"requal-partial", 1}, {"data", data.describe()}}));
    }
}

std::vector<MeasuredPart> evaluate_parts(const Protocol& protocol, const LabelledData& data,
                                         const std::string& folder) {
    std::vector<MeasuredPart> measured;
    for (const LabelledData::Part& part : data.parts) {
        MeasuredPart result;
        result.part = part.part.source.name;
        result.evaluation = evaluate(protocol, part, folder);
        const measure::Evaluation& evaluation = result.evaluation;
        Json slices = Json::array();
        for (const measure::SliceResult& slice : evaluation.slices) {
            slices.push_back(slice.to_json());
        }
        Json notes = Json::array();
        for (const std::string& note : evaluation.notes) {
            notes.push_back(note);
        }
        result.document = Json::object(
            {{"part", result.part},
             {"task", evaluation.task},
             {"samples", evaluation.samples},
             {"labels", part.part.labels_digest.text()},
             {"preprocess", data.preprocess.digest.text()},
             {"resizer", data::resizer_version()},
             {"decoder", data.decoder.digest.text()},
             {"overall", evaluation.overall.to_json()},
             {"slices", slices},
             {"flips", evaluation.flips},
             {"bootstrap", Json::object({{"replicates", protocol.data->intervals.replicates},
                                         {"seed", protocol.data->intervals.seed},
                                         {"confidence", protocol.data->intervals.confidence},
                                         {"method", "percentile, paired over samples"}})},
             {"notes", notes}});
        for (const char* side : {"reference", "candidate"}) {
            result.files.push_back(predictions_name(part.part, side));
        }
        // Whoever gets the evidence judges the predictions against these, byte by byte. (A folder of classes has no label file.)
        if (!part.part.source.labels.empty()) {
            const std::string labels = read_file(part.part.source.labels);
            if (digest_of(labels) != part.part.labels_digest) {
                throw Error(ErrorKind::undecidable, "the label file changed during the run",
                            part.part.source.labels, "run it again");
            }
            result.labels =
                "labels-" + result.part + fs::path(part.part.source.labels).extension().string();
            write_file_atomically(folder + "/" + result.labels, labels);
        }
        measured.push_back(std::move(result));
    }
    return measured;
}

Decision decide_accuracy_gate(const Gate& gate, const LabelledData& data,
                              const std::vector<MeasuredPart>& measured) {
    const auto& criterion = std::get<AccuracyCriterion>(gate.criterion);
    Decision decision;
    decision.id = gate.id;
    decision.kind = "accuracy";
    decision.criterion = to_json(gate);
    const std::string& part = criterion.gates.front().part;
    const auto found = std::find_if(measured.begin(), measured.end(),
                                    [&](const MeasuredPart& m) { return m.part == part; });
    const auto of_data = std::find_if(data.parts.begin(), data.parts.end(),
                                      [&](const auto& p) { return p.part.source.name == part; });
    AccuracyGates gates = of_data->gates;
    gates.gates = criterion.gates;
    const std::vector<AccuracyDecision> decisions = decide_accuracy(gates, found->evaluation);
    Json list = Json::array();
    std::size_t passed = 0;
    decision.verdict = Verdict::pass;
    for (const AccuracyDecision& one : decisions) {
        list.push_back(one.to_json());
        passed += one.verdict == Verdict::pass ? 1U : 0U;
        if (one.verdict != Verdict::pass &&
            (decision.reason.empty() ||
             (one.verdict == Verdict::fail && decision.verdict != Verdict::fail))) {
            decision.reason = one.slice + ": " + one.reason;
        }
        decision.verdict = combine(decision.verdict, one.verdict);
    }
    decision.value = Json::object({{"part", part}, {"decisions", list}});
    if (decision.verdict == Verdict::pass) {
        decision.reason = decisions.size() == 1
                              ? decisions.front().slice + ": " + decisions.front().reason
                              : "all of " + std::to_string(decisions.size()) + " decisions passed";
    } else if (decisions.size() > 1) {
        decision.reason +=
            " (" + std::to_string(passed) + " of " + std::to_string(decisions.size()) + " passed)";
    }
    return decision;
}

}  // namespace requal::qualify
