#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "measure/runnable.h"
#include "tensor/npy.h"

namespace requal::measure {
namespace {

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return std::string(name_of(error.kind())) + ": " + error.what();
    }
    return "no error";
}

class RunnableFile : public testing::Test {
protected:
    std::string file(const std::string& name, const std::string& bytes) {
        const std::string path = folder_.path() + "/" + name;
        write_file_atomically(path, bytes);
        return path;
    }
    TemporaryFolder folder_;
};

/// ir_version 8, producer "p", graph of two bytes.
const std::string onnx_bytes("\x08\x08\x12\x01p\x3a\x02\x0a\x00", 9);

TEST_F(RunnableFile, ToolchainByBytesNotByName) {
    EXPECT_EQ(toolchain_for(file("a.blob", onnx_bytes)), "onnxruntime:cpu");
    EXPECT_EQ(
        toolchain_for(file("a.onnx", std::string("<?xml version=\"1.0\"?>\n<net name=\"n\">"))),
        "openvino:cpu");
    EXPECT_EQ(toolchain_for(file("b.onnx", std::string("ftrt\0\0\0\0", 8))), "tensorrt");
    EXPECT_EQ(toolchain_for(file("c.onnx", std::string("vtrt\0\0\0\0", 8))), "tensorrt-rtx");
    EXPECT_EQ(toolchain_for(file("d.onnx", "hello")), "");
    EXPECT_EQ(toolchain_for(file("e.onnx", "")), "");
    // Fields in another order, and one of the wrong wire type.
    EXPECT_EQ(toolchain_for(file("f", std::string("\x42\x02\x10\x0b\x3a\x00", 6))),
              "onnxruntime:cpu");
    EXPECT_EQ(toolchain_for(file("g", std::string("\x0a\x02\x10\x0b\x3a\x00", 6))), "");
    // A length that points past the end, and one that would wrap around.
    EXPECT_EQ(toolchain_for(file("h", std::string("\x12\xff\xff\xff\x7f\x3a", 6))), "");
    EXPECT_EQ(toolchain_for(file(
                  "i", std::string("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x3a\x00", 13))),
              "");
}

TEST_F(RunnableFile, WhatIsDecidedWithoutARunner) {
    const std::string model = file("m.onnx", onnx_bytes);
    const Runnable given = resolve_runnable(model + "@openvino:cpu?threads=2");
    EXPECT_EQ(given.spec.toolchain, "openvino:cpu");
    EXPECT_TRUE(given.toolchain_given);
    EXPECT_EQ(given.spec.options.at("threads").as_integer(), 2);
    EXPECT_EQ(given.size_bytes, onnx_bytes.size());
    const Runnable chosen = resolve_runnable(model);
    EXPECT_EQ(chosen.spec.toolchain, "onnxruntime:cpu");
    EXPECT_FALSE(chosen.toolchain_given);
    const std::string golden = folder_.path() + "/golden.npz";
    write_npz_file(golden, {{"y", Tensor(ElementType::float32, {1})}});
    EXPECT_TRUE(resolve_runnable(golden).saved);
}

TEST_F(RunnableFile, ErrorsHaveTheRightKindAndSayWhatToDo) {
    EXPECT_NE(message_of([&] {
                  resolve_runnable(folder_.path() + "/nosuch.onnx@onnxruntime:cpu");
              }).find("input: "),
              std::string::npos);
    EXPECT_NE(
        message_of([&] { resolve_runnable(folder_.path() + "/nosuch.onnx"); }).find("input: "),
        std::string::npos);
    EXPECT_NE(message_of([&] { resolve_runnable(file("empty", "")); }).find("is empty"),
              std::string::npos);
    EXPECT_NE(message_of([&] { resolve_runnable(file("what", "hello")); }).find("which toolchain"),
              std::string::npos);
    const std::string golden = folder_.path() + "/golden.npz";
    write_npz_file(golden, {{"y", Tensor(ElementType::float32, {1})}});
    EXPECT_NE(message_of([&] { resolve_runnable(golden, "ssh://host"); }).find("usage: "),
              std::string::npos);
    SideOpener saved(resolve_runnable(golden));
    EXPECT_NE(message_of([&] { saved.open_running(); }).find("cannot be run"), std::string::npos);
    // No such runner program: found when the side is opened, also when the program was started in the background.
    SideOpener absent(resolve_runnable(file("m.onnx", onnx_bytes) + "@nosuchruntime:cpu"));
    absent.start_program();
    EXPECT_NE(message_of([&] { absent.open(); }).find("missing: "), std::string::npos);
}

TEST_F(RunnableFile, DigestInBackground) {
    const std::string path = file("a", "abc");
    EXPECT_EQ(digest_in_background(path).get(), digest_of("abc"));
    EXPECT_EQ(digest_in_background(path).get(), digest_of("abc"));
    file("a", "abcd");
    EXPECT_EQ(digest_in_background(path).get(), digest_of("abcd"));
    // A folder: what `data` says of it, read anew each time.
    write_npz_file(folder_.path() + "/1.npz", {{"x", Tensor(ElementType::float32, {1})}});
    const auto described = [&] {
        return data::inputs_from_path(folder_.path(), {{"x", ElementType::float32, {-1}}}, {})
            .get()
            ->describe()
            .at("digest")
            .as_string();
    };
    EXPECT_EQ(digest_in_background(folder_.path()).get().text(), described());
    write_npz_file(folder_.path() + "/1.npz", {{"x", Tensor(ElementType::float32, {2})}});
    EXPECT_EQ(digest_in_background(folder_.path()).get().text(), described());
    EXPECT_THROW(digest_in_background(folder_.path() + "/nosuch"), Error);
}

}  // namespace
}  // namespace requal::measure
