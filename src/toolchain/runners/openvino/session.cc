#include "toolchain/runners/openvino/session.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <openvino/openvino.hpp>

#include "base/error.h"
#include "toolchain/runners/openvino/engine_file.h"
#include "toolchain/runners/openvino/failure.h"
#include "toolchain/runners/openvino/ports.h"
#include "toolchain/runners/support/inputs.h"
#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain::openvino {
namespace {

/// Averaged runs of a profile, after one that is left out.
constexpr int profiled_runs = 3;

ov::AnyMap properties_of(const Settings& settings, bool profiling) {
    ov::AnyMap properties;
    for (const auto& [key, value] : settings.config)
        properties[key] = value;
    if (settings.precision != "default")
        properties.emplace(ov::hint::inference_precision(ov::element::Type(settings.precision)));
    properties.emplace(ov::hint::execution_mode(settings.execution_mode == "accuracy"
                                                    ? ov::hint::ExecutionMode::ACCURACY
                                                    : ov::hint::ExecutionMode::PERFORMANCE));
    properties.emplace(ov::hint::performance_mode(settings.performance_hint == "latency"
                                                      ? ov::hint::PerformanceMode::LATENCY
                                                      : ov::hint::PerformanceMode::THROUGHPUT));
    if (settings.threads)
        properties.emplace(ov::inference_num_threads(static_cast<int>(*settings.threads)));
    if (settings.streams)
        properties.emplace(ov::num_streams(ov::streams::Num(static_cast<int>(*settings.streams))));
    if (profiling)
        properties.emplace(ov::enable_profiling(true));
    return properties;
}

void fix_model_shapes(ov::Model& model, const Settings& settings, const std::string& path) {
    if (settings.shapes.empty())
        return;
    std::vector<ov::Output<const ov::Node>> parameters;
    for (const auto& input : std::as_const(model).inputs())
        parameters.push_back(input);
    auto ports = ports_of(parameters, "input");
    fix_shapes(ports, settings.shapes, "shape.");
    std::map<std::size_t, ov::PartialShape> wanted;
    for (std::size_t index = 0; index < ports.size(); ++index) {
        if (settings.shapes.count(ports[index].name) != 0)
            wanted[index] = ov::PartialShape(
                std::vector<ov::Dimension>(ports[index].shape.begin(), ports[index].shape.end()));
    }
    try {
        model.reshape(wanted);
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::input, path);
    }
}

/// The text of a property, "" when the device does not have it.
template <typename Property>
std::string text_of_property(const ov::CompiledModel& model, const Property& property) {
    try {
        return model.get_property(property.name()).template as<std::string>();
    } catch (const std::exception&) {
        return {};
    }
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
}

/// Layers whose arithmetic is what a precision is about.
bool computes(std::string_view layer) {
    constexpr std::array<std::string_view, 10> kinds = {
        "Convolution", "Deconvolution", "FullyConnected", "MatMul",
        "RNNSeq",      "RNNCell",       "LSTMCell",       "ScaledDotProductAttention",
        "MHA",         "Eltwise"};
    return std::find(kinds.begin(), kinds.end(), layer) != kinds.end();
}

std::map<std::string, std::uint64_t> computing_layers(const ov::CompiledModel& model) {
    std::map<std::string, std::uint64_t> heavy, all;
    for (const auto& node : model.get_runtime_model()->get_ops()) {
        const auto& info = node->get_rt_info();
        const auto layer = info.find("layerType");
        const auto precision = info.find("runtimePrecision");
        if (layer == info.end() || precision == info.end())
            continue;
        const auto kind = layer->second.as<std::string>();
        const auto type = precision->second.as<std::string>();
        if (!computes(kind))
            continue;
        ++(kind == "Eltwise" ? all : heavy)[type];
    }
    return heavy.empty() ? all : heavy;
}

/// Layers that only carry values in, out, or from one type to another.
bool only_carries(std::string_view layer) {
    constexpr std::array<std::string_view, 7> kinds = {"Input", "Parameter", "Output", "Result",
                                                       "Const", "Convert",   "Reorder"};
    return std::find(kinds.begin(), kinds.end(), layer) != kinds.end();
}

