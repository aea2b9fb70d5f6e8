#include <string_view>

#include "graph/shapes.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

using Count = std::optional<std::uint64_t>;

Count times(Count left, Count right) {
    std::uint64_t product = 0;
    if (!left || !right || __builtin_mul_overflow(*left, *right, &product))
        return std::nullopt;
    return product;
}

Count product_from(const std::optional<Shape>& shape, std::size_t first) {
    if (!shape || shape->size() < first)
        return std::nullopt;
    Count count = 1;
    for (std::size_t i = first; i < shape->size(); ++i)
        count = times(count, static_cast<std::uint64_t>((*shape)[i]));
    return count;
}

/// Shape of an input or output that the node may have left out.
std::optional<Shape> input_shape(const onnx::NodeProto& node, int index, const Types& types) {
    if (index >= node.input_size() || node.input(index).empty())
        return std::nullopt;
    return types.shape_of(node.input(index));
}

std::optional<Shape> output_shape(const onnx::NodeProto& node, const Types& types) {
    if (node.output_size() == 0 || node.output(0).empty())
        return std::nullopt;
    return types.shape_of(node.output(0));
}

const onnx::AttributeProto* attribute_of(const onnx::NodeProto& node, std::string_view name) {
    for (const auto& each : node.attribute()) {
        if (each.name() == name)
            return &each;
    }
    return nullptr;
}

Count gemm(const onnx::NodeProto& node, const Types& types) {
    auto left = input_shape(node, 0, types);
    if (!left || left->size() != 2)
        return std::nullopt;
    const auto* transposed = attribute_of(node, "transA");
    std::size_t axis = transposed != nullptr && transposed->i() != 0 ? 0 : 1;
    return times(product_from(output_shape(node, types), 0),
                 static_cast<std::uint64_t>((*left)[axis]));
}

Count matmul(const onnx::NodeProto& node, const Types& types) {
    auto left = input_shape(node, 0, types);
    if (!left || left->empty())
        return std::nullopt;
    return times(product_from(output_shape(node, types), 0),
                 static_cast<std::uint64_t>(left->back()));
}

/// The product of the ranges of all indices; an ellipsis stands for its operand's remaining axes, counted once.
Count einsum(const onnx::NodeProto& node, const Types& types) {
    const auto* attribute = attribute_of(node, "equation");
    if (attribute == nullptr)
        return std::nullopt;
    std::string equation;
    for (char each : attribute->s()) {
        if (each != ' ')
            equation += each;
    }
    std::string_view rest = std::string_view(equation).substr(0, equation.find("->"));
    std::map<char, std::uint64_t> ranges;
    Count broadcast = 1;
    for (int operand = 0; operand < node.input_size(); ++operand) {
        std::size_t comma = rest.find(',');
        std::string_view term = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        auto shape = input_shape(node, operand, types);
        if (!shape)
            return std::nullopt;
        std::size_t dots = term.find("...");
        std::size_t letters = term.size() - (dots == std::string_view::npos ? 0 : 3);
        if (letters > shape->size() || (dots == std::string_view::npos && letters != shape->size()))
            return std::nullopt;
        std::size_t axis = 0;
        for (std::size_t i = 0; i < term.size(); ++i) {
            if (i == dots) {
                Count range = 1;
                for (std::size_t left = shape->size() - letters; left > 0; --left)
                    range = times(range, static_cast<std::uint64_t>((*shape)[axis++]));
                if (!range)
                    return std::nullopt;
                broadcast = std::max(*broadcast, *range);
                i += 2;
                continue;
            }
            if (axis >= shape->size())
                return std::nullopt;
            auto& range = ranges[term[i]];
            range = std::max(range, static_cast<std::uint64_t>((*shape)[axis++]));
        }
    }
    Count count = broadcast;
    for (const auto& [letter, range] : ranges)
        count = times(count, range);
    return count;
}

Count recurrent(const onnx::NodeProto& node, const Types& types) {
    auto input = input_shape(node, 0, types);
    Count weights = product_from(input_shape(node, 1, types), 0);
    Count recurrence = product_from(input_shape(node, 2, types), 0);
    std::uint64_t sum = 0;
    if (!input || input->size() != 3 || !weights || !recurrence ||
        __builtin_add_overflow(*weights, *recurrence, &sum))
        return std::nullopt;
    return times(
        times(static_cast<std::uint64_t>((*input)[0]), static_cast<std::uint64_t>((*input)[1])),
        sum);
}

}  // namespace

Macs macs_of(const onnx::NodeProto& node, const Types& types) {
    if (!plain_domain(node.domain()).empty())
        return {};
    const std::string& op = node.op_type();
    auto convolution = [&](int weights) {
        return Macs{true, times(product_from(output_shape(node, types), 0),
                                product_from(input_shape(node, weights, types), 1))};
    };
    if (op == "Conv" || op == "ConvInteger" || op == "DeformConv")
        return convolution(1);
    if (op == "QLinearConv")
        return convolution(3);
    if (op == "ConvTranspose")
        return {true, times(product_from(input_shape(node, 0, types), 0),
                            product_from(input_shape(node, 1, types), 1))};
    if (op == "Gemm")
        return {true, gemm(node, types)};
    if (op == "MatMul" || op == "MatMulInteger" || op == "QLinearMatMul")
        return {true, matmul(node, types)};
    if (op == "Einsum" && node.input_size() > 1)
        return {true, einsum(node, types)};
    if (op == "LSTM" || op == "GRU" || op == "RNN")
        return {true, recurrent(node, types)};
    if (op == "Attention")  // counts that depend on masks and caches are not known here
        return {true, std::nullopt};
    return {};
}

}  // namespace requal::graph
