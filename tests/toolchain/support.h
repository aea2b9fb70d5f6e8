// What the tests of this room share: scripted models, inputs, and the runner programs of this build.
#pragma once

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "tensor/tensor.h"
#include "toolchain/client.h"

namespace requal::toolchain {

/// Only the runners of this build are found, the scripted one among them.
inline void use_built_runners() {
    setenv("REQUAL_RUNNERS", REQUAL_BUILD_DIR "/tests/runners:" REQUAL_BUILD_DIR "/libexec/requal",
           1);
}

/// y = relu(mix(2 x + 1)) over x [N, 4], with the given list of wrongness.
inline std::string scripted_text(const std::string& wrongness = "[]") {
    return R"({"scripted": 1,
  "inputs": [{"name": "x", "shape": [-1, 4]}],
  "layers": [
    {"name": "scale", "op": "affine", "factor": 2, "offset": 1},
    {"name": "mixed", "op": "mix", "axis": 1, "seed": 3},
    {"name": "positive", "op": "relu"},
    {"name": "total", "op": "sum", "axis": -1}],
  "outputs": [{"name": "y", "from": "positive"}, {"name": "total"}],
  "wrongness": )" +
           wrongness + "}";
}

inline Tensor ramp(Shape shape, float first = -1.0F, float step = 0.25F) {
    Tensor tensor(ElementType::float32, std::move(shape));
    float value = first;
    for (float& element : tensor.mutable_values<float>()) {
        element = value;
        value += step;
    }
    return tensor;
}

inline std::vector<float> floats(const NamedTensors& tensors, std::string_view name) {
    const Tensor* tensor = find_tensor(tensors, name);
    if (tensor == nullptr || tensor->type() != ElementType::float32) {
        ADD_FAILURE() << "no float32 tensor " << name;
        return {};
    }
    return {tensor->values<float>().begin(), tensor->values<float>().end()};
}

/// The error that `work` throws; fails the test when it throws none.
inline std::optional<Error> error_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no error was thrown";
    return std::nullopt;
}

#define EXPECT_ERROR(error, wanted_kind, part)                                                     \
    do {                                                                                           \
        const auto& seen_error = (error);                                                          \
        ASSERT_TRUE(seen_error.has_value());                                                       \
        EXPECT_EQ(seen_error->kind(), wanted_kind) << seen_error->what();                          \
        EXPECT_NE(std::string(seen_error->what()).find(part), std::string::npos)                   \
            << seen_error->what();                                                                 \
    } while (false)

class ScriptedTest : public ::testing::Test {
protected:
    void SetUp() override {
        use_built_runners();
        unsetenv("REQUAL_SCRIPTED_START");
    }
    void TearDown() override { unsetenv("REQUAL_SCRIPTED_START"); }

    std::string model(const std::string& wrongness = "[]", const std::string& name = "m") {
        const std::string path = folder_.path() + "/" + name + ".scripted.json";
        write_file_atomically(path, scripted_text(wrongness));
        return path;
    }
    static RunnerOptions scripted() {
        RunnerOptions options;
        options.toolchain = "scripted";
        return options;
    }
    const std::string& folder() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

}  // namespace requal::toolchain
