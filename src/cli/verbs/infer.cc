// infer: runs inputs through one runnable and saves the outputs; pictures to detections.
// rooms: base tensor data measure toolchain machine store
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/cancel.h"
#include "base/document.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/input_arguments.h"
#include "cli/outputs.h"
#include "cli/run_options.h"
#include "cli/stored.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "data/draw.h"
#include "data/labelled_inputs.h"
#include "measure/numerics/output_summary.h"
#include "measure/numerics/output_writer.h"
#include "measure/predict.h"
#include "measure/runnable.h"

namespace requal::cli {

namespace {

std::string shape_text(const Json& shape) {
    Shape result;
    for (const Json& extent : shape.as_array()) {
        result.push_back(extent.as_integer());
    }
    return text_of(result);
}

std::string number_text(const Json& value) {
    return value.is_null() ? "-" : readable(value.as_number(), 5);
}

/// What --decode asks for; nothing without it.
std::optional<data::DecoderSpec> decoder_of(const Arguments& arguments) {
    for (const char* option : {"--predictions", "--draw"}) {
        if (arguments.given(option) && !arguments.given("--decode")) {
            throw Error(ErrorKind::usage, "needs --decode", option, "give --decode SPEC");
        }
    }
    const auto path = arguments.optional_text("--decode");
    if (!path) {
        return std::nullopt;
    }
    if (!arguments.given("--predictions") && !arguments.given("--draw")) {
        throw Error(ErrorKind::usage, "gives results that go nowhere", "--decode",
                    "give --predictions FILE or --draw DIR");
    }
    return data::read_decoder(*path);
}

/// Arrays with labels, and what --decode makes of their outputs.
struct ArrayRequest {
    std::optional<data::DataPart> part;
    std::optional<data::DecoderSpec> decoder;

