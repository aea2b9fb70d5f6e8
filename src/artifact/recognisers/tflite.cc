// TensorFlow Lite (LiteRT) models: a FlatBuffer with the identifier TFL3 in bytes 4 to 7.
// Layout: tensorflow/compiler/mlir/lite/schema/schema.fbs of tensorflow/tensorflow (field numbers below are positions there).
// `min_runtime_version` is a metadata buffer that the converter writes.
#include <algorithm>
#include <iterator>
#include <map>

#include "artifact/flatbuffer.h"
#include "artifact/recognise.h"
#include "artifact/tflite_operators.h"

namespace requal::artifact {

namespace {

constexpr std::uint64_t list_limit = 1000;
constexpr std::uint64_t walk_limit = 1'000'000;  // operators or tensors of one sub-graph

std::string tensor_type(std::uint64_t code) {
    static constexpr const char* names[] = {
        "float32", "float16",   "int32",  "uint8",   "int64",      "string", "bool",
        "int16",   "complex64", "int8",   "float64", "complex128", "uint64", "resource",
        "variant", "uint32",    "uint16", "int4",    "bfloat16"};
    return code < std::size(names) ? names[code] : "type " + std::to_string(code);
}

std::vector<std::string> operator_names(const FlatTable& model) {
    std::vector<std::string> names;
    const FlatVector codes = model.vector(1, 4);
    for (std::uint64_t i = 0; i < codes.count && i < 10 * list_limit; ++i) {
        const FlatTable code = model.table_at(codes, i);
        // numbers below 127 stand in the old byte, with the new field 0 or equal; 127 says that the new one counts
        const std::uint64_t number = std::max(code.number(0, 1), code.number(3, 4));
        const std::string custom = code.text(1, 200);
        names.push_back(number == 32 && !custom.empty() ? "custom:" + custom
                                                        : tflite_operator_name(number));
    }
    return names;
}

Json port_of(const FlatTable& graph, const FlatVector& tensors, std::uint64_t index) {
    if (index >= tensors.count)
        return Json();
    const FlatTable tensor = graph.table_at(tensors, index);
    Json shape = Json::array();
    // shape_signature has -1 for dynamic axes, which shape shows as 1
    for (const unsigned field : {7U, 0U}) {
        const FlatVector axes = tensor.vector(field, 4);
        for (std::uint64_t i = 0; i < axes.count && i < 64; ++i) {
            const auto axis =
                static_cast<std::int32_t>(static_cast<std::uint32_t>(tensor.number_at(axes, i, 4)));
            shape.push_back(axis < 0 ? Json() : Json(static_cast<std::int64_t>(axis)));
        }
        if (axes.count > 0)
            break;
    }
    return Json::object({{"name", tensor.text(3)},
                         {"type", tensor_type(tensor.number(1, 1))},
                         {"shape", std::move(shape)}});
}

Json ports_of(const FlatTable& graph, const FlatVector& tensors, unsigned field) {
    Json ports = Json::array();
    const FlatVector list = graph.vector(field, 4);
    for (std::uint64_t i = 0; i < list.count && i < list_limit; ++i) {
        Json port = port_of(graph, tensors, graph.number_at(list, i, 4));
        if (!port.is_null())
            ports.push_back(std::move(port));
    }
    return ports;
}

void read_metadata(const FlatTable& model, const ByteSource& source, Recognised& result) {
    const FlatVector metadata = model.vector(6, 4);
    const FlatVector buffers = model.vector(4, 4);
    Json names = Json::array();
    for (std::uint64_t i = 0; i < metadata.count && i < list_limit; ++i) {
        const FlatTable entry = model.table_at(metadata, i);
        const std::string name = entry.text(0, 200);
        names.push_back(name);
        const std::uint64_t buffer = entry.number(1, 4);
        if (name != "min_runtime_version" || buffer >= buffers.count)
            continue;
        const FlatVector data = model.table_at(buffers, buffer).vector(0, 1);
        std::string version = source.read(
            data.begin, static_cast<std::size_t>(std::min<std::uint64_t>(data.count, 64)));
        version.resize(version.find_first_not_of("0123456789.") == std::string::npos
                           ? version.size()
                           : version.find_first_not_of("0123456789."));
        if (!version.empty())
            result.recorded["min_runtime_version"] = version;
    }
    if (names.size() > 0)
        result.recorded["metadata_names"] = std::move(names);
}

void read_model(const ByteSource& source, Recognised& result) {
    const FlatTable model = FlatTable::root(source);
    Json& recorded = result.recorded;
    recorded["schema_version"] = static_cast<std::int64_t>(model.number(0, 4));
    if (const std::string description = model.text(3); !description.empty())
        recorded["description"] = description;
    const std::vector<std::string> names = operator_names(model);
    std::map<std::string, std::uint64_t> operators, types;
    const FlatVector graphs = model.vector(2, 4);
    std::uint64_t operator_total = 0, tensor_total = 0;
    for (std::uint64_t g = 0; g < graphs.count && g < list_limit; ++g) {
        const FlatTable graph = model.table_at(graphs, g);
        const FlatVector nodes = graph.vector(3, 4);
        const FlatVector tensors = graph.vector(0, 4);
        for (std::uint64_t i = 0; i < nodes.count && operator_total < walk_limit; ++i) {
            const std::uint64_t code = graph.table_at(nodes, i).number(0, 4);
            ++operator_total;
            ++operators[code < names.size() ? names[code] : "operator code out of range"];
        }
        for (std::uint64_t i = 0; i < tensors.count && tensor_total < walk_limit; ++i) {
            ++tensor_total;
            ++types[tensor_type(graph.table_at(tensors, i).number(1, 1))];
        }
        if (g == 0) {
            recorded["inputs"] = ports_of(graph, tensors, 1);
            recorded["outputs"] = ports_of(graph, tensors, 2);
        }
    }
    if (operator_total == walk_limit || tensor_total == walk_limit || graphs.count > list_limit)
        result.oddities.push_back("only a part of its sub-graphs was read");
    recorded["subgraphs"] = graphs.count;
    recorded["nodes"] = operator_total;
    recorded["operators"] = Json::object();
    for (const auto& [name, count] : operators)
        recorded["operators"][name] = count;
    recorded["tensor_types"] = Json::object();
    for (const auto& [name, count] : types)
        recorded["tensor_types"][name] = count;
    read_metadata(model, source, result);
}

std::optional<Recognised> recognise_tflite(const ByteSource& source) {
    if (source.view(4, 4) != "TFL3")
        return std::nullopt;
    Recognised result;
    result.kind = "tflite";
    try {
        read_model(source, result);
    } catch (const MalformedFlat& malformed) {
        Recognised damaged;
        damaged.damage.push_back("begins as a TensorFlow Lite model and is damaged at byte " +
                                 std::to_string(malformed.offset) + ": " + malformed.what);
        return damaged;
    }
    if (!result.recorded.has("min_runtime_version"))
        result.unknown.push_back("min_runtime_version");
    result.unknown.insert(result.unknown.end(), {"converter_version", "source_model"});
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_tflite() {
    return {{"tflite", recognise_tflite}};
}

}  // namespace requal::artifact