/// Ports whose 64-bit type no layer runs in: the CPU device computes them in 32 bits.
Json narrowed_ports(const ov::CompiledModel& model, const std::vector<Port>& inputs,
                    const std::vector<Port>& outputs) {
    std::set<std::string> used;
    for (const auto& node : model.get_runtime_model()->get_ops()) {
        const auto& info = node->get_rt_info();
        const auto layer = info.find("layerType");
        const auto precision = info.find("runtimePrecision");
        if (layer != info.end() && precision != info.end() &&
            !only_carries(layer->second.as<std::string>()))
            used.insert(precision->second.as<std::string>());
    }
    Json result = Json::array();
    for (const auto* ports : {&inputs, &outputs}) {
        for (const auto& port : *ports) {
            const std::string_view type = port.type == ElementType::float64  ? "f64"
                                          : port.type == ElementType::int64  ? "i64"
                                          : port.type == ElementType::uint64 ? "u64"
                                                                             : "";
            if (!type.empty() && used.count(std::string(type)) == 0)
                result.push_back(port.name);
        }
    }
    return result;
}

void require_known(const Settings& settings) {
    for (const auto& [key, value] : settings.config) {
        if (value.size() > 4096)
            throw Error(ErrorKind::input, "its value is too long", "option config." + key);
    }
}

}  // namespace

ov::Core& core() {
    static ov::Core instance;
    return instance;
}

std::string library_version() {
    const std::string number = ov::get_openvino_version().buildNumber;
    return number;
}

void require_device(const Settings& settings) {
    if (settings.device == "CPU")
        return;
    std::string why;
    try {
        if (!core().get_property(settings.device, ov::available_devices).empty())
            return;
        why = "no such device was found";
    } catch (const std::exception& exception) {
        why = clean_message(exception.what());
    }
    throw Error(ErrorKind::missing, "OpenVINO has no " + settings.device + " here: " + why,
                settings.toolchain);
}

Compiled compile(const std::string& path, const Settings& settings, bool profiling) {
    require_known(settings);
    require_device(settings);
    std::shared_ptr<ov::Model> model;
    try {
        model = core().read_model(path);
    } catch (const std::exception& exception) {
        const std::string_view text = exception.what();
        const bool refused = text.find("does not support") != std::string_view::npos ||
                             text.find("not supported") != std::string_view::npos ||
                             text.find("No conversion rule") != std::string_view::npos;
        throw_clean(exception, refused ? ErrorKind::toolchain : ErrorKind::input, path);
    }
    fix_model_shapes(*model, settings, path);
    Compiled result;
    try {
        result.model = std::make_shared<ov::CompiledModel>(
            core().compile_model(model, settings.device, properties_of(settings, profiling)));
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::toolchain, path);
    }
    return result;
}

