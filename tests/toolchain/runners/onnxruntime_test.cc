// ONNX Runtime's runner without the protocol around it.
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "runner_testing.h"
#include "toolchain/runners/onnxruntime/api.h"
#include "toolchain/runners/onnxruntime/profile.h"
#include "toolchain/runners/onnxruntime/runtime.h"

namespace requal::toolchain::ort {
namespace {

using namespace testing_support;

const std::string cpu = "onnxruntime:cpu";

std::unique_ptr<Session> load(const std::string& path, const Json& options = Json::object()) {
    OnnxRuntime runtime;
    return runtime.load(path, cpu, options);
}

TEST(OnnxRuntimeRunner, CapabilitiesSayWhatIsHere) {
    OnnxRuntime runtime;
    const auto facts = runtime.capabilities();
    EXPECT_EQ(facts.at("name").as_string(), "onnxruntime");
    const auto& first = facts.at("toolchains").as_array().front();
    EXPECT_EQ(first.at("name").as_string(), cpu);
    EXPECT_TRUE(first.at("works").as_boolean());
    bool named = false;
    for (const auto& library : facts.at("libraries").as_array())
        named = named || (library.at("soname").is_string() &&
                          library.at("soname").as_string() == "libonnxruntime.so.1");
    EXPECT_TRUE(named);
}

class EveryType : public testing::TestWithParam<std::string> {};

TEST_P(EveryType, PassesThroughUnchanged) {
    const auto type = parse_element_type(GetParam());
    const auto session = load(model("reshape_" + GetParam() + ".onnx"));
    ASSERT_EQ(session->inputs().front().type, type);
    const auto input = patterned(type, {2, 3});
    const auto outputs = session->run({{"x", input}});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].first, "y");
    EXPECT_EQ(outputs[0].second.type(), type);
    EXPECT_EQ(outputs[0].second.shape(), (Shape{3, 2}));
    EXPECT_TRUE(same_bytes(outputs[0].second, input));
    session->prepare_timing({{"x", input}});
    session->time_once();
    session->time_once();
}

