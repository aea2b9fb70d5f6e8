// Shape arithmetic with known values, folded so that shape inference sees the results. onnx's own data propagation stops at
// negative values (a -1 joined to a known dimension, as paddle2onnx writes it) and where an operator is missing.
#include <algorithm>
#include <unordered_map>

#include "graph/shapes.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

constexpr std::size_t values_limit = 64;  // of shapes, axes, starts: more are no shape arithmetic
constexpr int rounds_limit = 32;

/// A known scalar or vector of integers.
struct Integers {
    std::vector<std::int64_t> values;
    bool scalar = false;
    std::int32_t type = onnx::TensorProto::INT64;
};
using Known = std::unordered_map<std::string, Integers>;
using Folded = std::optional<Integers>;

bool is_integer(std::int32_t type) {
    return type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32;
}

Folded read_tensor(const onnx::TensorProto& tensor) {
    if (!is_integer(tensor.data_type()) || tensor.dims_size() > 1)
        return std::nullopt;
    std::optional<std::uint64_t> count = element_count_of(tensor);
    if (!count || *count > values_limit)
        return std::nullopt;
    Integers result;
    result.scalar = tensor.dims_size() == 0;
    result.type = tensor.data_type();
    bool wide = tensor.data_type() == onnx::TensorProto::INT64;
    if (!tensor.raw_data().empty()) {
        std::size_t width = wide ? 8 : 4;
        if (tensor.raw_data().size() != *count * width)
            return std::nullopt;
        for (std::size_t at = 0; at < tensor.raw_data().size(); at += width) {
            std::uint64_t bits = 0;
            for (std::size_t i = width; i-- > 0;)
                bits = bits << 8 | static_cast<std::uint8_t>(tensor.raw_data()[at + i]);
            result.values.push_back(
                wide ? static_cast<std::int64_t>(bits)
                     : static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
        }
    } else if (wide) {
        result.values.assign(tensor.int64_data().begin(), tensor.int64_data().end());
    } else {
        result.values.assign(tensor.int32_data().begin(), tensor.int32_data().end());
    }
    if (result.values.size() != *count)
        return std::nullopt;
    return result;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, std::string_view name,
                               std::int64_t otherwise) {
    for (const auto& each : node.attribute()) {
        if (each.name() == name)
            return each.i();
    }
    return otherwise;
}

class Folder {
public:
    Folder(const Types& types, Known& known) : types_(types), known_(known) {}

    Folded value_of(const onnx::NodeProto& node) const {
        const std::string& op = node.op_type();
        if (op == "Constant")
            return constant(node);
        if (op == "Shape")
            return shape(node);
        if (op == "Concat")
            return concat(node);
        if (op == "Slice")
            return slice(node);
        if (op == "Gather")
            return gather(node);
        if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div")
            return arithmetic(node, op[0]);
        if (op == "Identity")
            return copy_input(node, 0);
        if (op == "Cast") {
            Folded result = copy_input(node, 0);
            auto type = static_cast<std::int32_t>(integer_attribute(node, "to", 0));
            if (!result || !is_integer(type))
                return std::nullopt;
            result->type = type;
            if (type == onnx::TensorProto::INT32) {
                for (std::int64_t each : result->values) {
                    if (each < INT32_MIN || each > INT32_MAX)
                        return std::nullopt;
                }
            }
            return result;
        }
        if (op == "Squeeze" || op == "Unsqueeze") {
            Folded result = copy_input(node, 0);
            bool squeeze = op == "Squeeze";
            // Only between a scalar and a vector of one: there is no other axis to choose.
            if (!result || result->values.size() != 1 || result->scalar == squeeze)
                return std::nullopt;
            if (!squeeze && axes_of(node) != 1)
                return std::nullopt;
            result->scalar = squeeze;
            return result;
        }
        return std::nullopt;
    }

private:
    const Integers* input(const onnx::NodeProto& node, int index) const {
        if (index >= node.input_size() || node.input(index).empty())
            return nullptr;
        auto found = known_.find(node.input(index));
        return found == known_.end() ? nullptr : &found->second;
    }

    Folded copy_input(const onnx::NodeProto& node, int index) const {
        const Integers* value = input(node, index);
        return value == nullptr ? Folded() : Folded(*value);
    }

    /// How many axes a Squeeze or Unsqueeze names, in either of its two forms; 0 when not known.
    std::size_t axes_of(const onnx::NodeProto& node) const {
        for (const auto& each : node.attribute()) {
            if (each.name() == "axes")
                return static_cast<std::size_t>(each.ints_size());
        }
        const Integers* axes = input(node, 1);
        return axes == nullptr ? 0 : axes->values.size();
    }

    static Folded constant(const onnx::NodeProto& node) {
        if (node.attribute_size() != 1)
            return std::nullopt;
        const auto& attribute = node.attribute(0);
        if (attribute.name() == "value" && attribute.has_t())
            return read_tensor(attribute.t());
        if (attribute.name() == "value_int")
            return Integers{{attribute.i()}, true};
        if (attribute.name() == "value_ints" &&
            static_cast<std::size_t>(attribute.ints_size()) <= values_limit)
            return Integers{{attribute.ints().begin(), attribute.ints().end()}, false};
        return std::nullopt;
    }

    Folded shape(const onnx::NodeProto& node) const {
        if (node.input_size() != 1)
            return std::nullopt;
        std::optional<Shape> shape = types_.shape_of(node.input(0));
        if (!shape || shape->size() > values_limit)
            return std::nullopt;
        auto rank = static_cast<std::int64_t>(shape->size());
        auto place = [&](std::int64_t at) {
            return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank);
        };
        std::int64_t begin = place(integer_attribute(node, "start", 0));
        std::int64_t end = std::max(begin, place(integer_attribute(node, "end", rank)));
        return Integers{{shape->begin() + begin, shape->begin() + end}, false};
    }

    Folded concat(const onnx::NodeProto& node) const {
        Integers result;
        for (int i = 0; i < node.input_size(); ++i) {
            const Integers* part = input(node, i);
            if (part == nullptr || part->scalar ||
                result.values.size() + part->values.size() > values_limit)
                return std::nullopt;
            result.type = part->type;
            result.values.insert(result.values.end(), part->values.begin(), part->values.end());
        }
        return result;
    }

    Folded slice(const onnx::NodeProto& node) const {
        const Integers* data = input(node, 0);
        const Integers* starts = input(node, 1);
        const Integers* ends = input(node, 2);
        if (data == nullptr || data->scalar || starts == nullptr || ends == nullptr ||
            starts->values.size() != 1 || ends->values.size() != 1)
            return std::nullopt;
        if (node.input_size() > 4 && !node.input(4).empty()) {
            const Integers* steps = input(node, 4);
            if (steps == nullptr || steps->values != std::vector<std::int64_t>{1})
                return std::nullopt;
        }
        auto size = static_cast<std::int64_t>(data->values.size());
        auto place = [&](std::int64_t at) {
            return std::clamp(at < 0 ? std::max(at, -size) + size : at, std::int64_t{0}, size);
        };
        std::int64_t begin = place(starts->values[0]);
        std::int64_t end = std::max(begin, place(ends->values[0]));
        Integers result{{data->values.begin() + begin, data->values.begin() + end}, false};
        result.type = data->type;
        return result;
    }

    Folded gather(const onnx::NodeProto& node) const {
        const Integers* data = input(node, 0);
        const Integers* indices = input(node, 1);
        if (data == nullptr || data->scalar || indices == nullptr)
            return std::nullopt;
        auto size = static_cast<std::int64_t>(data->values.size());
        Integers result;
        result.scalar = indices->scalar;
        result.type = data->type;
        for (std::int64_t index : indices->values) {
            if (index < -size || index >= size)
                return std::nullopt;
            result.values.push_back(
                data->values[static_cast<std::size_t>(index < 0 ? index + size : index)]);
        }
        return result;
    }

    Folded arithmetic(const onnx::NodeProto& node, char op) const {
        const Integers* left = input(node, 0);
        const Integers* right = input(node, 1);
        if (left == nullptr || right == nullptr || left->type != right->type)
            return std::nullopt;
        std::size_t size = std::max(left->values.size(), right->values.size());
        for (const Integers* each : {left, right}) {
            if (each->values.empty() || (each->values.size() != size && each->values.size() != 1))
                return std::nullopt;
        }
        Integers result;
        result.scalar = left->scalar && right->scalar;
        result.type = left->type;
        for (std::size_t i = 0; i < size; ++i) {
            std::int64_t a = left->values[left->values.size() == 1 ? 0 : i];
            std::int64_t b = right->values[right->values.size() == 1 ? 0 : i];
            std::int64_t c = 0;
            bool bad = op == 'A'   ? __builtin_add_overflow(a, b, &c)
                       : op == 'S' ? __builtin_sub_overflow(a, b, &c)
                       : op == 'M' ? __builtin_mul_overflow(a, b, &c)
                                   : b == 0 || (a == INT64_MIN && b == -1);
            if (bad)
                return std::nullopt;
            if (op == 'D')
                c = a / b;
            if (result.type == onnx::TensorProto::INT32 && (c < INT32_MIN || c > INT32_MAX))
                return std::nullopt;
            result.values.push_back(c);
        }
        return result;
    }

    const Types& types_;
    Known& known_;
};

