#include "graph/shapes.h"

#include <unordered_set>

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include "base/error.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

bool is_unnamed(const std::string& name) {
    return name.empty() || name == "?";
}

std::vector<std::string> true_inputs(const onnx::GraphProto& graph) {
    std::unordered_set<std::string> initializers;
    for (const auto& tensor : graph.initializer())
        initializers.insert(tensor.name());
    std::vector<std::string> names;
    for (const auto& input : graph.input()) {
        if (initializers.count(input.name()) == 0)
            names.push_back(input.name());
    }
    return names;
}

/// Forgets what the model says of shapes inside; an operator that onnx does not know keeps the shapes of its outputs.
void drop_inner_shapes(onnx::GraphProto& graph) {
    std::unordered_set<std::string> kept;
    for (auto& node : *graph.mutable_node()) {
        if (is_custom(node))
            kept.insert(node.output().begin(), node.output().end());
        for (auto& attribute : *node.mutable_attribute()) {
            if (attribute.has_g())
                drop_inner_shapes(*attribute.mutable_g());
            for (auto& inner : *attribute.mutable_graphs())
                drop_inner_shapes(inner);
        }
    }
    onnx::GraphProto old;
    old.mutable_value_info()->Swap(graph.mutable_value_info());
    for (auto& value : *old.mutable_value_info()) {
        if (kept.count(value.name()) != 0)
            *graph.add_value_info() = std::move(value);
    }
    for (auto& output : *graph.mutable_output()) {
        if (kept.count(output.name()) == 0 && output.type().has_tensor_type())
            output.mutable_type()->mutable_tensor_type()->clear_shape();
    }
}

}  // namespace

bool is_custom(const onnx::NodeProto& node) {
    const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    return known.count(std::string(plain_domain(node.domain()))) == 0;
}

Types::Types(const onnx::GraphProto& graph, const Types* outer) : outer_(outer) {
    for (const auto& tensor : graph.initializer()) {
        auto& type = *initializers_[tensor.name()].mutable_tensor_type();
        type.set_elem_type(tensor.data_type());
        type.mutable_shape();
        for (std::int64_t each : tensor.dims())
            type.mutable_shape()->add_dim()->set_dim_value(each);
    }
    for (const auto& [name, type] : initializers_)
        types_[name] = &type;
    for (const auto* list : {&graph.value_info(), &graph.output(), &graph.input()}) {
        for (const auto& value : *list) {
            if (value.has_type())
                types_.emplace(value.name(), &value.type());
        }
    }
}

const onnx::TypeProto* Types::find(const std::string& name) const {
    for (const Types* each = this; each != nullptr; each = each->outer_) {
        auto found = each->types_.find(name);
        if (found != each->types_.end())
            return found->second;
    }
    return nullptr;
}

std::optional<Shape> Types::shape_of(const std::string& name) const {
    const onnx::TypeProto* type = find(name);
    if (type == nullptr || !type->has_tensor_type() || !type->tensor_type().has_shape())
        return std::nullopt;
    Shape shape;
    for (const auto& each : type->tensor_type().shape().dim()) {
        if (!each.has_dim_value() || each.dim_value() < 0)
            return std::nullopt;
        shape.push_back(each.dim_value());
    }
    return shape;
}

std::string infer_shapes(onnx::ModelProto& light) {
    try {
        // The strict mode says what it found only after it went through the whole graph, so that both are had at once.
        onnx::ShapeInferenceOptions options(/*check_type=*/false, /*strict_mode=*/1,
                                            /*data_prop=*/true);
        onnx::shape_inference::DataValueMap values;
        onnx::shape_inference::InferShapes(light, onnx::OpSchemaRegistry::Instance(), options,
                                           &values);
    } catch (const std::exception& error) {
        std::string text;
        for (char each : std::string_view(error.what()))
            text += each == '\n' ? ' ' : each;
        while (!text.empty() && text.back() == ' ')
            text.pop_back();
        return text;
    }
    return {};
}

void fix_inputs(onnx::ModelProto& light, const std::map<std::string, Shape>& shapes,
                const std::string& source) {
    onnx::GraphProto& graph = *light.mutable_graph();
    std::vector<std::string> names = true_inputs(graph);
    std::string list;
    for (const std::string& name : names)
        list += (list.empty() ? "" : ", ") + name;
    std::unordered_set<std::string> known(names.begin(), names.end());
    for (const auto& [name, shape] : shapes) {
        if (known.count(name) == 0)
            throw Error(ErrorKind::input, "the model has no input '" + name + "'", source,
                        "its inputs are: " + list);
        element_count(shape);
    }
    std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
    for (auto& input : *graph.mutable_input()) {
        auto given = shapes.find(input.name());
        if (given == shapes.end())
            continue;
        const Shape& shape = given->second;
        std::string where = source + ": input '" + input.name() + "'";
        if (!input.type().has_tensor_type())
            throw Error(ErrorKind::input, "it is no tensor and can get no shape", where);
        auto& type = *input.mutable_type()->mutable_tensor_type();
        if (!type.has_shape()) {
            for (std::size_t i = 0; i < shape.size(); ++i)
                type.mutable_shape()->add_dim();
            type.mutable_shape();
        }
        if (static_cast<std::size_t>(type.shape().dim_size()) != shape.size())
            throw Error(ErrorKind::input,
                        "the shape " + text_of(shape) + " has " + std::to_string(shape.size()) +
                            " dimensions, the input has " + std::to_string(type.shape().dim_size()),
                        where);
        for (int i = 0; i < type.shape().dim_size(); ++i) {
            auto& dimension = *type.mutable_shape()->mutable_dim(i);
            std::int64_t value = shape[static_cast<std::size_t>(i)];
            if (dimension.has_dim_value() && dimension.dim_value() != value)
                throw Error(ErrorKind::input,
                            "the shape " + text_of(shape) + " has " + std::to_string(value) +
                                " at axis " + std::to_string(i) + ", which is fixed to " +
                                std::to_string(dimension.dim_value()),
                            where);
            if (!is_unnamed(dimension.dim_param())) {
                auto [place, fresh] =
                    symbols.emplace(dimension.dim_param(), std::pair{value, input.name()});
                if (!fresh && place->second.first != value)
                    throw Error(ErrorKind::input,
                                "axis '" + dimension.dim_param() + "' is " + std::to_string(value) +
                                    " here but " + std::to_string(place->second.first) + " in '" +
                                    place->second.second + "'",
                                where, "axes with the same name have the same length");
            }
            dimension.set_dim_value(value);
        }
    }
    for (auto& input : *graph.mutable_input()) {
        if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
            continue;
        for (auto& each :
             *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
            auto symbol = symbols.find(each.dim_param());
            if (each.has_dim_param() && symbol != symbols.end())
                each.set_dim_value(symbol->second.first);
        }
    }
    drop_inner_shapes(graph);
}

}  // namespace requal::graph
