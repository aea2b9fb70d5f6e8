// Small models made of onnx's messages, for the tests of this folder.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "base/error.h"
#include "graph/model.h"

namespace requal::graph::testing_models {

inline void set_value(onnx::ValueInfoProto& value, const std::string& name,
                      const std::vector<std::string>& dimensions,
                      onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::string& each : dimensions) {
        auto& dimension = *tensor.mutable_shape()->add_dim();
        if (each.find_first_not_of("-0123456789") == std::string::npos && !each.empty())
            dimension.set_dim_value(std::stoll(each));
        else if (!each.empty())
            dimension.set_dim_param(each);
    }
}

inline onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op,
                                 const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const std::string& name = {}) {
    auto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const auto& each : inputs)
        node.add_input(each);
    for (const auto& each : outputs)
        node.add_output(each);
    return node;
}

inline onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name,
                                           onnx::AttributeProto::AttributeType type) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
}

inline void add_integers(onnx::NodeProto& node, const std::string& name,
                         const std::vector<std::int64_t>& values) {
    auto& attribute = add_attribute(node, name, onnx::AttributeProto::INTS);
    for (std::int64_t each : values)
        attribute.add_ints(each);
}

/// An initializer of float zeros in raw data.
inline onnx::TensorProto& add_weights(onnx::GraphProto& graph, const std::string& name,
                                      const std::vector<std::int64_t>& dimensions) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    std::size_t count = 1;
    for (std::int64_t each : dimensions) {
        tensor.add_dims(each);
        count *= static_cast<std::size_t>(each);
    }
    tensor.set_raw_data(std::string(count * 4, '\0'));
    return tensor;
}

/// A model with inputs x [N, 4] and one output y [N, 4]; nodes are left to the test.
inline onnx::ModelProto empty_model(int opset = 17) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("g");
    set_value(*model.mutable_graph()->add_input(), "x", {"N", "4"});
    set_value(*model.mutable_graph()->add_output(), "y", {"N", "4"});
    return model;
}

inline Model read(const onnx::ModelProto& model) {
    return Model::from_bytes(model.SerializeAsString(), "m.onnx");
}

/// The line that reading `model` ends with; fails the test when it is read.
inline std::string refusal(const onnx::ModelProto& model) {
    try {
        read(model);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.what();
    }
    ADD_FAILURE() << "the model was read";
    return {};
}

#define EXPECT_SAYS(text, part)                                                                    \
    EXPECT_NE((text).find(part), std::string::npos) << "it says: " << (text)

}  // namespace requal::graph::testing_models