    /// As the results name sample `index`.
    std::int64_t id_of(std::uint64_t index) const {
        return part ? part->samples.at(index).id : static_cast<std::int64_t>(index) + 1;
    }
};

ArrayRequest array_request(const Arguments& arguments) {
    ArrayRequest request;
    request.decoder = decoder_of(arguments);
    if (request.decoder && request.decoder->form != data::DecoderSpec::Form::classification) {
        throw Error(ErrorKind::usage, "gives boxes, which lie in a picture", "--decode",
                    "give pictures with --preprocess SPEC, or a decoder of kind classification");
    }
    const auto inputs = arguments.optional_text("--inputs");
    const auto part = arguments.optional_text("--part");
    if (inputs && data::may_be_labelled_arrays(*inputs)) {
        request.part = data::load_part(data::read_dataset_spec(*inputs), part.value_or(""));
    } else if (part) {
        throw Error(ErrorKind::usage, "is for data sets", "--part",
                    "give --inputs with a dataset spec");
    }
    return request;
}

/// What --preprocess asks for; nothing without it.
std::optional<measure::PredictRequest> picture_request(const Arguments& arguments,
                                                       const Common& common) {
    if (!arguments.given("--preprocess")) {
        for (const char* option : {"--images", "--draw"}) {
            if (arguments.given(option)) {
                throw Error(ErrorKind::usage, "is for pictures, which need --preprocess", option,
                            "give --preprocess SPEC");
            }
        }
        return std::nullopt;
    }
    if (!arguments.given("--inputs") || arguments.given("--random")) {
        throw Error(ErrorKind::usage, "needs --inputs with pictures", "--preprocess",
                    "give a picture, a folder of pictures, COCO JSON or a dataset spec");
    }
    measure::PredictRequest request;
    request.preprocess = data::read_preprocess(arguments.text("--preprocess"));
    request.decoder = decoder_of(arguments);
    request.threads = common.jobs > 0 ? static_cast<unsigned>(common.jobs)
                                      : std::max(1U, std::thread::hardware_concurrency());
    const std::string inputs = arguments.text("--inputs");
    const std::string extension = std::filesystem::path(inputs).extension().string();
    if (extension == ".json" || extension == ".csv" || extension == ".yaml" ||
        extension == ".yml") {
        const data::DataSetSpec dataset = data::read_dataset_spec(
            inputs, arguments.optional_text("--images").value_or(std::string()));
        request.samples = measure::pictures_of(
            data::load_part(dataset, arguments.optional_text("--part").value_or(std::string())));
    } else {
        request.samples = measure::pictures_of(inputs);
    }
    return request;
}

/// Where decoded results go.
class ResultsSink {
public:
    ResultsSink(const Arguments& arguments, data::PictureRules rules)
        : rules_(rules), folder_(arguments.optional_text("--draw")) {
        path_ = arguments.optional_text("--predictions");
        if (path_) {
            writer_.emplace(*path_);
        }
        if (folder_) {
            made_folder_ = !folder_exists(*folder_);
            make_folders(*folder_);
        }
    }
    void add(std::int64_t id, const data::Predictions& predictions) {
        if (writer_) {
            writer_->add(id, predictions);
        }
        count_ += predictions.detections.size() + predictions.classes.size();
        dropped_ += predictions.dropped_not_finite;
    }
    /// Work that ends with an error leaves no picture of it behind.
    ~ResultsSink() {
        if (committed_) {
            return;
        }
        std::error_code ignored;
        for (const std::string& path : drawn_) {
            std::filesystem::remove(path, ignored);
        }
        if (made_folder_) {
            std::filesystem::remove(*folder_, ignored);  // only when it is empty
        }
    }
    ResultsSink(const ResultsSink&) = delete;
    ResultsSink& operator=(const ResultsSink&) = delete;
    void draw(const measure::PredictedPicture& picture) {
        if (folder_) {
            data::Picture drawn = data::read_picture(picture.sample.path, rules_);
            data::draw_detections(drawn, picture.predictions.detections);
            std::string name = picture.sample.name;
            std::replace(name.begin(), name.end(), '/', '_');
            const std::string path = *folder_ + "/" + name + ".png";
            write_file_atomically(path, data::encode_png(drawn));
            drawn_.push_back(path);
        }
    }
    Json commit() {
        Json result = Json::object();
        result["count"] = count_;
        result["dropped_not_finite"] = dropped_;
        if (writer_) {
            writer_->commit();
            result["path"] = *path_;
            result["digest"] = digest_of_file(*path_).text();
        }
        if (folder_) {
            result["drawn_in"] = *folder_;
        }
        committed_ = true;
        return result;
    }

private:
    data::PictureRules rules_;
    std::optional<std::string> folder_;
    std::optional<std::string> path_;
    std::optional<data::ResultsWriter> writer_;
    std::vector<std::string> drawn_;
    bool made_folder_ = false;
    bool committed_ = false;
    std::uint64_t count_ = 0;
    std::uint64_t dropped_ = 0;
};

Result run_infer(const Arguments& arguments, const Common& common) {
    const auto started = std::chrono::steady_clock::now();
    const data::InputRequest request = input_request(arguments);
    const std::optional<measure::PredictRequest> pictures = picture_request(arguments, common);
    if (request.empty()) {
        throw Error(ErrorKind::usage, "no inputs are given", {},
                    "give --inputs PATH or --random N --seed S");
    }
    const ArrayRequest arrays = pictures ? ArrayRequest{} : array_request(arguments);
    const std::optional<data::DecoderSpec>& decoder = pictures ? pictures->decoder : arrays.decoder;
    const measure::RunOptions options = run_options(arguments);
    measure::SideOpener opener(
        measure::resolve_runnable(stored_runnable(arguments.text("RUNNABLE"), common),
                                  arguments.text("--on")),
        options);
    if (const auto path = arguments.optional_text("--predictions")) {
        refuse_to_replace(*path, opener.runnable().spec.artefact, "--predictions");
        for (const char* const read : {"--inputs", "--preprocess", "--decode"}) {
            refuse_to_replace(*path, arguments.optional_text(read).value_or(""), "--predictions");
        }
    }
    std::optional<measure::OutputWriter> writer;
    if (const auto folder = arguments.optional_text("--save")) {
        writer.emplace(*folder, arguments.flag("--force"));
    }
    const std::unique_ptr<measure::RunningSide> side = opener.open_running();
    const std::vector<data::InputPort> ports = measure::ports_of(side->loaded());
    measure::OutputSummary summary;
    std::uint64_t samples = 0;
    Json inputs_description;
    std::optional<ResultsSink> sink;
    if (decoder) {
        sink.emplace(arguments, pictures ? pictures->preprocess.rules : data::PictureRules{});
    }
    Json times;
    const auto use = [&](const std::string& name, const NamedTensors& inputs,
                         const NamedTensors& outputs) {
        summary.add(outputs);
        if (writer) {
            writer->add(name, data::digest_of_sample(inputs), outputs);
        }
    };
    if (pictures) {
        const measure::PredictTimes spent = measure::predict(
            *side, ports, *pictures, [&](const measure::PredictedPicture& picture) {
                use(std::filesystem::path(picture.sample.name).stem().string(), picture.inputs,
                    picture.outputs);
                if (sink) {
                    sink->add(picture.sample.id, picture.predictions);
                    sink->draw(picture);
                }
            });
        times = Json::object({{"prepare_ms", spent.prepare_ms},
                              {"run_ms", spent.run_ms},
                              {"wall_ms", spent.wall_ms},
                              {"threads", static_cast<std::uint64_t>(pictures->threads)}});
        samples = pictures->samples.size();
        inputs_description = measure::describe_pictures(*pictures);
    } else {
        const auto inputs = arrays.part ? data::labelled_inputs(*arrays.part, ports)
                                        : data::open_inputs(request, ports);
        Progress progress("infer", inputs->size());
        for (std::uint64_t i = 0; i < inputs->size(); ++i) {
            const NamedTensors sample = inputs->sample(i);
            const NamedTensors outputs = side->outputs(i, sample);
            use(inputs->sample_name(i), sample, outputs);
            if (sink) {
                sink->add(arrays.id_of(i), data::decode(outputs, *decoder, {}));
            }
            throw_if_cancelled();
            progress.advance();
        }
        samples = inputs->size();
        inputs_description = inputs->describe();
    }

    Result result;
    Json& document = result.document;
    document = new_document("infer", 1);
    document["samples"] = samples;
    document["runnable"] = side->describe();
    document["inputs"] = std::move(inputs_description);
    document["outputs"] = summary.to_json();
    if (writer) {
        document["saved"] = writer->commit(document.at("runnable"), document.at("inputs"));
    }
    if (sink) {
        document["predictions"] = sink->commit();
        document["predictions"]["decode"] =
            Json::object({{"path", decoder->path}, {"digest", decoder->digest.text()}});
    }
    if (!times.is_null()) {
        document["pictures"] = std::move(times);
    }
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - started;
    document["elapsed_ms"] = elapsed.count();

    std::vector<std::vector<std::string>> rows = {
        {"output", "type", "shape", "min", "max", "mean", "NaN", "Inf"}};
    for (const Json& output : document.at("outputs").as_array()) {
        rows.push_back({output.at("name").as_string(), output.at("type").as_string(),
                        shape_text(output.at("shape")), number_text(output.at("min")),
                        number_text(output.at("max")), number_text(output.at("mean")),
                        std::to_string(output.at("nan").as_integer()),
                        std::to_string(output.at("inf").as_integer())});
    }
    result.text =
        table_text(rows) + std::to_string(samples) + (samples == 1 ? " sample" : " samples") +
        (writer ? " saved in " + printable(document.at("saved").at("path").as_string())
                : std::string()) +
        (sink ? ", " + std::to_string(document.at("predictions").at("count").as_integer()) +
                    " results"
              : std::string()) +
        "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_infer() {
    Verb verb;
    verb.name = "infer";
    verb.summary = "runs inputs through a runnable and saves the outputs";
    verb.description = "Saved outputs are a runnable too: `compare` takes the folder as one of its "
                       "sides. The folder appears when it is "
                       "complete, with one .npz file a sample and samples.json (order, digests of "
                       "outputs and inputs).";
    verb.positionals = {
        {.name = "RUNNABLE", .help = "ARTEFACT[@TOOLCHAIN[?key=value&...]]", .required = true}};
    verb.options = input_arguments();
    const std::vector<Argument> own = {
        {.name = "--save",
         .kind = ValueKind::path,
         .help = "saves the outputs in this folder",
         .value_name = "DIR"},
        {.name = "--force",
         .kind = ValueKind::flag,
         .help = "replaces saved outputs that are there already"},
        {.name = "--preprocess",
         .kind = ValueKind::path,
         .help = "the inputs are pictures (a picture, a folder, COCO JSON, a CSV list or a dataset "
                 "spec), prepared as this spec says",
         .value_name = "SPEC"},
        {.name = "--decode",
         .kind = ValueKind::path,
         .help = "turns outputs into detections or class scores as this spec says",
         .value_name = "SPEC"},
        {.name = "--predictions",
         .kind = ValueKind::path,
         .help = "writes the results as COCO results JSON",
         .value_name = "FILE"},
        {.name = "--draw",
         .kind = ValueKind::path,
         .help = "draws the detections on copies of the pictures (PNG)",
         .value_name = "DIR"},
        {.name = "--part", .help = "part of the dataset spec", .value_name = "NAME"},
        {.name = "--images",
         .kind = ValueKind::path,
         .help = "folder of the pictures of a COCO or CSV file; else they lie beside it",
         .value_name = "DIR"},
        {.name = "--on", .help = "runs on another machine", .value_name = "ssh://USER@HOST"},
        timeout_argument(),
    };
    verb.options.insert(verb.options.end(), own.begin(), own.end());
    verb.examples = {"requal infer model.onnx@onnxruntime:cpu --random 4 --seed 1 --shape "
                     "x:1x3x320x320 --save golden",
                     "requal infer parts.onnx --inputs dataset.yaml --part test --preprocess "
                     "preprocess.yaml --decode decoder.yaml --predictions detections.json"};
    verb.run = run_infer;
    return {verb};
}

}  // namespace requal::cli
