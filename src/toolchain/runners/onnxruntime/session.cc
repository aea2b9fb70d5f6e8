#include "toolchain/runners/onnxruntime/session.h"

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "toolchain/runners/onnxruntime/profile.h"
#include "toolchain/runners/support/inputs.h"
#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain::ort {
namespace {

std::string_view kind_name(ONNXType type) {
    switch (type) {
    case ONNX_TYPE_SEQUENCE:
        return "a sequence";
    case ONNX_TYPE_MAP:
        return "a map";
    case ONNX_TYPE_OPTIONAL:
        return "an optional value";
    case ONNX_TYPE_SPARSETENSOR:
        return "a sparse tensor";
    case ONNX_TYPE_OPAQUE:
        return "an opaque value";
    default:
        return "a value of unknown kind";
    }
}

Port port_of(const std::string& name, const Ort::TypeInfo& info, const std::string& where) {
    if (info.GetONNXType() != ONNX_TYPE_TENSOR)
        throw Error(ErrorKind::input,
                    "it is " + std::string(kind_name(info.GetONNXType())) +
                        ", only tensors can be given and compared",
                    where, "end the model before it, or export it as tensors");
    const auto tensor = info.GetTensorTypeAndShapeInfo();
    auto shape = tensor.GetShape();
    for (auto& size : shape)
        size = std::max<std::int64_t>(size, -1);
    return {name, from_onnx(tensor.GetElementType(), where), std::move(shape)};
}

std::vector<const char*> names_of(const std::vector<Port>& ports) {
    std::vector<const char*> result;
    for (const auto& port : ports)
        result.push_back(port.name.c_str());
    return result;
}

Ort::Value string_value(const Tensor& tensor) {
    Ort::AllocatorWithDefaultOptions allocator;
    auto value = Ort::Value::CreateTensor(allocator, tensor.shape().data(), tensor.shape().size(),
                                          ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
    for (std::size_t index = 0; index < tensor.strings().size(); ++index) {
        const auto& text = tensor.strings()[index];
        auto* buffer = value.GetResizedStringTensorElementBuffer(index, text.size());
        if (!text.empty())
            std::memcpy(buffer, text.data(), text.size());
    }
    return value;
}

/// A tensor over the runtime's own memory; the value lives as long as the tensor.
Tensor tensor_of(Ort::Value value, const std::string& name) {
    const auto where = "output " + name;
    if (!value || !value.HasValue())
        throw Error(ErrorKind::toolchain, "the run gave no value", where);
    if (!value.IsTensor())
        throw Error(ErrorKind::toolchain, "the run gave no tensor", where);
    const auto info = value.GetTensorTypeAndShapeInfo();
    const auto type = from_onnx(info.GetElementType(), where);
    const auto shape = info.GetShape();
    if (type == ElementType::string) {
        Tensor tensor(type, shape);
        tensor.strings().resize(info.GetElementCount());
        for (std::size_t index = 0; index < tensor.strings().size(); ++index)
            tensor.strings()[index] = value.GetStringTensorElement(index);
        return tensor;
    }
    const auto size = info.GetElementCount() * size_of(type);
    const auto owner = std::make_shared<Ort::Value>(std::move(value));
    const auto* data = static_cast<const std::byte*>(std::as_const(*owner).GetTensorRawData());
    return Tensor(type, shape, {data, size}, owner);
}

}  // namespace

Ort::Session create_session(const std::string& path, const Ort::SessionOptions& options) {
    file_size(path);  // a missing file, a folder or a FIFO gets our own words
    try {
        return Ort::Session(environment(), path.c_str(), options);
    } catch (const Ort::Exception& exception) {
        throw_clean(exception, Phase::load, path);
    }
}

Settings with_dimensions_of_shapes(const std::string& path, Settings settings) {
    if (settings.shapes.empty())
        return settings;
    auto quick = settings;
    quick.optimization = "disable";
    quick.threads = 1;
    quick.shapes.clear();
    quick.provider = provider_of("onnxruntime:cpu");
    quick.provider_options.clear();
    const auto session = create_session(path, session_options(quick));
    std::vector<Port> ports;
    Ort::AllocatorWithDefaultOptions allocator;
    std::map<std::string, std::int64_t> fixed = settings.dimensions;
    for (std::size_t index = 0; index < session.GetInputCount(); ++index) {
        const std::string name = session.GetInputNameAllocated(index, allocator).get();
        const auto info = session.GetInputTypeInfo(index);
        ports.push_back(port_of(name, info, "input " + name));
        const auto wanted = settings.shapes.find(name);
        if (wanted == settings.shapes.end())
            continue;
        fix_shapes(ports, {*wanted}, "shape.");
        const auto tensor = info.GetTensorTypeAndShapeInfo();
        std::vector<const char*> symbols(tensor.GetDimensionsCount());
        tensor.GetSymbolicDimensions(symbols.data(), symbols.size());
        const auto declared = tensor.GetShape();
        for (std::size_t axis = 0; axis < symbols.size(); ++axis) {
            if (declared[axis] >= 0 || !symbols[axis] || !*symbols[axis])
                continue;
            const auto [entry, fresh] = fixed.emplace(symbols[axis], wanted->second[axis]);
            if (!fresh && entry->second != wanted->second[axis])
                throw Error(ErrorKind::input,
                            "dimension '" + entry->first + "' would be both " +
                                std::to_string(entry->second) + " and " +
                                std::to_string(wanted->second[axis]),
                            "option shape." + name);
        }
    }
    fix_shapes(ports, settings.shapes, "shape.");  // names an input that is not there
    settings.dimensions = std::move(fixed);
    return settings;
}

/// Fixed buffers of a timing loop.
struct OrtSession::Prepared {
    NamedTensors inputs;
    std::vector<Ort::Value> input_values;
    std::vector<Tensor> output_tensors;
    std::vector<Ort::Value> output_values;
    std::vector<const OrtValue*> raw_inputs;
    std::vector<OrtValue*> raw_outputs;
    std::vector<std::size_t> unbound;  ///< outputs that the runtime allocates in each run
    Ort::RunOptions run_options;
};

OrtSession::OrtSession(std::string path, Settings settings, const std::string& optimised_path)
    : path_(std::move(path)), settings_(with_dimensions_of_shapes(path_, std::move(settings))) {
    auto options = session_options(settings_);
    if (!optimised_path.empty())
        options.SetOptimizedModelFilePath(optimised_path.c_str());
    const auto threads_before = thread_count();
    if (settings_.provider.is_cpu()) {
        session_ = create_session(path_, options);
    } else {
        // which nodes the provider took is told by the runtime's log only
        options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_VERBOSE);
        const PlacementWatch watch;
        session_ = create_session(path_, options);
        placed_ = watch.nodes_by_provider();
        placement_source_ = "session log";
        if (!placed_.empty() && placed_.count(std::string(settings_.provider.name)) == 0)
            throw Error(ErrorKind::toolchain,
                        "no node of it runs on the " + std::string(settings_.provider.name) +
                            ": all would run on the CPU",
                        path_, "use onnxruntime:cpu, or a model that the provider supports");
    }
    threads_started_ = thread_count() - std::min(threads_before, thread_count());
    read_ports();
}

