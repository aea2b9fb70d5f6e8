// What every runner must do, whatever its runtime. It runs against the runners of this build, here and through the remote way
// of talking, and against any other one:
//   REQUAL_CONFORMANCE_TOOLCHAIN=mine:cpu REQUAL_CONFORMANCE_MODEL=model.onnx REQUAL_RUNNERS=FOLDER test_toolchain_conformance
#include <algorithm>
#include <fstream>

#include "base/process.h"
#include "onnx_bytes.h"
#include "support.h"
#include "toolchain/frame.h"

namespace requal::toolchain {
namespace {

struct Subject {
    std::string label;
    std::string toolchain;
    std::string
        model_name;  ///< file name under which `model_bytes` are written; a path when they are empty
    std::string model_bytes;
    std::string engine_name;
    bool remote =
        false;  ///< without shared memory, files sent, through a command that stands in for ssh
};

void PrintTo(const Subject& subject, std::ostream* out) {
    *out << subject.label;
}

std::vector<Subject> subjects() {
    std::vector<Subject> list;
    for (const bool remote : {false, true}) {
        const std::string way = remote ? "_remote" : "_local";
        const char* const toolchain = std::getenv("REQUAL_CONFORMANCE_TOOLCHAIN");
        const char* const model = std::getenv("REQUAL_CONFORMANCE_MODEL");
        if (toolchain != nullptr && model != nullptr) {
            list.push_back({"given" + way, toolchain, model, "", "engine.bin", remote});
            continue;
        }
        list.push_back({"scripted" + way, "scripted", "m.scripted.json", scripted_text(),
                        "engine.scripted", remote});
        list.push_back({"onnxruntime_cpu" + way, "onnxruntime:cpu", "m.onnx", relu_model(),
                        "engine.onnx", remote});
        list.push_back(
            {"openvino_cpu" + way, "openvino:cpu", "m.onnx", relu_model(), "engine.blob", remote});
    }
    return list;
}

class Conformance : public ::testing::TestWithParam<Subject> {
protected:
    void SetUp() override {
        if (std::getenv("REQUAL_CONFORMANCE_TOOLCHAIN") == nullptr) {
            use_built_runners();
        }
        const std::string& toolchain = GetParam().toolchain;
        const auto program = find_runner_program(toolchain.substr(0, toolchain.find(':')));
        if (!program) {
            GTEST_SKIP() << "the runner for " << toolchain << " is not part of this build";
        }
        model_ = GetParam().model_bytes.empty() ? GetParam().model_name
                                                : folder() + "/" + GetParam().model_name;
        if (!GetParam().model_bytes.empty()) {
            write_file_atomically(model_, GetParam().model_bytes);
        }
        setenv("REQUAL_SSH", "sh " REQUAL_SOURCE_DIR "/tests/toolchain/fake_ssh.sh", 1);
        options_.toolchain = toolchain;
        if (GetParam().remote) {
            options_.remote = "ssh://nobody@example.invalid";
            options_.program = *program;
        }
    }
    void TearDown() override { unsetenv("REQUAL_SSH"); }

    const std::string& folder() const { return folder_.path(); }

    static std::int64_t fixed(std::int64_t dimension, std::int64_t dynamic) {
        return dimension < 0 ? dynamic : dimension;
    }

