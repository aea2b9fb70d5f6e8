#include "measure/accuracy/run_predictions.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_set>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "data/dataset.h"
#include "data/decoder.h"
#include "data/preprocess.h"

namespace requal::measure {

namespace {

/// FOLDER/SIDE.partial: a header line that says what made it, then {"id", "boxes", "not_finite"} a picture.
class Partial {
public:
    Partial(std::string path, const Json& header) : path_(std::move(path)) {
        std::size_t whole = 0;
        if (file_exists(path_)) {
            whole = read(header);
        }
        file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        if (!file_) {
            throw_errno(errno, "cannot write", path_);
        }
        // a torn last line goes: its picture is run again
        if (ftruncate(file_.get(), static_cast<off_t>(whole)) != 0 ||
            lseek(file_.get(), 0, SEEK_END) < 0) {
            throw_errno(errno, "cannot cut", path_);
        }
        if (whole == 0) {
            write_line(header);
        }
    }

    bool has(std::int64_t id) const { return done_.count(id) != 0; }
    std::size_t size() const { return done_.size(); }

    void add(std::int64_t id, const data::Predictions& predictions) {
        Json line = Json::object(
            {{"id", id}, {"boxes", Json::array()}, {"not_finite", predictions.dropped_not_finite}});
        for (const data::Detection& box : predictions.detections) {
            line["boxes"].push_back(
                Json::array({Json(box.category_id), Json(box.x), Json(box.y), Json(box.width),
                             Json(box.height), Json(box.score)}));
        }
        write_line(line);
    }

    /// Calls `use(id, predictions)` for every line.
    template <typename Use>
    void each(const Use& use) const {
        const std::string text = read_file(path_, std::uint64_t{1} << 36);
        std::size_t at = text.find('\n') + 1;
        while (at < text.size()) {
            const std::size_t end = text.find('\n', at);
            if (end == std::string::npos) {
                return;
            }
            const Json line = parse_json(std::string_view(text).substr(at, end - at), path_);
            data::Predictions predictions;
            predictions.dropped_not_finite =
                static_cast<std::uint64_t>(line.at("not_finite").as_integer());
            for (const Json& box : line.at("boxes").as_array()) {
                const auto& values = box.as_array();
                if (values.size() != 6) {
                    throw Error(ErrorKind::input, "a box does not have six numbers", path_,
                                "remove the file");
                }
                predictions.detections.push_back({values[0].as_integer(), values[1].as_number(),
                                                  values[2].as_number(), values[3].as_number(),
                                                  values[4].as_number(), values[5].as_number()});
            }
            use(line.at("id").as_integer(), predictions);
            at = end + 1;
        }
    }

private:
    /// Bytes of the whole lines.
    std::size_t read(const Json& header) {
        const std::string text = read_file(path_, std::uint64_t{1} << 36);
        const std::size_t first = text.find('\n');
        if (first == std::string::npos) {
            return 0;
        }
        if (parse_json(std::string_view(text).substr(0, first), path_) != header) {
            throw Error(ErrorKind::input, "was begun by another runnable, spec or labelled set",
                        path_, "remove it, or give another folder");
        }
        std::size_t at = first + 1;
        while (true) {
            const std::size_t end = text.find('\n', at);
            if (end == std::string::npos) {
                return at;
            }
            const Json line = parse_json(std::string_view(text).substr(at, end - at), path_);
            done_.insert(line.at("id").as_integer());
            at = end + 1;
        }
    }

    void write_line(const Json& line) {
        const std::string text = write_json_compact(line) + "\n";
        write_all(file_.get(), std::as_bytes(std::span(text)), path_);
    }

    std::string path_;
    FileDescriptor file_;
    std::unordered_set<std::int64_t> done_;
};

void check_classes(const data::DecoderSpec& decoder, const data::DataPart& part,
                   const std::string& annotations) {
    if (decoder.form == data::DecoderSpec::Form::classification) {
        throw Error(ErrorKind::input, "decodes classes, and the task is detection", decoder.path);
    }
    for (std::size_t i = 0; i < decoder.classes.size(); ++i) {
        const std::int64_t id =
            decoder.category_ids.empty() ? static_cast<std::int64_t>(i) : decoder.category_ids[i];
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

}  // namespace

Json run_predictions(const PredictionRequest& request) {
    const data::PreprocessSpec preprocess = data::read_preprocess(request.preprocess);
    const data::DecoderSpec decoder = data::read_decoder(request.decoder);
    const data::DataPart part =
        data::load_part(data::read_dataset_spec(request.annotations, request.images), "all");
    check_classes(decoder, part, request.annotations);
    const Runnable runnable = resolve_runnable(request.runnable, request.on);
    if (runnable.saved) {
        throw Error(ErrorKind::usage, "saved outputs are no runnable here", request.runnable,
                    "give a model or an engine");
    }
    make_folders(request.folder);
    const Json header =
        Json::object({{"requal-partial", 1},
                      {"runnable", request.runnable},
                      {"on", request.on},
                      {"artefact", digest_in_background(runnable.spec.artefact).get().text()},
                      {"preprocess", preprocess.digest.text()},
                      {"decoder", decoder.digest.text()},
                      {"annotations", part.labels_digest.text()}});
    const std::string partial_path = request.folder + "/" + request.side + ".partial";
    Partial partial(partial_path, header);
    const std::size_t resumed = partial.size();

    SideOpener opener(runnable, request.options);
    const std::unique_ptr<RunningSide> side = opener.open_running();
    const auto ports = ports_of(side->loaded());
    const std::string input = data::port_for(preprocess, ports).name;
    Progress progress(request.side, part.samples.size());
    for (std::size_t i = 0; i < part.samples.size(); ++i) {
        const data::LabelledSample& sample = part.samples[i];
        if (!partial.has(sample.id)) {
            throw_if_cancelled();
            const data::PreparedInput prepared = data::preprocess(
                data::read_picture(sample.path, preprocess.rules), preprocess, sample.path);
            const NamedTensors outputs = side->outputs(i, {{input, prepared.tensor}});
            partial.add(sample.id, data::decode(outputs, decoder, prepared.placement));
        }
        progress.advance();
    }
    const std::string path = request.folder + "/" + request.side + ".json";
    data::ResultsWriter writer(path);
    std::uint64_t not_finite = 0;
    partial.each([&](std::int64_t id, const data::Predictions& predictions) {
        not_finite += predictions.dropped_not_finite;
        writer.add(id, predictions);
    });
    writer.commit();
    Json result = Json::object({{"path", path},
                                {"runnable", side->describe()},
                                {"samples", static_cast<std::uint64_t>(part.samples.size())},
                                {"resumed_samples", static_cast<std::uint64_t>(resumed)},
                                {"not_finite", not_finite}});
    unlink(partial_path.c_str());
    return result;
}

}  // namespace requal::measure
