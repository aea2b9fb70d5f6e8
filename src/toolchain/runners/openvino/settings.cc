#include "toolchain/runners/openvino/settings.h"

#include <array>

#include "base/error.h"

namespace requal::toolchain::openvino {
namespace {

const std::array<OptionSpec, 7> option_table = {{
    {.name = "threads",
     .type = OptionType::integer,
     .help = "inference threads; the runtime's own choice",
     .low = 1,
     .high = 4096},
    {.name = "precision",
     .type = OptionType::word,
     .help = "inference precision; default: what execution_mode chooses",
     .values = {"default", "f32", "f16", "bf16"}},
    {.name = "execution_mode",
     .type = OptionType::word,
     .help =
         "accuracy keeps the model's own precision, performance lets the device lower it; accuracy",
     .values = {"accuracy", "performance"}},
    {.name = "performance_hint",
     .type = OptionType::word,
     .help = "what the device is arranged for; latency",
     .values = {"latency", "throughput"}},
    {.name = "streams",
     .type = OptionType::integer,
     .help = "inference streams; the runtime's own choice",
     .low = 1,
     .high = 4096},
    {.name = "config.", .type = OptionType::text, .help = "a property of the device plugin"},
    {.name = "shape.",
     .type = OptionType::shape,
     .help = "shape of an input with dynamic axes, 1x3x320x320"},
}};

}  // namespace

std::span<const OptionSpec> known_options() {
    return option_table;
}

Settings read_settings(const Json& options, std::string_view toolchain) {
    Settings result;
    if (toolchain != "openvino:cpu" && toolchain != "openvino:gpu")
        throw Error(ErrorKind::input, "not a toolchain of this runner", std::string(toolchain),
                    "it has openvino:cpu, openvino:gpu");
    result.toolchain = toolchain;
    result.device = toolchain == "openvino:cpu" ? "CPU" : "GPU";
    const OptionReader reader(options, option_table, toolchain);
    result.threads = reader.integer("threads");
    result.streams = reader.integer("streams");
    if (const auto precision = reader.word("precision")) {
        result.precision = *precision;
        result.precision_given = true;
    }
    if (const auto mode = reader.word("execution_mode")) {
        result.execution_mode = *mode;
        result.execution_mode_given = true;
    }
    result.performance_hint = reader.word("performance_hint").value_or("latency");
    result.config = reader.family("config.");
    result.shapes = reader.shapes("shape.");
    return result;
}

Json import_settings(const Settings& settings) {
    Json config = Json::object();
    for (const auto& [key, value] : settings.config)
        config[key] = value;
    return Json::object({{"precision", settings.precision},
                         {"execution_mode", settings.execution_mode},
                         {"config", std::move(config)}});
}

Settings with_recorded(Settings given, const Json& recorded, const std::string& path) {
    const auto fixed = [&path](bool asked, const std::string& wanted, const std::string& built,
                               const std::string& option) {
        if (asked && wanted != built)
            throw Error(ErrorKind::input,
                        "the engine was built with " + option + "=" + built + ", not " + wanted,
                        path, "build another engine");
    };
    if (!given.shapes.empty())
        throw Error(ErrorKind::input, "the shapes of an engine were fixed when it was built", path,
                    "leave out shape." + given.shapes.begin()->first);
    if (recorded.is_null())
        return given;
    const auto& precision = recorded.at("precision").as_string();
    const auto& mode = recorded.at("execution_mode").as_string();
    fixed(given.precision_given, given.precision, precision, "precision");
    fixed(given.execution_mode_given, given.execution_mode, mode, "execution_mode");
    given.precision = precision;
    given.execution_mode = mode;
    for (const auto& [key, value] : recorded.at("config").as_object())
        given.config.emplace(key, value.as_string());
    return given;
}

}  // namespace requal::toolchain::openvino
