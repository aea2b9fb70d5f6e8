// Each wrongness of the scripted runner shows itself as documented, and a clean script shows none.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "support.h"

namespace requal::toolchain {
namespace {

class Scripted : public ScriptedTest {
protected:
    NamedTensors once(const std::string& wrongness, const NamedTensors& inputs,
                      const Json& options = Json::object()) {
        Runner runner(scripted());
        LoadedRunnable loaded = runner.load(model(wrongness), options);
        return copied(loaded.run(inputs));
    }
    static NamedTensors copied(const NamedTensors& tensors) {
        NamedTensors copies;
        for (const auto& [name, tensor] : tensors) {
            Tensor copy = tensor;
            (void)copy.mutable_bytes();
            copies.emplace_back(name, std::move(copy));
        }
        return copies;
    }
    static NamedTensors input() { return {{"x", ramp({3, 4})}}; }
};

double largest_relative(const std::vector<float>& left, const std::vector<float>& right) {
    double largest = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (right[i] != 0.0F) {
            largest = std::max(largest, std::abs(double(left[i]) / double(right[i]) - 1));
        }
    }
    return largest;
}

TEST_F(Scripted, ComputesWhatTheScriptSays) {
    Runner runner(scripted());
    LoadedRunnable loaded = runner.load(model());
    ASSERT_EQ(loaded.inputs().size(), 1U);
    EXPECT_EQ(loaded.inputs()[0].shape, (Shape{-1, 4}));
    ASSERT_EQ(loaded.outputs().size(), 2U);
    EXPECT_EQ(loaded.outputs()[0].name, "y");
    EXPECT_EQ(loaded.outputs()[1].shape, (Shape{-1, 1}));
    const NamedTensors outputs = loaded.run({{"x", ramp({1, 4}, 1, 1)}});
    // scale: 3 5 7 9; weights of channel c over k: ((31 c + 17 k + 3) mod 7 - 3) / 8
    std::vector<float> expected;
    const std::vector<float> scaled{3, 5, 7, 9};
    for (std::size_t c = 0; c < 4; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            sum += (static_cast<float>((31 * c + 17 * k + 3) % 7) - 3.0F) / 8.0F * scaled[k];
        }
        expected.push_back(std::max(sum, 0.0F));
    }
    EXPECT_EQ(floats(outputs, "y"), expected);
    EXPECT_EQ(floats(outputs, "total"),
              std::vector<float>{std::accumulate(expected.begin(), expected.end(), 0.0F)});
}

TEST_F(Scripted, ACleanScriptIsSteady) {
    const auto first = once("[]", input());
    EXPECT_EQ(floats(first, "y"), floats(once("[]", input()), "y"));
    const std::string drift = R"([{"kind": "drift", "layer": 1, "relative": 0.01}])";
    EXPECT_EQ(floats(first, "y"),
              floats(once(drift, input(), Json::object({{"clean", true}})), "y"));
}

TEST_F(Scripted, DriftFromALayerOn) {
    const Json all = Json::object({{"all_outputs", true}});
    const auto clean = once("[]", input(), all);
    for (const char* layer : {"1", "\"mixed\""}) {
        const auto drifted =
            once(std::string(R"([{"kind": "drift", "layer": )") + layer + R"(, "relative": 0.01}])",
                 input(), all);
        EXPECT_EQ(floats(drifted, "scale"), floats(clean, "scale"));
        EXPECT_NEAR(largest_relative(floats(drifted, "mixed"), floats(clean, "mixed")), 0.01, 1e-5);
        EXPECT_GT(largest_relative(floats(drifted, "y"), floats(clean, "y")), 0.01);
    }
    Runner runner(scripted());
    LoadedRunnable unknown = runner.load(model(R"([{"kind": "drift", "layer": "none"}])"));
    EXPECT_ERROR(error_of([&] { unknown.run(input()); }), ErrorKind::input, "names no layer");
}

