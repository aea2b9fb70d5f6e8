#include "toolchain/runners/scripted/script.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace requal::scripted {

namespace {

constexpr std::uint64_t script_limit_bytes = std::uint64_t{64} << 20;

constexpr std::array<std::string_view, 18> wrong_kinds{"drift",
                                                       "slow",
                                                       "pause",
                                                       "second_mode",
                                                       "fallback",
                                                       "aliased_outputs",
                                                       "stale_outputs",
                                                       "crash",
                                                       "hang",
                                                       "flood",
                                                       "not_finite",
                                                       "batch_position",
                                                       "nondeterministic",
                                                       "memory_growth",
                                                       "build_failure",
                                                       "load_failure",
                                                       "precision",
                                                       "build_variation"};
constexpr std::array<std::string_view, 5> ops{"affine", "relu", "sum", "mix", "add"};

/// Refuses members that nobody reads: a misspelt wrongness would prove nothing.
void allow_keys(const Json& object, std::initializer_list<std::string_view> known,
                const std::string& where) {
    for (const auto& [key, value] : object.as_object()) {
        (void)value;
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            throw Error(ErrorKind::input, "unknown key " + key, where);
        }
    }
}

Layer read_layer(const Json& item, const std::string& previous, const std::string& where) {
    allow_keys(item, {"name", "op", "inputs", "factor", "offset", "axis", "seed"}, where);
    Layer layer;
    layer.name = item.at("name").as_string();
    layer.op = item.at("op").as_string();
    if (std::find(ops.begin(), ops.end(), layer.op) == ops.end()) {
        throw Error(ErrorKind::input, "there is no operator " + layer.op, where);
    }
    if (item.has("inputs")) {
        for (const Json& input : item.at("inputs").as_array()) {
            layer.inputs.push_back(input.as_string());
        }
    } else {
        layer.inputs.push_back(previous);
    }
    if (layer.inputs.size() != (layer.op == "add" ? 2U : 1U)) {
        throw Error(ErrorKind::input, "wrong number of inputs of layer " + layer.name, where);
    }
    layer.factor = item.has("factor") ? static_cast<float>(item.at("factor").as_number()) : 1.0F;
    layer.offset = item.has("offset") ? static_cast<float>(item.at("offset").as_number()) : 0.0F;
    layer.axis = item.has("axis") ? item.at("axis").as_integer() : 1;
    layer.seed = item.has("seed") ? item.at("seed").as_integer() : 1;
    return layer;
}

toolchain::Port read_port(const Json& item, const std::string& where) {
    allow_keys(item, {"name", "type", "shape"}, where);
    toolchain::Port port;
    port.name = item.at("name").as_string();
    port.type =
        item.has("type") ? parse_element_type(item.at("type").as_string()) : ElementType::float32;
    for (const Json& dimension : item.at("shape").as_array()) {
        port.shape.push_back(dimension.as_integer());
    }
    return port;
}

Wrong read_wrong(const Json& item, const std::string& where) {
    allow_keys(item, {"kind",          "in",      "layer",    "relative", "from_run", "from_minute",
                      "extra_ms",      "at_run",  "at",       "ms",       "every",    "node",
                      "provider",      "what",    "output",   "element",  "value",    "position",
                      "bytes_per_run", "message", "executes", "reports"},
               where);
    Wrong wrong;
    wrong.kind = item.at("kind").as_string();
    wrong.members = item;
    if (std::find(wrong_kinds.begin(), wrong_kinds.end(), wrong.kind) == wrong_kinds.end()) {
        throw Error(ErrorKind::input, "there is no wrongness " + wrong.kind, where);
    }
    return wrong;
}

