// evaluate: task quality of one or two sets of predictions on a labelled set.
// rooms: base tensor data measure toolchain machine measure_accuracy accuracy_gates store
#include <future>
#include <map>
#include <thread>

#include "base/digest.h"
#include "base/document.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/rules.h"
#include "base/text.h"
#include "cli/input_arguments.h"
#include "cli/run_options.h"
#include "cli/stored.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "measure/accuracy/anomaly.h"
#include "measure/accuracy/classification.h"
#include "measure/accuracy/detection.h"
#include "measure/accuracy/run_maps.h"
#include "measure/accuracy/run_predictions.h"
#include "measure/accuracy/segmentation.h"
#include "qualify/accuracy/accuracy_plan.h"
#include "qualify/accuracy/accuracy_plots.h"

namespace requal::cli {

namespace {

using measure::Evaluation;
using measure::MetricEstimate;
using measure::SliceResult;

std::uint64_t count_of(const Arguments& arguments, std::string_view name) {
    const std::int64_t value = arguments.integer(name);
    if (value < 0) {
        throw Error(ErrorKind::usage, "a number from 0 up is needed", std::string(name));
    }
    return static_cast<std::uint64_t>(value);
}

measure::BootstrapOptions bootstrap_options(const Arguments& arguments, const Common& common) {
    measure::BootstrapOptions options;
    options.replicates = count_of(arguments, "--bootstrap");
    if (options.replicates > 1'000'000) {
        throw Error(ErrorKind::usage, "more than a million replicates", "--bootstrap");
    }
    options.seed = static_cast<std::uint64_t>(arguments.integer("--seed"));
    options.confidence = arguments.number("--confidence");
    if (!(options.confidence > 0 && options.confidence < 1)) {
        throw Error(ErrorKind::usage, "a confidence lies between 0 and 1", "--confidence");
    }
    options.threads = common.jobs > 0
                          ? common.jobs
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return options;
}

/// Digests of large files take as long as reading them: they are made beside the work.
class FileDigests {
public:
    void start(const std::string& path) {
        if (digests_.count(path) == 0) {
            digests_.emplace(path, std::async(std::launch::async, digest_of_file, path).share());
        }
    }
    Json describe(const std::string& path) {
        start(path);
        return Json::object({{"path", path}, {"digest", digests_.at(path).get().text()}});
    }

private:
    std::map<std::string, std::shared_future<Digest>> digests_;
};

std::string number(double value, int digits = 4) {
    return value == value ? readable(value, digits) : "-";
}

std::string interval(const measure::Interval& interval) {
    return interval.known()
               ? "[" + readable(interval.low, 3) + ", " + readable(interval.high, 3) + "]"
               : "-";
}

void add_rows(std::vector<std::vector<std::string>>& rows, const SliceResult& slice,
              std::span<const std::string_view> only) {
    for (const MetricEstimate& metric : slice.metrics) {
        if (!only.empty() && std::find(only.begin(), only.end(), metric.name) == only.end()) {
            continue;
        }
        std::vector<std::string> row = {slice.text(), metric.name, std::to_string(metric.n)};
        if (metric.paired) {
            row.insert(row.end(),
                       {number(metric.reference), number(metric.candidate), number(metric.drop, 3),
                        interval(metric.drop_interval), number(metric.retention, 4),
                        interval(metric.retention_interval)});
        } else {
            row.insert(row.end(), {number(metric.candidate), interval(metric.value_interval)});
        }
        rows.push_back(std::move(row));
    }
}

std::string report_text(const Evaluation& evaluation, double confidence) {
    std::vector<std::vector<std::string>> rows;
    const std::string percent = readable(confidence * 100, 4) + " %";
    rows.push_back(evaluation.paired
                       ? std::vector<std::string>{"slice", "metric", "n", "reference", "candidate",
                                                  "drop", percent, "retention", percent}
                       : std::vector<std::string>{"slice", "metric", "n", "value", percent});
    add_rows(rows, evaluation.overall, {});
    static constexpr std::string_view shown[] = {"ap50_95", "ap50", "top1", "recall", "iou"};
    for (const SliceResult& slice : evaluation.slices) {
        add_rows(rows, slice, shown);
    }
    std::string text = table_text(rows);
    if (!evaluation.flips.is_null()) {
        const Json& flips = evaluation.flips;
        text += "flips: " + std::to_string(flips.at("gained").as_integer()) + " gained, " +
                std::to_string(flips.at("lost").as_integer()) + " lost (net " +
                std::to_string(flips.at("net").as_integer()) + "), " +
                std::to_string(flips.at("gross").as_integer()) + " of " +
                std::to_string(flips.at("decisions").as_integer()) + " decisions changed\n";
    }
    for (const std::string& note : evaluation.notes) {
        text += "note: " + printable(note) + "\n";
    }
    return text;
}

/// What every task needs of the command line.
struct Request {
    std::string task, annotations;
    std::optional<std::string> candidate, reference;
    measure::BootstrapOptions bootstrap;
    std::vector<measure::SliceSpec> slices;
    bool plan = false;                           ///< only the labelled set is counted
    Json ran = Json::object();                   ///< by side: what was run to get the predictions
    std::optional<measure::ClassLabels> labels;  ///< of classification from runnables
};

Evaluation run_detection(const Arguments& arguments, const Request& request) {
    const measure::LabelledBoxes set = measure::read_coco_annotations(request.annotations);
    measure::DetectedBoxes reference, candidate;
    if (request.reference) {
        reference = measure::read_coco_results(*request.reference, set);
    }
    if (request.candidate) {
        candidate = measure::read_coco_results(*request.candidate, set);
    }
    measure::DetectionOptions options;
    options.bootstrap = request.bootstrap;
    options.slices = request.slices;
    options.score_threshold = arguments.number("--score-threshold");
    options.flip_samples = count_of(arguments, "--flip-samples");
    return measure::evaluate_detection(set, request.reference ? &reference : nullptr, candidate,
                                       options);
}

Evaluation run_classification(const Arguments& arguments, const Request& request) {
    measure::ClassLabels labels =
        request.labels ? *request.labels : measure::read_class_labels(request.annotations);
    const std::string word = arguments.text("--scores");
    const measure::ScoreKind kind = word == "probability" ? measure::ScoreKind::probability
                                    : word == "logit"     ? measure::ScoreKind::logit
                                                          : measure::ScoreKind::any;
    measure::ClassPredictions reference, candidate;
    if (request.candidate) {
        candidate = measure::read_class_predictions(*request.candidate, labels, kind);
    } else {
        candidate.predicted = labels.labels;  // for counting only
    }
    if (request.reference) {
        reference = measure::read_class_predictions(*request.reference, labels, kind);
    }
    measure::ClassificationOptions options;
    options.bootstrap = request.bootstrap;
    options.slices = request.slices;
    options.top_k = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(arguments.integer("--top-k"), 1, 1'000'000));
    options.flip_samples = count_of(arguments, "--flip-samples");
    return measure::evaluate_classification(labels, request.reference ? &reference : nullptr,
                                            candidate, options);
}

Evaluation run_segmentation(const Arguments& arguments, const Request& request) {
    measure::SegmentationOptions options;
    options.bootstrap = request.bootstrap;
    options.slices = request.slices;
    options.ignore_label = arguments.integer("--ignore-label");
    options.flip_samples = count_of(arguments, "--flip-samples");
    return measure::evaluate_segmentation(request.annotations, request.reference, request.candidate,
                                          options);
}

Evaluation run_anomaly(const Arguments& arguments, const Request& request) {
    measure::AnomalyOptions options;
    options.slices = request.slices;
    options.bootstrap = request.bootstrap;
    options.flip_samples = count_of(arguments, "--flip-samples");
    if (arguments.given("--threshold")) {
        options.threshold = arguments.number("--threshold");
    }
    return measure::evaluate_anomaly(request.annotations, request.reference, request.candidate,
                                     options);
}

/// Runs the runnables that are given instead of prediction files; the reference goes first. `scratch` is used without --save.
void run_runnables(const Arguments& arguments, const Common& common, Request& request,
                   std::optional<TemporaryFolder>& scratch) {
    const std::pair<const char*, std::optional<std::string>*> sides[] = {
        {"reference", &request.reference}, {"candidate", &request.candidate}};
    for (const auto& [side, predictions] : sides) {
        const std::string option = std::string("--") + side;
        if (!arguments.given(option)) {
            continue;
        }
        measure::PredictionRequest run;
        run.part = arguments.text("--part");
        run.threads = static_cast<unsigned>(request.bootstrap.threads);
        run.runnable = runnable_text(stored_runnable(arguments.text(option), common));
        run.on = arguments.text("--on");
        run.annotations = request.annotations;
        run.images = arguments.text("--images");
        run.preprocess = arguments.text("--preprocess");
        run.decoder = arguments.text("--decoder");
        run.side = side;
        run.options = run_options(arguments);
        if (!arguments.given("--save") && !scratch) {
            scratch.emplace("requal-evaluate");
        }
        run.folder = arguments.given("--save") ? arguments.text("--save") : scratch->path();
        const bool anomaly = request.task == "anomaly";
        request.ran[side] = anomaly || request.task == "segmentation"
                                ? measure::run_maps(run, anomaly)
                                : measure::run_predictions(run);
        if (request.task == "classification" && !request.labels) {
            request.labels = measure::class_labels_of(measure::part_of(run));
        }
        *predictions = request.ran.at(side).at("path").as_string();
    }
}

/// Options that stand for the same thing twice, or lack their companions.
void check_runnables(const Arguments& arguments, const Request& request) {
    for (const auto& [option, file] : {std::pair("--candidate", "--predictions"),
                                       std::pair("--reference", "--reference-predictions")}) {
        if (!arguments.given(option)) {
            continue;
        }
        if (arguments.given(file) || request.plan) {
            throw Error(ErrorKind::usage,
                        request.plan ? "a plan runs nothing" : "one side is given twice", option,
                        std::string("leave out ") + (request.plan ? option : file));
        }
        for (const char* needed : {"--preprocess", "--decoder"}) {
            if (!arguments.given(needed)) {
                throw Error(ErrorKind::usage, "a runnable needs its specs", option,
                            std::string("give ") + needed + " FILE");
            }
        }
    }
}

Evaluation run_task(const Arguments& arguments, const Request& request) {
    if (request.task == "segmentation") {
        return run_segmentation(arguments, request);
    }
    if (request.task == "anomaly") {
        return run_anomaly(arguments, request);
    }
    if (request.task == "classification") {
        return run_classification(arguments, request);
    }
    return run_detection(arguments, request);
}

Request request_of(const Arguments& arguments, const Common& common) {
    Request request;
    request.task = arguments.text("--task");
    request.annotations = arguments.text("--annotations");
    request.candidate = arguments.optional_text("--predictions");
    request.reference = arguments.optional_text("--reference-predictions");
    request.bootstrap = bootstrap_options(arguments, common);
    request.plan = arguments.flag("--plan");
    for (const std::string& text : arguments.all("--slice")) {
        request.slices.push_back(measure::parse_slice(text, "--slice"));
    }
    if (request.plan) {
        if (!arguments.given("--gates")) {
            throw Error(ErrorKind::usage, "a plan is made of gates", "--plan", "give --gates FILE");
        }
        if (request.candidate || request.reference) {
            throw Error(ErrorKind::usage, "a plan is made before there are predictions", "--plan",
                        "leave the predictions out");
        }
        request.bootstrap.replicates = 0;
    } else if (!request.candidate && !arguments.given("--candidate")) {
        throw Error(ErrorKind::usage, "no predictions", "--predictions",
                    "give the candidate's predictions, or --candidate RUNNABLE, or --plan");
    }
    check_runnables(arguments, request);
    return request;
}

Json evaluation_json(const Arguments& arguments, const Request& request,
                     const Evaluation& evaluation, FileDigests& digests) {
    Json document = new_document("evaluate", 1);
    document["task"] = evaluation.task;
    document["samples"] = evaluation.samples;
    document["annotations"] = digests.describe(request.annotations);
    document["candidate"] = digests.describe(*request.candidate);
    if (request.reference) {
        document["reference"] = digests.describe(*request.reference);
    }
    for (const auto& [side, ran] : request.ran.as_object()) {
        document[side]["ran"] = ran;
    }
    document["overall"] = evaluation.overall.to_json();
    document["slices"] = Json::array();
    for (const SliceResult& slice : evaluation.slices) {
        document["slices"].push_back(slice.to_json());
    }
    if (!evaluation.flips.is_null()) {
        document["flips"] = evaluation.flips;
    }
    document["bootstrap"] = Json::object({{"replicates", request.bootstrap.replicates},
                                          {"seed", arguments.integer("--seed")},
                                          {"confidence", request.bootstrap.confidence},
                                          {"method", "percentile, paired over samples"}});
    document["notes"] = Json::array();
    for (const std::string& note : evaluation.notes) {
        document["notes"].push_back(note);
    }
    for (const auto& [key, value] : evaluation.extra.as_object()) {
        document[key] = value;
    }
    return document;
}

void add_gates(Result& result, const qualify::AccuracyGates& gates, const Evaluation& evaluation) {
    std::vector<std::vector<std::string>> rows = {{"gate", "slice", "verdict", "why"}};
    Verdict verdict = Verdict::pass;
    Json list = Json::array();
    for (const qualify::AccuracyDecision& decision : decide_accuracy(gates, evaluation)) {
        verdict = combine(verdict, decision.verdict);
        rows.push_back(
            {decision.id, decision.slice, std::string(name_of(decision.verdict)), decision.reason});
        list.push_back(decision.to_json());
        emit_event("gate", decision.to_json());
    }
    result.document["gates"] = std::move(list);
    result.document["verdict"] = name_of(verdict);
    result.status = exit_status_of(verdict);
    result.text += table_text(rows) + "verdict: " + std::string(name_of(verdict)) + "\n";
}

/// What each gate needs; a gate that never can pass is refused.
Result plan_of(const Request& request, const qualify::AccuracyGates& gates,
               const Evaluation& evaluation, FileDigests& digests) {
    const auto plans = plan_accuracy(gates, [&](const qualify::AccuracyGate& gate,
                                                const std::string& by, const std::string& value) {
        std::vector<std::pair<std::string, std::uint64_t>> counts;
        for (const SliceResult* slice : slices_of_gate(gate, evaluation, by, value)) {
            const MetricEstimate* metric = slice->find(gate.metric);
            counts.emplace_back(slice->text(), metric != nullptr ? metric->n : slice->n);
        }
        return counts;
    });
    Result result;
    result.document = new_document("evaluate-plan", 1);
    result.document["task"] = evaluation.task;
    result.document["annotations"] = digests.describe(request.annotations);
    result.document["samples"] = evaluation.samples;
    result.document["gates"] = Json::array();
    std::vector<std::vector<std::string>> rows = {{"gate", "slice", "needed", "there", "basis"}};
    bool never = false, few = false;
    for (const qualify::GatePlan& plan : plans) {
        never = never || !plan.never.empty();
        few = few || !plan.can_decide();
        result.document["gates"].push_back(plan.to_json());
        rows.push_back({plan.id, plan.slice, plan.never.empty() ? std::to_string(plan.needed) : "-",
                        plan.there ? std::to_string(*plan.there) : "?",
                        plan.never.empty() ? plan.basis : "refused: " + plan.never});
    }
    const Verdict verdict = never ? Verdict::fail : few ? Verdict::undecidable : Verdict::pass;
    result.document["verdict"] = name_of(verdict);
    result.status = exit_status_of(verdict);
    result.text =
        table_text(rows) + (never ? "a gate can never pass: change its limit or what is expected\n"
                            : few ? "a gate cannot be decided on this labelled set: label more\n"
                                  : "every gate can be decided on this labelled set\n");
    return result;
}

Result run_evaluate(const Arguments& arguments, const Common& common) {
    Request request = request_of(arguments, common);
    std::optional<qualify::AccuracyGates> gates;
    if (const auto path = arguments.optional_text("--gates")) {
        gates = qualify::read_accuracy_gates(parse_yaml(read_file(*path), *path), common.rules);
        request.slices.insert(request.slices.end(), gates->slices.begin(), gates->slices.end());
    }
    std::optional<TemporaryFolder> scratch;
    run_runnables(arguments, common, request, scratch);
    FileDigests digests;
    for (const auto& path :
         {std::optional(request.annotations), request.candidate, request.reference}) {
        if (path) {
            digests.start(*path);
        }
    }
    const Evaluation evaluation = run_task(arguments, request);
    if (request.plan) {
        return plan_of(request, *gates, evaluation, digests);
    }
    Result result;
    result.document = evaluation_json(arguments, request, evaluation, digests);
    result.text = report_text(evaluation, request.bootstrap.confidence);
    if (gates) {
        result.document["gates_file"] = digests.describe(*arguments.optional_text("--gates"));
        result.document["rules"] = describe_rules(common.rules);
        add_gates(result, *gates, evaluation);
    }
    if (const auto folder = arguments.optional_text("--plots")) {
        for (const std::string& name :
             write_accuracy_plots(evaluation, gates ? &*gates : nullptr, arguments.text("--images"),
                                  *folder, count_of(arguments, "--gallery"))) {
            result.document["plots"].push_back(*folder + "/" + name);
        }
        result.text += "plots: " + printable(*folder) + "\n";
    }
    return result;
}

}  // namespace

