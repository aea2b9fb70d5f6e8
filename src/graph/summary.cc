#include <unordered_set>

#include "graph/shapes.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

std::optional<ElementType> element_type_of(std::int32_t data_type) {
    using T = onnx::TensorProto;
    switch (data_type) {
    case T::FLOAT:
        return ElementType::float32;
    case T::DOUBLE:
        return ElementType::float64;
    case T::FLOAT16:
        return ElementType::float16;
    case T::BFLOAT16:
        return ElementType::bfloat16;
    case T::INT8:
        return ElementType::int8;
    case T::INT16:
        return ElementType::int16;
    case T::INT32:
        return ElementType::int32;
    case T::INT64:
        return ElementType::int64;
    case T::UINT8:
        return ElementType::uint8;
    case T::UINT16:
        return ElementType::uint16;
    case T::UINT32:
        return ElementType::uint32;
    case T::UINT64:
        return ElementType::uint64;
    case T::BOOL:
        return ElementType::boolean;
    case T::STRING:
        return ElementType::string;
    case T::COMPLEX64:
        return ElementType::complex64;
    case T::COMPLEX128:
        return ElementType::complex128;
    default:
        return std::nullopt;
    }
}

std::string lower(std::string text) {
    for (char& each : text) {
        if (each >= 'A' && each <= 'Z')
            each = static_cast<char>(each - 'A' + 'a');
    }
    return text;
}

class Describer {
public:
    explicit Describer(Summary& summary) : summary_(summary) {}

    /// `inferred` has the same nodes at the same places, some of them folded to constants.
    void walk(const onnx::GraphProto& graph, const onnx::GraphProto& inferred, const Types* outer) {
        Types types(inferred, outer);
        for (int i = 0; i < graph.node_size(); ++i) {
            const onnx::NodeProto& node = graph.node(i);
            NodeInfo info;
            info.name = node.name();
            info.op = node.op_type();
            info.domain = plain_domain(node.domain());
            info.scope = node.doc_string();
            info.inputs.assign(node.input().begin(), node.input().end());
            info.outputs.assign(node.output().begin(), node.output().end());
            Macs macs = macs_of(node, types);
            if (macs.counted && macs.value) {
                info.macs = *macs.value;
                info.macs_known = true;
                known_ += info.macs;
            } else if (macs.counted) {
                ++summary_.macs_unknown_nodes;
            }
            bool repeats = info.op == "Loop" || info.op == "Scan";
            summary_.nodes.push_back(std::move(info));
            std::uint64_t before = known_;
            std::vector<const onnx::GraphProto*> twins;
            for_each_subgraph(
                inferred.node(i),
                [&](const onnx::GraphProto& twin, const std::string&) { twins.push_back(&twin); });
            std::size_t next = 0;
            for_each_subgraph(node, [&](const onnx::GraphProto& inner, const std::string&) {
                walk(inner, *twins.at(next++), &types);
            });
            if (repeats && known_ != before)
                summary_.warnings.push_back("the multiply-accumulates inside '" + node.name() +
                                            "' (" + node.op_type() +
                                            ") are those of one repetition");
        }
    }

    std::uint64_t known() const { return known_; }

private:
    Summary& summary_;
    std::uint64_t known_ = 0;
};

void count_tensor(const onnx::TensorProto& tensor, Summary& summary) {
    std::uint64_t count = element_count_of(tensor).value_or(0);
    summary.parameters += count;
    unsigned bits = element_bits(tensor.data_type()).value_or(0);
    if (bits != 0)
        summary.parameter_bytes += packed_bytes(count, bits);
    for (const std::string& each : tensor.string_data())
        summary.parameter_bytes += each.size();
}

template <typename Nodes>
void count_nodes(const Nodes& nodes, Summary& summary);

void count_graph(const onnx::GraphProto& graph, Summary& summary) {
    for (const auto& tensor : graph.initializer())
        count_tensor(tensor, summary);
    for (const auto& sparse : graph.sparse_initializer())
        count_tensor(sparse.values(), summary);
    count_nodes(graph.node(), summary);
}

template <typename Nodes>
void count_nodes(const Nodes& nodes, Summary& summary) {
    for (const auto& node : nodes) {
        if (node.op_type() == "Constant") {
            for (const auto& attribute : node.attribute()) {
                if (attribute.has_t())
                    count_tensor(attribute.t(), summary);
                if (attribute.has_sparse_tensor())
                    count_tensor(attribute.sparse_tensor().values(), summary);
            }
        }
        for_each_subgraph(node, [&](const onnx::GraphProto& inner, const std::string&) {
            count_graph(inner, summary);
        });
    }
}

}  // namespace

ValueInfo value_info_of(const onnx::ValueInfoProto& value) {
    ValueInfo info;
    info.name = value.name();
    const onnx::TypeProto& type = value.type();
    switch (type.value_case()) {
    case onnx::TypeProto::kSequenceType:
        info.kind = "sequence";
        return info;
    case onnx::TypeProto::kOptionalType:
        info.kind = "optional";
        return info;
    case onnx::TypeProto::kMapType:
        info.kind = "map";
        return info;
    case onnx::TypeProto::kSparseTensorType:
        info.kind = "sparse_tensor";
        return info;
    case onnx::TypeProto::kTensorType:
        break;
    default:
        info.kind = "unknown";
        return info;
    }
    const auto& tensor = type.tensor_type();
    if (std::optional<ElementType> element = element_type_of(tensor.elem_type()))
        info.type = *element;
    else
        info.kind =
            "tensor of " + lower(onnx::TensorProto::DataType_Name(
                               static_cast<onnx::TensorProto::DataType>(tensor.elem_type())));
    info.has_shape = tensor.has_shape();
    for (const auto& each : tensor.shape().dim()) {
        Dimension dimension;
        if (each.has_dim_value() && each.dim_value() >= 0)
            dimension.value = each.dim_value();
        else if (each.dim_param() != "?")
            dimension.name = each.dim_param();
        info.dimensions.push_back(std::move(dimension));
    }
    return info;
}

void describe_graph(const onnx::ModelProto& light, const onnx::ModelProto& inferred,
                    Summary& summary) {
    const onnx::GraphProto& graph = inferred.graph();
    std::unordered_set<std::string> initializers;
    for (const auto& tensor : graph.initializer())
        initializers.insert(tensor.name());
    for (const auto& input : graph.input()) {
        if (initializers.count(input.name()) != 0)
            continue;
        ValueInfo info = value_info_of(input);
        for (std::size_t axis = 0; axis < info.dimensions.size(); ++axis) {
            if (!info.dimensions[axis].dynamic())
                continue;
            std::string text = info.name + ": axis " + std::to_string(axis);
            if (!info.dimensions[axis].name.empty())
                text += " '" + info.dimensions[axis].name + "'";
            summary.dynamic_axes.push_back(text);
        }
        summary.inputs.push_back(std::move(info));
    }
    for (const auto& output : graph.output())
        summary.outputs.push_back(value_info_of(output));
    Describer describer(summary);
    describer.walk(light.graph(), graph, nullptr);
    summary.macs = summary.macs_unknown_nodes == 0 ? describer.known() : 0;
}

void count_parameters(const onnx::ModelProto& model, Summary& summary) {
    count_graph(model.graph(), summary);
    for (const auto& function : model.functions())
        count_nodes(function.node(), summary);
}

}  // namespace requal::graph
