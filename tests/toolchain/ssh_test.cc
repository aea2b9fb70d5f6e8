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
    const Json facts = there.build(model(), engine, Json::object({{"precision", "fp16"}}));
    EXPECT_EQ(facts.at("files"), Json::array({engine}));
    Runner here(scripted());
    LoadedRunnable built = here.load(engine);
    EXPECT_EQ(built.facts().at("precision").at("requested"), Json("fp16"));
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

}  // namespace
}  // namespace requal::toolchain
