// evaluate: task quality of one or two sets of predictions on a labelled set.
// rooms: base measure_accuracy
#include <thread>

#include "base/digest.h"
#include "base/document.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "measure/accuracy/detection.h"

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

Json file_json(const std::string& path) {
    return Json::object({{"path", path}, {"digest", digest_of_file(path).text()}});
}

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

Evaluation run_detection(const Arguments& arguments, const measure::BootstrapOptions& bootstrap,
                         const std::vector<measure::SliceSpec>& slices) {
    const measure::LabelledBoxes set =
        measure::read_coco_annotations(arguments.text("--annotations"));
    measure::DetectedBoxes reference, candidate;
    const auto reference_path = arguments.optional_text("--reference-predictions");
    if (reference_path) {
        reference = measure::read_coco_results(*reference_path, set);
    }
    candidate = measure::read_coco_results(arguments.text("--predictions"), set);
    measure::DetectionOptions options;
    options.bootstrap = bootstrap;
    options.slices = slices;
    options.score_threshold = arguments.number("--score-threshold");
    options.flip_samples = count_of(arguments, "--flip-samples");
    return measure::evaluate_detection(set, reference_path ? &reference : nullptr, candidate,
                                       options);
}

Result run_evaluate(const Arguments& arguments, const Common& common) {
    const measure::BootstrapOptions bootstrap = bootstrap_options(arguments, common);
    std::vector<measure::SliceSpec> slices;
    for (const std::string& text : arguments.all("--slice")) {
        slices.push_back(measure::parse_slice(text, "--slice"));
    }
    const Evaluation evaluation = run_detection(arguments, bootstrap, slices);
    Result result;
    Json& document = result.document;
    document = new_document("evaluate", 1);
    document["task"] = evaluation.task;
    document["samples"] = evaluation.samples;
    document["annotations"] = file_json(arguments.text("--annotations"));
    document["candidate"] = file_json(arguments.text("--predictions"));
    if (const auto path = arguments.optional_text("--reference-predictions")) {
        document["reference"] = file_json(*path);
    }
    document["overall"] = evaluation.overall.to_json();
    document["slices"] = Json::array();
    for (const SliceResult& slice : evaluation.slices) {
        document["slices"].push_back(slice.to_json());
    }
    if (!evaluation.flips.is_null()) {
        document["flips"] = evaluation.flips;
    }
    document["bootstrap"] = Json::object({{"replicates", bootstrap.replicates},
                                          {"seed", bootstrap.seed},
                                          {"confidence", bootstrap.confidence},
                                          {"method", "percentile, paired over samples"}});
    document["notes"] = Json::array();
    for (const std::string& note : evaluation.notes) {
        document["notes"].push_back(note);
    }
    for (const auto& [key, value] : evaluation.extra.as_object()) {
        document[key] = value;
    }
    result.text = report_text(evaluation, bootstrap.confidence);
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
         .choices = {"detection"}},
        {.name = "--annotations",
         .kind = ValueKind::path,
         .help = "the labelled set",
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
        "--reference-predictions fp16.json --slice 'class*distance_m=0,10,25,60'"};
    verb.run = run_evaluate;
    return {verb};
}

}  // namespace requal::cli