void OrtSession::read_ports() {
    Ort::AllocatorWithDefaultOptions allocator;
    try {
        for (std::size_t index = 0; index < session_.GetInputCount(); ++index) {
            const std::string name = session_.GetInputNameAllocated(index, allocator).get();
            inputs_.push_back(port_of(name, session_.GetInputTypeInfo(index), "input " + name));
        }
        for (std::size_t index = 0; index < session_.GetOutputCount(); ++index) {
            const std::string name = session_.GetOutputNameAllocated(index, allocator).get();
            outputs_.push_back(port_of(name, session_.GetOutputTypeInfo(index), "output " + name));
        }
    } catch (const Ort::Exception& exception) {
        throw_clean(exception, Phase::load, path_);
    }
    fix_shapes(inputs_, settings_.shapes, "shape.");
    input_names_ = names_of(inputs_);
    output_names_ = names_of(outputs_);
}

std::vector<Ort::Value> OrtSession::wrap(const std::vector<const Tensor*>& tensors) const {
    static std::byte nothing[64];
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    std::vector<Ort::Value> values;
    for (const auto* tensor : tensors) {
        if (tensor->type() == ElementType::string) {
            values.push_back(string_value(*tensor));
            continue;
        }
        const auto bytes = tensor->bytes();
        // the runtime reads inputs only; its interface does not say so
        void* data = bytes.empty() ? nothing : const_cast<std::byte*>(bytes.data());
        values.push_back(Ort::Value::CreateTensor(memory, data, bytes.size(),
                                                  tensor->shape().data(), tensor->shape().size(),
                                                  to_onnx(tensor->type())));
    }
    return values;
}

std::vector<Ort::Value> OrtSession::run_values(const std::vector<Ort::Value>& inputs,
                                               std::vector<Ort::Value> outputs) {
    session_.Run(Ort::RunOptions{nullptr}, input_names_.data(), inputs.data(), inputs.size(),
                 output_names_.data(), outputs.data(), outputs.size());
    return outputs;
}

NamedTensors OrtSession::run(const NamedTensors& inputs) {
    const auto matched = match_inputs(inputs_, inputs);
    std::vector<Tensor> held;
    std::vector<const Tensor*> usable;
    held.reserve(matched.size());
    for (const auto* tensor : matched)
        usable.push_back(&held.emplace_back(aligned(*tensor)));
    try {
        const auto values = wrap(usable);
        std::vector<Ort::Value> outputs;
        for (std::size_t index = 0; index < outputs_.size(); ++index)
            outputs.emplace_back(nullptr);
        outputs = run_values(values, std::move(outputs));
        NamedTensors result;
        for (std::size_t index = 0; index < outputs.size(); ++index)
            result.emplace_back(outputs_[index].name,
                                tensor_of(std::move(outputs[index]), outputs_[index].name));
        return result;
    } catch (const Ort::Exception& exception) {
        throw_clean(exception, Phase::run, path_);
    }
}

