// ONNX models, by walking the wire format of onnx.proto (field numbers: onnx/onnx.proto, ONNX 1.16 and later).
// Protocol Buffers have no magic number: a model is what reads to its end as a ModelProto with an IR version and a graph.
// Nodes EPContext hold another runtime's compiled engine, or name the file that does: their attributes are those of
// docs/execution-providers/EP-Context-Design.md of microsoft/onnxruntime.
#include <algorithm>
#include <map>
#include <set>

#include "artifact/onnx_types.h"
#include "artifact/recognise.h"
#include "artifact/wire.h"

namespace requal::artifact {

namespace {

constexpr std::size_t list_limit = 1000;  // entries of one list that are shown
constexpr std::size_t context_limit = 100;

struct Port {
    std::string name;
    std::string type;
    Json shape;  // null: not given
};

struct Onnx {
    std::int64_t ir_version = 0;
    std::string producer_name, producer_version, domain, graph_name;
    std::int64_t model_version = 0;
    std::map<std::string, std::int64_t> opsets;
    std::map<std::string, std::uint64_t> operators;  // of the main graph
    std::map<std::string, std::string> metadata;
    std::vector<Port> inputs, outputs;
    std::uint64_t input_count = 0, output_count = 0;
    std::set<std::string> initializer_names;
    std::set<std::string> external_files, context_files;
    Json contexts = Json::array();
    std::vector<std::string> damage, oddities;  // of the engines inside
    std::uint64_t nodes = 0, initializers = 0, external = 0, functions = 0, context_nodes = 0;
    bool graph = false;
};

std::string operator_domain(const std::string& domain) {
    return domain.empty() ? "ai.onnx" : domain;
}

void read_shape(const ByteSource& source, const WireField& field, Port& port) {
    port.shape = Json::array();
    WireField dimension;
    for (WireReader shape(source, field); shape.next(dimension);) {
        if (dimension.number != 1)
            continue;
        Json value;  // null: a dynamic axis without a name
        WireField part;
        for (WireReader parts(source, dimension); parts.next(part);) {
            if (part.number == 1) {
                part.require_type(0);
                value = Json(static_cast<std::int64_t>(part.value));
            } else if (part.number == 2) {
                value = Json(wire_text(source, part, 200));
            }
        }
        if (port.shape.size() < list_limit)
            port.shape.push_back(value);
    }
}

void read_type(const ByteSource& source, const WireField& field, Port& port) {
    WireField kind;
    for (WireReader kinds(source, field); kinds.next(kind);) {
        switch (kind.number) {
        case 1: {
            WireField part;
            for (WireReader tensor(source, kind); tensor.next(part);) {
                if (part.number == 1) {
                    part.require_type(0);
                    port.type = onnx_type_name(part.value);
                } else if (part.number == 2) {
                    read_shape(source, part, port);
                }
            }
            break;
        }
        case 4:
            port.type = "sequence";
            break;
        case 5:
            port.type = "map";
            break;
        case 8:
            port.type = "sparse_tensor";
            break;
        case 9:
            port.type = "optional";
            break;
        default:
            break;
        }
    }
}

Port read_port(const ByteSource& source, const WireField& field) {
    Port port;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        if (part.number == 1)
            port.name = wire_text(source, part);
        else if (part.number == 2)
            read_type(source, part, port);
    }
    return port;
}

std::pair<std::string, std::string> read_entry(const ByteSource& source, const WireField& field) {
    std::pair<std::string, std::string> entry;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        if (part.number == 1)
            entry.first = wire_text(source, part);
        else if (part.number == 2)
            entry.second = wire_text(source, part);
    }
    return entry;
}

// Attributes of one EPContext node. `ep_cache_context` is the engine itself or the name of its file, as embed_mode says.
Json read_context(const ByteSource& source, const WireField& node, Onnx& model) {
    static constexpr std::string_view texts[] = {"ep_sdk_version",
                                                 "hardware_architecture",
                                                 "onnx_model_filename",
                                                 "partition_name",
                                                 "source",
                                                 "notes"};
    Json context = Json::object();
    std::optional<WireField> cache;
    std::int64_t embed_mode = 1;  // the operator's default
    WireField attribute;
    for (WireReader attributes(source, node); attributes.next(attribute);) {
        if (attribute.number != 5)
            continue;
        std::string name;
        std::int64_t number = 0;
        std::optional<WireField> content;
        WireField part;
        for (WireReader parts(source, attribute); parts.next(part);) {
            if (part.number == 1) {
                name = wire_text(source, part, 200);
            } else if (part.number == 3) {
                part.require_type(0);
                number = static_cast<std::int64_t>(part.value);
            } else if (part.number == 4) {
                part.require_type(2);
                content = part;
            }
        }
        if (name == "ep_cache_context")
            cache = content;
        else if (name == "embed_mode")
            embed_mode = number;
        else if (name == "main_context" || name == "max_size")
            context[name] = number;
        else if (content && std::find(std::begin(texts), std::end(texts), name) != std::end(texts))
            context[name] = wire_text(source, *content, 1000);
    }
    context["embed_mode"] = embed_mode;
    if (!cache)
        return context;
    if (embed_mode == 0) {
        const std::string file = wire_text(source, *cache, 4096);
        context["ep_cache_context"] = file;
        if (model.context_files.size() < list_limit)
            model.context_files.insert(file);
        return context;
    }
    const ByteSource engine = source.part(cache->begin, cache->end - cache->begin);
    Json inside = Json::object({{"size_bytes", Json(engine.size())}, {"kind", "unknown"}});
    if (const auto found = recognise_inside(engine)) {
        inside["kind"] = found->kind;
        inside["recorded"] = found->recorded;
        for (const std::string& text : found->damage)
            model.damage.push_back("the engine inside: " + text);
        for (const std::string& text : found->oddities)
            model.oddities.push_back("the engine inside: " + text);
    }
    context["inside"] = std::move(inside);
    return context;
}

