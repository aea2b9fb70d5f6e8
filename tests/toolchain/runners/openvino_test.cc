// OpenVINO's runner without the protocol around it.
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "runner_testing.h"
#include "toolchain/runners/openvino/engine_file.h"
#include "toolchain/runners/openvino/failure.h"
#include "toolchain/runners/openvino/runtime.h"

namespace requal::toolchain::openvino {
namespace {

using namespace testing_support;

const std::string cpu = "openvino:cpu";

std::unique_ptr<Session> load(const std::string& path, const Json& options = Json::object()) {
    OpenVino runtime;
    return runtime.load(path, cpu, options);
}

TEST(OpenVinoRunner, CapabilitiesSayWhatIsHere) {
    OpenVino runtime;
    const auto facts = runtime.capabilities();
    const auto& toolchains = facts.at("toolchains").as_array();
    ASSERT_EQ(toolchains.size(), 2U);
    EXPECT_TRUE(toolchains[0].at("works").as_boolean());
    // the GPU works or says why not, and then loading says it too
    if (!toolchains[1].at("works").as_boolean()) {
        EXPECT_GT(toolchains[1].at("why_not").as_string().size(), 5U);
        EXPECT_EQ(error_of([&] {
                      runtime.load(model("deep.onnx"), "openvino:gpu", Json::object());
                  }).kind(),
                  ErrorKind::missing);
    }
    EXPECT_EQ(
        error_of([&] { runtime.load(model("deep.onnx"), "openvino:npu", Json::object()); }).kind(),
        ErrorKind::input);
}

class EveryType : public testing::TestWithParam<std::string> {};

TEST_P(EveryType, PassesThroughUnchanged) {
    const auto type = parse_element_type(GetParam());
    const auto session = load(model("reshape_" + GetParam() + ".onnx"));
    ASSERT_EQ(session->inputs().front().type, type);
    auto input = patterned(type, {2, 3});
    // the CPU device computes 64-bit types in 32 bits, which facts say
    if (size_of(type) == 8) {
        EXPECT_EQ(session->facts().at("computed_in_32_bits").size(), 2U);
        input = floats({2, 3}, {1, 2, 3, 4, 5, 6}).converted(type);
    }
    const auto outputs = session->run({{"x", input}});
    ASSERT_EQ(outputs.size(), 1U);
    EXPECT_EQ(outputs[0].second.type(), type);
    EXPECT_EQ(outputs[0].second.shape(), (Shape{3, 2}));
    EXPECT_TRUE(same_bytes(outputs[0].second, input));
    session->prepare_timing({{"x", input}});
    session->time_once();
}

INSTANTIATE_TEST_SUITE_P(OpenVinoRunner, EveryType,
                         testing::Values("float32", "float64", "float16", "bfloat16", "int8",
                                         "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                         "uint64", "bool", "string"));

TEST(OpenVinoRunner, DynamicAxesAndShapeOption) {
    const auto session = load(model("conv.onnx"));
    EXPECT_EQ(session->inputs()[0].shape, (Shape{-1, 3, -1, -1}));
    for (const std::int64_t size : {1, 5, 32})
        EXPECT_EQ(session->run({{"x", Tensor(ElementType::float32, {2, 3, size, size})}})[0]
                      .second.shape(),
                  (Shape{2, 4, 1, 1}));
    const auto fixed = load(model("conv.onnx"), Json::object({{"shape.x", "1x3x8x8"}}));
    EXPECT_EQ(fixed->inputs()[0].shape, (Shape{1, 3, 8, 8}));
    EXPECT_EQ(fixed->outputs()[0].shape, (Shape{1, 4, 1, 1}));
    EXPECT_EQ(error_of([&] {
                  fixed->run({{"x", Tensor(ElementType::float32, {1, 3, 9, 8})}});
              }).where(),
              "input x");
    for (const Json& options :
         {Json::object({{"shape.q", "1"}}), Json::object({{"shape.x", "1x4x8x8"}})})
        EXPECT_EQ(error_of([&] { load(model("conv.onnx"), options); }).kind(), ErrorKind::input);
}

TEST(OpenVinoRunner, OutputsKeepTheNamesOfTheModel) {
    const auto session = load(model("alias.onnx"));
    ASSERT_EQ(session->outputs().size(), 2U);
    EXPECT_EQ(session->outputs()[0].name, "z");
    EXPECT_EQ(session->outputs()[1].name, "b");
    const auto outputs = session->run({{"x", floats({2}, {-1, 2})}, {"unused", floats({1}, {0})}});
    EXPECT_EQ(values_of(outputs[0].second), (std::vector<float>{0, 2}));
    EXPECT_EQ(values_of(outputs[1].second), (std::vector<float>{-1, 4}));
}

TEST(OpenVinoRunner, OutputsOfFormerRunsStay) {
    const auto session = load(model("deep.onnx"));
    const auto first = session->run({{"x", floats({64}, std::vector<float>(64, 1))}});
    const auto kept = values_of(first[0].second);
    session->run({{"x", floats({64}, std::vector<float>(64, 2))}});
    EXPECT_EQ(values_of(first[0].second), kept);
}

TEST(OpenVinoRunner, WrongInputsAreNamedAndTheSessionLivesOn) {
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
    const auto run_fails = load(model("reshape_by_input.onnx"));
    const auto target = [](std::int64_t rows) {
        return NamedTensors{
            {"x", Tensor(ElementType::float32, {4})},
            {"target", tensor_of<std::int64_t>(ElementType::int64, {2}, {rows, 2})}};
    };
    const auto error = error_of([&] { run_fails->run(target(3)); });
    EXPECT_EQ(error.kind(), ErrorKind::toolchain);
    EXPECT_EQ(error.message().find(".cpp:"), std::string::npos) << error.what();
    EXPECT_EQ(run_fails->run(target(2))[0].second.shape(), (Shape{2, 2}));
    EXPECT_EQ(session->run(good)[0].second.shape(), (Shape{2, 4}));
}

TEST(OpenVinoRunner, OptionsAreEffective) {
    const auto facts = load(model("deep.onnx"),
                            Json::object({{"threads", "1"}, {"performance_hint", "throughput"}}))
                           ->facts();
    EXPECT_EQ(facts.at("threads").as_integer(), 1);
    EXPECT_EQ(facts.at("options_effective").at("performance_hint").as_string(), "throughput");
    EXPECT_EQ(facts.at("options_effective").at("execution_mode").as_string(), "accuracy");
    const auto streams = load(model("deep.onnx"), Json::object({{"streams", 2}}))->facts();
    EXPECT_EQ(streams.at("options_effective").at("streams").as_integer(), 2);
    for (const Json& options :
         {Json::object({{"precison", "f32"}}), Json::object({{"precision", "f8"}}),
          Json::object({{"threads", 0}}), Json::object({{"execution_mode", "parallel"}})})
        EXPECT_EQ(error_of([&] { load(model("deep.onnx"), options); }).kind(), ErrorKind::input)
            << write_json(options);
    const auto unknown = error_of([] {
        load(model("deep.onnx"), Json::object({{"config.NO_SUCH_PROPERTY", "1"}}));
    });
    EXPECT_NE(std::string(unknown.what()).find("NO_SUCH_PROPERTY"), std::string::npos)
        << unknown.what();
}

TEST(OpenVinoRunner, AccuracyModeKeepsFloat32) {
    const auto precision =
        load(model("conv.onnx"), Json::object({{"shape.x", "1x3x32x32"}}))->facts().at("precision");
    EXPECT_EQ(precision.at("requested").as_string(), "default");
    EXPECT_EQ(precision.at("executed").as_string(), "f32");
    EXPECT_EQ(precision.at("learned_by").as_string(), "per-layer list");
}

TEST(OpenVinoRunner, BuildKeepsItsPrecisionWhenImported) {
    const TemporaryFolder folder("requal-test");
    OpenVino runtime;
    for (const char* precision : {"default", "f32", "f16", "bf16"}) {
        const auto engine = folder.path() + "/" + precision + ".bin";
        const auto facts =
            runtime.build(detector(), engine, cpu,
                          Json::object({{"shape.x", "1x3x64x64"}, {"precision", precision}}));
        EXPECT_EQ(facts.at("precision").at("requested").as_string(), precision);
        const auto executed = facts.at("precision").at("executed").as_string();
        if (std::string_view(precision) == "default" || std::string_view(precision) == "f32") {
            EXPECT_EQ(executed, "f32");
        }
        const auto imported = load(engine)->facts();
        EXPECT_TRUE(imported.at("imported").as_boolean());
        EXPECT_EQ(imported.at("precision").at("executed").as_string(), executed) << precision;
        EXPECT_TRUE(imported.at("engine_head").has("openvino"));
        EXPECT_EQ(
            error_of([&] {
                load(engine, Json::object({{"precision", executed == "f32" ? "f16" : "f32"}}));
            }).kind(),
            ErrorKind::input);
    }
}

TEST(OpenVinoRunner, BlobGivesWhatTheModelGives) {
    const TemporaryFolder folder("requal-test");
    const auto engine = folder.path() + "/engine";
    OpenVino runtime;
    const Json options = Json::object({{"shape.x", "1x3x64x64"}});
    const auto facts = runtime.build(detector(), engine, cpu, options);
    EXPECT_EQ(facts.at("files").as_array().front().as_string(), engine);
    const auto imported = load(engine);
    const auto compiled = load(detector(), options);
    ASSERT_EQ(imported->outputs().size(), 1U);
    EXPECT_EQ(imported->outputs()[0].name, compiled->outputs()[0].name);
    EXPECT_EQ(imported->inputs()[0].name, "x");
    const NamedTensors inputs = {
        {"x", floats({1, 3, 64, 64}, std::vector<float>(3 * 64 * 64, 0.25F))}};
    EXPECT_TRUE(same_bytes(imported->run(inputs)[0].second, compiled->run(inputs)[0].second));
    EXPECT_GT(imported->profile(inputs).at("nodes").size(), 50U);
    EXPECT_EQ(error_of([&] { load(engine, options); }).kind(), ErrorKind::input);
    EXPECT_EQ(error_of([&] {
                  runtime.build(engine, folder.path() + "/twice", cpu, Json::object());
              }).kind(),
              ErrorKind::input);
    // a blob of another maker has no line at its end; it loads with the defaults
    auto bytes = read_file(engine);
    const auto line = bytes.rfind("\nrequal-openvino/1 ");
    ASSERT_NE(line, std::string::npos);
    write_file_atomically(folder.path() + "/foreign", bytes.substr(0, line));
    EXPECT_EQ(load(folder.path() + "/foreign")->facts().at("precision").at("executed").as_string(),
              "f32");
    // truncated ones are refused, a damaged line too
    for (const std::size_t size :
         {std::size_t{16}, std::size_t{100}, std::size_t{300}, bytes.size() / 2}) {
        write_file_atomically(folder.path() + "/short.blob", bytes.substr(0, size));
        const auto error = error_of([&] { load(folder.path() + "/short.blob"); });
        EXPECT_EQ(error.kind(), ErrorKind::input) << size;
    }
    write_file_atomically(folder.path() + "/line",
                          bytes.substr(0, line) + "\nrequal-openvino/1 {\"precision\": 4}\n");
    EXPECT_EQ(error_of([&] { load(folder.path() + "/line"); }).kind(), ErrorKind::input);
}

TEST(OpenVinoRunner, FailedBuildLeavesNothing) {
    const TemporaryFolder folder("requal-test");
    OpenVino runtime;
    for (const char* name : {"unknown_op.onnx", "truncated.onnx", "sequence.onnx"}) {
        error_of(
            [&] { runtime.build(model(name), folder.path() + "/engine", cpu, Json::object()); });
        EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << name;
    }
}

TEST(OpenVinoRunner, ProfileNamesNodes) {
    const auto session = load(model("conv.onnx"), Json::object({{"shape.x", "1x3x32x32"}}));
    const auto profile = session->profile({{"x", Tensor(ElementType::float32, {1, 3, 32, 32})}});
    bool found = false;
    for (const auto& node : profile.at("nodes").as_array())
        found = found || node.at("op").as_string() == "Convolution";
    EXPECT_TRUE(found) << write_json(profile);
    EXPECT_EQ(profile.at("precision").at("executed").as_string(), "f32");
}

class Refused : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(Refused, WithOneCleanLine) {
    const auto error = error_of([] { load(model(GetParam().first)); });
    EXPECT_EQ(name_of(error.kind()), GetParam().second) << error.what();
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_EQ(text.find("Exception from"), std::string::npos) << text;
    EXPECT_EQ(text.find(".hpp:"), std::string::npos) << text;
    EXPECT_GT(error.message().size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(
    OpenVinoRunner, Refused,
    testing::Values(
        std::pair{"not_there.onnx", "input"}, std::pair{"inner", "input"},
        std::pair{"empty.onnx", "input"}, std::pair{"truncated.onnx", "input"},
        std::pair{"garbage.onnx", "input"}, std::pair{"text.onnx", "input"},
        std::pair{"zeros.onnx", "input"}, std::pair{"one_byte.onnx", "input"},
        std::pair{"dangling.onnx", "input"}, std::pair{"short_weights.onnx", "input"},
        std::pair{"huge_weights.onnx", "input"}, std::pair{"negative_weights.onnx", "input"},
        std::pair{"rank_mismatch.onnx", "input"}, std::pair{"inner/external_parent.onnx", "input"},
        std::pair{"inner/external_absolute.onnx", "input"},
        std::pair{"inner/external_missing.onnx", "input"}, std::pair{"garbage.blob", "input"},
        std::pair{"unknown_op.onnx", "toolchain"}, std::pair{"unknown_domain.onnx", "toolchain"},
        std::pair{"sequence.onnx", "toolchain"}, std::pair{"optional.onnx", "toolchain"},
        std::pair{"map.onnx", "input"}, std::pair{"float8.onnx", "toolchain"}));

TEST(OpenVinoFiles, SettingsLineIsReadBack) {
    const Json settings = Json::object(
        {{"precision", "f16"}, {"execution_mode", "accuracy"}, {"config", Json::object()}});
    EXPECT_EQ(recorded_settings("blob" + settings_line(settings), "e"), settings);
    EXPECT_TRUE(recorded_settings("", "e").is_null());
    EXPECT_TRUE(recorded_settings("blob", "e").is_null());
    EXPECT_TRUE(recorded_settings("blob" + settings_line(settings) + "more", "e").is_null());
    EXPECT_TRUE(recorded_settings("\nrequal-openvino/1 {}\nmore\n", "e").is_null());
    for (const char* text :
         {"\nrequal-openvino/1 \n", "\nrequal-openvino/1 []\n", "\nrequal-openvino/1 {}\n",
          "\nrequal-openvino/1 "
          "{\"precision\":\"f32\",\"execution_mode\":\"a\",\"config\":{\"k\":1}}\n"})
        EXPECT_EQ(error_of([&] { recorded_settings(text, "e"); }).kind(), ErrorKind::input) << text;
    EXPECT_EQ(blob_head(std::string("\0\1meta=1.0;ov=2026.4.1;isa=Intel AVX2\0junk", 40))
                  .at("isa")
                  .as_string(),
              "Intel AVX2");
    EXPECT_EQ(blob_head("nothing").size(), 0U);
}

TEST(OpenVinoMessages, LoseTheirSourcePlaces) {
    EXPECT_EQ(clean_message("Exception from src/inference/src/cpp/core.cpp:98:\nCheck 'false' "
                            "failed at src/plugin.cpp:1:\nbad thing\n"),
              "bad thing");
    EXPECT_EQ(clean_message("Exception from a.cpp:1:\nCheck 'x > 0' failed at a.cpp:1\n"),
              "Check 'x > 0' failed");
    EXPECT_EQ(clean_message(""), "");
    EXPECT_EQ(node_in_message("with friendly_name 'a b': Kernel"), "a b");
    EXPECT_EQ(node_in_message("friendly_name '"), "");
}

}  // namespace
}  // namespace requal::toolchain::openvino
