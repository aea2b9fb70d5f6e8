// What a model is: shapes, counts, sub-graphs and functions entered.
#include "build.h"

namespace requal::graph {
namespace {

using namespace testing_models;

const NodeInfo* node_of(const Summary& summary, const std::string& op) {
    for (const NodeInfo& node : summary.nodes) {
        if (node.op == op)
            return &node;
    }
    return nullptr;
}

/// A model with one node of the standard domain; inputs and their shapes as given.
onnx::ModelProto
one_node(const std::string& op,
         const std::vector<std::pair<std::string, std::vector<std::string>>>& inputs,
         onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto& graph = *model.mutable_graph();
    graph.set_name("g");
    std::vector<std::string> names;
    for (const auto& [name, shape] : inputs) {
        set_value(*graph.add_input(), name, shape, type);
        names.push_back(name);
    }
    add_node(graph, op, names, {"y"}, "n");
    auto& output = *graph.add_output();
    output.set_name("y");
    output.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return model;
}

std::uint64_t macs_of_model(const onnx::ModelProto& model) {
    Model read_model = read(model);
    const Summary& summary = read_model.summary();
    EXPECT_EQ(summary.macs_unknown_nodes, 0U);
    EXPECT_TRUE(summary.warnings.empty()) << summary.warnings.front();
    return summary.macs;
}

TEST(Macs, Convolutions) {
    onnx::ModelProto conv = one_node(
        "Conv", {{"x", {"2", "6", "10", "12"}}, {"w", {"8", "3", "3", "5"}}, {"b", {"8"}}});
    conv.mutable_graph()->mutable_node(0)->add_attribute();
    auto& group = *conv.mutable_graph()->mutable_node(0)->mutable_attribute(0);
    group.set_name("group");
    group.set_type(onnx::AttributeProto::INT);
    group.set_i(2);
    EXPECT_EQ(macs_of_model(conv), 2ULL * 8 * 8 * 8 * 3 * 3 * 5);  // output 2x8x8x8

    onnx::ModelProto transposed =
        one_node("ConvTranspose", {{"x", {"1", "4", "5", "5"}}, {"w", {"4", "6", "2", "2"}}});
    add_integers(*transposed.mutable_graph()->mutable_node(0), "strides", {2, 2});
    EXPECT_EQ(macs_of_model(transposed), 4ULL * 5 * 5 * 6 * 2 * 2);

    onnx::ModelProto integer =
        one_node("ConvInteger", {{"x", {"1", "3", "8", "8"}}, {"w", {"4", "3", "3", "3"}}},
                 onnx::TensorProto::UINT8);
    integer.mutable_graph()
        ->mutable_output(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(onnx::TensorProto::INT32);
    EXPECT_EQ(macs_of_model(integer), 4ULL * 6 * 6 * 27);
}

TEST(Macs, QuantisedConvolution) {
    onnx::ModelProto model = one_node("QLinearConv", {});
    auto& graph = *model.mutable_graph();
    auto& node = *graph.mutable_node(0);
    auto input = [&](const char* name, std::vector<std::string> shape,
                     onnx::TensorProto::DataType type) {
        set_value(*graph.add_input(), name, shape, type);
        node.add_input(name);
    };
    using T = onnx::TensorProto;
    input("x", {"1", "3", "8", "8"}, T::UINT8);
    input("xs", {}, T::FLOAT);
    input("xz", {}, T::UINT8);
    input("w", {"4", "3", "3", "3"}, T::UINT8);
    input("ws", {}, T::FLOAT);
    input("wz", {}, T::UINT8);
    input("ys", {}, T::FLOAT);
    input("yz", {}, T::UINT8);
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(T::UINT8);
    EXPECT_EQ(macs_of_model(model), 4ULL * 6 * 6 * 27);
}

TEST(Macs, Products) {
    EXPECT_EQ(
        macs_of_model(one_node("MatMul", {{"a", {"5", "1", "3", "7"}}, {"b", {"2", "7", "4"}}})),
        5ULL * 2 * 3 * 4 * 7);
    EXPECT_EQ(macs_of_model(one_node("MatMul", {{"a", {"7"}}, {"b", {"7"}}})), 7U);
    EXPECT_EQ(macs_of_model(one_node("MatMul", {{"a", {"7"}}, {"b", {"7", "3"}}})), 21U);
    onnx::ModelProto gemm = one_node("Gemm", {{"a", {"7", "2"}}, {"b", {"5", "7"}}});
    for (const char* name : {"transA", "transB"})
        add_attribute(*gemm.mutable_graph()->mutable_node(0), name, onnx::AttributeProto::INT)
            .set_i(1);
    EXPECT_EQ(macs_of_model(gemm), 2ULL * 5 * 7);
    onnx::ModelProto integer =
        one_node("MatMulInteger", {{"a", {"2", "7"}}, {"b", {"7", "3"}}}, onnx::TensorProto::INT8);
    integer.mutable_graph()
        ->mutable_output(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(onnx::TensorProto::INT32);
    EXPECT_EQ(macs_of_model(integer), 42U);
    for (auto [equation, expected] : {std::pair{"bij, bjk -> bik", 2ULL * 3 * 4 * 5},
                                      std::pair{"b...j,bjk", 2ULL * 3 * 4 * 5}}) {
        onnx::ModelProto einsum =
            one_node("Einsum", {{"a", {"2", "3", "4"}}, {"b", {"2", "4", "5"}}});
        add_attribute(*einsum.mutable_graph()->mutable_node(0), "equation",
                      onnx::AttributeProto::STRING)
            .set_s(equation);
        EXPECT_EQ(read(einsum).summary().macs, expected) << equation;
    }
}

TEST(Macs, Recurrent) {
    onnx::ModelProto lstm = one_node(
        "LSTM", {{"x", {"6", "2", "5"}}, {"w", {"1", "12", "5"}}, {"r", {"1", "12", "3"}}});
    add_attribute(*lstm.mutable_graph()->mutable_node(0), "hidden_size", onnx::AttributeProto::INT)
        .set_i(3);
    EXPECT_EQ(macs_of_model(lstm), 6ULL * 2 * (12 * 5 + 12 * 3));
}

TEST(Macs, UnknownShapesAreSaid) {
    Model model = read(one_node("MatMul", {{"a", {"N", "7"}}, {"b", {"7", "3"}}}));
    EXPECT_EQ(model.summary().macs, 0U);
    EXPECT_EQ(model.summary().macs_unknown_nodes, 1U);
    EXPECT_FALSE(model.summary().nodes[0].macs_known);
    Summary fixed = model.summary_at({{"a", {10, 7}}});
    EXPECT_EQ(fixed.macs, 210U);
    EXPECT_TRUE(fixed.nodes[0].macs_known);
    EXPECT_EQ(fixed.macs_unknown_nodes, 0U);
    EXPECT_EQ(model.summary().macs, 0U);  // the model itself did not change
    // a product that no 64-bit number holds is unknown, not wrong
    Model huge = read(one_node(
        "MatMul", {{"a", {"1073741824", "134217728"}}, {"b", {"134217728", "134217728"}}}));
    EXPECT_EQ(huge.summary().macs_unknown_nodes, 1U);
}

TEST(Summary, InputsOutputsAndDynamicAxes) {
    onnx::ModelProto model = empty_model();
    model.set_producer_name("maker");
    model.set_producer_version("1.2");
    auto& graph = *model.mutable_graph();
    set_value(*graph.add_input(), "z", {"N", "", "?", "-1"}, onnx::TensorProto::FLOAT16);
    set_value(*graph.add_input(), "w", {"4"});  // has a default: no input for the user
    add_weights(graph, "w", {4});
    add_node(graph, "Add", {"x", "w"}, {"y"}, "");
    Model read_model = read(model);
    const Summary& summary = read_model.summary();
    EXPECT_EQ(summary.producer, "maker 1.2");
    EXPECT_EQ(summary.opsets, (std::map<std::string, std::int64_t>{{"", 17}}));
    ASSERT_EQ(summary.inputs.size(), 2U);
    EXPECT_EQ(summary.inputs[1].type, ElementType::float16);
    EXPECT_EQ(summary.inputs[0].dimensions[0].name, "N");
    EXPECT_TRUE(summary.inputs[0].dimensions[0].dynamic());
    EXPECT_EQ(summary.inputs[0].dimensions[1].value, 4);
    EXPECT_EQ(summary.dynamic_axes,
              (std::vector<std::string>{"x: axis 0 'N'", "z: axis 0 'N'", "z: axis 1", "z: axis 2",
                                        "z: axis 3"}));
    EXPECT_EQ(summary.parameters, 4U);
    EXPECT_EQ(summary.parameter_bytes, 16U);
    ASSERT_EQ(summary.nodes.size(), 1U);
    EXPECT_EQ(summary.nodes[0].name, "Add#0");
    EXPECT_EQ(summary.outputs[0].name, "y");
    EXPECT_FALSE(summary.nodes[0].macs_known);
}

TEST(Summary, ShapesThatDoNotFitAreRefused) {
    onnx::ModelProto model = empty_model();
    set_value(*model.mutable_graph()->add_input(), "z", {"N", "4"});
    add_node(*model.mutable_graph(), "Add", {"x", "z"}, {"y"});
    Model read_model = read(model);
    auto refused = [&](const std::map<std::string, Shape>& shapes) -> std::string {
        try {
            read_model.summary_at(shapes);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            return error.what();
        }
        ADD_FAILURE();
        return {};
    };
    EXPECT_SAYS(refused({{"q", {1, 4}}}), "no input 'q'; its inputs are: x, z");
    EXPECT_SAYS(refused({{"x", {4}}}), "has 1 dimensions, the input has 2");
    EXPECT_SAYS(refused({{"x", {1, 5}}}), "fixed to 4");
    EXPECT_SAYS(refused({{"x", {-1, 4}}}), "negative");
    EXPECT_SAYS(refused({{"x", {1, 4}}, {"z", {2, 4}}}), "axis 'N'");
    Summary fixed = read_model.summary_at({{"x", {3, 4}}});
    EXPECT_EQ(fixed.inputs[1].dimensions[0].value, 3);  // the same axis
    EXPECT_EQ(fixed.outputs[0].dimensions[0].value, 3);
    EXPECT_TRUE(fixed.dynamic_axes.empty());
}

TEST(Summary, StaleInnerShapesDoNotCount) {
    // The exporter wrote the shapes of another size behind a dynamic axis.
    onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    add_weights(graph, "w", {4, 4});
    add_node(graph, "MatMul", {"x", "w"}, {"h"});
    add_node(graph, "MatMul", {"h", "w"}, {"y"});
    set_value(*graph.add_value_info(), "h", {"640", "4"});
    EXPECT_EQ(read(model).summary_at({{"x", {2, 4}}}).macs, 2ULL * 4 * 4 * 2);
}

TEST(Summary, ContradictionsAreWarnings) {
    onnx::ModelProto model = empty_model();
    add_weights(*model.mutable_graph(), "w", {5, 4});
    add_node(*model.mutable_graph(), "MatMul", {"x", "w"}, {"y"}, "bad_product");
    Model read_model = read(model);
    ASSERT_EQ(read_model.summary().warnings.size(), 1U);
    EXPECT_SAYS(read_model.summary().warnings[0], "bad_product");
}

TEST(Summary, CustomDomainsAreNamedAndNotChecked) {
    onnx::ModelProto model = empty_model();
    auto& import = *model.add_opset_import();
    import.set_domain("com.example");
    import.set_version(1);
    add_node(*model.mutable_graph(), "Thing", {"x"}, {"t"}, "n").set_domain("com.example");
    add_node(*model.mutable_graph(), "Relu", {"t"}, {"y"});
    Model read_model = read(model);
    EXPECT_EQ(read_model.summary().custom_ops, std::vector<std::string>{"com.example:Thing"});
    EXPECT_EQ(read_model.summary().nodes[0].domain, "com.example");
}

TEST(Summary, SubgraphsAreEntered) {
    onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    set_value(*graph.add_input(), "cond", {}, onnx::TensorProto::BOOL);
    add_weights(graph, "w", {4, 4});
    auto& node = add_node(graph, "If", {"cond"}, {"y"}, "choice");
    for (const std::string name : {"then_branch", "else_branch"}) {
        auto& inner = *add_attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
        inner.set_name(name);
        add_weights(inner, name + "_w", {4, 4});
        add_node(inner, "MatMul", {"x", "w"}, {name + "_h"}, "first");
        add_node(inner, "MatMul", {name + "_h", name + "_w"}, {name + "_y"}, "second");
        set_value(*inner.add_output(), name + "_y", {"N", "4"});
    }
    Summary summary = read(model).summary_at({{"x", {3, 4}}});
    ASSERT_EQ(summary.nodes.size(), 5U);
    EXPECT_EQ(summary.nodes[0].op, "If");
    EXPECT_EQ(summary.nodes[0].scope, "");
    EXPECT_EQ(summary.nodes[1].scope, "choice/then_branch");
    EXPECT_EQ(summary.nodes[4].scope, "choice/else_branch");
    EXPECT_EQ(summary.macs_unknown_nodes, 0U);
    EXPECT_EQ(summary.macs, 4ULL * 3 * 4 * 4);
    EXPECT_EQ(summary.parameters, 48U);
    EXPECT_TRUE(summary.warnings.empty());
}

/// Adds function `name`(a) -> b to `model`; its nodes are left to the test.
onnx::FunctionProto& add_function(onnx::ModelProto& model, const std::string& name) {
    if (model.opset_import_size() == 1) {
        auto& import = *model.add_opset_import();
        import.set_domain("local");
        import.set_version(1);
    }
    auto& function = *model.add_functions();
    function.set_domain("local");
    function.set_name(name);
    function.add_input("a");
    function.add_output("b");
    function.add_opset_import()->set_version(17);
    auto& import = *function.add_opset_import();
    import.set_domain("local");
    import.set_version(1);
    return function;
}

onnx::NodeProto& add_body(onnx::FunctionProto& function, const std::string& op,
                          const std::vector<std::string>& inputs, const std::string& output) {
    auto& node = *function.add_node();
    node.set_op_type(op);
    for (const auto& each : inputs)
        node.add_input(each);
    node.add_output(output);
    return node;
}

TEST(Summary, FunctionsAreEntered) {
    onnx::ModelProto model = empty_model();
    auto& function = add_function(model, "Square");
    function.add_attribute("perm");
    auto& transpose = add_body(function, "Transpose", {"a"}, "t");
    auto& reference = add_attribute(transpose, "perm", onnx::AttributeProto::INTS);
    reference.set_ref_attr_name("perm");
    add_body(function, "MatMul", {"a", "t"}, "b");
    auto& outer = add_function(model, "Twice");
    add_body(outer, "Identity", {"a"}, "i");
    auto& inner_call = add_body(outer, "Square", {"i"}, "b");
    inner_call.set_domain("local");
    add_integers(inner_call, "perm", {1, 0});
    auto& call = add_node(*model.mutable_graph(), "Twice", {"x"}, {"s"}, "call");
    call.set_domain("local");
    auto& second = add_node(*model.mutable_graph(), "Square", {"x"}, {"s2"}, "call");
    second.set_domain("local");
    add_integers(second, "perm", {1, 0});
    add_node(*model.mutable_graph(), "Add", {"s", "s2"}, {"y"}, "");
    set_value(*model.mutable_graph()->mutable_output(0), "y", {"N", "N"});

    Model read_model = read(model);
    EXPECT_EQ(read_model.summary().functions,
              (std::vector<std::string>{"local:Square", "local:Twice"}));
    Summary summary = read_model.summary_at({{"x", {3, 4}}});
    EXPECT_EQ(summary.macs_unknown_nodes, 0U);
    EXPECT_EQ(summary.macs, 2ULL * 3 * 3 * 4);
    const NodeInfo* product = node_of(summary, "MatMul");
    ASSERT_NE(product, nullptr);
    EXPECT_EQ(product->scope, "call/Square#1");
    EXPECT_EQ(product->name, "MatMul#1");
    EXPECT_EQ(product->outputs, std::vector<std::string>{"s"});
    EXPECT_EQ(node_of(summary, "Square"), nullptr);
    EXPECT_TRUE(summary.custom_ops.empty());
    EXPECT_EQ(read_model.proto().functions_size(), 2);
}

TEST(Summary, FunctionsThatCallThemselvesAreRefused) {
    onnx::ModelProto model = empty_model();
    auto& function = add_function(model, "Again");
    add_body(function, "Again", {"a"}, "b").set_domain("local");
    add_node(*model.mutable_graph(), "Again", {"x"}, {"y"}, "call").set_domain("local");
    EXPECT_SAYS(refusal(model), "Again");
}

TEST(Summary, FunctionsThatExpandWithoutEndAreRefused) {
    onnx::ModelProto model = empty_model();
    for (int level = 0; level < 40; ++level) {
        auto& function = add_function(model, "F" + std::to_string(level));
        std::string next = level == 39 ? "Relu" : "F" + std::to_string(level + 1);
        for (int i = 0; i < 2; ++i) {
            auto& node = add_body(function, next, {i == 0 ? "a" : "m"}, i == 0 ? "m" : "b");
            if (level != 39)
                node.set_domain("local");
        }
    }
    add_node(*model.mutable_graph(), "F0", {"x"}, {"y"}, "call").set_domain("local");
    EXPECT_SAYS(refusal(model), "expand to more than");
}

TEST(Summary, LoopsSayThatTheyRepeat) {
    onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    set_value(*graph.add_input(), "trips", {}, onnx::TensorProto::INT64);
    set_value(*graph.add_input(), "cond", {}, onnx::TensorProto::BOOL);
    add_weights(graph, "w", {4, 4});
    auto& node = add_node(graph, "Loop", {"trips", "cond", "x"}, {"y"}, "again");
    auto& body = *add_attribute(node, "body", onnx::AttributeProto::GRAPH).mutable_g();
    body.set_name("body");
    set_value(*body.add_input(), "i", {}, onnx::TensorProto::INT64);
    set_value(*body.add_input(), "c", {}, onnx::TensorProto::BOOL);
    set_value(*body.add_input(), "v", {"3", "4"});
    add_node(body, "Identity", {"c"}, {"c2"});
    add_node(body, "MatMul", {"v", "w"}, {"v2"});
    set_value(*body.add_output(), "c2", {}, onnx::TensorProto::BOOL);
    set_value(*body.add_output(), "v2", {"3", "4"});
    Model read_model = read(model);
    EXPECT_EQ(read_model.summary().macs, 48U);
    ASSERT_EQ(read_model.summary().warnings.size(), 1U);
    EXPECT_SAYS(read_model.summary().warnings[0], "one repetition");
}

TEST(Model, InferredShapesStandInTheMessage) {
    onnx::ModelProto model = empty_model();
    add_node(*model.mutable_graph(), "Relu", {"x"}, {"h"});
    add_node(*model.mutable_graph(), "Relu", {"h"}, {"y"});
    Model read_model = read(model);
    ASSERT_EQ(read_model.proto().graph().value_info_size(), 1);
    EXPECT_EQ(read_model.proto().graph().value_info(0).name(), "h");
    EXPECT_EQ(
        read_model.proto().graph().value_info(0).type().tensor_type().shape().dim(1).dim_value(),
        4);
}

TEST(Model, ShapesAreFollowedThroughShapeArithmetic) {
    // Shape -> Gather -> Concat -> Reshape, as exporters write it: needs data propagation.
    onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    auto integers = [&](const std::string& name, std::vector<std::int64_t> values) {
        auto& tensor = *graph.add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(onnx::TensorProto::INT64);
        tensor.add_dims(static_cast<std::int64_t>(values.size()));
        for (std::int64_t each : values)
            tensor.add_int64_data(each);
    };
    integers("zero", {0});
    integers("tail", {2, 2});
    add_node(graph, "Shape", {"x"}, {"s"});
    add_attribute(add_node(graph, "Gather", {"s", "zero"}, {"n"}), "axis",
                  onnx::AttributeProto::INT)
        .set_i(0);
    add_attribute(add_node(graph, "Concat", {"n", "tail"}, {"target"}), "axis",
                  onnx::AttributeProto::INT)
        .set_i(0);
    add_node(graph, "Reshape", {"x", "target"}, {"r"});
    add_node(graph, "MatMul", {"r", "r"}, {"y"});
    set_value(*graph.mutable_output(0), "y", {"N", "2", "2"});
    EXPECT_EQ(read(model).summary_at({{"x", {5, 4}}}).macs, 5ULL * 2 * 2 * 2);
}

/// x [N, 4] reshaped to `target`, which `make` computes from x, then multiplied with itself: MACs at x = `shape`.
template <typename Make>
std::uint64_t macs_behind_reshape(const Shape& shape, Make make) {
    onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    auto integers = [&](const std::string& name, const std::vector<std::int64_t>& values) {
        auto& tensor = *graph.add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(onnx::TensorProto::INT64);
        tensor.add_dims(static_cast<std::int64_t>(values.size()));
        std::string raw;
        for (std::int64_t each : values)
            raw.append(reinterpret_cast<const char*>(&each), 8);
        tensor.set_raw_data(raw);
    };
    add_node(graph, "Shape", {"x"}, {"s"}, "shape");
    make(graph, integers);
    add_node(graph, "Reshape", {"x", "target"}, {"r"});
    add_node(graph, "MatMul", {"r", "r"}, {"y"});
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    Summary summary = read(model).summary_at({{"x", shape}});
    EXPECT_EQ(summary.nodes[0].op, "Shape");  // folded nodes are still described as they are
    EXPECT_EQ(summary.nodes[0].inputs, std::vector<std::string>{"x"});
    EXPECT_EQ(summary.macs_unknown_nodes, 0U);
    return summary.macs;
}

TEST(Model, KnownShapeArithmeticIsFolded) {
    // a -1 joined to a part of the shape, as paddle2onnx writes it
    EXPECT_EQ(macs_behind_reshape({4, 4},
                                  [](auto& graph, auto integers) {
                                      integers("begin", {-1});
                                      integers("end", {9223372036854775807});
                                      integers("rest", {-1});
                                      add_node(graph, "Slice", {"s", "begin", "end"}, {"part"});
                                      add_attribute(
                                          add_node(graph, "Concat", {"rest", "part"}, {"target"}),
                                          "axis", onnx::AttributeProto::INT)
                                          .set_i(0);
                                  }),
              4ULL * 4 * 4);
    // arithmetic on single dimensions
    EXPECT_EQ(macs_behind_reshape({8, 4},
                                  [](auto& graph, auto integers) {
                                      integers("first", {0});
                                      integers("two", {2});
                                      integers("minus", {-1});
                                      integers("four", {4});
                                      add_node(graph, "Gather", {"s", "first"}, {"n"});
                                      add_node(graph, "Div", {"n", "two"}, {"half"});
                                      add_attribute(add_node(graph, "Cast", {"half"}, {"half32"}),
                                                    "to", onnx::AttributeProto::INT)
                                          .set_i(onnx::TensorProto::INT32);
                                      add_attribute(add_node(graph, "Cast", {"half32"}, {"half64"}),
                                                    "to", onnx::AttributeProto::INT)
                                          .set_i(onnx::TensorProto::INT64);
                                      add_node(graph, "Sub", {"half64", "four"}, {"zero"});
                                      add_node(graph, "Add", {"zero", "four"}, {"side"});
                                      add_attribute(add_node(graph, "Concat",
                                                             {"minus", "side", "four"}, {"target"}),
                                                    "axis", onnx::AttributeProto::INT)
                                          .set_i(0);
                                  }),
              2ULL * 4 * 4 * 4);
}

TEST(Model, TinyModel) {
    Model model = Model::from_bytes(tiny_model_bytes(), "tiny");
    EXPECT_EQ(tiny_model_bytes(), tiny_model_bytes());
    EXPECT_EQ(model.digest(), digest_of(tiny_model_bytes()));
    EXPECT_EQ(model.path(), "tiny");
    const Summary& summary = model.summary();
    ASSERT_EQ(summary.inputs.size(), 1U);
    EXPECT_EQ(summary.inputs[0].name, "x");
    EXPECT_EQ(summary.parameters, 8U);
    EXPECT_TRUE(summary.warnings.empty());
    // the expected output, computed here from the numbers in the model
    const auto& graph = model.proto().graph();
    Tensor input = tiny_model_input();
    Tensor output = tiny_model_output();
    for (int i = 0; i < 4; ++i) {
        float value = input.values<float>()[static_cast<std::size_t>(i)] *
                          graph.initializer(0).float_data(i) +
                      graph.initializer(1).float_data(i);
        EXPECT_EQ(output.values<float>()[static_cast<std::size_t>(i)], value > 0 ? value : 0);
    }
}

}  // namespace
}  // namespace requal::graph
