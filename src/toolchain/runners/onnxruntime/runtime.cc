#include "toolchain/runners/onnxruntime/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/document.h"
#include "base/file.h"
#include "toolchain/runners/onnxruntime/session.h"
#include "toolchain/runners/support/inputs.h"
#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain::ort {
namespace {

// A build's optimised model ends with one more metadata entry, field 14 of ModelProto: {key, value}. Protobuf reads a
// message that is continued so; the entry is the last thing in the file, where load() finds it without parsing.
constexpr std::string_view mark_key = "requal.optimized";

std::string metadata_entry(std::string_view key, std::string_view value) {
    const auto field = [](char tag, std::string_view bytes) {
        return std::string{tag, static_cast<char>(bytes.size())} + std::string(bytes);
    };
    // all lengths stay below 128, so each is one byte
    return field('\x72', field('\x0a', key) + field('\x12', value));
}

/// File that a provider's own library would be in, beside the runtime's; empty when that folder is not known.
std::string provider_library(const Provider& provider) {
    const auto libraries = mapped_libraries(library_parts);
    for (const auto& library : libraries.as_array()) {
        const auto& path = library.at("path").as_string();
        const auto slash = path.rfind('/');
        if (path.find("libonnxruntime.so", slash) == std::string::npos)
            continue;
        auto name = std::string(provider.name.substr(0, provider.name.find("ExecutionProvider")));
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) {
            return static_cast<char>(std::tolower(letter));
        });
        if (name == "nvtensorrtrtx")
            name = "nv_tensorrt_rtx";
        return path.substr(0, slash + 1) + "libonnxruntime_providers_" + name + ".so";
    }
    return {};
}

std::string mark_of(std::string_view level) {
    return metadata_entry(mark_key, level);
}

/// Level at which a build optimised this file; empty when it is no build of ours.
std::string optimised_at(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string tail(64, '\0');
    file.seekg(0, std::ios::end);
    const auto size = static_cast<std::int64_t>(file.tellg());
    if (!file || size < static_cast<std::int64_t>(tail.size()))
        return {};
    file.seekg(-static_cast<std::int64_t>(tail.size()), std::ios::end);
    if (!file.read(tail.data(), static_cast<std::streamsize>(tail.size())))
        return {};
    for (const std::string_view level : {"disable", "basic", "extended", "all"}) {
        if (tail.ends_with(mark_of(level)))
            return std::string(level);
    }
    return {};
}

/// Whether a toolchain is here, as far as can be told without loading its provider: the capabilities are asked at each
/// start, so they cost nothing. Loading proves it: a session whose provider takes no node is refused.
Json present(const Provider& provider) {
    Json result = Json::object(
        {{"name", provider.toolchain}, {"can", Json::array({"build", "run"})}, {"works", true}});
    if (provider.is_cpu())
        return result;
    const auto file = provider_library(provider);
    if (!file.empty() && !file_exists(file)) {
        result["works"] = false;
        result["why_not"] = "its library " + file + " is not here";
    }
    return result;
}

/// Precision that an engine computes in, from a profile on zeros; shapes must be known for that.
Json precision_of(OrtSession& session, const std::string& precision) {
    const auto unknown = [&precision](std::string why) {
        return Json::object({{"requested", precision},
                             {"executed", "unknown"},
                             {"learned_by", "nothing: " + std::move(why)}});
    };
    if (!all_static(session.inputs()))
        return unknown("an input has a dynamic axis; give its shape");
    try {
        return session.profile(zero_inputs(session.inputs())).at("precision");
    } catch (const Error& error) {
        return unknown("a run on zeros failed: " + error.message());
    }
}

}  // namespace

Json OnnxRuntime::capabilities() {
    environment();
    Json toolchains = Json::array();
    for (const auto& provider : listed_providers())
        toolchains.push_back(present(provider));
    return Json::object({{"name", "onnxruntime"},
                         {"version", library_version()},
                         {"interface_version", ORT_API_VERSION},
                         {"toolchains", std::move(toolchains)},
                         {"libraries", mapped_libraries(library_parts)},
                         {"options", describe_options(known_options())}});
}

std::unique_ptr<Session> OnnxRuntime::load(const std::string& path, const std::string& toolchain,
                                           const Json& options) {
    auto settings = read_settings(options, toolchain);
    const auto level = optimised_at(path);
    if (!level.empty() && !settings.optimization_given)
        settings.optimization = "disable";
    if (settings.external_data)
        throw Error(ErrorKind::input, "is for builds only", "option external_data");
    return std::make_unique<OrtSession>(path, std::move(settings));
}

Json OnnxRuntime::build(const std::string& model_path, const std::string& output_path,
                        const std::string& toolchain, const Json& options) {
    auto settings = read_settings(options, toolchain);
    if (!settings.provider.is_cpu() && !settings.optimization_given)
        settings.optimization = "extended";  // layouts above it are the CPU provider's own
    const auto data_name = std::filesystem::path(output_path).filename().string() + ".data";
    const auto data_path = output_path + ".data";
    if (settings.external_data) {
        if (std::filesystem::exists(data_path))
            throw Error(ErrorKind::input, "exists already", data_path,
                        "remove it or choose another name");
        settings.config["session.optimized_model_external_initializers_file_name"] = data_name;
    }
    AtomicFile file(output_path);
    try {
        { const OrtSession session(model_path, settings, file.temporary_path()); }
        if (lseek(file.fd(), 0, SEEK_END) < 0)
            throw Error(ErrorKind::storage, "cannot be written", output_path);
        file.write(mark_of(settings.optimization));
        auto engine = settings;
        engine.optimization = "disable";
        engine.config.erase("session.optimized_model_external_initializers_file_name");
        OrtSession reloaded(file.temporary_path(), engine);
        const auto precision = precision_of(reloaded, settings.precision);
        const auto placement = reloaded.facts().get("placement");
        Json files = Json::array({Json(output_path)});
        if (settings.external_data)
            files.push_back(data_path);
        Json facts = Json::object({{"files", std::move(files)},
                                   {"precision", precision},
                                   {"options_effective", describe(settings)},
                                   {"load_options", Json::object({{"optimization", "disable"}})},
                                   {"runtime", "onnxruntime"},
                                   {"version", library_version()},
                                   {"build_info", Ort::GetBuildInfoString()},
                                   {"cpu_features", cpu_features()},
                                   {"libraries", mapped_libraries(library_parts)}});
        if (!placement.is_null())
            facts["placement"] = placement;
        file.commit();
        return facts;
    } catch (...) {
        if (settings.external_data)
            std::remove(data_path.c_str());
        throw;
    }
}

}  // namespace requal::toolchain::ort
