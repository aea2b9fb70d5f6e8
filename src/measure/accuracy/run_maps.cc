#include "measure/accuracy/run_maps.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "measure/accuracy/samples.h"
#include "measure/predict.h"
#include "tensor/npy.h"

namespace requal::measure {

namespace {

std::vector<std::string> names_in(const std::string& annotations, bool anomaly) {
    const NpzReader npz(annotations);
    std::vector<std::string> names;
    for (const std::string& array : npz.names()) {
        if (anomaly && array.rfind("masks/", 0) == 0) {
            names.push_back(array.substr(6));
        } else if (!anomaly && array.rfind(attribute_prefix, 0) != 0) {
            names.push_back(array);
        }
    }
    if (anomaly && names.empty()) {
        names = npz.read("samples").strings();
    }
    if (names.empty()) {
        throw Error(ErrorKind::input, "no labelled picture", annotations, "give at least one");
    }
    return names;
}

std::vector<PictureSample> pictures_for(const std::vector<std::string>& names,
                                        const std::string& folder) {
    std::vector<PictureSample> samples;
    for (const std::string& name : names) {
        std::string path;
        for (const char* extension : {"", ".png", ".jpg", ".jpeg"}) {
            path = path_inside(folder, name + extension);
            if (file_exists(path)) {
                break;
            }
            path.clear();
        }
        if (path.empty()) {
            throw Error(ErrorKind::input,
                        "picture '" + name + "' is not there, neither with .png, .jpg or .jpeg",
                        folder, "name the pictures as the labelled set does");
        }
        samples.push_back(
            {static_cast<std::int64_t>(samples.size()), name, std::move(path), std::nullopt});
    }
    return samples;
}

/// FOLDER/SIDE.partial: what made it, and a map a picture.
class KeptMaps {
public:
    KeptMaps(std::string folder, const Json& made_by) : folder_(std::move(folder)) {
        make_folders(folder_);
        const std::string file = folder_ + "/made-by.json";
        if (file_exists(file)) {
            if (parse_json(read_file(file), file) != made_by) {
                throw Error(ErrorKind::input, "was begun by another runnable, spec or labelled set",
                            folder_, "remove it, or give another folder");
            }
        } else {
            write_file_atomically(file, write_json(made_by));
        }
    }

    std::string path(std::int64_t id) const { return folder_ + "/" + std::to_string(id) + ".npy"; }
    bool has(std::int64_t id) const { return file_exists(path(id)); }
    void remove() const { std::filesystem::remove_all(folder_); }

private:
    std::string folder_;
};

}  // namespace

Json run_maps(const PredictionRequest& request, bool anomaly) {
    using Form = data::DecoderSpec::Form;
    const data::DecoderSpec decoder = data::read_decoder(request.decoder);
    if (decoder.form != (anomaly ? Form::anomaly_map : Form::label_map)) {
        throw Error(ErrorKind::input,
                    "kind '" + decoder.kind + "' does not decode " +
                        (anomaly ? "maps of anomalies" : "label maps"),
                    decoder.path, anomaly ? "write kind: anomaly-map" : "write kind: label-map");
    }
    PredictRequest predicted;
    predicted.preprocess = data::read_preprocess(request.preprocess);
    predicted.threads = request.threads;
    predicted.progress_name = request.side;
    const std::string beside = std::filesystem::path(request.annotations).parent_path().string();
    const std::vector<PictureSample> all =
        pictures_for(names_in(request.annotations, anomaly),
                     request.images.empty() ? (beside.empty() ? "." : beside) : request.images);
    const Runnable runnable = resolve_runnable(request.runnable, request.on);
    if (runnable.saved) {
        throw Error(ErrorKind::usage, "saved outputs are no runnable here", request.runnable,
                    "give a model or an engine");
    }
    make_folders(request.folder);
    const KeptMaps kept(
        request.folder + "/" + request.side + ".partial",
        Json::object({{"requal-partial", 1},
                      {"runnable", request.runnable},
                      {"on", request.on},
                      {"artefact", digest_in_background(runnable.spec.artefact).get().text()},
                      {"preprocess", predicted.preprocess.digest.text()},
                      {"decoder", decoder.digest.text()},
                      {"annotations", digest_of_file(request.annotations).text()}}));
    for (const PictureSample& sample : all) {
        if (!kept.has(sample.id)) {
            predicted.samples.push_back(sample);
        }
    }
    SideOpener opener(runnable, request.options);
    const std::unique_ptr<RunningSide> side = opener.open_running();
    predict(*side, ports_of(side->loaded()), predicted, [&](const PredictedPicture& picture) {
        write_npy_file(kept.path(picture.sample.id),
                       data::decode_map(picture.outputs, decoder, picture.placement));
    });
    const std::string path = request.folder + "/" + request.side + ".npz";
    NpzWriter writer(path);
    for (const PictureSample& sample : all) {
        writer.add((anomaly ? "maps/" : "") + sample.name, read_npy_file(kept.path(sample.id)));
    }
    writer.commit();
    kept.remove();
    return Json::object(
        {{"path", path},
         {"runnable", side->describe()},
         {"samples", static_cast<std::uint64_t>(all.size())},
         {"resumed_samples", static_cast<std::uint64_t>(all.size() - predicted.samples.size())},
         {"not_finite", 0}});
}

}  // namespace requal::measure