void read_node(const ByteSource& source, const WireField& field, Onnx& model) {
    std::string op, domain;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        if (part.number == 4)
            op = wire_text(source, part, 200);
        else if (part.number == 7)
            domain = wire_text(source, part, 200);
    }
    ++model.nodes;
    if (op == "EPContext" && domain == "com.microsoft") {
        ++model.context_nodes;
        if (model.contexts.size() < context_limit)
            model.contexts.push_back(read_context(source, field, model));
    }
    std::string name = domain.empty() || domain == "ai.onnx" ? op : domain + ":" + op;
    if (model.operators.size() < list_limit || model.operators.contains(name))
        ++model.operators[name];
}

void read_initializer(const ByteSource& source, const WireField& field, Onnx& model) {
    ++model.initializers;
    bool external = false;
    std::string name, location;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        if (part.number == 8) {
            name = wire_text(source, part);
        } else if (part.number == 13) {
            auto [key, value] = read_entry(source, part);
            if (key == "location")
                location = value;
        } else if (part.number == 14) {
            part.require_type(0);
            external = part.value == 1;
        }
    }
    if (model.initializer_names.size() < 100'000)
        model.initializer_names.insert(name);
    if (external) {
        ++model.external;
        if (model.external_files.size() < list_limit)
            model.external_files.insert(location);
    }
}

void read_graph(const ByteSource& source, const WireField& field, Onnx& model) {
    model.graph = true;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        switch (part.number) {
        case 1:
            read_node(source, part, model);
            break;
        case 2:
            model.graph_name = wire_text(source, part);
            break;
        case 5:
            read_initializer(source, part, model);
            break;
        case 11:
            ++model.input_count;
            if (model.inputs.size() < list_limit)
                model.inputs.push_back(read_port(source, part));
            break;
        case 12:
            ++model.output_count;
            if (model.outputs.size() < list_limit)
                model.outputs.push_back(read_port(source, part));
            break;
        case 10:
        case 13:
        case 14:
        case 15:
        case 16:
            part.require_type(2);
            break;
        default:
            throw MalformedWire{part.offset, "a graph has no field " + std::to_string(part.number)};
        }
    }
}

void read_opset(const ByteSource& source, const WireField& field, Onnx& model) {
    std::string domain;
    std::int64_t version = 0;
    WireField part;
    for (WireReader parts(source, field); parts.next(part);) {
        if (part.number == 1) {
            domain = wire_text(source, part, 200);
        } else if (part.number == 2) {
            part.require_type(0);
            version = static_cast<std::int64_t>(part.value);
        }
    }
    if (model.opsets.size() < list_limit)
        model.opsets[operator_domain(domain)] = version;
}

void read_model(const ByteSource& source, Onnx& model) {
    WireField field;
    for (WireReader fields(source, 0, source.size()); fields.next(field);) {
        switch (field.number) {
        case 1:
            field.require_type(0);
            model.ir_version = static_cast<std::int64_t>(field.value);
            if (model.ir_version < 1 || model.ir_version > 1000)
                throw MalformedWire{field.offset, "an IR version that does not exist"};
            break;
        case 2:
            model.producer_name = wire_text(source, field);
            break;
        case 3:
            model.producer_version = wire_text(source, field);
            break;
        case 4:
            model.domain = wire_text(source, field);
            break;
        case 5:
            field.require_type(0);
            model.model_version = static_cast<std::int64_t>(field.value);
            break;
        case 6:
        case 20:
        case 26:
            field.require_type(2);
            break;
        case 7:
            field.require_type(2);
            read_graph(source, field, model);
            break;
        case 8:
            read_opset(source, field, model);
            break;
        case 14:
            if (model.metadata.size() < list_limit)
                model.metadata.insert(read_entry(source, field));
            break;
        case 25:
            field.require_type(2);
            ++model.functions;
            break;
        default:
            throw MalformedWire{field.offset,
                                "a model has no field " + std::to_string(field.number)};
        }
    }
}

