#include "toolchain/runners/onnxruntime/settings.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace requal::toolchain::ort {
namespace {

constexpr std::array<Provider, 9> known_providers = {{
    {"onnxruntime:cpu", "CPUExecutionProvider"},
    {"onnxruntime:cuda", "CUDAExecutionProvider"},
    {"onnxruntime:tensorrt", "TensorrtExecutionProvider"},
    {"onnxruntime:nv-tensorrt-rtx", "NvTensorRTRTXExecutionProvider"},
    {"onnxruntime:qnn", "QNNExecutionProvider"},
    {"onnxruntime:openvino", "OpenVINOExecutionProvider"},
    {"onnxruntime:migraphx", "MIGraphXExecutionProvider"},
    {"onnxruntime:dnnl", "DnnlExecutionProvider"},
    {"onnxruntime:xnnpack", "XnnpackExecutionProvider"},
}};

const std::array<OptionSpec, 14> option_table = {{
    {.name = "threads",
     .type = OptionType::integer,
     .help = "threads within one operator; 0: one for each physical core, the runtime's own choice",
     .low = 0,
     .high = 4096},
    {.name = "inter_threads",
     .type = OptionType::integer,
     .help = "threads across operators, with execution_mode=parallel",
     .low = 0,
     .high = 4096},
    {.name = "optimization",
     .type = OptionType::word,
     .help = "graph optimisation level; all, unless the file was written by a build of this runner",
     .values = {"disable", "basic", "extended", "all"}},
    {.name = "execution_mode",
     .type = OptionType::word,
     .help = "order of operators; sequential",
     .values = {"sequential", "parallel"}},
    {.name = "memory_arena", .type = OptionType::flag, .help = "CPU memory arena; on"},
    {.name = "memory_pattern", .type = OptionType::flag, .help = "memory pattern planning; on"},
    {.name = "spinning",
     .type = OptionType::flag,
     .help = "threads that wait for the next operator keep their core busy: faster alone, slower "
             "where others want the core; on"},
    {.name = "deterministic",
     .type = OptionType::flag,
     .help = "only kernels that give the same result each time; off"},
    {.name = "external_data",
     .type = OptionType::flag,
     .help = "build: weights in a file beside the engine, needed above 2 GiB; off"},
    {.name = "provider.", .type = OptionType::text, .help = "an option of the execution provider"},
    {.name = "config.", .type = OptionType::text, .help = "a session configuration entry"},
    {.name = "dimension.",
     .type = OptionType::integer,
     .help = "size of a symbolic dimension, by its name",
     .low = 1,
     .high = std::int64_t{1} << 40},
    {.name = "shape.",
     .type = OptionType::shape,
     .help = "shape of an input with dynamic axes, 1x3x320x320"},
    {.name = "precision",
     .type = OptionType::word,
     .help = "ONNX Runtime computes in the model's own types; f32 is accepted for models that are "
             "float32",
     .values = {"default", "f32"}},
}};

Ort::SessionOptions with_provider(const Settings& settings, Ort::SessionOptions options) {
    const auto& api = Ort::GetApi();
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : settings.provider_options) {
        keys.push_back(key.c_str());
        values.push_back(value.c_str());
    }
    const auto name = settings.provider.name;
    if (name == "CUDAExecutionProvider") {
        OrtCUDAProviderOptionsV2* raw = nullptr;
        Ort::ThrowOnError(api.CreateCUDAProviderOptions(&raw));
        const std::unique_ptr<OrtCUDAProviderOptionsV2, void (*)(OrtCUDAProviderOptionsV2*)> owner(
            raw, api.ReleaseCUDAProviderOptions);
        if (!keys.empty())
            Ort::ThrowOnError(
                api.UpdateCUDAProviderOptions(raw, keys.data(), values.data(), keys.size()));
        options.AppendExecutionProvider_CUDA_V2(*raw);
    } else if (name == "TensorrtExecutionProvider") {
        OrtTensorRTProviderOptionsV2* raw = nullptr;
        Ort::ThrowOnError(api.CreateTensorRTProviderOptions(&raw));
        const std::unique_ptr<OrtTensorRTProviderOptionsV2, void (*)(OrtTensorRTProviderOptionsV2*)>
            owner(raw, api.ReleaseTensorRTProviderOptions);
        if (!keys.empty())
            Ort::ThrowOnError(
                api.UpdateTensorRTProviderOptions(raw, keys.data(), values.data(), keys.size()));
        options.AppendExecutionProvider_TensorRT_V2(*raw);
    } else {
        const auto short_name = std::string(name.substr(0, name.find("ExecutionProvider")));
        Ort::ThrowOnError(api.SessionOptionsAppendExecutionProvider(
            options, short_name == "Xnnpack" ? "XNNPACK" : short_name.c_str(), keys.data(),
            values.data(), keys.size()));
    }
    return options;
}

}  // namespace

std::vector<Provider> listed_providers() {
    environment();
    const auto listed = Ort::GetAvailableProviders();
    std::vector<Provider> result;
    for (const auto& provider : known_providers) {
        if (std::find(listed.begin(), listed.end(), provider.name) != listed.end())
            result.push_back(provider);
    }
    return result;
}

Provider provider_of(std::string_view toolchain) {
    const auto known =
        std::find_if(known_providers.begin(), known_providers.end(),
                     [&](const Provider& item) { return item.toolchain == toolchain; });
    std::string names;
    for (const auto& provider : listed_providers()) {
        if (known != known_providers.end() && provider.name == known->name)
            return provider;
        names += (names.empty() ? "" : ", ") + std::string(provider.toolchain);
    }
    if (known == known_providers.end())
        throw Error(ErrorKind::input, "not a toolchain of this runner", std::string(toolchain),
                    "it has " + names);
    throw Error(ErrorKind::missing,
                "ONNX Runtime " + library_version() + " here was built without the " +
                    std::string(known->name),
                std::string(toolchain), "it has " + names);
}