    /// Inputs for the ports; dynamic dimensions become `dynamic`.
    static NamedTensors inputs_for(const LoadedRunnable& loaded, std::int64_t dynamic = 2,
                                   float first = -1) {
        NamedTensors inputs;
        for (const Port& port : loaded.inputs()) {
            Shape shape;
            for (const std::int64_t dimension : port.shape) {
                shape.push_back(fixed(dimension, dynamic));
            }
            Tensor values = ramp(shape, first, 0.001F);
            inputs.emplace_back(port.name, port.type == ElementType::float32
                                               ? std::move(values)
                                               : values.converted(port.type));
        }
        return inputs;
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

    static void expect_equal(const NamedTensors& left, const NamedTensors& right) {
        ASSERT_EQ(left.size(), right.size());
        for (std::size_t i = 0; i < left.size(); ++i) {
            EXPECT_EQ(left[i].first, right[i].first);
            EXPECT_EQ(left[i].second.shape(), right[i].second.shape());
            const auto a = left[i].second.bytes();
            const auto b = right[i].second.bytes();
            EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << left[i].first;
        }
    }

    static bool can(const Runner& runner, const std::string& toolchain, const std::string& what) {
        for (const Json& one : runner.capabilities().at("toolchains").as_array()) {
            if (one.at("name") == Json(toolchain)) {
                const auto& list = one.at("can").as_array();
                return std::find(list.begin(), list.end(), Json(what)) != list.end();
            }
        }
        return false;
    }

    RunnerOptions options_;
    std::string model_;

private:
    TemporaryFolder folder_;
};

TEST_P(Conformance, CapabilitiesHaveTheDocumentedShape) {
    const Runner runner(options_);
    const Json& capabilities = runner.capabilities();
    EXPECT_EQ(capabilities.at("name").as_string(),
              options_.toolchain.substr(0, options_.toolchain.find(':')));
    EXPECT_FALSE(capabilities.at("version").as_string().empty());
    bool named = false;
    for (const Json& one : capabilities.at("toolchains").as_array()) {
        const bool works = one.at("works").as_boolean();
        EXPECT_TRUE(works || !one.at("why_not").as_string().empty());
        for (const Json& what : one.at("can").as_array()) {
            EXPECT_TRUE(what == Json("build") || what == Json("run")) << write_json(what);
        }
        if (one.at("name") == Json(options_.toolchain)) {
            named = true;
            EXPECT_TRUE(works) << write_json(one);
        }
    }
    EXPECT_TRUE(named) << write_json(capabilities);
    EXPECT_TRUE(capabilities.at("libraries").is_array());
    for (const auto& [name, option] : capabilities.at("options").as_object()) {
        EXPECT_FALSE(option.at("type").as_string().empty()) << name;
        EXPECT_FALSE(option.at("help").as_string().empty()) << name;
    }
}

TEST_P(Conformance, LoadsRunsAndUnloads) {
    Runner runner(options_);
    LoadedRunnable loaded = runner.load(model_);
    EXPECT_FALSE(loaded.inputs().empty());
    EXPECT_FALSE(loaded.outputs().empty());
    EXPECT_GT(loaded.load_ns(), 0);
    EXPECT_TRUE(loaded.facts().is_object());
    const NamedTensors outputs = loaded.run(inputs_for(loaded));
    ASSERT_EQ(outputs.size(), loaded.outputs().size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Port& port = loaded.outputs()[i];
        EXPECT_EQ(outputs[i].first, port.name);
        EXPECT_EQ(outputs[i].second.type(), port.type);
        ASSERT_EQ(outputs[i].second.shape().size(), port.shape.size());
        for (std::size_t axis = 0; axis < port.shape.size(); ++axis) {
            EXPECT_TRUE(port.shape[axis] < 0 ||
                        port.shape[axis] == outputs[i].second.shape()[axis]);
        }
    }
    loaded.unload();
    EXPECT_ERROR(error_of([&] { loaded.run({}); }), ErrorKind::input, "handle");
    LoadedRunnable again = runner.load(model_);
    EXPECT_EQ(again.run(inputs_for(again)).size(), outputs.size());
}

TEST_P(Conformance, KeepsSeveralRunnablesApart) {
    Runner runner(options_);
    LoadedRunnable first = runner.load(model_);
    LoadedRunnable second = runner.load(model_);
    const NamedTensors one = inputs_for(first, 2, -1);
    const NamedTensors other = inputs_for(first, 3, 0.5F);
    const NamedTensors expected_one = copied(first.run(one));
    const NamedTensors expected_other = copied(second.run(other));
    expect_equal(copied(second.run(one)), expected_one);
    expect_equal(copied(first.run(other)), expected_other);
    first.unload();
    expect_equal(copied(second.run(one)), expected_one);
}

TEST_P(Conformance, WrongInputsAreRefusedAndTheRunnerLivesOn) {
    Runner runner(options_);
    LoadedRunnable loaded = runner.load(model_);
    const NamedTensors good = inputs_for(loaded);
    const std::string& name = good.front().first;

    EXPECT_ERROR(error_of([&] { loaded.run({}); }), ErrorKind::input, name);
    NamedTensors unknown = good;
    unknown.emplace_back("no_such_input", ramp({1}));
    EXPECT_ERROR(error_of([&] { loaded.run(unknown); }), ErrorKind::input, "no_such_input");
    NamedTensors typed = good;
    typed.front().second = typed.front().second.converted(ElementType::float64);
    EXPECT_ERROR(error_of([&] { loaded.run(typed); }), ErrorKind::input, name);
    NamedTensors shaped = good;
    Shape more = shaped.front().second.shape();
    more.push_back(1);
    shaped.front().second = Tensor(shaped.front().second.type(), more);
    EXPECT_ERROR(error_of([&] { loaded.run(shaped); }), ErrorKind::input, name);
    EXPECT_ERROR(error_of([&] { loaded.time(shaped, {}); }), ErrorKind::input, name);

    EXPECT_EQ(loaded.run(good).size(), loaded.outputs().size());
}

TEST_P(Conformance, UnknownOptionsAreRefusedByName) {
    Runner runner(options_);
    const Json options = Json::object({{"no_such_option", 1}});
    EXPECT_ERROR(error_of([&] { runner.load(model_, options); }), ErrorKind::input,
                 "no_such_option");
    if (can(runner, options_.toolchain, "build")) {
        const std::string engine = folder() + "/" + GetParam().engine_name;
        EXPECT_ERROR(error_of([&] { runner.build(model_, engine, options); }), ErrorKind::input,
                     "no_such_option");
        EXPECT_FALSE(file_exists(engine));
    }
    LoadedRunnable loaded = runner.load(model_);
    EXPECT_FALSE(loaded.run(inputs_for(loaded)).empty());
}

TEST_P(Conformance, FilesThatAreNoModelAreRefused) {
    Runner runner(options_);
    const std::string path =
        folder() + "/broken-" + GetParam().model_name.substr(GetParam().model_name.rfind('/') + 1);
    for (const std::string& bytes :
         {std::string(), std::string("not a model"), std::string(4096, '\xff')}) {
        write_file_atomically(path, bytes);
        const auto error = error_of([&] { runner.load(path); });
        ASSERT_TRUE(error.has_value());
        EXPECT_TRUE(error->kind() == ErrorKind::input || error->kind() == ErrorKind::toolchain)
            << error->what();
    }
    LoadedRunnable loaded = runner.load(model_);
    EXPECT_FALSE(loaded.run(inputs_for(loaded)).empty());
}

TEST_P(Conformance, TimingSeriesHasTheLengthAskedFor) {
    Runner runner(options_);
    LoadedRunnable loaded = runner.load(model_);
    const NamedTensors inputs = inputs_for(loaded);
    TimingRequest request;
    request.warmup_runs = 3;
    request.runs = 17;
    const TimingSeries series = loaded.time(inputs, request);
    EXPECT_EQ(series.durations_ns.size(), 17U);
    EXPECT_GT(series.first_run_ns, 0);
    EXPECT_EQ(series.warmup_runs, 3U);
    EXPECT_GE(series.timer_overhead_ns, 0);
    EXPECT_EQ(series.load_ns, loaded.load_ns());
    for (const std::int64_t duration : series.durations_ns) {
        EXPECT_GT(duration, 0);
    }
    request.runs = 0;
    request.duration_ns = 20'000'000;
    request.pause_ns = 1'000'000;
    const TimingSeries paused = loaded.time(inputs, request);
    EXPECT_GE(paused.durations_ns.size(), 1U);
    EXPECT_LE(paused.durations_ns.size(), 21U) << "pauses of 1 ms fill 20 ms";
    request.duration_ns = 0;
    EXPECT_ERROR(error_of([&] { loaded.time(inputs, request); }), ErrorKind::input,
                 "runs or a duration");
}

TEST_P(Conformance, EqualInputsGiveEqualOutputs) {
    Runner runner(options_);
    LoadedRunnable loaded = runner.load(model_);
    const NamedTensors inputs = inputs_for(loaded);
    const NamedTensors first = copied(loaded.run(inputs));
    TimingRequest request;
    request.runs = 5;
    loaded.time(inputs, request);
    expect_equal(copied(loaded.run(inputs)), first);
}

TEST_P(Conformance, BigTensorsArriveWhole) {
    Runner runner(options_);
    LoadedRunnable loaded = runner.load(model_);
    const auto& shape = loaded.inputs().front().shape;
    if (std::none_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; })) {
        GTEST_SKIP() << "the model has no dynamic axis";
    }
    const NamedTensors small = inputs_for(loaded);
    const NamedTensors before = copied(loaded.run(small));
    const NamedTensors big = inputs_for(loaded, 1'000'000);
    const NamedTensors outputs = loaded.run(big);
    ASSERT_FALSE(outputs.empty());
    EXPECT_EQ(outputs.front().second.shape().front(), 1'000'000);
    const Tensor& y = outputs.front().second;
    if (GetParam().model_bytes == relu_model()) {
        const auto x = floats(big, "x");
        const auto values = y.values<float>();
        for (std::size_t i = 0; i < x.size(); i += 997) {
            ASSERT_EQ(values[i], std::max(x[i], 0.0F)) << i;
        }
    }
    expect_equal(copied(loaded.run(small)), before);
}

TEST_P(Conformance, ProfileIsNullOrNamesNodes) {
    Runner runner(options_);
    LoadedRunnable loaded = runner.load(model_);
    const Json profile = loaded.profile(inputs_for(loaded));
    if (profile.is_null()) {
        return;
    }
    for (const Json& one : profile.at("nodes").as_array()) {
        EXPECT_FALSE(one.at("name").as_string().empty());
        EXPECT_TRUE(one.at("op").is_string());
        EXPECT_TRUE(one.at("provider").is_string());
        EXPECT_TRUE(one.at("time_ms").is_number() || one.at("time_ms").is_null());
    }
    EXPECT_FALSE(loaded.run(inputs_for(loaded)).empty());
}

TEST_P(Conformance, BuildsAnEngineThatLoadsAndAgrees) {
    Runner runner(options_);
    if (!can(runner, options_.toolchain, "build")) {
        GTEST_SKIP() << "it builds nothing";
    }
    const std::string engine = folder() + "/out/" + GetParam().engine_name;
    make_folders(folder() + "/out");
    const Json facts = runner.build(model_, engine);
    EXPECT_TRUE(file_exists(engine));
    EXPECT_TRUE(facts.at("precision").has("requested")) << write_json(facts);
    EXPECT_TRUE(facts.at("precision").has("executed")) << write_json(facts);
    EXPECT_TRUE(facts.at("options_effective").is_object());
    ASSERT_GE(facts.at("files").size(), 1U);
    for (const Json& file : facts.at("files").as_array()) {
        EXPECT_TRUE(file_exists(file.as_string())) << file.as_string();
    }
    EXPECT_GT(facts.at("build_ns").as_integer(), 0);
    LoadedRunnable built = runner.load(engine);
    LoadedRunnable source = runner.load(model_);
    ASSERT_EQ(built.inputs().size(), source.inputs().size());
    const NamedTensors inputs = inputs_for(built);
    const NamedTensors expected = copied(source.run(inputs));
    const NamedTensors outputs = copied(built.run(inputs));
    ASSERT_EQ(outputs.size(), expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        ASSERT_EQ(outputs[i].second.count(), expected[i].second.count());
        for (std::uint64_t e = 0; e < outputs[i].second.count(); ++e) {
            EXPECT_NEAR(outputs[i].second.number_at(e), expected[i].second.number_at(e), 1e-3);
        }
    }
}

TEST_P(Conformance, LocalAndRemoteGiveTheSameBytes) {
    if (!GetParam().remote) {
        GTEST_SKIP() << "compared by the remote case";
    }
    RunnerOptions here = options_;
    here.remote.clear();
    Runner local(here);
    Runner remote(options_);
    LoadedRunnable a = local.load(model_);
    LoadedRunnable b = remote.load(model_);
    const NamedTensors inputs = inputs_for(a, 5);
    expect_equal(copied(b.run(inputs)), copied(a.run(inputs)));
    EXPECT_EQ(remote.peak_resident_bytes(), 0U);
}

TEST_P(Conformance, ExternalDataGoesAlong) {
    if (GetParam().model_bytes != relu_model()) {
        GTEST_SKIP() << "it takes no ONNX model";
    }
    const std::string path = folder() + "/external.onnx";
    make_folders(folder() + "/w");
    write_file_atomically(path, external_model("w/b.bin"));
    const Tensor weights = ramp({4}, 10, 1);
    write_file_atomically(
        folder() + "/w/b.bin",
        std::string(reinterpret_cast<const char*>(weights.bytes().data()), weights.bytes().size()));
    Runner runner(options_);
    LoadedRunnable loaded = runner.load(path);
    EXPECT_EQ(floats(loaded.run({{"x", ramp({4}, 1, 0)}}), "y"),
              (std::vector<float>{11, 12, 13, 14}));
}

/// Talks to the program itself: what its exit status is, the client does not show.
TEST_P(Conformance, StopsWithStatusZeroWhenAskedToAndAtTheEndOfInput) {
    const std::string& toolchain = options_.toolchain;
    const std::string program = *find_runner_program(toolchain.substr(0, toolchain.find(':')));
    for (const bool asked : {true, false}) {
        ChildOptions child_options;
        child_options.command = {program, "--stdio"};
        Child child(child_options);
        FrameChannel channel(child.output_fd(), child.input_fd());
        Message hello;
        hello.header = Json::object({{"type", "hello"}, {"id", 1}, {"protocol", protocol_version}});
        channel.send(hello);
        const auto greeting = channel.receive(60'000'000'000);
        ASSERT_TRUE(greeting.has_value());
        EXPECT_EQ(greeting->header.at("protocol"), Json(protocol_version));
        if (asked) {
            Message stop;
            stop.header = Json::object({{"type", "stop"}, {"id", 2}});
            channel.send(stop);
            const auto answer = channel.receive(60'000'000'000);
            ASSERT_TRUE(answer.has_value());
            EXPECT_EQ(answer->header.at("type"), Json("answer"));
            EXPECT_EQ(answer->header.at("id"), Json(2));
        } else {
            child.close_input();
        }
        EXPECT_TRUE(child.wait(60'000'000'000));
        EXPECT_EQ(child.status_text(), "exit status 0");
    }
}

TEST_P(Conformance, RefusesAnotherProtocolVersionAndUnknownRequests) {
    const std::string& toolchain = options_.toolchain;
    const std::string program = *find_runner_program(toolchain.substr(0, toolchain.find(':')));
    const auto ask = [](FrameChannel& channel, Json header) {
        Message message;
        message.header = std::move(header);
        channel.send(message);
        const auto answer = channel.receive(60'000'000'000);
        return answer ? answer->header : Json();
    };
    ChildOptions child_options;
    child_options.command = {program, "--stdio"};
    {
        Child child(child_options);
        FrameChannel channel(child.output_fd(), child.input_fd());
        const Json answer =
            ask(channel, Json::object({{"type", "hello"}, {"id", 1}, {"protocol", 999}}));
        EXPECT_EQ(answer.at("type"), Json("error"));
        EXPECT_NE(answer.at("message").as_string().find("version"), std::string::npos);
    }
    Child child(child_options);
    FrameChannel channel(child.output_fd(), child.input_fd());
    ask(channel, Json::object({{"type", "hello"}, {"id", 1}, {"protocol", protocol_version}}));
    for (Json request :
         {Json::object({{"type", "dance"}}), Json::object({{"type", "run"}}),
          Json::object({{"type", "run"}, {"handle", 77}}), Json::object({{"type", "load"}}),
          Json::object({{"type", "unload"}, {"handle", "x"}}), Json::object({{"type", "put"}}),
          Json::object(
              {{"type", "get"}, {"name", "../../etc/passwd"}, {"offset", 0}, {"max_bytes", 9}}),
          Json::object({{"type", "time"}, {"handle", -1}})}) {
        request["id"] = 5;
        const Json answer = ask(channel, request);
        EXPECT_EQ(answer.get("type"), Json("error")) << write_json(request);
        EXPECT_EQ(answer.get("id"), Json(5));
    }
}

INSTANTIATE_TEST_SUITE_P(Runners, Conformance, ::testing::ValuesIn(subjects()),
                         [](const auto& subject) { return subject.param.label; });

}  // namespace
}  // namespace requal::toolchain