TEST_F(Scripted, SlowPauseAndSecondMode) {
    Runner runner(scripted());
    TimingRequest request;
    request.warmup_runs = 0;
    request.runs = 20;
    const auto count_over = [](const TimingSeries& series, std::int64_t limit_ns) {
        return std::count_if(series.durations_ns.begin(), series.durations_ns.end(),
                             [&](std::int64_t d) { return d >= limit_ns; });
    };
    auto slow = runner.load(model(R"([{"kind": "slow", "from_run": 11, "extra_ms": 5}])"));
    const TimingSeries series = slow.time(input(), request);
    EXPECT_EQ(
        count_over({{series.durations_ns.begin() + 10, series.durations_ns.end()}, 0, 0, 0, 0},
                   5'000'000),
        10);
    auto pause = runner.load(model(R"([{"kind": "pause", "at_run": 5, "ms": 50}])"));
    EXPECT_GE(pause.time(input(), request).durations_ns[4], 50'000'000);
    auto modes = runner.load(model(R"([{"kind": "second_mode", "every": 4, "extra_ms": 50}])"));
    EXPECT_GE(count_over(modes.time(input(), request), 50'000'000), 5);
    auto minutes =
        runner.load(model(R"([{"kind": "slow", "from_minute": 0.0005, "extra_ms": 40}])"));
    request.runs = 0;
    request.duration_ns = 200'000'000;
    const TimingSeries long_series = minutes.time(input(), request);
    EXPECT_GE(long_series.durations_ns.back(), 40'000'000);
}

TEST_F(Scripted, FallbackIsInTheProfile) {
    Runner runner(scripted());
    LoadedRunnable loaded =
        runner.load(model(R"([{"kind": "fallback", "node": "mixed", "provider": "cpu"}])"));
    const Json profile = loaded.profile(input());
    ASSERT_EQ(profile.at("nodes").size(), 4U);
    EXPECT_EQ(profile.at("nodes").as_array()[0].at("provider"), Json("scripted"));
    EXPECT_EQ(profile.at("nodes").as_array()[1].at("provider"), Json("cpu"));
}

TEST_F(Scripted, AliasedOutputsShareOneBuffer) {
    write_file_atomically(folder() + "/two.scripted.json",
                          R"({"scripted": 1, "inputs": [{"name": "x", "shape": [4]}],
      "layers": [{"name": "a", "op": "affine", "factor": 2}, {"name": "b", "op": "affine", "factor": 3}],
      "outputs": [{"name": "a"}, {"name": "b"}], "wrongness": [{"kind": "aliased_outputs"}]})");
    Runner runner(scripted());
    LoadedRunnable loaded = runner.load(folder() + "/two.scripted.json");
    const auto outputs = loaded.run({{"x", ramp({4})}});
    EXPECT_EQ(floats(outputs, "a"), floats(outputs, "b"));
}

TEST_F(Scripted, StaleOutputsAreThoseOfTheRunBefore) {
    Runner runner(scripted());
    LoadedRunnable loaded = runner.load(model(R"([{"kind": "stale_outputs"}])"));
    const auto first = floats(loaded.run({{"x", ramp({1, 4}, 1)}}), "y");
    EXPECT_EQ(floats(loaded.run({{"x", ramp({1, 4}, 9)}}), "y"), first);
    EXPECT_NE(floats(loaded.run({{"x", ramp({1, 4}, 1)}}), "y"), first);
}

TEST_F(Scripted, NotFiniteElements) {
    const auto outputs = once(R"([{"kind": "not_finite", "output": "y", "element": 2},
        {"kind": "not_finite", "output": "total", "element": 0, "value": "-inf"}])",
                              input());
    const auto y = floats(outputs, "y");
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(std::count_if(y.begin(), y.end(), [](float v) { return !std::isfinite(v); }), 1);
    EXPECT_EQ(floats(outputs, "total")[0], -std::numeric_limits<float>::infinity());
    Runner runner(scripted());
    LoadedRunnable later = runner.load(
        model(R"([{"kind": "not_finite", "output": "y", "from_run": 2, "value": "inf"}])"));
    EXPECT_TRUE(std::isfinite(floats(later.run(input()), "y")[0]));
    EXPECT_TRUE(std::isinf(floats(later.run(input()), "y")[0]));
}

TEST_F(Scripted, AnotherResultInABatchPosition) {
    const auto clean = floats(once("[]", input()), "y");
    const auto wrong = floats(
        once(R"([{"kind": "batch_position", "position": 1, "relative": 0.5, "output": "y"}])",
             input()),
        "y");
    for (std::size_t i = 0; i < clean.size(); ++i) {
        EXPECT_FLOAT_EQ(wrong[i], i / 4 == 1 ? 1.5F * clean[i] : clean[i]);
    }
}