std::span<const OptionSpec> known_options() {
    return option_table;
}

Settings read_settings(const Json& options, std::string_view toolchain) {
    const OptionReader reader(options, option_table, toolchain);
    Settings result;
    result.provider = provider_of(toolchain);
    result.threads = reader.integer("threads").value_or(0);
    result.inter_threads = reader.integer("inter_threads").value_or(0);
    if (const auto level = reader.word("optimization")) {
        result.optimization = *level;
        result.optimization_given = true;
    }
    result.parallel = reader.word("execution_mode").value_or("sequential") == "parallel";
    result.memory_arena = reader.flag("memory_arena").value_or(true);
    result.memory_pattern = reader.flag("memory_pattern").value_or(true);
    result.spinning = reader.flag("spinning").value_or(true);
    result.deterministic = reader.flag("deterministic").value_or(false);
    result.external_data = reader.flag("external_data").value_or(false);
    result.precision = reader.word("precision").value_or("default");
    result.provider_options = reader.family("provider.");
    result.config = reader.family("config.");
    for (const auto& [name, value] : reader.family("dimension."))
        result.dimensions[name] = *reader.integer("dimension." + name);
    result.shapes = reader.shapes("shape.");
    if (result.provider.is_cpu() && !result.provider_options.empty())
        throw Error(ErrorKind::input, "the CPU provider takes no options",
                    "option provider." + result.provider_options.begin()->first);
    if (result.inter_threads > 0 && !result.parallel)
        throw Error(ErrorKind::input, "has no effect unless execution_mode=parallel",
                    "option inter_threads");
    return result;
}

Ort::SessionOptions session_options(const Settings& settings) {
    environment();
    Ort::SessionOptions options;
    const auto level = settings.optimization == "disable"    ? ORT_DISABLE_ALL
                       : settings.optimization == "basic"    ? ORT_ENABLE_BASIC
                       : settings.optimization == "extended" ? ORT_ENABLE_EXTENDED
                                                             : ORT_ENABLE_ALL;
    options.SetGraphOptimizationLevel(level);
    if (settings.threads > 0)
        options.SetIntraOpNumThreads(static_cast<int>(settings.threads));
    if (settings.inter_threads > 0)
        options.SetInterOpNumThreads(static_cast<int>(settings.inter_threads));
    options.SetExecutionMode(settings.parallel ? ORT_PARALLEL : ORT_SEQUENTIAL);
    if (!settings.memory_arena)
        options.DisableCpuMemArena();
    if (!settings.memory_pattern)
        options.DisableMemPattern();
    if (!settings.spinning) {
        options.AddConfigEntry("session.intra_op.allow_spinning", "0");
        options.AddConfigEntry("session.inter_op.allow_spinning", "0");
    }
    options.SetDeterministicCompute(settings.deterministic);
    try {
        for (const auto& [key, value] : settings.config)
            options.AddConfigEntry(key.c_str(), value.c_str());
    } catch (const Ort::Exception& exception) {
        throw_clean(exception, Phase::load, "option config");
    }
    for (const auto& [name, value] : settings.dimensions)
        Ort::ThrowOnError(
            Ort::GetApi().AddFreeDimensionOverrideByName(options, name.c_str(), value));
    if (settings.provider.is_cpu())
        return options;
    try {
        return with_provider(settings, std::move(options));
    } catch (const Ort::Exception& exception) {
        const auto message = clean_message(exception.what());
        // the code is FAIL for a wrong option as for a missing library
        if (!settings.provider_options.empty() &&
            (exception.GetOrtErrorCode() == ORT_INVALID_ARGUMENT ||
             message.find("provider option") != std::string::npos))
            throw Error(ErrorKind::input, message, std::string(settings.provider.toolchain));
        throw Error(ErrorKind::missing,
                    "the " + std::string(settings.provider.name) + " cannot be loaded: " + message,
                    std::string(settings.provider.toolchain));
    }
}

void note_tf32(const Settings& settings, Json& precision) {
    if (settings.provider.name != "CUDAExecutionProvider" &&
        settings.provider.name != "TensorrtExecutionProvider")
        return;
    const auto option = settings.provider_options.find("use_tf32");
    const bool off = option != settings.provider_options.end() && option->second == "0";
    precision["tf32"] = off ? "off" : "allowed";
}

Json describe(const Settings& settings) {
    Json result = Json::object({{"threads", settings.threads},
                                {"optimization", settings.optimization},
                                {"execution_mode", settings.parallel ? "parallel" : "sequential"},
                                {"memory_arena", settings.memory_arena},
                                {"memory_pattern", settings.memory_pattern},
                                {"spinning", settings.spinning},
                                {"deterministic", settings.deterministic}});
    if (settings.parallel)
        result["inter_threads"] = settings.inter_threads;
    const auto add = [&result](std::string_view key,
                               const std::map<std::string, std::string>& members) {
        if (members.empty())
            return;
        Json object = Json::object();
        for (const auto& [name, value] : members)
            object[name] = value;
        result[key] = std::move(object);
    };
    add("provider_options", settings.provider_options);
    add("config", settings.config);
    if (!settings.dimensions.empty()) {
        Json object = Json::object();
        for (const auto& [name, value] : settings.dimensions)
            object[name] = value;
        result["dimensions"] = std::move(object);
    }
    if (!settings.shapes.empty()) {
        Json object = Json::object();
        for (const auto& [name, shape] : settings.shapes)
            object[name] = text_of(shape);
        result["shapes"] = std::move(object);
    }
    return result;
}

}  // namespace requal::toolchain::ort