Compiled import_blob(const std::string& path, std::shared_ptr<MappedFile> file,
                     const Settings& settings, bool profiling) {
    require_known(settings);
    require_device(settings);
    const auto bytes = file->bytes();
    if (bytes.empty())
        throw Error(ErrorKind::input, "is empty", path);
    Compiled result;
    result.imported = true;
    result.head = blob_head({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    result.file = std::move(file);
    try {
        // read only: the interface does not say so
        const ov::Tensor blob(ov::element::u8, ov::Shape{bytes.size()},
                              const_cast<std::byte*>(bytes.data()));
        result.model = std::make_shared<ov::CompiledModel>(
            core().import_model(blob, settings.device, properties_of(settings, profiling)));
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::input, path);
    }
    return result;
}

Json precision_of(const ov::CompiledModel& model, const Settings& settings) {
    Json layers = Json::object();
    std::string executed = "unknown";
    std::string learned_by = "nothing: the compiled model lists no layer that computes";
    try {
        const auto counted = computing_layers(model);
        for (const auto& [type, count] : counted)
            layers[type] = count;
        if (!counted.empty()) {
            executed = counted.size() == 1 ? counted.begin()->first : "mixed";
            learned_by = "per-layer list";
        }
    } catch (const std::exception& exception) {
        learned_by = "nothing: " + clean_message(exception.what());
    }
    return Json::object({{"requested", settings.precision},
                         {"executed", executed},
                         {"learned_by", learned_by},
                         {"layers", std::move(layers)}});
}

Json placement_of(const ov::CompiledModel& model, const Settings& settings) {
    try {
        std::uint64_t layers = 0;
        for (const auto& node : model.get_runtime_model()->get_ops()) {
            const auto layer = node->get_rt_info().find("layerType");
            if (layer != node->get_rt_info().end() &&
                !only_carries(layer->second.as<std::string>()))
                ++layers;
        }
        return Json::object({{"nodes_total", layers},
                             {"nodes_on_requested", layers},
                             {"providers", Json::object({{settings.device, layers}})},
                             {"learned_by", "per-layer list"}});
    } catch (const std::exception&) {
        return {};  // a device without a list of layers
    }
}

Json effective_options(const ov::CompiledModel& model, const Settings& settings) {
    Json result = Json::object();
    const auto add = [&result](std::string_view key, const std::string& text) {
        if (!text.empty())
            result[key] = text;
    };
    const auto add_number = [&result](std::string_view key, const std::string& text) {
        if (!text.empty() && text.size() < 10 &&
            text.find_first_not_of("0123456789") == std::string::npos)
            result[key] = static_cast<std::int64_t>(std::stoll(text));
    };
    add("inference_precision", text_of_property(model, ov::hint::inference_precision));
    add("execution_mode", lower(text_of_property(model, ov::hint::execution_mode)));
    add("performance_hint", lower(text_of_property(model, ov::hint::performance_mode)));
    add_number("threads", text_of_property(model, ov::inference_num_threads));
    add_number("streams", text_of_property(model, ov::num_streams));
    add_number("optimal_requests", text_of_property(model, ov::optimal_number_of_infer_requests));
    add("execution_devices", text_of_property(model, ov::execution_devices));
    if (!settings.config.empty()) {
        Json config = Json::object();
        for (const auto& [key, value] : settings.config)
            config[key] = value;
        result["config"] = std::move(config);
    }
    if (!settings.shapes.empty()) {
        Json shapes = Json::object();
        for (const auto& [name, shape] : settings.shapes)
            shapes[name] = text_of(shape);
        result["shapes"] = std::move(shapes);
    }
    return result;
}

OpenVinoSession::OpenVinoSession(std::string path, Compiled compiled, Settings settings)
    : path_(std::move(path)), compiled_(std::move(compiled)), settings_(std::move(settings)) {
    inputs_ = ports_of(compiled_.model->inputs(), "input");
    outputs_ = ports_of(compiled_.model->outputs(), "output");
    try {
        request_ = compiled_.model->create_infer_request();
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::toolchain, path_);
    }
}

void OpenVinoSession::set_inputs(ov::InferRequest& request, const NamedTensors& inputs) {
    for (std::size_t index = 0; index < inputs.size(); ++index)
        request.set_input_tensor(index,
                                 view_of(inputs[index].second, "input " + inputs[index].first));
}

NamedTensors OpenVinoSession::outputs_of(ov::InferRequest& request) {
    NamedTensors result;
    for (std::size_t index = 0; index < outputs_.size(); ++index)
        result.emplace_back(outputs_[index].name, copy_of(request.get_output_tensor(index),
                                                          "output " + outputs_[index].name));
    return result;
}

NamedTensors OpenVinoSession::run(const NamedTensors& inputs) {
    const auto matched = match_inputs(inputs_, inputs);
    held_.clear();
    for (std::size_t index = 0; index < matched.size(); ++index)
        held_.emplace_back(inputs_[index].name, aligned(*matched[index]));
    try {
        set_inputs(request_, held_);
        request_.infer();
        return outputs_of(request_);
    } catch (const Error&) {
        throw;
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::toolchain, path_);
    }
}

