// Runners on another machine, through a real OpenSSH server on the loopback address.
#include "onnx_bytes.h"
#include "sshd.h"

namespace requal::toolchain {
namespace {

class OverSsh : public ScriptedTest {
protected:
    static void SetUpTestSuite() {
        server_ = std::make_unique<Sshd>();
        why_not_ = server_->start();
    }
    static void TearDownTestSuite() { server_.reset(); }
    void SetUp() override {
        ScriptedTest::SetUp();
        if (!why_not_.empty()) {
            GTEST_SKIP() << why_not_;
        }
        setenv("REQUAL_SSH", server_->client().c_str(), 1);
        setenv("REQUAL_REMOTE_RUNNERS", REQUAL_BUILD_DIR "/tests/runners", 1);
    }
    void TearDown() override {
        ScriptedTest::TearDown();
        unsetenv("REQUAL_SSH");
        unsetenv("REQUAL_REMOTE_RUNNERS");
    }
    static RunnerOptions over_there() {
        RunnerOptions options = scripted();
        options.remote = server_->address();
        return options;
    }
    static std::unique_ptr<Sshd> server_;
    static std::string why_not_;
};
std::unique_ptr<Sshd> OverSsh::server_;
std::string OverSsh::why_not_;

TEST_F(OverSsh, ResultsAreThoseOfThisMachine) {
    const std::string path = model();
    Runner here(scripted());
    Runner there(over_there());
    LoadedRunnable local = here.load(path);
    LoadedRunnable remote = there.load(path);
    const NamedTensors inputs{{"x", ramp({1000, 4})}};
    EXPECT_EQ(floats(remote.run(inputs), "y"), floats(local.run(inputs), "y"));
    TimingRequest request;
    request.runs = 30;
    EXPECT_EQ(remote.time(inputs, request).durations_ns.size(), 30U);
}

TEST_F(OverSsh, EnginesAreBuiltThereAndFetched) {
    Runner there(over_there());
    const std::string engine = folder() + "/out.engine";
    const Json facts = there.build(model(), engine, Json::object({{"precision", "f16"}}));
    EXPECT_EQ(facts.at("files"), Json::array({engine}));
    Runner here(scripted());
    LoadedRunnable built = here.load(engine);
    EXPECT_EQ(built.facts().at("precision").at("requested"), Json("f16"));
}

TEST_F(OverSsh, LargeFilesGoInPieces) {
    std::string text = scripted_text();
    text.insert(1, "\"comment\": \"" + std::string(9'000'000, 'c') + "\", ");
    write_file_atomically(folder() + "/large.scripted.json", text);
    Runner there(over_there());
    LoadedRunnable loaded = there.load(folder() + "/large.scripted.json");
    EXPECT_EQ(loaded.run({{"x", ramp({1, 4})}}).size(), 2U);
    const std::string engine = folder() + "/large.engine";
    there.build(folder() + "/large.scripted.json", engine);
    EXPECT_GT(file_size(engine), 9'000'000U);
}

TEST_F(OverSsh, ARunnerThatIsNotThere) {
    setenv("REQUAL_REMOTE_RUNNERS", "/not/there", 1);
    EXPECT_ERROR(error_of([] { Runner runner(over_there()); }), ErrorKind::missing,
                 "there is no program /not/there/requal-runner-scripted there");
}

TEST_F(OverSsh, AMachineThatCannotBeReached) {
    RunnerOptions options = scripted();
    options.remote = "ssh://127.0.0.1:1";
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::missing,
                 "cannot be reached through ssh");
}

TEST_F(OverSsh, ACrashOverThere) {
    Runner there(over_there());
    LoadedRunnable loaded = there.load(model(R"([{"kind": "crash", "at_run": 1}])"));
    EXPECT_ERROR(error_of([&] {
                     loaded.run({{"x", ramp({1, 4})}});
                 }),
                 ErrorKind::toolchain, "about to crash, as the script says");
}

TEST_F(OverSsh, AHangOverThereEndsAtTheDeadline) {
    RunnerOptions options = over_there();
    options.answer_timeout_ns = 500'000'000;
    Runner there(options);
    LoadedRunnable loaded = there.load(model(R"([{"kind": "hang", "at_run": 1}])"));
    EXPECT_ERROR(error_of([&] {
                     loaded.run({{"x", ramp({1, 4})}});
                 }),
                 ErrorKind::toolchain, "gives no answer");
}

TEST_F(OverSsh, ARunnerOverThereWatchesItsOwnMemory) {
    RunnerOptions options = over_there();
    options.memory_limit_bytes = std::uint64_t{700} << 20;
    Runner there(options);
    LoadedRunnable loaded = there.load(model(
        R"([{"kind": "memory_growth", "bytes_per_run": 67108864}, {"kind": "slow", "from_run": 1, "extra_ms": 60}])"));
    EXPECT_ERROR(error_of([&] {
                     for (int i = 0; i < 60; ++i) {
                         loaded.run({{"x", ramp({1, 4})}});
                     }
                 }),
                 ErrorKind::toolchain, "over the limit");
}

// The runtimes themselves, not only a stand-in: a build over there, its engine fetched, the same outputs on both sides.
class RuntimeOverSsh : public OverSsh, public ::testing::WithParamInterface<const char*> {};

TEST_P(RuntimeOverSsh, BuildsRunsAndGivesTheBytesOfThisMachine) {
    const std::string toolchain = GetParam();
    use_built_runners();
    const auto program = find_runner_program(toolchain.substr(0, toolchain.find(':')));
    if (!program) {
        GTEST_SKIP() << "the runner for " << toolchain << " is not part of this build";
    }
    const std::string path = folder() + "/m.onnx";
    const std::string engine = folder() + "/engine";
    write_file_atomically(path, relu_model());
    RunnerOptions local_options;
    local_options.toolchain = toolchain;
    RunnerOptions remote_options = local_options;
    remote_options.remote = server_->address();
    remote_options.program = *program;
    Runner there(remote_options);
    Runner here(local_options);
    there.build(path, engine);
    EXPECT_GT(file_size(engine), 0U);
    for (const std::string& file : {path, engine}) {
        LoadedRunnable local = here.load(file);
        LoadedRunnable remote = there.load(file);
        ASSERT_EQ(local.inputs().size(), 1U);
        const NamedTensors inputs{{local.inputs()[0].name, ramp({1000}, -1, 0.001F)}};
        const std::string output = local.outputs().at(0).name;
        EXPECT_EQ(floats(remote.run(inputs), output), floats(local.run(inputs), output));
    }
}

INSTANTIATE_TEST_SUITE_P(Runtimes, RuntimeOverSsh,
                         ::testing::Values("onnxruntime:cpu", "openvino:cpu"), [](const auto& one) {
                             return std::string(one.param).substr(0,
                                                                  std::string(one.param).find(':'));
                         });

}  // namespace
}  // namespace requal::toolchain