TEST_F(Scripted, NondeterministicOutputsDiffer) {
    Runner runner(scripted());
    LoadedRunnable loaded =
        runner.load(model(R"([{"kind": "nondeterministic", "relative": 0.001}])"));
    const auto first = floats(loaded.run(input()), "y");
    const auto second = floats(loaded.run(input()), "y");
    EXPECT_NE(first, second);
    EXPECT_LT(largest_relative(first, second), 0.003);
}

TEST_F(Scripted, MemoryGrows) {
    Runner runner(scripted());
    LoadedRunnable loaded =
        runner.load(model(R"([{"kind": "memory_growth", "bytes_per_run": 16777216}])"));
    loaded.run(input());
    const auto before = runner.peak_resident_bytes();
    for (int i = 0; i < 4; ++i) {
        loaded.run(input());
    }
    EXPECT_GE(runner.peak_resident_bytes(), before + 4 * 16'000'000U);
}

TEST_F(Scripted, PrecisionRequestedAndExecuted) {
    const NamedTensors fine{{"x", ramp({1, 4}, 1, 0.00012345F)}};
    const auto full = once("[]", fine);
    const auto half = once("[]", fine, Json::object({{"precision", "f16"}}));
    EXPECT_NE(floats(full, "y"), floats(half, "y"));
    Runner runner(scripted());
    const Json options = Json::object({{"precision", "f16"}});
    LoadedRunnable honest =
        runner.load(model(R"([{"kind": "precision", "executes": "f32"}])"), options);
    EXPECT_EQ(honest.facts().at("precision").at("requested"), Json("f16"));
    EXPECT_EQ(honest.facts().at("precision").at("executed"), Json("f32"));
    EXPECT_EQ(floats(honest.run(fine), "y"), floats(full, "y"));
    LoadedRunnable liar = runner.load(
        model(R"([{"kind": "precision", "executes": "f32", "reports": "f16"}])"), options);
    EXPECT_EQ(liar.facts().at("precision").at("executed"), Json("f16"));
    EXPECT_EQ(floats(liar.run(fine), "y"), floats(full, "y"));
}

TEST_F(Scripted, EnginesKeepTheirBuildAndMayBeWrongAlone) {
    Runner runner(scripted());
    const std::string source =
        model(R"([{"kind": "drift", "layer": 0, "relative": 0.1, "in": "engine"}])");
    const std::string engine = folder() + "/e.engine";
    const Json facts = runner.build(source, engine, Json::object({{"precision", "f16"}}));
    EXPECT_EQ(facts.at("precision").at("requested"), Json("f16"));
    EXPECT_EQ(facts.at("files"), Json::array({engine}));
    LoadedRunnable built = runner.load(engine);
    EXPECT_EQ(built.facts().at("precision").at("executed"), Json("f16"));
    LoadedRunnable original = runner.load(source);
    const auto right = floats(original.run(input()), "y");
    EXPECT_GT(largest_relative(floats(built.run(input()), "y"), right), 0.05);
    EXPECT_ERROR(error_of([&] { runner.build(engine, folder() + "/again"); }), ErrorKind::input,
                 "engine already");
    // Equal builds give equal bytes unless the script says otherwise.
    runner.build(source, folder() + "/e2", Json::object({{"precision", "f16"}}));
    EXPECT_EQ(read_file(engine), read_file(folder() + "/e2"));
    const std::string varying = model(R"([{"kind": "build_variation"}])", "v");
    runner.build(varying, folder() + "/v1");
    runner.build(varying, folder() + "/v2");
    EXPECT_NE(read_file(folder() + "/v1"), read_file(folder() + "/v2"));
}

TEST_F(Scripted, AModelOfAnotherKindIsScriptedByTheFileBesideIt) {
    write_file_atomically(folder() + "/real.onnx", "ONNX bytes");
    write_file_atomically(folder() + "/real.onnx.scripted.json", scripted_text());
    Runner runner(scripted());
    LoadedRunnable loaded = runner.load(folder() + "/real.onnx");
    EXPECT_EQ(loaded.outputs().size(), 2U);
}

TEST_F(Scripted, RefusesScriptsThatProveNothing) {
    Runner runner(scripted());
    for (const char* wrongness :
         {R"([{"kind": "drfit"}])", R"([{"kind": "drift", "leyer": 1}])", R"([{}])", R"({})"}) {
        EXPECT_ERROR(error_of([&] { runner.load(model(wrongness)); }), ErrorKind::input,
                     "m.scripted.json");
    }
}

}  // namespace
}  // namespace requal::toolchain