void OrtSession::prepare_timing(const NamedTensors& inputs) {
    // one run tells the shapes of the outputs
    const auto first = run(inputs);
    auto prepared = std::make_shared<Prepared>();
    std::vector<const Tensor*> matched = match_inputs(inputs_, inputs);
    for (std::size_t index = 0; index < matched.size(); ++index)
        prepared->inputs.emplace_back(inputs_[index].name, aligned(*matched[index]));
    for (std::size_t index = 0; index < matched.size(); ++index)
        matched[index] = &prepared->inputs[index].second;
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    prepared->output_tensors.reserve(first.size());
    for (std::size_t index = 0; index < first.size(); ++index) {
        const auto& tensor = first[index].second;
        if (tensor.type() == ElementType::string || tensor.count() == 0) {
            prepared->output_values.emplace_back(nullptr);
            prepared->unbound.push_back(index);
            continue;
        }
        auto& buffer = prepared->output_tensors.emplace_back(tensor.type(), tensor.shape());
        const auto bytes = buffer.mutable_bytes();
        prepared->output_values.push_back(
            Ort::Value::CreateTensor(memory, bytes.data(), bytes.size(), tensor.shape().data(),
                                     tensor.shape().size(), to_onnx(tensor.type())));
    }
    prepared->input_values = wrap(matched);
    for (const auto& value : prepared->input_values)
        prepared->raw_inputs.push_back(value);
    for (auto& value : prepared->output_values)
        prepared->raw_outputs.push_back(value);
    prepared_ = std::move(prepared);
    time_once();  // an error shows here, with its message, and not in the loop
}

void OrtSession::time_once() {
    auto& prepared = *prepared_;
    const auto& api = Ort::GetApi();
    const OrtStatusPtr status =
        api.Run(session_, prepared.run_options, input_names_.data(), prepared.raw_inputs.data(),
                prepared.raw_inputs.size(), output_names_.data(), output_names_.size(),
                prepared.raw_outputs.data());
    if (status) {
        try {
            Ort::ThrowOnError(status);
        } catch (const Ort::Exception& exception) {
            throw_clean(exception, Phase::run, path_);
        }
    }
    for (const auto index : prepared.unbound) {
        api.ReleaseValue(prepared.raw_outputs[index]);
        prepared.raw_outputs[index] = nullptr;
    }
}

Json OrtSession::facts() const {
    Json result = Json::object({{"runtime", "onnxruntime"},
                                {"version", library_version()},
                                {"build_info", Ort::GetBuildInfoString()},
                                {"toolchain", settings_.provider.toolchain},
                                {"options_effective", describe(settings_)},
                                {"cpu_features", cpu_features()},
                                {"cpu_model", cpu_model()},
                                {"timing_boundary", "host-to-host"},
                                {"libraries", mapped_libraries(library_parts)}});
    Json providers = Json::array({Json(settings_.provider.name)});
    if (!settings_.provider.is_cpu())
        providers.push_back("CPUExecutionProvider");
    result["providers"] = std::move(providers);
    // the calling thread takes part in the work
    result["threads"] = static_cast<std::uint64_t>(threads_started_ + 1);
    result["precision"] =
        Json::object({{"requested", settings_.precision},
                      {"executed", "unknown"},
                      {"learned_by", "nothing: a profile names the types that each node ran on"}});
    note_tf32(settings_, result["precision"]);
    if (!placed_.empty()) {
        Json counts = Json::object();
        std::uint64_t total = 0;
        for (const auto& [name, count] : placed_) {
            counts[name] = count;
            total += count;
        }
        const auto own = placed_.find(std::string(settings_.provider.name));
        result["placement"] = Json::object(
            {{"nodes_total", total},
             {"nodes_on_requested", own == placed_.end() ? std::uint64_t{0} : own->second},
             {"providers", std::move(counts)},
             {"learned_by", placement_source_}});
    }
    return result;
}

Json OrtSession::profile(const NamedTensors& inputs) {
    match_inputs(inputs_, inputs);
    const TemporaryFolder folder("requal-profile");
    auto options = session_options(settings_);
    const auto prefix = folder.path() + "/nodes";
    options.EnableProfiling(prefix.c_str());
    // the loaded session was made without profiling, so that its runs are not slowed by it
    Ort::Session plain = std::exchange(session_, Ort::Session(nullptr));
    std::string file;
    try {
        session_ = create_session(path_, options);
        for (int index = 0; index < 1 + profiled_runs; ++index)
            run(inputs);
        Ort::AllocatorWithDefaultOptions allocator;
        file = session_.EndProfilingAllocated(allocator).get();
    } catch (...) {
        session_ = std::move(plain);
        throw;
    }
    session_ = std::move(plain);
    auto profile = read_profile(read_file(file), profiled_runs);
    profile.document["precision"]["requested"] = settings_.precision;
    note_tf32(settings_, profile.document["precision"]);
    placed_ = profile.nodes_by_provider;
    placement_source_ = "profile";
    return profile.document;
}

}  // namespace requal::toolchain::ort
