// ONNX Runtime's own format: a FlatBuffer with the identifier ORTM in bytes 4 to 7.
// Layout: onnxruntime/core/flatbuffers/schema/ort.fbs of microsoft/onnxruntime (field numbers below are positions there).
#include <map>
#include <set>

#include "artifact/flatbuffer.h"
#include "artifact/onnx_types.h"
#include "artifact/recognise.h"

namespace requal::artifact {

namespace {

constexpr std::uint64_t list_limit = 1000;
constexpr std::uint64_t node_limit = 1'000'000;

void set_text(Json& recorded, std::string_view key, const std::string& value) {
    if (!value.empty())
        recorded[key] = value;
}

Json shape_of(const FlatTable& tensor_type) {
    const auto shape = tensor_type.table(1);
    if (!shape)
        return Json();
    Json axes = Json::array();
    const FlatVector dimensions = shape->vector(0, 4);
    for (std::uint64_t i = 0; i < dimensions.count && i < 64; ++i) {
        const auto value = shape->table_at(dimensions, i).table(0);
        const std::uint64_t kind = value ? value->number(0, 1) : 0;
        if (kind == 1)
            axes.push_back(static_cast<std::int64_t>(value->number(1, 8)));
        else if (kind == 2)
            axes.push_back(value->text(2, 200));
        else
            axes.push_back(Json());
    }
    return axes;
}

// node_args holds all values of the graph; those that are inputs or outputs are described
std::map<std::string, Json> describe_values(const FlatTable& graph,
                                            const std::set<std::string>& wanted) {
    std::map<std::string, Json> found;
    const FlatVector values = graph.vector(1, 4);
    for (std::uint64_t i = 0; i < values.count && i < node_limit; ++i) {
        const FlatTable value = graph.table_at(values, i);
        const std::string name = value.text(0);
        if (!wanted.contains(name))
            continue;
        Json port = Json::object({{"name", name}, {"type", Json()}, {"shape", Json()}});
        if (const auto type = value.table(2)) {
            const std::uint64_t which = type->number(1, 1);
            const auto content = type->table(2);
            if (which == 1 && content) {
                port["type"] = onnx_type_name(content->number(0, 4));
                port["shape"] = shape_of(*content);
            } else if (which == 2 || which == 3) {
                port["type"] = which == 2 ? "sequence" : "map";
            }
        }
        found[name] = port;
    }
    return found;
}

std::vector<std::string> names_of(const FlatTable& graph, unsigned field) {
    std::vector<std::string> names;
    const FlatVector list = graph.vector(field, 4);
    for (std::uint64_t i = 0; i < list.count && i < list_limit; ++i)
        names.push_back(graph.text_at(list, i));
    return names;
}

Json ports_of(const std::vector<std::string>& names, const std::map<std::string, Json>& described) {
    Json ports = Json::array();
    for (const std::string& name : names) {
        const auto found = described.find(name);
        ports.push_back(found != described.end()
                            ? found->second
                            : Json::object({{"name", name}, {"type", Json()}, {"shape", Json()}}));
    }
    return ports;
}

void read_graph(const FlatTable& graph, Recognised& result) {
    Json& recorded = result.recorded;
    std::map<std::string, std::uint64_t> operators, providers;
    const FlatVector nodes = graph.vector(2, 4);
    for (std::uint64_t i = 0; i < nodes.count && i < node_limit; ++i) {
        const FlatTable node = graph.table_at(nodes, i);
        const std::string domain = node.text(2, 200), op = node.text(5, 200);
        const std::string name = domain.empty() || domain == "ai.onnx" ? op : domain + ":" + op;
        if (operators.size() < list_limit || operators.contains(name))
            ++operators[name];
        const std::string provider = node.text(7, 200);
        if (!provider.empty() && (providers.size() < 100 || providers.contains(provider)))
            ++providers[provider];
    }
    if (nodes.count > node_limit)
        result.oddities.push_back("only the first " + std::to_string(node_limit) +
                                  " nodes were read");
    recorded["nodes"] = nodes.count;
    recorded["operators"] = Json::object();
    for (const auto& [name, count] : operators)
        recorded["operators"][name] = count;
    if (!providers.empty())
        recorded["node_providers"] = Json::object();
    for (const auto& [name, count] : providers)
        recorded["node_providers"][name] = count;
    recorded["initializers"] = graph.vector(0, 4).count;
    const std::vector<std::string> inputs = names_of(graph, 5), outputs = names_of(graph, 6);
    std::set<std::string> wanted(inputs.begin(), inputs.end());
    wanted.insert(outputs.begin(), outputs.end());
    const auto described = describe_values(graph, wanted);
    recorded["inputs"] = ports_of(inputs, described);
    recorded["outputs"] = ports_of(outputs, described);
    recorded["runtime_optimizations"] = graph.has(8);
}

void read_model(const FlatTable& model, Recognised& result) {
    Json& recorded = result.recorded;
    recorded["ir_version"] = static_cast<std::int64_t>(model.number(0, 8));
    recorded["opsets"] = Json::object();
    const FlatVector opsets = model.vector(1, 4);
    for (std::uint64_t i = 0; i < opsets.count && i < list_limit; ++i) {
        const FlatTable opset = model.table_at(opsets, i);
        const std::string domain = opset.text(0, 200);
        recorded["opsets"][domain.empty() ? "ai.onnx" : domain] =
            static_cast<std::int64_t>(opset.number(1, 8));
    }
    set_text(recorded, "producer_name", model.text(2));
    set_text(recorded, "producer_version", model.text(3));
    set_text(recorded, "domain", model.text(4));
    if (const std::uint64_t version = model.number(5, 8); version != 0)
        recorded["model_version"] = static_cast<std::int64_t>(version);
    if (const auto graph = model.table(7))
        read_graph(*graph, result);
    else
        result.damage.push_back("the model has no graph");
    const FlatVector metadata = model.vector(9, 4);
    for (std::uint64_t i = 0; i < metadata.count && i < list_limit; ++i) {
        const FlatTable entry = model.table_at(metadata, i);
        recorded["metadata"][entry.text(0)] = entry.text(1);
    }
}

std::optional<Recognised> recognise_ort(const ByteSource& source) {
    if (source.view(4, 4) != "ORTM")
        return std::nullopt;
    Recognised result;
    result.kind = "ort";
    try {
        const FlatTable session = FlatTable::root(source);
        set_text(result.recorded, "ort_format_version", session.text(0, 100));
        if (const auto model = session.table(1))
            read_model(*model, result);
        else
            result.damage.push_back("it holds no model");
    } catch (const MalformedFlat& malformed) {
        Recognised damaged;
        damaged.damage.push_back("begins as an ORT model and is damaged at byte " +
                                 std::to_string(malformed.offset) + ": " + malformed.what);
        return damaged;
    }
    for (const char* key : {"ort_format_version", "producer_name"})
        if (!result.recorded.has(key))
            result.unknown.push_back(key);
    // the release that wrote it, how far it was optimised and for which processor are not written down
    result.unknown.insert(result.unknown.end(),
                          {"runtime_version", "optimization_level", "isa", "source_model"});
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_ort() {
    return {{"ort", recognise_ort}};
}

}  // namespace requal::artifact