Json ports_json(const std::vector<Port>& ports, const std::set<std::string>* hidden) {
    Json list = Json::array();
    for (const Port& port : ports) {
        if (hidden != nullptr && hidden->contains(port.name))
            continue;  // before IR 4 initializers stand among the inputs
        list.push_back(Json::object({{"name", port.name},
                                     {"type", port.type.empty() ? Json() : Json(port.type)},
                                     {"shape", port.shape}}));
    }
    return list;
}

void set_text(Json& recorded, std::string_view key, const std::string& value) {
    if (!value.empty())
        recorded[key] = value;
}

Recognised describe(const Onnx& model) {
    Recognised result;
    // a model whose node is another runtime's compiled engine
    result.kind = model.context_nodes > 0 ? "ort-ep-context" : "onnx";
    Json& recorded = result.recorded;
    recorded["ir_version"] = model.ir_version;
    set_text(recorded, "producer_name", model.producer_name);
    set_text(recorded, "producer_version", model.producer_version);
    set_text(recorded, "domain", model.domain);
    if (model.model_version != 0)
        recorded["model_version"] = model.model_version;
    set_text(recorded, "graph_name", model.graph_name);
    recorded["opsets"] = Json::object();
    for (const auto& [domain, version] : model.opsets)
        recorded["opsets"][domain] = version;
    recorded["nodes"] = model.nodes;
    recorded["operators"] = Json::object();
    for (const auto& [op, count] : model.operators)
        recorded["operators"][op] = count;
    recorded["initializers"] = model.initializers;
    if (model.functions > 0)
        recorded["functions"] = model.functions;
    if (model.external > 0) {
        recorded["initializers_external"] = model.external;
        recorded["external_files"] = Json::array();
        for (const std::string& file : model.external_files)
            recorded["external_files"].push_back(file);
    }
    recorded["inputs"] = ports_json(model.inputs, &model.initializer_names);
    recorded["outputs"] = ports_json(model.outputs, nullptr);
    if (model.input_count > model.inputs.size() || model.output_count > model.outputs.size())
        result.oddities.push_back("only the first " + std::to_string(list_limit) +
                                  " inputs and outputs are listed");
    if (!model.metadata.empty()) {
        recorded["metadata"] = Json::object();
        for (const auto& [key, value] : model.metadata)
            recorded["metadata"][key] = value;
    }
    if (model.producer_name.empty())
        result.unknown.push_back("producer_name");
    if (model.opsets.empty())
        result.unknown.push_back("opsets");
    for (const std::string& file : model.external_files)
        result.files.push_back({file, "weights"});
    if (result.kind == "onnx")
        return result;
    recorded["contexts"] = model.contexts;
    for (const std::string& file : model.context_files)
        result.files.push_back({file, "context"});
    for (const std::string& text : model.damage)
        if (result.damage.size() < 20)
            result.damage.push_back(text);
    for (const std::string& text : model.oddities)
        if (result.oddities.size() < 20)
            result.oddities.push_back(text);
    if (model.context_nodes > model.contexts.size())
        result.oddities.push_back("only the first " + std::to_string(context_limit) +
                                  " contexts are listed");
    // these attributes are optional: the runtime that made the engine may not say what it was
    for (const char* key : {"source", "ep_sdk_version", "hardware_architecture"}) {
        const auto& contexts = model.contexts.as_array();
        if (std::any_of(contexts.begin(), contexts.end(), [&](const Json& context) {
                return !context.has(key) || context.at(key).as_string().empty();
            }))
            result.unknown.push_back(key);
    }
    result.unknown.push_back("precision");
    return result;
}

std::optional<Recognised> recognise_onnx(const ByteSource& source) {
    const std::string_view head = source.view(0, 2);
    // every writer begins with the lowest field that is set: the IR version (1) as a varint
    if (head.size() < 2 || head[0] != 0x08)
        return std::nullopt;
    Onnx model;
    try {
        read_model(source, model);
    } catch (const MalformedWire& malformed) {
        // enough was read to say what it began as
        const bool began = model.ir_version > 0 &&
                           (model.graph || !model.producer_name.empty() || !model.opsets.empty());
        if (!began)
            return std::nullopt;
        Recognised damaged;
        damaged.damage.push_back("begins as an ONNX model and is damaged at byte " +
                                 std::to_string(malformed.offset) + ": " + malformed.what);
        return damaged;
    }
    if (model.ir_version == 0 || (!model.graph && model.functions == 0))
        return std::nullopt;
    return describe(model);
}

}  // namespace

std::vector<NamedRecogniser> recognisers_onnx() {
    return {{"onnx", recognise_onnx}};
}

}  // namespace requal::artifact
