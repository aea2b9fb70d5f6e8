// Shapes inside a model that was inferred, and what they say about its nodes. Not for other rooms.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include "graph/model.h"

namespace requal::graph {

/// Types of the values of one graph; the names of the graphs around it are seen through `outer`.
class Types {
public:
    Types(const onnx::GraphProto& graph, const Types* outer);
    const onnx::TypeProto* find(const std::string& name) const;
    /// The shape when every dimension is known.
    std::optional<Shape> shape_of(const std::string& name) const;

private:
    std::unordered_map<std::string, onnx::TypeProto> initializers_;
    std::unordered_map<std::string, const onnx::TypeProto*> types_;
    const Types* outer_;
};

/// Multiply-accumulates of one node.
struct Macs {
    bool counted = false;  ///< the operator is one whose multiply-accumulates are counted
    std::optional<std::uint64_t> value;  ///< nothing when a shape that is needed is unknown
};

/// Formulas: Conv and its quantised forms, outputs x weights of one output channel; ConvTranspose, inputs x weights of one input
/// channel; Gemm and MatMul and its quantised forms, outputs x the length of the sum; Einsum of two or more operands, the product
/// of all index ranges; RNN, GRU, LSTM, sequence x batch x (W + R). Bias and activation functions are not counted.
Macs macs_of(const onnx::NodeProto& node, const Types& types);

/// Sets inputs of a light model that was not inferred yet to these shapes; axes with the same name get the same value. What the
/// model says of shapes inside is dropped, except behind operators of custom domains. Error(input).
void fix_inputs(onnx::ModelProto& light, const std::map<std::string, Shape>& shapes,
                const std::string& source);

ValueInfo value_info_of(const onnx::ValueInfoProto& value);
bool is_custom(const onnx::NodeProto& node);

/// Fills in inputs, outputs, nodes, multiply-accumulates and dynamic axes: nodes from the light model, shapes from the same model
/// after infer_and_fold().
void describe_graph(const onnx::ModelProto& light, const onnx::ModelProto& inferred,
                    Summary& summary);
/// Adds the parameters of all initializers and Constant nodes of the whole model.
void count_parameters(const onnx::ModelProto& model, Summary& summary);

}  // namespace requal::graph
