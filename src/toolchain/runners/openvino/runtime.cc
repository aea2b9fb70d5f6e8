#include "toolchain/runners/openvino/runtime.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include <openvino/runtime/compiled_model.hpp>

#include "base/error.h"
#include "base/file.h"
#include "toolchain/runners/openvino/engine_file.h"
#include "toolchain/runners/openvino/failure.h"
#include "toolchain/runners/openvino/session.h"
#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain::openvino {
namespace {

/// The blob goes straight to the file, so that it never lies in memory twice. The format writes sizes in its head when it
/// is done, so the stream must be able to go back.
void export_into(AtomicFile& file, ov::CompiledModel& model, const std::string& model_path,
                 const std::string& output_path) {
    std::ofstream stream(file.temporary_path(), std::ios::binary | std::ios::trunc);
    try {
        model.export_model(stream);
    } catch (const std::exception& exception) {
        if (stream)
            throw_clean(exception, ErrorKind::toolchain, model_path);
    }
    stream.flush();
    if (!stream)
        throw Error(ErrorKind::storage, "cannot be written: is the disk full?", output_path);
    if (lseek(file.fd(), 0, SEEK_END) <= 0)
        throw Error(ErrorKind::toolchain, "OpenVINO exported nothing", model_path);
}

/// Whether a toolchain is here, as far as can be told without loading its plugin: the capabilities are asked at each
/// start, so they cost nothing. Loading proves it.
Json present(std::string_view toolchain) {
    Json result = Json::object(
        {{"name", toolchain}, {"can", Json::array({"build", "run"})}, {"works", true}});
    if (toolchain == "openvino:gpu" && !std::filesystem::exists("/dev/dri")) {
        result["works"] = false;
        result["why_not"] = "there is no graphics device (/dev/dri)";
    }
    return result;
}

}  // namespace

Json OpenVino::capabilities() {
    return Json::object(
        {{"name", "openvino"},
         {"version", library_version()},
         {"toolchains", Json::array({present("openvino:cpu"), present("openvino:gpu")})},
         {"libraries", mapped_libraries(library_parts)},
         {"options", describe_options(known_options())}});
}

std::unique_ptr<Session> OpenVino::load(const std::string& path, const std::string& toolchain,
                                        const Json& options) {
    auto settings = read_settings(options, toolchain);
    if (kind_of(path) == FileKind::model)
        return std::make_unique<OpenVinoSession>(path, compile(path, settings), settings);
    auto file = std::make_shared<MappedFile>(path);
    const auto bytes = file->bytes();
    const auto recorded =
        recorded_settings({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    settings = with_recorded(std::move(settings), recorded, path);
    return std::make_unique<OpenVinoSession>(path, import_blob(path, std::move(file), settings),
                                             settings);
}

Json OpenVino::build(const std::string& model_path, const std::string& output_path,
                     const std::string& toolchain, const Json& options) {
    const auto settings = read_settings(options, toolchain);
    if (kind_of(model_path) == FileKind::blob)
        throw Error(ErrorKind::input, "is an engine already", model_path, "give the model");
    auto compiled = compile(model_path, settings);
    AtomicFile file(output_path);
    export_into(file, *compiled.model, model_path, output_path);
    file.write(settings_line(import_settings(settings)));
    // the engine is what an import gives, so its precision is read back from one
    const auto imported = import_blob(
        file.temporary_path(), std::make_shared<MappedFile>(file.temporary_path()), settings);
    Json facts = Json::object({{"files", Json::array({Json(output_path)})},
                               {"precision", precision_of(*imported.model, settings)},
                               {"options_effective", effective_options(*compiled.model, settings)},
                               {"load_options", Json::object()},
                               {"recorded_in_engine", import_settings(settings)},
                               {"runtime", "openvino"},
                               {"version", library_version()},
                               {"engine_head", imported.head},
                               {"cpu_features", cpu_features()},
                               {"libraries", mapped_libraries(library_parts)}});
    if (auto placement = placement_of(*imported.model, settings); !placement.is_null())
        facts["placement"] = std::move(placement);
    file.commit();
    return facts;
}

}  // namespace requal::toolchain::openvino
