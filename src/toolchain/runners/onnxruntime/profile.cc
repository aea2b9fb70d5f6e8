#include "toolchain/runners/onnxruntime/profile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/error.h"

namespace requal::toolchain::ort {
namespace {

struct Node {
    std::string name, op, provider, type;
    std::int64_t order = 0;
    std::int64_t total_us = 0;
};

/// "float16" of the profile is "f16" in our words.
std::string short_type(std::string_view type) {
    if (type == "float")
        return "f32";
    if (type == "float16")
        return "f16";
    if (type == "bfloat16")
        return "bf16";
    if (type == "double")
        return "f64";
    if (type == "int8")
        return "i8";
    if (type == "uint8")
        return "u8";
    return std::string(type);
}

/// Type of the first input, in the runtime's word; "" when the node has none.
std::string first_type(const Json& arguments) {
    const auto& inputs = arguments.get("input_type_shape");
    if (!inputs.is_array() || inputs.size() == 0)
        return {};
    const auto& first = inputs.as_array().front();
    if (!first.is_object() || first.size() == 0)
        return {};
    return first.as_object().begin()->first;
}

bool computes(std::string_view op) {
    constexpr std::array<std::string_view, 9> parts = {
        "Conv", "Gemm", "MatMul", "LSTM", "GRU", "RNN", "Attention", "Einsum", "SkipLayerNorm"};
    return std::any_of(
               parts.begin(), parts.end(),
               [&](std::string_view part) { return op.find(part) != std::string_view::npos; }) &&
           op.find("ConvInteger") == std::string_view::npos;
}

std::int64_t number_in(const Json& value) {
    if (!value.is_string())
        return value.is_integer() ? value.as_integer() : 0;
    std::int64_t number = 0;
    const auto& text = value.as_string();
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// When the first run, which is left out, had ended (microseconds of the profile's clock).
std::int64_t end_of_first_run(const Json::Array& events) {
    std::int64_t first_start = -1, end = 0;
    for (const auto& event : events) {
        if (!event.get("name").is_string() || event.get("name").as_string() != "model_run")
            continue;
        const auto start = event.get("ts").as_integer();
        if (first_start < 0 || start < first_start) {
            first_start = start;
            end = start + event.get("dur").as_integer();
        }
    }
    return end;
}

}  // namespace

Profile read_profile(std::string_view text, int runs) {
    Profile result;
    std::map<std::string, Node> nodes;
    try {
        const auto json = parse_json(text, "profile");
        const auto& events = json.as_array();
        const auto begin = end_of_first_run(events);
        constexpr std::string_view suffix = "_kernel_time";
        for (const auto& event : events) {
            if (!event.get("cat").is_string() || event.get("cat").as_string() != "Node")
                continue;
            std::string_view name = event.get("name").as_string();
            if (!name.ends_with(suffix) || event.get("ts").as_integer() < begin)
                continue;
            name.remove_suffix(suffix.size());
            const auto& arguments = event.get("args");
            const auto& op = arguments.get("op_name");
            const auto& provider = arguments.get("provider");
            const auto order = number_in(arguments.get("node_index"));
            auto& node = nodes[std::string(name) + '\n' + std::to_string(order)];
            if (node.op.empty()) {
                node.op = op.is_string() ? op.as_string() : "?";
                node.name =
                    name.empty() ? node.op + "#" + std::to_string(order) : std::string(name);
                node.provider = provider.is_string() ? provider.as_string() : "?";
                node.type = short_type(first_type(arguments));
                node.order = order;
            }
            node.total_us += event.get("dur").as_integer();
        }
    } catch (const Error& error) {
        throw Error(ErrorKind::toolchain,
                    "the runtime's profile cannot be read: " + error.message());
    }
    std::vector<const Node*> ordered;
    for (const auto& [key, node] : nodes)
        ordered.push_back(&node);
    std::stable_sort(ordered.begin(), ordered.end(), [](const Node* left, const Node* right) {
        return left->order < right->order;
    });
    Json list = Json::array();
    for (const auto* node : ordered) {
        ++result.nodes_by_provider[node->provider];
        if (computes(node->op) && !node->type.empty())
            ++result.compute_nodes_by_type[node->type];
        list.push_back(Json::object({{"name", node->name},
                                     {"op", node->op},
                                     {"provider", node->provider},
                                     {"type", node->type.empty() ? Json() : Json(node->type)},
                                     {"time_ms", static_cast<double>(node->total_us) / 1000.0 /
                                                     static_cast<double>(runs)}}));
    }
    Json providers = Json::object();
    for (const auto& [name, count] : result.nodes_by_provider)
        providers[name] = count;
    Json types = Json::object();
    for (const auto& [name, count] : result.compute_nodes_by_type)
        types[name] = count;
    result.document =
        Json::object({{"nodes", std::move(list)},
                      {"runs", runs},
                      {"providers", std::move(providers)},
                      {"precision", Json::object({{"requested", "default"},
                                                  {"executed", executed_precision(result)},
                                                  {"layers", std::move(types)},
                                                  {"learned_by", "per-layer list"}})}});
    return result;
}

std::string executed_precision(const Profile& profile) {
    if (profile.compute_nodes_by_type.empty())
        return "unknown";
    return profile.compute_nodes_by_type.size() == 1 ? profile.compute_nodes_by_type.begin()->first
                                                     : "mixed";
}

}  // namespace requal::toolchain::ort