INSTANTIATE_TEST_SUITE_P(OnnxRuntimeRunner, EveryType,
                         testing::Values("float32", "float64", "float16", "bfloat16", "int8",
                                         "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                         "uint64", "bool", "string"));

TEST(OnnxRuntimeRunner, DynamicAxesAreMinusOneAndTakeAnySize) {
    const auto session = load(model("conv.onnx"));
    EXPECT_EQ(session->inputs()[0].shape, (Shape{-1, 3, -1, -1}));
    for (const std::int64_t size : {1, 5, 32}) {
        const auto outputs =
            session->run({{"x", Tensor(ElementType::float32, {2, 3, size, size})}});
        EXPECT_EQ(outputs[0].second.shape(), (Shape{2, 4, 1, 1}));
    }
    const auto empty = session->run({{"x", Tensor(ElementType::float32, {0, 3, 4, 4})}});
    EXPECT_EQ(empty[0].second.shape(), (Shape{0, 4, 1, 1}));
}

TEST(OnnxRuntimeRunner, ShapeOptionFixesAxes) {
    const auto session = load(model("conv.onnx"), Json::object({{"shape.x", "1x3x8x8"}}));
    EXPECT_EQ(session->inputs()[0].shape, (Shape{1, 3, 8, 8}));
    EXPECT_EQ(session->outputs()[0].shape, (Shape{1, 4, 1, 1}));
    EXPECT_EQ(session->facts().at("options_effective").at("dimensions").at("height").as_integer(),
              8);
    const auto error = error_of([&] {
        session->run({{"x", Tensor(ElementType::float32, {1, 3, 9, 8})}});
    });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.where(), "input x");
    // one axis name, two sizes
    const auto clash = error_of([] {
        load(model("pair.onnx"), Json::object({{"shape.a", "1x2"}, {"shape.b", "3x2"}}));
    });
    EXPECT_EQ(clash.kind(), ErrorKind::input);
    EXPECT_NE(std::string(clash.what()).find("'n'"), std::string::npos) << clash.what();
    // an axis without a name cannot be overridden in the runtime; the runner holds to it all the same
    const auto unnamed = load(model("unnamed_axis.onnx"), Json::object({{"shape.x", "4x2"}}));
    EXPECT_EQ(error_of([&] {
                  unnamed->run({{"x", Tensor(ElementType::float32, {5, 2})}});
              }).kind(),
              ErrorKind::input);
    EXPECT_NE(std::string(error_of([] {
                              load(model("conv.onnx"), Json::object({{"shape.q", "1"}}));
                          }).what())
                  .find("shape.q"),
              std::string::npos);
    const auto dimension = load(model("pair.onnx"), Json::object({{"dimension.n", "7"}}));
    EXPECT_EQ(dimension->inputs()[1].shape, (Shape{7, 2}));
}

TEST(OnnxRuntimeRunner, OutputsOfFormerRunsStay) {
    const auto session = load(model("deep.onnx"));
    const auto first = session->run({{"x", floats({64}, std::vector<float>(64, 1))}});
    const auto kept = values_of(first[0].second);
    session->run({{"x", floats({64}, std::vector<float>(64, 2))}});
    EXPECT_EQ(values_of(first[0].second), kept);
}

TEST(OnnxRuntimeRunner, OutputShapeMayDependOnValues) {
    const auto session = load(model("nonzero.onnx"));
    EXPECT_EQ(session->run({{"x", floats({4}, {1, 0, 2, 3})}})[0].second.shape(), (Shape{1, 3}));
    EXPECT_EQ(session->run({{"x", floats({4}, {0, 0, 0, 0})}})[0].second.shape(), (Shape{1, 0}));
    session->prepare_timing({{"x", floats({4}, {0, 0, 0, 0})}});
    session->time_once();
}

TEST(OnnxRuntimeRunner, WrongInputsAreNamedAndTheSessionLivesOn) {
    const auto session = load(model("embedding.onnx"));
    const NamedTensors good = {
        {"tokens", tensor_of<std::int64_t>(ElementType::int64, {2}, {1, 9})}};
    const std::vector<std::pair<NamedTensors, std::string>> wrong = {
        {{}, "input tokens"},
        {{{"token", good[0].second}}, "input token"},
        {{good[0], {"more", good[0].second}}, "input more"},
        {{{"tokens", Tensor(ElementType::int32, {2})}}, "input tokens"},
        {{{"tokens", Tensor(ElementType::int64, {2, 2})}}, "input tokens"},
    };
    for (const auto& [inputs, where] : wrong) {
        const auto error =
            error_of([&session = session, &inputs = inputs] { session->run(inputs); });
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_EQ(error.where(), where);
    }
    // an index out of range fails inside a node, which is named
    const auto error = error_of([&] {
        session->run({{"tokens", tensor_of<std::int64_t>(ElementType::int64, {1}, {10})}});
    });
    EXPECT_NE(error.where().find("'lookup'"), std::string::npos) << error.what();
    EXPECT_EQ(error.message().find(".cc:"), std::string::npos) << error.what();
    EXPECT_EQ(session->run(good)[0].second.shape(), (Shape{2, 4}));
}

TEST(OnnxRuntimeRunner, OptionsAreEffective) {
    const auto facts_with = [](const Json& options) {
        return load(model("deep.onnx"), options)->facts();
    };
    EXPECT_EQ(facts_with(Json::object({{"threads", 3}})).at("threads").as_integer(), 3);
    EXPECT_EQ(facts_with(Json::object({{"threads", "1"}})).at("threads").as_integer(), 1);
    const auto effective = facts_with(Json::object({{"optimization", "basic"},
                                                    {"execution_mode", "parallel"},
                                                    {"inter_threads", 2},
                                                    {"memory_arena", "off"},
                                                    {"deterministic", "on"},
                                                    {"config.session.set_denormal_as_zero", "1"}}))
                               .at("options_effective");
    EXPECT_EQ(effective.at("optimization").as_string(), "basic");
    EXPECT_EQ(effective.at("execution_mode").as_string(), "parallel");
    EXPECT_FALSE(effective.at("memory_arena").as_boolean());
    EXPECT_TRUE(effective.at("deterministic").as_boolean());
    EXPECT_EQ(effective.at("config").at("session.set_denormal_as_zero").as_string(), "1");
    // fusion happens at "all" only
    const NamedTensors inputs = {{"x", Tensor(ElementType::float32, {1, 3, 8, 8})}};
    const auto nodes = [&](const char* level) {
        return load(model("conv.onnx"), Json::object({{"optimization", level}}))
            ->profile(inputs)
            .at("nodes")
            .size();
    };
    EXPECT_EQ(nodes("disable"), 3U);
    EXPECT_LT(nodes("extended"), 3U);
}

TEST(OnnxRuntimeRunner, UnknownAndUselessOptionsAreRefused) {
    for (const Json& options :
         {Json::object({{"optimisation", "all"}}), Json::object({{"optimization", "most"}}),
          Json::object({{"threads", -1}}), Json::object({{"provider.device_id", "0"}}),
          Json::object({{"inter_threads", 2}}), Json::object({{"precision", "f16"}}),
          Json::object({{"external_data", "on"}})}) {
        EXPECT_EQ(error_of([&] { load(model("deep.onnx"), options); }).kind(), ErrorKind::input)
            << write_json(options);
    }
}

TEST(OnnxRuntimeRunner, MissingProviderIsSaid) {
    OnnxRuntime runtime;
    bool has_qnn = false;
    const auto facts = runtime.capabilities();
    for (const auto& toolchain : facts.at("toolchains").as_array())
        has_qnn = has_qnn || toolchain.at("name").as_string() == "onnxruntime:qnn";
    if (!has_qnn) {
        const auto error =
            error_of([&] { runtime.load(model("deep.onnx"), "onnxruntime:qnn", Json::object()); });
        EXPECT_EQ(error.kind(), ErrorKind::missing);
        EXPECT_NE(std::string(error.what()).find("QNNExecutionProvider"), std::string::npos);
    }
    EXPECT_EQ(error_of([&] {
                  runtime.load(model("deep.onnx"), "onnxruntime:abacus", Json::object());
              }).kind(),
              ErrorKind::input);
}

TEST(OnnxRuntimeRunner, ProfileNamesNodes) {
    const auto session = load(model("deep.onnx"), Json::object({{"optimization", "disable"}}));
    const auto profile = session->profile({{"x", Tensor(ElementType::float32, {64})}});
    ASSERT_EQ(profile.at("nodes").size(), 101U);
    const auto& node = profile.at("nodes").as_array()[7];
    EXPECT_EQ(node.at("name").as_string(), "layer_7");
    EXPECT_EQ(node.at("op").as_string(), "Sin");
    EXPECT_EQ(node.at("provider").as_string(), "CPUExecutionProvider");
    EXPECT_GE(node.at("time_ms").as_number(), 0);
    EXPECT_EQ(session->facts().at("placement").at("nodes_total").as_integer(), 101);
    // the session itself runs on, without profiling
    EXPECT_EQ(session->run({{"x", Tensor(ElementType::float32, {64})}}).size(), 1U);
    const auto unnamed =
        load(model("unnamed_nodes.onnx"))->profile({{"x", Tensor(ElementType::float32, {2})}});
    EXPECT_FALSE(unnamed.at("nodes").as_array()[0].at("name").as_string().empty());
}

TEST(OnnxRuntimeRunner, SpinningIsTheRuntimesDefaultAndCanBeTurnedOff) {
    OnnxRuntime runtime;
    const auto as_it_comes = runtime.load(model("conv.onnx"), cpu, Json::object());
    EXPECT_TRUE(as_it_comes->facts().at("options_effective").at("spinning").as_boolean());
    const auto quiet = runtime.load(model("conv.onnx"), cpu, Json::object({{"spinning", false}}));
    EXPECT_FALSE(quiet->facts().at("options_effective").at("spinning").as_boolean());
}

TEST(OnnxRuntimeRunner, BuildOptimisesOnceAndLoadsWithTheSameResult) {
    const TemporaryFolder folder("requal-test");
    const auto engine = folder.path() + "/engine.onnx";
    OnnxRuntime runtime;
    const auto facts = runtime.build(model("conv.onnx"), engine, cpu,
                                     Json::object({{"shape.x", "1x3x16x16"}, {"threads", 1}}));
    EXPECT_EQ(facts.at("files").as_array().front().as_string(), engine);
    EXPECT_EQ(facts.at("precision").at("executed").as_string(), "f32");
    EXPECT_EQ(facts.at("options_effective").at("optimization").as_string(), "all");
    const auto built = load(engine);
    EXPECT_EQ(built->facts().at("options_effective").at("optimization").as_string(), "disable");
    EXPECT_EQ(built->inputs()[0].shape, (Shape{1, 3, 16, 16}));
    const NamedTensors inputs = {{"x", patterned(ElementType::float32, {1, 3, 16, 16})}};
    EXPECT_TRUE(
        same_bytes(built->run(inputs)[0].second, load(model("conv.onnx"))->run(inputs)[0].second));
    EXPECT_EQ(load(engine, Json::object({{"optimization", "all"}}))
                  ->facts()
                  .at("options_effective")
                  .at("optimization")
                  .as_string(),
              "all");
    // the same again gives the same bytes
    const auto again = folder.path() + "/again.onnx";
    runtime.build(model("conv.onnx"), again, cpu,
                  Json::object({{"shape.x", "1x3x16x16"}, {"threads", 1}}));
    EXPECT_TRUE(read_file(engine) == read_file(again));
    // without shapes nothing could be run, and that is said
    const auto open =
        runtime.build(model("conv.onnx"), folder.path() + "/open.onnx", cpu, Json::object());
    EXPECT_EQ(open.at("precision").at("executed").as_string(), "unknown");
    EXPECT_NE(open.at("precision").at("learned_by").as_string().find("dynamic axis"),
              std::string::npos);
}

TEST(OnnxRuntimeRunner, BuildWithExternalData) {
    const TemporaryFolder folder("requal-test");
    const auto engine = folder.path() + "/engine.onnx";
    OnnxRuntime runtime;
    const auto facts =
        runtime.build(detector(), engine, cpu,
                      Json::object({{"external_data", "on"}, {"optimization", "basic"}}));
    ASSERT_EQ(facts.at("files").size(), 2U);
    EXPECT_TRUE(file_exists(facts.at("files").as_array()[1].as_string()));
    EXPECT_LT(file_size(engine), file_size(facts.at("files").as_array()[1].as_string()));
    EXPECT_EQ(load(engine)->inputs().size(), 1U);
}

TEST(OnnxRuntimeRunner, FailedBuildLeavesNothing) {
    const TemporaryFolder folder("requal-test");
    OnnxRuntime runtime;
    for (const char* name : {"unknown_op.onnx", "truncated.onnx", "sequence.onnx"}) {
        error_of(
            [&] { runtime.build(model(name), folder.path() + "/engine", cpu, Json::object()); });
        EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << name;
    }
    EXPECT_EQ(error_of([&] {
                  runtime.build(model("deep.onnx"), folder.path() + "/no/such/engine", cpu,
                                Json::object());
              }).kind(),
              ErrorKind::storage);
}

class Refused : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(Refused, WithOneCleanLine) {
    const auto error = error_of([] { load(model(GetParam().first)); });
    EXPECT_EQ(name_of(error.kind()), GetParam().second) << error.what();
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.find(".cc:"), std::string::npos) << text;
    EXPECT_GT(error.message().size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(
    OnnxRuntimeRunner, Refused,
    testing::Values(
        std::pair{"not_there.onnx", "input"}, std::pair{"inner", "input"},
        std::pair{"empty.onnx", "input"}, std::pair{"truncated.onnx", "input"},
        std::pair{"garbage.onnx", "input"}, std::pair{"text.onnx", "input"},
        std::pair{"zeros.onnx", "input"}, std::pair{"one_byte.onnx", "input"},
        std::pair{"cycle.onnx", "input"}, std::pair{"dangling.onnx", "input"},
        std::pair{"short_weights.onnx", "input"}, std::pair{"huge_weights.onnx", "input"},
        std::pair{"negative_weights.onnx", "input"}, std::pair{"rank_mismatch.onnx", "input"},
        std::pair{"inner/external_parent.onnx", "input"},
        std::pair{"inner/external_absolute.onnx", "input"},
        std::pair{"inner/external_missing.onnx", "input"}, std::pair{"unknown_op.onnx", "input"},
        std::pair{"unknown_domain.onnx", "toolchain"}, std::pair{"future_opset.onnx", "toolchain"},
        std::pair{"future_ir.onnx", "toolchain"}, std::pair{"sequence.onnx", "input"},
        std::pair{"map.onnx", "input"}, std::pair{"optional.onnx", "input"},
        std::pair{"float8.onnx", "toolchain"}));

TEST(OnnxRuntimeRunner, HostileNamesStayOnOneLine) {
    const auto session = load(model("hostile_names.onnx"));
    const auto name = session->inputs()[0].name;
    EXPECT_NE(name.find('\n'), std::string::npos);
    const auto error = error_of([&] { session->run({{name, Tensor(ElementType::float32, {3})}}); });
    const std::string text = error.what();
    EXPECT_EQ(text.find_first_of("\n\x1b"), std::string::npos);
    EXPECT_EQ(session->run({{name, Tensor(ElementType::float32, {2})}})[0].first, "out\"/../\\put");
}

TEST(OnnxRuntimeMessages, LoseTheirSourcePlaces) {
    EXPECT_EQ(
        clean_message(
            "Load model from a b.onnx failed:/onnxruntime_src/onnxruntime/core/graph/model.cc:180 "
            "onnxruntime::Model::Model(onnx::ModelProto&&, const std::function<void()>&) "
            "Unsupported model IR"),
        "Unsupported model IR");
    EXPECT_EQ(
        clean_message("tensorprotoutils.cc:434 ValidateExternalDataPathFromDir Absolute path"),
        "Absolute path");
    EXPECT_EQ(clean_message("see /etc/passwd: no"), "see /etc/passwd: no");
    EXPECT_EQ(clean_message("/a/b.cc:12"), "");
    EXPECT_EQ(clean_message("/a/b.cc:12 f(((("), "f((((");
    EXPECT_EQ(clean_message(""), "");
    EXPECT_EQ(node_in_message("while running Conv node. Name:'c 1' Status"), "c 1");
    EXPECT_EQ(node_in_message("Node (add) Op (Add) [ShapeInferenceError]"), "add");
    EXPECT_EQ(node_in_message("Name:'"), "");
}

TEST(OnnxRuntimeProfile, DamagedIsAnError) {
    for (const char* text : {"", "{}", "[", "[{\"cat\":\"Node\"}]", "[1]",
                             "[{\"cat\":\"Node\",\"name\":\"a_kernel_time\"}]"})
        EXPECT_EQ(error_of([&] { read_profile(text, 3); }).kind(), ErrorKind::toolchain) << text;
    EXPECT_EQ(read_profile("[]", 3).document.at("nodes").size(), 0U);
    EXPECT_EQ(executed_precision(read_profile("[]", 3)), "unknown");
}

}  // namespace
}  // namespace requal::toolchain::ort