void make_constant(onnx::NodeProto& node, const Integers& value) {
    std::string output = node.output(0);
    node.clear_input();
    node.clear_attribute();
    node.clear_domain();
    node.set_op_type("Constant");
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    auto& tensor = *attribute.mutable_t();
    tensor.set_data_type(value.type);
    if (!value.scalar)
        tensor.add_dims(static_cast<std::int64_t>(value.values.size()));
    for (std::int64_t each : value.values) {
        if (value.type == onnx::TensorProto::INT64)
            tensor.add_int64_data(each);
        else
            tensor.add_int32_data(static_cast<std::int32_t>(each));
    }
}

/// Replaces what is known by Constant nodes. True when something was replaced while shapes are still unknown.
bool fold(onnx::GraphProto& graph) {
    Types types(graph, nullptr);
    Known known;
    for (const auto& tensor : graph.initializer()) {
        if (Folded value = read_tensor(tensor))
            known[tensor.name()] = std::move(*value);
    }
    for (const auto& input : graph.input())
        known.erase(input.name());  // the user may give another value
    bool replaced = false;
    bool open = false;
    Folder folder(types, known);
    for (auto& node : *graph.mutable_node()) {
        for (const std::string& output : node.output())
            open = open || (!output.empty() && !types.shape_of(output));
        if (node.output_size() != 1 || !plain_domain(node.domain()).empty())
            continue;
        Folded value = folder.value_of(node);
        if (!value)
            continue;
        known[node.output(0)] = *value;
        if (node.op_type() != "Constant") {
            make_constant(node, *value);
            replaced = true;
        }
    }
    return replaced && open;
}

}  // namespace

std::string infer_and_fold(onnx::ModelProto& light) {
    std::string contradiction = infer_shapes(light);
    for (int round = 0; round < rounds_limit && contradiction.empty(); ++round) {
        if (!fold(*light.mutable_graph()))
            break;
        contradiction = infer_shapes(light);
    }
    return contradiction;
}

}  // namespace requal::graph
