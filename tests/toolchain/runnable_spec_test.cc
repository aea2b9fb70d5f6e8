#include "support.h"

namespace requal::toolchain {
namespace {

class RunnableSpecs : public ::testing::Test {
protected:
    void SetUp() override { use_built_runners(); }
    TemporaryFolder folder_;
};

TEST_F(RunnableSpecs, ReadsItsParts) {
    const RunnableSpec bare = parse_runnable("model.onnx");
    EXPECT_EQ(bare.artefact, "model.onnx");
    EXPECT_EQ(bare.toolchain, "");
    EXPECT_FALSE(bare.in_store);
    EXPECT_EQ(bare.text, "model.onnx");
    const RunnableSpec stored = parse_runnable("store:board-inspection@tensorrt");
    EXPECT_TRUE(stored.in_store);
    EXPECT_EQ(stored.artefact, "board-inspection");
    EXPECT_EQ(stored.toolchain, "tensorrt");
    const RunnableSpec full =
        parse_runnable("a/b.onnx@openvino:cpu?threads=2&cache=true&rate=0.5&name=fp16");
    EXPECT_EQ(full.artefact, "a/b.onnx");
    EXPECT_EQ(full.toolchain, "openvino:cpu");
    EXPECT_EQ(full.options,
              parse_json(R"({"threads":2,"cache":true,"rate":0.5,"name":"fp16"})", "t"));
}

TEST_F(RunnableSpecs, TypesOfValues) {
    const auto value = [](const std::string& text) {
        return parse_runnable("m@scripted?k=" + text).options.at("k");
    };
    EXPECT_EQ(value("true"), Json(true));
    EXPECT_EQ(value("false"), Json(false));
    EXPECT_EQ(value("-3"), Json(-3));
    EXPECT_EQ(value("0"), Json(0));
    EXPECT_EQ(value("2.5e3"), Json(2500.0));
    EXPECT_EQ(value("9223372036854775807"), Json(std::int64_t{9223372036854775807}));
    for (const char* text :
         {"True", "", "007", "-", "1x3x320x320", "0x10", ".5", "1.2.3", "inf", "nan", "1 "}) {
        EXPECT_EQ(value(text), Json(text)) << text;
    }
    // A percent escape makes it text, whatever it looks like.
    EXPECT_EQ(value("1%2E10"), Json("1.10"));
    EXPECT_EQ(value("%31"), Json("1"));
    EXPECT_EQ(value("a%26b%3Dc%40d%25"), Json("a&b=c@d%"));
    EXPECT_EQ(value("%C3%A4"), Json("ä"));
}

TEST_F(RunnableSpecs, TheLastToolchainNameCounts) {
    const RunnableSpec mail = parse_runnable("user@host/model.onnx@onnxruntime:cpu");
    EXPECT_EQ(mail.artefact, "user@host/model.onnx");
    EXPECT_EQ(mail.toolchain, "onnxruntime:cpu");
    const RunnableSpec folder = parse_runnable("models@2026/m.onnx");
    EXPECT_EQ(folder.artefact, "models@2026/m.onnx");
    EXPECT_EQ(folder.toolchain, "");
    const RunnableSpec at_in_value = parse_runnable("m.onnx@openvino:cpu?cache=/a@b");
    EXPECT_EQ(at_in_value.toolchain, "openvino:cpu");
    EXPECT_EQ(at_in_value.options.at("cache"), Json("/a@b"));
    // A name that no runner has yet is still a toolchain; the runner says that it is missing.
    EXPECT_EQ(parse_runnable("m.onnx@tflite:xnnpack").toolchain, "tflite:xnnpack");
    EXPECT_EQ(parse_runnable("we?rd.onnx@openvino:cpu").artefact, "we?rd.onnx");
}

TEST_F(RunnableSpecs, APathThatExistsIsAnArtefact) {
    const std::string path = folder_.path() + "/m@scripted";
    write_file_atomically(path, "x");
    EXPECT_EQ(parse_runnable(path).artefact, path);
    EXPECT_EQ(parse_runnable(path).toolchain, "");
    EXPECT_EQ(parse_runnable(path + "@scripted").artefact, path);
    write_file_atomically(folder_.path() + "/m", "x");
    EXPECT_ERROR(error_of([&] { parse_runnable(path); }), ErrorKind::usage, "both");
    EXPECT_EQ(parse_runnable(path + "@scripted").artefact, path);
}

TEST_F(RunnableSpecs, RefusesHostileText) {
    for (const std::string& text : {std::string(), std::string("store:"),
                                    std::string("store:@scripted"), std::string("a\0b", 3)}) {
        EXPECT_ERROR(error_of([&] { parse_runnable(text); }), ErrorKind::usage, "");
    }
    for (const char* options : {"k", "=v", "k=1&k=2", "k=%", "k=%4", "k=%zz", "k=%00", "k=%ff",
                                "a b=1", "k;=1", "&&", "k=1&&l=2"}) {
        EXPECT_ERROR(error_of([&] { parse_runnable(std::string("m@scripted?") + options); }),
                     ErrorKind::usage, "");
    }
    // Nothing in it can drive a terminal.
    const auto error = error_of([] { parse_runnable("m@scripted?\x1b[31m=1"); });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(std::string(error->what()).find('\x1b'), std::string::npos);
    const std::string longest(100'000, '@');
    EXPECT_EQ(parse_runnable(longest).artefact, longest);
}

TEST_F(RunnableSpecs, AYamlFileSaysTheSame) {
    const std::string path = folder_.path() + "/side.yaml";
    write_file_atomically(path, "artefact: engines/e.blob\ntoolchain: openvino:cpu\noptions:\n  "
                                "threads: 2\n  hint: \"2\"\n");
    const RunnableSpec spec = parse_runnable(path);
    EXPECT_EQ(spec.artefact, folder_.path() + "/engines/e.blob") << "beside the file that names it";
    EXPECT_EQ(spec.toolchain, "openvino:cpu");
    EXPECT_EQ(spec.options, parse_json(R"({"threads":2,"hint":"2"})", "t"));
    write_file_atomically(path, "artefact: store:board\n");
    EXPECT_TRUE(parse_runnable(path).in_store);
    for (const char* text : {"", "- a\n", "toolchain: scripted\n", "artefact: a\ntoolchian: b\n",
                             "artefact: a\ntoolchain: 'B !'\n", "artefact: a\noptions: [1]\n",
                             "artefact: a\noptions:\n  k: [1]\n", "artefact: \"a\\0b\"\n",
                             "artefact: a\nartefact: b\n"}) {
        write_file_atomically(path, text);
        EXPECT_ERROR(error_of([&] { parse_runnable(path); }), ErrorKind::input, "side.yaml");
    }
}

}  // namespace
}  // namespace requal::toolchain
