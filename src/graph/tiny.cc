#include <onnx/onnx_pb.h>

#include "graph/model.h"

namespace requal::graph {
namespace {

constexpr float input_values[] = {1.0F, -2.0F, 3.0F, 0.5F};
constexpr float weights[] = {2.0F, 4.0F, -1.0F, 8.0F};
constexpr float bias[] = {0.5F, 10.0F, 1.0F, -1.0F};
// relu(x * w + b), every step exact in float16 too: 2 + 0.5, -8 + 10, -3 + 1, 4 - 1
constexpr float output_values[] = {2.5F, 2.0F, 0.0F, 3.0F};

Tensor row(const float (&values)[4]) {
    Tensor tensor(ElementType::float32, {1, 4});
    std::copy(std::begin(values), std::end(values), tensor.mutable_values<float>().begin());
    return tensor;
}

void add_constant(onnx::GraphProto& graph, const char* name, const float (&values)[4]) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(4);
    for (float each : values)
        tensor.add_float_data(each);
}

void add_value(onnx::ValueInfoProto& value, const char* name) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_value(1);
    type.mutable_shape()->add_dim()->set_dim_value(4);
}

void add_node(onnx::GraphProto& graph, const char* op, std::initializer_list<const char*> inputs,
              const char* output) {
    auto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(output);
    for (const char* each : inputs)
        node.add_input(each);
    node.add_output(output);
}

}  // namespace

std::string tiny_model_bytes() {
    onnx::ModelProto model;
    model.set_ir_version(7);  // old enough for every runtime that is still in service
    model.set_producer_name("requal");
    model.add_opset_import()->set_version(13);
    auto& graph = *model.mutable_graph();
    graph.set_name("tiny");
    add_value(*graph.add_input(), "x");
    add_value(*graph.add_output(), "y");
    add_constant(graph, "w", weights);
    add_constant(graph, "b", bias);
    add_node(graph, "Mul", {"x", "w"}, "scaled");
    add_node(graph, "Add", {"scaled", "b"}, "shifted");
    add_node(graph, "Relu", {"shifted"}, "y");
    return model.SerializeAsString();
}

Tensor tiny_model_input() {
    return row(input_values);
}

Tensor tiny_model_output() {
    return row(output_values);
}

}  // namespace requal::graph
