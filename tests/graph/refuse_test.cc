// Models that must be refused, each with the line that says why.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "build.h"

namespace requal::graph {
namespace {

using namespace testing_models;

std::string refused_bytes(const std::string& bytes) {
    try {
        Model::from_bytes(bytes, "m.onnx");
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        return error.what();
    }
    ADD_FAILURE() << "was read";
    return {};
}

TEST(Refuse, WhatIsNoModel) {
    EXPECT_SAYS(refused_bytes(""), "empty");
    EXPECT_SAYS(refused_bytes("hello, this is a text and no model\n"), "not an ONNX model");
    EXPECT_SAYS(refused_bytes(std::string("PK\x03\x04", 4) + std::string(100, '\0')),
                "zip archive");
    EXPECT_SAYS(refused_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
                "Git LFS");
    EXPECT_SAYS(refused_bytes("<?xml version=\"1.0\"?><net/>"), "OpenVINO");
    EXPECT_SAYS(refused_bytes(std::string(1000, '\0')), "not an ONNX model");
    EXPECT_SAYS(refused_bytes(std::string(1000, '\xff')), "not an ONNX model");
    TemporaryFolder folder;
    EXPECT_THROW(Model::load(folder.path() + "/none.onnx"), Error);
    EXPECT_THROW(Model::load(folder.path()), Error);
}

TEST(Refuse, EveryTruncation) {
    std::string whole = tiny_model_bytes();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        // A cut between two fields of the message leaves a well-formed model that lacks something.
        try {
            Model model = Model::from_bytes(whole.substr(0, size), "m.onnx");
            ADD_FAILURE() << "was read at " << size;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
        }
    }
}

TEST(Refuse, CyclesNameTheirNodes) {
    onnx::ModelProto model = empty_model();
    add_node(*model.mutable_graph(), "Add", {"x", "c"}, {"a"}, "first");
    add_node(*model.mutable_graph(), "Relu", {"a"}, {"b"}, "second");
    add_node(*model.mutable_graph(), "Neg", {"b"}, {"c"}, "third");
    add_node(*model.mutable_graph(), "Abs", {"c"}, {"y"}, "last");
    std::string text = refusal(model);
    EXPECT_SAYS(text, "cycle");
    EXPECT_SAYS(text, "'first' (Add)");
    EXPECT_SAYS(text, "'second' (Relu)");
    EXPECT_SAYS(text, "'third' (Neg)");
    EXPECT_EQ(text.find("last"), std::string::npos);

    onnx::ModelProto self = empty_model();
    add_node(*self.mutable_graph(), "Add", {"x", "y"}, {"y"}, "loop");
    EXPECT_SAYS(refusal(self), "cycle: node 'loop' (Add) -> 'loop'");
}

TEST(Refuse, CyclesThroughASubgraph) {
    onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    set_value(*graph.add_input(), "cond", {}, onnx::TensorProto::BOOL);
    auto& node = add_node(graph, "If", {"cond"}, {"a"}, "branch");
    for (const char* name : {"then_branch", "else_branch"}) {
        auto& inner = *add_attribute(node, name, onnx::AttributeProto::GRAPH).mutable_g();
        inner.set_name(name);
        add_node(inner, "Relu", {"y"}, {std::string(name) + "_out"});
        set_value(*inner.add_output(), std::string(name) + "_out", {"N", "4"});
    }
    add_node(graph, "Neg", {"a"}, {"y"}, "back");
    std::string text = refusal(model);
    EXPECT_SAYS(text, "cycle");
    EXPECT_SAYS(text, "'branch' (If)");
    EXPECT_SAYS(text, "'back' (Neg)");
}

TEST(Refuse, LongChainsAreSearchedWithoutRecursion) {
    onnx::ModelProto model = empty_model();
    constexpr int length = 100000;
    for (int i = 0; i < length; ++i)
        add_node(*model.mutable_graph(), "Relu", {"t" + std::to_string((i + 1) % length)},
                 {"t" + std::to_string(i)});
    EXPECT_SAYS(refusal(model), "(100000 nodes)");
}

TEST(Refuse, UnsortedAndDangling) {
    onnx::ModelProto unsorted = empty_model();
    add_node(*unsorted.mutable_graph(), "Relu", {"a"}, {"y"}, "late");
    add_node(*unsorted.mutable_graph(), "Neg", {"x"}, {"a"}, "early");
    EXPECT_SAYS(refusal(unsorted), "'late' (Relu) stands before node 'early' (Neg)");
    onnx::ModelProto dangling = empty_model();
    add_node(*dangling.mutable_graph(), "Add", {"x", "nowhere"}, {"y"});
    EXPECT_SAYS(refusal(dangling), "'Add#0' (Add) reads 'nowhere'");
    onnx::ModelProto output = empty_model();
    add_node(*output.mutable_graph(), "Relu", {"x"}, {"z"});
    EXPECT_SAYS(refusal(output), "output 'y' is made by no node");
}

TEST(Refuse, UnknownOperatorsDomainsAndOpsets) {
    onnx::ModelProto op = empty_model();
    add_node(*op.mutable_graph(), "Reluu", {"x"}, {"y"}, "n");
    EXPECT_SAYS(refusal(op), "no operator Reluu in ai.onnx");
    EXPECT_SAYS(refusal(op), "did you mean Relu?");
    onnx::ModelProto old = empty_model(12);
    add_node(*old.mutable_graph(), "HardSwish", {"x"}, {"y"}, "n");
    EXPECT_SAYS(refusal(old), "HardSwish does not exist in opset 12");
    onnx::ModelProto domain = empty_model();
    add_node(*domain.mutable_graph(), "Thing", {"x"}, {"y"}, "n").set_domain("com.example");
    EXPECT_SAYS(refusal(domain), "operator set com.example, which the model does not import");
    onnx::ModelProto opset = empty_model(999);
    add_node(*opset.mutable_graph(), "Relu", {"x"}, {"y"});
    EXPECT_SAYS(refusal(opset), "opset 999 of ai.onnx");
    onnx::ModelProto twice = empty_model();
    auto& import = *twice.add_opset_import();
    import.set_domain("ai.onnx");
    import.set_version(12);
    EXPECT_SAYS(refusal(twice), "two versions");
    onnx::ModelProto newer = empty_model();
    newer.set_ir_version(99);
    EXPECT_SAYS(refusal(newer), "IR version 99");
}

TEST(Refuse, NamesGivenTwice) {
    onnx::ModelProto outputs = empty_model();
    add_node(*outputs.mutable_graph(), "Relu", {"x"}, {"y"}, "one");
    add_node(*outputs.mutable_graph(), "Neg", {"x"}, {"y"}, "two");
    EXPECT_SAYS(refusal(outputs), "'y' is given twice, the second time to node 'two' (Neg)");
    onnx::ModelProto inputs = empty_model();
    set_value(*inputs.mutable_graph()->add_input(), "x", {"4"});
    EXPECT_SAYS(refusal(inputs), "'x' is given twice");
    onnx::ModelProto initializers = empty_model();
    add_node(*initializers.mutable_graph(), "Relu", {"x"}, {"y"});
    add_weights(*initializers.mutable_graph(), "w", {2});
    add_weights(*initializers.mutable_graph(), "w", {3});
    EXPECT_SAYS(refusal(initializers), "two initializers are named 'w'");
}

/// The line for a model whose initializer w was changed.
template <typename Change>
std::string with_tensor(Change change) {
    onnx::ModelProto model = empty_model();
    add_node(*model.mutable_graph(), "Add", {"x", "w"}, {"y"}, "n");
    change(add_weights(*model.mutable_graph(), "w", {4}));
    return refusal(model);
}

TEST(Refuse, DataThatDoesNotFitItsDimensions) {
    using T = onnx::TensorProto;
    EXPECT_SAYS(with_tensor([](T& t) { t.set_raw_data("123"); }),
                "'w': raw data has 3 bytes, but 4 elements need 16");
    EXPECT_SAYS(with_tensor([](T& t) { t.set_raw_data(std::string(20, 'x')); }),
                "raw data has 20 bytes");
    EXPECT_SAYS(with_tensor([](T& t) { t.set_dims(0, -4); }), "-4 are negative");
    EXPECT_SAYS(with_tensor([](T& t) { t.set_dims(0, std::int64_t{1} << 60); }),
                "larger than any memory");
    EXPECT_SAYS(with_tensor([](T& t) {
                    for (int i = 0; i < 40; ++i)
                        t.add_dims(1 << 30);
                }),
                "larger than any memory");
    EXPECT_SAYS(with_tensor([](T& t) { t.set_data_type(77); }), "element type 77");
    EXPECT_SAYS(with_tensor([](T& t) { t.set_data_type(0); }), "element type 0");
    EXPECT_SAYS(with_tensor([](T& t) {
                    t.clear_raw_data();
                    t.add_float_data(1);
                }),
                "has 1 values, but its dimensions 4 need 4");
    EXPECT_SAYS(with_tensor([](T& t) { t.clear_raw_data(); }), "has 0 values");
    EXPECT_SAYS(with_tensor([](T& t) {
                    t.set_data_type(T::INT4);
                    t.set_dims(0, 5);
                    t.set_raw_data("12");
                }),
                "2 bytes, but 5 elements need 3");
}

TEST(Refuse, DimensionsOfInputs) {
    for (auto [dimension, word] :
         {std::pair{"-2", "negative"}, std::pair{"4611686018427387904", "larger"}}) {
        onnx::ModelProto model = empty_model();
        set_value(*model.mutable_graph()->mutable_input(0), "x", {"2", dimension});
        add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"});
        EXPECT_SAYS(refusal(model), word);
    }
}

TEST(Refuse, TensorsInsideNodesAreCheckedToo) {
    onnx::ModelProto model = empty_model();
    auto& node = add_node(*model.mutable_graph(), "Constant", {}, {"c"}, "const");
    auto& tensor = *add_attribute(node, "value", onnx::AttributeProto::TENSOR).mutable_t();
    tensor.set_name("inner");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(8);
    tensor.set_raw_data("1234");
    add_node(*model.mutable_graph(), "Add", {"x", "c"}, {"y"});
    EXPECT_SAYS(refusal(model), "'inner': raw data has 4 bytes");
}

TEST(Refuse, WhatTheCheckerRefusesIsOneLine) {
    onnx::ModelProto model = empty_model();
    add_node(*model.mutable_graph(), "Concat", {"x", "x"}, {"y"}, "joined_up");  // no axis
    std::string text = refusal(model);
    EXPECT_SAYS(text, "ONNX checker");
    EXPECT_SAYS(text, "joined_up");
    EXPECT_SAYS(text, "axis");
}

TEST(Refuse, DeepNesting) {
    onnx::ModelProto model = empty_model();
    set_value(*model.mutable_graph()->add_input(), "cond", {}, onnx::TensorProto::BOOL);
    onnx::GraphProto* graph = model.mutable_graph();
    for (int depth = 0; depth < 200; ++depth) {
        auto& node = add_node(*graph, "If", {"cond"}, {"o" + std::to_string(depth)});
        add_attribute(node, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
        graph = node.mutable_attribute(0)->mutable_g();
    }
    EXPECT_SAYS(refusal(model), "not an ONNX model");
}

class External : public testing::Test {
protected:
    External() {
        make_folders(models_);
        write_file_atomically(models_ + "/w.bin", std::string(64, '\0'));
        write_file_atomically(folder_.path() + "/outside.bin", std::string(64, '\0'));
    }

    std::string path() const { return models_ + "/m.onnx"; }

    void write(const std::string& location, const std::string& offset = "16",
               const std::string& length = "16") {
        onnx::ModelProto model = empty_model();
        add_node(*model.mutable_graph(), "Add", {"x", "w"}, {"y"}, "n");
        auto& tensor = add_weights(*model.mutable_graph(), "w", {4});
        tensor.clear_raw_data();
        tensor.set_data_location(onnx::TensorProto::EXTERNAL);
        for (auto [key, value] : {std::pair{"location", location}, std::pair{"offset", offset},
                                  std::pair{"length", length}}) {
            if (value.empty())
                continue;
            auto& entry = *tensor.add_external_data();
            entry.set_key(key);
            entry.set_value(value);
        }
        std::ofstream(path(), std::ios::binary) << model.SerializeAsString();
    }

    std::string refused() {
        try {
            Model::load(path());
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
            return error.what();
        }
        ADD_FAILURE() << "was read";
        return {};
    }

    TemporaryFolder folder_;
    std::string models_ = folder_.path() + "/models";
};

TEST_F(External, InsideTheFolderIsRead) {
    make_folders(models_ + "/sub");
    write_file_atomically(models_ + "/sub/w.bin", std::string(64, '\0'));
    for (const char* location : {"w.bin", "sub/w.bin"}) {
        write(location);
        Model model = Model::load(path());
        EXPECT_EQ(model.summary().external_files, std::vector<std::string>{location});
        EXPECT_EQ(model.summary().parameters, 4U);
        EXPECT_EQ(model.summary().parameter_bytes, 16U);
    }
    Digest before = Model::load(path()).digest();
    std::string changed(64, '\0');
    changed[63] = 'x';
    write_file_atomically(models_ + "/sub/w.bin", changed);
    EXPECT_NE(Model::load(path()).digest(), before);
    std::string model_hex = digest_of_file(path()).hex();
    std::string data_hex = digest_of_file(models_ + "/sub/w.bin").hex();
    EXPECT_EQ(Model::load(path()).digest(),
              digest_of(model_hex + "\n" + data_hex + "  sub/w.bin\n"));
}

TEST_F(External, FromTheWorkingFolder) {
    write("w.bin");
    char before[4096];
    ASSERT_NE(::getcwd(before, sizeof(before)), nullptr);
    ASSERT_EQ(::chdir(models_.c_str()), 0);
    EXPECT_EQ(Model::load("m.onnx").summary().external_files.size(), 1U);
    ASSERT_EQ(::chdir(before), 0);
}

TEST_F(External, OutsideTheFolderIsRefused) {
    write("../outside.bin");
    EXPECT_SAYS(refused(), "'../outside.bin' lies outside the model's folder");
    write("sub/../../outside.bin");
    EXPECT_SAYS(refused(), "outside the model's folder");
    write(folder_.path() + "/outside.bin");
    EXPECT_SAYS(refused(), "outside the model's folder");
    ASSERT_EQ(::symlink("../outside.bin", (models_ + "/link.bin").c_str()), 0);
    write("link.bin");
    EXPECT_SAYS(refused(), "outside the model's folder");
    ASSERT_EQ(::symlink("..", (models_ + "/up").c_str()), 0);
    write("up/outside.bin");
    EXPECT_SAYS(refused(), "outside the model's folder");
    write("/dev/zero");
    EXPECT_SAYS(refused(), "outside the model's folder");
}

TEST_F(External, WhatIsNoUsableFileIsRefused) {
    write("none.bin");
    EXPECT_SAYS(refused(), "'none.bin' cannot be used");
    make_folders(models_ + "/folder");
    write("folder");
    EXPECT_SAYS(refused(), "cannot be used");
    ASSERT_EQ(::mkfifo((models_ + "/fifo").c_str(), 0600), 0);
    write("fifo");
    EXPECT_SAYS(refused(), "cannot be used");
    write("");
    EXPECT_SAYS(refused(), "names no location");
}

TEST_F(External, SizesAreChecked) {
    write("w.bin", "56");
    EXPECT_SAYS(refused(), "too short");
    write("w.bin", "16", "15");
    EXPECT_SAYS(refused(), "has 15 bytes, but 4 elements need 16");
    write("w.bin", "16", "17");
    EXPECT_SAYS(refused(), "has 17 bytes");
    write("w.bin", "-1");
    EXPECT_SAYS(refused(), "offset '-1'");
    write("w.bin", "18446744073709551615");
    EXPECT_SAYS(refused(), "no size");
    write("w.bin", "", "");
    EXPECT_EQ(Model::load(path()).summary().parameters, 4U);
}

TEST_F(External, ModelsFromMemoryHaveNone) {
    write("w.bin");
    try {
        Model::from_bytes(read_file(path()), "stdin");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_SAYS(std::string(error.what()), "not read from a folder");
    }
}

}  // namespace
}  // namespace requal::graph