void read_model(Script& script, const Json& model, const std::string& where) {
    allow_keys(model,
               {"scripted", "inputs", "outputs", "layers", "wrongness", "latency_ms", "comment"},
               where);
    if (model.at("scripted").as_integer() != 1) {
        throw Error(ErrorKind::input, "it is no scripted model of version 1", where);
    }
    script.model = model;
    script.latency_ms = model.has("latency_ms") ? model.at("latency_ms").as_number() : 0;
    std::set<std::string, std::less<>> known;
    for (const Json& item : model.at("inputs").as_array()) {
        script.inputs.push_back(read_port(item, where));
        known.insert(script.inputs.back().name);
    }
    if (script.inputs.empty()) {
        throw Error(ErrorKind::input, "a model needs an input", where);
    }
    std::string previous = script.inputs.front().name;
    for (const Json& item : model.at("layers").as_array()) {
        script.layers.push_back(read_layer(item, previous, where));
        const Layer& layer = script.layers.back();
        for (const std::string& input : layer.inputs) {
            if (!known.contains(input)) {
                throw Error(ErrorKind::input,
                            "layer " + layer.name + " reads " + input +
                                ", which is no input or earlier layer",
                            where);
            }
        }
        if (!known.insert(layer.name).second) {
            throw Error(ErrorKind::input, "the name " + layer.name + " is used twice", where);
        }
        previous = layer.name;
    }
    for (const Json& item : model.at("outputs").as_array()) {
        allow_keys(item, {"name", "from", "type"}, where);
        Output output;
        output.name = item.at("name").as_string();
        output.from = item.has("from") ? item.at("from").as_string() : output.name;
        output.type = item.has("type") ? parse_element_type(item.at("type").as_string())
                                       : ElementType::float32;
        if (!known.contains(output.from)) {
            throw Error(ErrorKind::input,
                        "output " + output.name + " comes from " + output.from +
                            ", which is no layer",
                        where);
        }
        script.outputs.push_back(std::move(output));
    }
    if (model.has("wrongness")) {
        for (const Json& item : model.at("wrongness").as_array()) {
            Wrong wrong = read_wrong(item, where);
            const std::string in = wrong.text("in", "both");
            if (in == "both" || in == (script.is_engine ? "engine" : "model") ||
                wrong.kind == "build_failure" || wrong.kind == "build_variation") {
                script.wrongness.push_back(std::move(wrong));
            }
        }
    }
}

}  // namespace

std::int64_t Wrong::integer(std::string_view key, std::int64_t fallback) const {
    return members.has(key) ? members.at(key).as_integer() : fallback;
}

double Wrong::number(std::string_view key, double fallback) const {
    return members.has(key) ? members.at(key).as_number() : fallback;
}

std::string Wrong::text(std::string_view key, const std::string& fallback) const {
    return members.has(key) ? members.at(key).as_string() : fallback;
}

const Wrong* Script::find(std::string_view kind) const {
    const auto found = std::find_if(wrongness.begin(), wrongness.end(),
                                    [kind](const Wrong& wrong) { return wrong.kind == kind; });
    return found == wrongness.end() ? nullptr : &*found;
}

Script read_script(const std::string& path) {
    const std::string beside = path + ".scripted.json";
    const std::string source = file_exists(beside) ? beside : path;
    const Json document = parse_json(read_file(source, script_limit_bytes), source);
    Script script;
    try {
        if (document.has("scripted_engine")) {
            allow_keys(document, {"scripted_engine", "built_with", "model", "salt"}, source);
            script.is_engine = true;
            script.built_with = document.at("built_with");
            read_model(script, document.at("model"), source);
        } else {
            read_model(script, document, source);
        }
    } catch (const Error& error) {
        throw Error(ErrorKind::input, error.message(), source, error.next());
    }
    return script;
}

std::string engine_bytes(const Script& script, const Json& options) {
    Json engine =
        Json::object({{"scripted_engine", 1}, {"built_with", options}, {"model", script.model}});
    if (script.find("build_variation") != nullptr) {
        engine["salt"] = static_cast<std::int64_t>(std::random_device{}());
    }
    return write_json(engine);
}

}  // namespace requal::scripted