void OpenVinoSession::prepare_timing(const NamedTensors& inputs) {
    const auto matched = match_inputs(inputs_, inputs);
    timed_inputs_.clear();
    for (std::size_t index = 0; index < matched.size(); ++index)
        timed_inputs_.emplace_back(inputs_[index].name, aligned(*matched[index]));
    try {
        timed_ = compiled_.model->create_infer_request();
        set_inputs(timed_, timed_inputs_);
        timed_.infer();  // an error shows here, with its message, and not in the loop
    } catch (const Error&) {
        throw;
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::toolchain, path_);
    }
}

void OpenVinoSession::time_once() {
    try {
        timed_.infer();
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::toolchain, path_);
    }
}

Json OpenVinoSession::facts() const {
    auto options = effective_options(*compiled_.model, settings_);
    Json result = Json::object({{"runtime", "openvino"},
                                {"version", library_version()},
                                {"toolchain", settings_.toolchain},
                                {"providers", Json::array({Json(settings_.device)})},
                                {"precision", precision_of(*compiled_.model, settings_)},
                                {"cpu_features", cpu_features()},
                                {"cpu_model", cpu_model()},
                                {"imported", compiled_.imported},
                                {"timing_boundary", "host-to-host"},
                                {"libraries", mapped_libraries(library_parts)}});
    try {
        if (auto narrowed = narrowed_ports(*compiled_.model, inputs_, outputs_);
            narrowed.size() > 0)
            result["computed_in_32_bits"] = std::move(narrowed);
    } catch (const std::exception&) {
        // a device without a list of layers says nothing about it
    }
    if (auto placement = placement_of(*compiled_.model, settings_); !placement.is_null())
        result["placement"] = std::move(placement);
    if (options.has("threads"))
        result["threads"] = options.get("threads");
    result["options_effective"] = std::move(options);
    if (compiled_.imported)
        result["engine_head"] = compiled_.head;
    return result;
}

Json OpenVinoSession::profile(const NamedTensors& inputs) {
    const auto matched = match_inputs(inputs_, inputs);
    // node times are collected by a model compiled for it, so that ordinary runs are not slowed
    auto measured = compiled_.imported
                        ? import_blob(path_, std::make_shared<MappedFile>(path_), settings_, true)
                        : compile(path_, settings_, true);
    struct Row {
        std::string op, type, kernel;
        double total_us = 0;
    };
    std::vector<std::string> order;
    std::map<std::string, Row> rows;
    try {
        auto request = measured.model->create_infer_request();
        NamedTensors held;
        for (std::size_t index = 0; index < matched.size(); ++index)
            held.emplace_back(inputs_[index].name, aligned(*matched[index]));
        set_inputs(request, held);
        request.infer();
        for (int run = 0; run < profiled_runs; ++run) {
            request.infer();
            for (const auto& info : request.get_profiling_info()) {
                if (info.status != ov::ProfilingInfo::Status::EXECUTED)
                    continue;
                auto& row = rows[info.node_name];
                if (row.op.empty()) {
                    order.push_back(info.node_name);
                    row.op = info.node_type;
                    row.kernel = info.exec_type;
                }
                row.total_us += static_cast<double>(info.real_time.count());
            }
        }
    } catch (const std::exception& exception) {
        throw_clean(exception, ErrorKind::toolchain, path_);
    }
    Json nodes = Json::array();
    for (const auto& name : order) {
        const auto& row = rows.at(name);
        nodes.push_back(Json::object({{"name", name},
                                      {"op", row.op},
                                      {"provider", settings_.device},
                                      {"kernel", row.kernel},
                                      {"time_ms", row.total_us / 1000.0 / profiled_runs}}));
    }
    return Json::object({{"nodes", std::move(nodes)},
                         {"runs", profiled_runs},
                         {"providers", Json::object({{settings_.device,
                                                      static_cast<std::uint64_t>(order.size())}})},
                         {"precision", precision_of(*measured.model, settings_)}});
}

}  // namespace requal::toolchain::openvino