std::vector<Verb> verbs_evaluate() {
    Verb verb;
    verb.name = "evaluate";
    verb.summary = "judges predictions by a labelled set: overall, per slice, with intervals";
    verb.description =
        "Detection metrics are those of pycocotools (box), from COCO annotations and COCO results. "
        "With --reference-predictions both sides are compared on the same samples: drop, retention "
        "and flips, with paired bootstrap intervals.";
    verb.options = {
        {.name = "--task",
         .help = "what the model does",
         .value_name = "TASK",
         .required = true,
         .choices = {"detection", "classification", "segmentation", "anomaly"}},
        {.name = "--annotations",
         .kind = ValueKind::path,
         .help = "the labelled set: COCO JSON (detection), CSV or npz (classification), npz (else)",
         .value_name = "FILE",
         .required = true},
        {.name = "--predictions",
         .kind = ValueKind::path,
         .help = "the candidate's predictions",
         .value_name = "FILE"},
        {.name = "--reference-predictions",
         .kind = ValueKind::path,
         .help = "the reference's predictions on the same samples",
         .value_name = "FILE"},
        {.name = "--candidate",
         .help = "runs this instead of reading predictions",
         .value_name = "RUNNABLE"},
        {.name = "--reference", .help = "runs this as the reference", .value_name = "RUNNABLE"},
        {.name = "--preprocess",
         .kind = ValueKind::path,
         .help = "how pictures become inputs (preprocess/1)",
         .value_name = "FILE"},
        {.name = "--decoder",
         .kind = ValueKind::path,
         .help = "how outputs become detections (decoder/1)",
         .value_name = "FILE"},
        {.name = "--part",
         .help = "of a dataset/1 that --annotations names, for runnables",
         .value_name = "PART"},
        {.name = "--save",
         .kind = ValueKind::path,
         .help = "keeps the predictions of runnables here; an interrupted run goes on",
         .value_name = "DIR"},
        {.name = "--on",
         .help = "runs the runnables on another machine",
         .value_name = "ssh://USER@HOST"},
        timeout_argument(),
        {.name = "--slice",
         .help = "class, size, tags, tag=NAME or NUMBER=0,10,25; crossed with '*'",
         .value_name = "SLICE",
         .repeated = true},
        {.name = "--score-threshold",
         .kind = ValueKind::number,
         .help = "score from which a box is a decision; for flips",
         .value_name = "X",
         .fallback = "0.5"},
        {.name = "--flip-samples",
         .kind = ValueKind::integer,
         .help = "how many flips are listed, the worst first",
         .value_name = "N",
         .fallback = "100"},
        {.name = "--scores",
         .help = "what the scores of a classifier are",
         .value_name = "KIND",
         .fallback = "any",
         .choices = {"any", "probability", "logit"}},
        {.name = "--top-k",
         .kind = ValueKind::integer,
         .help = "of a classifier",
         .value_name = "K",
         .fallback = "5"},
        {.name = "--ignore-label",
         .kind = ValueKind::integer,
         .help = "pixels of this label count nowhere (segmentation)",
         .value_name = "LABEL",
         .fallback = "255"},
        {.name = "--threshold",
         .kind = ValueKind::number,
         .help = "score from which a picture is called defective (anomaly)",
         .value_name = "X"},
        {.name = "--gates",
         .kind = ValueKind::path,
         .help = "gates and slices (accuracy-gates/1); they decide the exit status",
         .value_name = "FILE"},
        {.name = "--plan",
         .kind = ValueKind::flag,
         .help = "says how many samples each gate needs; no predictions"},
        {.name = "--plots",
         .kind = ValueKind::path,
         .help = "writes plots and the worst flips as SVG files into this folder",
         .value_name = "DIR"},
        {.name = "--images",
         .kind = ValueKind::path,
         .help = "folder of the pictures, for runnables and for the flips among the plots",
         .value_name = "DIR"},
        {.name = "--gallery",
         .kind = ValueKind::integer,
         .help = "how many flips are drawn",
         .value_name = "N",
         .fallback = "12"},
        {.name = "--bootstrap",
         .kind = ValueKind::integer,
         .help = "resamples for the intervals; 0: no intervals",
         .value_name = "N",
         .fallback = "1000"},
        {.name = "--seed",
         .kind = ValueKind::integer,
         .help = "of the resampling",
         .value_name = "S",
         .fallback = "0"},
        {.name = "--confidence",
         .kind = ValueKind::number,
         .help = "of the intervals",
         .value_name = "X",
         .fallback = "0.95"},
    };
    verb.examples = {
        "requal evaluate --task detection --annotations GT.json --predictions DT.json --slice "
        "class",
        "requal evaluate --task detection --annotations GT.json --predictions int8.json "
        "--reference-predictions fp16.json --slice 'class*distance_m=0,10,25,60'",
        "requal evaluate --task classification --annotations labels.csv --predictions int8.npz",
        "requal evaluate --task detection --annotations GT.json --gates gates.yaml --plan"};
    verb.run = run_evaluate;
    return {verb};
}

}  // namespace requal::cli
