// Every way in which a runner breaks is a clear error and leaves nothing behind.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/cancel.h"
#include "support.h"

namespace requal::toolchain {
namespace {

using Failures = ScriptedTest;

constexpr std::int64_t short_ns = 300'000'000;

NamedTensors input() {
    return {{"x", ramp({2, 4})}};
}

TEST_F(Failures, AMissingRunnerSaysHowToGetIt) {
    RunnerOptions options;
    options.toolchain = "tensorrt:orin";
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::missing, "requal doctor");
    options.toolchain = "onnxruntme:cpu";
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::missing,
                 "did you mean onnxruntime?");
    options.toolchain = "../../bin/sh";
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::missing, "no runner");
}

TEST_F(Failures, AnotherProtocolVersionIsRefusedByName) {
    setenv("REQUAL_SCRIPTED_START", "version", 1);
    EXPECT_ERROR(error_of([] { Runner runner(scripted()); }), ErrorKind::toolchain,
                 "speaks version 2 of the runner protocol, this requal speaks version 1");
}

TEST_F(Failures, ARunnerThatCrashesAtStart) {
    setenv("REQUAL_SCRIPTED_START", "crash", 1);
    const auto error = error_of([] { Runner runner(scripted()); });
    EXPECT_ERROR(error, ErrorKind::toolchain, "SIGSEGV");
    EXPECT_ERROR(error, ErrorKind::toolchain, "about to crash, as the script says");
}

TEST_F(Failures, ARunnerThatHangsAtStart) {
    setenv("REQUAL_SCRIPTED_START", "hang", 1);
    RunnerOptions options = scripted();
    options.start_timeout_ns = short_ns;
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::toolchain,
                 "gives no answer within 300 ms, while starting");
}

TEST_F(Failures, ARunnerThatTalksBesideTheProtocol) {
    setenv("REQUAL_SCRIPTED_START", "garbage", 1);
    EXPECT_ERROR(error_of([] { Runner runner(scripted()); }), ErrorKind::toolchain,
                 "does not speak the runner protocol");
}

TEST_F(Failures, ARunnerThatAnnouncesPetabytes) {
    setenv("REQUAL_SCRIPTED_START", "frame", 1);
    EXPECT_ERROR(error_of([] { Runner runner(scripted()); }), ErrorKind::toolchain, "floods");
}

TEST_F(Failures, ARunnerThatNeverStopsWritingToStderr) {
    setenv("REQUAL_SCRIPTED_START", "stderr", 1);
    RunnerOptions options = scripted();
    options.start_timeout_ns = short_ns;
    const auto error = error_of([&] { Runner runner(options); });
    EXPECT_ERROR(error, ErrorKind::toolchain, "gives no answer");
    EXPECT_LT(std::string(error->what()).size(), 2000U);
}

TEST_F(Failures, AProgramThatIsNoRunner) {
    RunnerOptions options = scripted();
    options.start_timeout_ns = 5'000'000'000;
    options.program = "/bin/true";
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::toolchain, "while starting");
    options.program = "/bin/echo";
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::toolchain,
                 "runner scripted");
    options.program = folder() + "/not-there";
    EXPECT_ERROR(error_of([&] { Runner runner(options); }), ErrorKind::missing, "not-there");
}

TEST_F(Failures, ACrashDuringARunSaysSignalAndLastWords) {
    Runner runner(scripted());
    LoadedRunnable loaded = runner.load(model(R"([{"kind": "crash", "at_run": 3}])"));
    loaded.run(input());
    loaded.run(input());
    const auto error = error_of([&] { loaded.run(input()); });
    EXPECT_ERROR(error, ErrorKind::toolchain, "crashed while running: killed by SIGSEGV");
    EXPECT_ERROR(error, ErrorKind::toolchain, "as the script says");
    // What comes afterwards says why, and does not hang.
    EXPECT_ERROR(error_of([&] { loaded.run(input()); }), ErrorKind::toolchain, "has ended already");
    EXPECT_ERROR(error_of([&] { runner.load(model()); }), ErrorKind::toolchain, "it crashed");
}

TEST_F(Failures, ACrashWhileLoadingBuildingAndTiming) {
    {
        Runner runner(scripted());
        EXPECT_ERROR(error_of([&] { runner.load(model(R"([{"kind": "crash", "at": "load"}])")); }),
                     ErrorKind::toolchain, "crashed while loading m.scripted.json");
    }
    {
        Runner runner(scripted());
        EXPECT_ERROR(error_of([&] {
                         runner.build(model(R"([{"kind": "crash", "at": "build"}])"),
                                      folder() + "/engine");
                     }),
                     ErrorKind::toolchain, "crashed while building engine");
        EXPECT_FALSE(file_exists(folder() + "/engine"));
    }
    {
        Runner runner(scripted());
        LoadedRunnable loaded = runner.load(model(R"([{"kind": "crash", "at_run": 20}])"));
        EXPECT_ERROR(error_of([&] { loaded.time(input(), {}); }), ErrorKind::toolchain,
                     "crashed while timing");
    }
}

TEST_F(Failures, AHangEndsAtTheDeadlineAndTheRunnerIsGone) {
    RunnerOptions options = scripted();
    options.answer_timeout_ns = short_ns;
    Runner runner(options);
    LoadedRunnable loaded = runner.load(model(R"([{"kind": "hang", "at_run": 1}])"));
    const auto error = error_of([&] { loaded.run(input()); });
    EXPECT_ERROR(error, ErrorKind::toolchain, "gives no answer within 300 ms, while running");
    EXPECT_ERROR(error, ErrorKind::toolchain, "raise the time limit");
    EXPECT_ERROR(error_of([&] { loaded.run(input()); }), ErrorKind::toolchain, "has ended already");
}

TEST_F(Failures, ATimingLoopHasTimeForWhatItWasAskedFor) {
    RunnerOptions options = scripted();
    options.answer_timeout_ns = short_ns;
    Runner runner(options);
    LoadedRunnable loaded =
        runner.load(model(R"([{"kind": "slow", "from_run": 1, "extra_ms": 20}])"));
    TimingRequest request;
    request.warmup_runs = 5;
    request.runs = 40;  // 0.9 s at least, three times the time limit of an answer
    EXPECT_EQ(loaded.time(input(), request).durations_ns.size(), 40U);
    request.runs = 0;
    request.duration_ns = 2 * short_ns;
    EXPECT_GE(loaded.time(input(), request).durations_ns.size(), 10U);
}

TEST_F(Failures, AHangInATimingLoopEndsToo) {
    RunnerOptions options = scripted();
    options.answer_timeout_ns = short_ns;
    Runner runner(options);
    LoadedRunnable loaded = runner.load(model(R"([{"kind": "hang", "at_run": 4}])"));
    loaded.run(input());
    TimingRequest request;
    request.warmup_runs = 1;
    request.runs = 10;
    EXPECT_ERROR(error_of([&] { loaded.time(input(), request); }), ErrorKind::toolchain,
                 "while timing");
}

TEST_F(Failures, FloodsDuringARun) {
    for (const auto& [what, message] :
         {std::pair("frame", "floods"), std::pair("garbage", "does not speak the runner protocol"),
          std::pair("torn", "breaks off")}) {
        SCOPED_TRACE(what);
        Runner runner(scripted());
        LoadedRunnable loaded = runner.load(
            model(std::string(R"([{"kind": "flood", "at_run": 1, "what": ")") + what + R"("}])"));
        EXPECT_ERROR(error_of([&] { loaded.run(input()); }), ErrorKind::toolchain, message);
    }
}

TEST_F(Failures, WhatARuntimePrintsOnStdoutIsHarmlessAndKept) {
    Runner runner(scripted());
    LoadedRunnable loaded =
        runner.load(model(R"([{"kind": "flood", "at_run": 1, "what": "stdout"}])"));
    EXPECT_EQ(loaded.run(input()).size(), 2U);
    // another thread reads what the runner prints: it may come to it a moment after the answer
    const std::string wanted = "a runtime that prints on standard output";
    for (int i = 0; i < 500 && runner.stderr_tail().find(wanted) == std::string::npos; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_NE(runner.stderr_tail().find(wanted), std::string::npos);
}

TEST_F(Failures, MemoryOverTheLimit) {
    RunnerOptions options = scripted();
    options.memory_limit_bytes = std::uint64_t{700} << 20;
    Runner runner(options);
    LoadedRunnable loaded = runner.load(model(
        R"([{"kind": "memory_growth", "bytes_per_run": 67108864}, {"kind": "slow", "from_run": 1, "extra_ms": 60}])"));
    const auto error = error_of([&] {
        for (int i = 0; i < 60; ++i) {
            loaded.run(input());
        }
    });
    EXPECT_ERROR(error, ErrorKind::toolchain, "takes too much memory");
    EXPECT_ERROR(error, ErrorKind::toolchain, "raise the memory limit");
}

TEST_F(Failures, CancellationEndsTheWait) {
    install_cancellation();
    Runner runner(scripted());
    LoadedRunnable loaded = runner.load(model(R"([{"kind": "hang", "at_run": 1}])"));
    std::thread user([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        request_cancellation();
    });
    const auto error = error_of([&] { loaded.run(input()); });
    user.join();
    reset_cancellation();
    EXPECT_ERROR(error, ErrorKind::interrupted, "interrupted");
}

TEST_F(Failures, ARunnerThatIsKilledFromOutside) {
    Runner runner(scripted());
    LoadedRunnable loaded = runner.load(model(R"([{"kind": "pause", "at_run": 1, "ms": 60000}])"));
    // Every child of this process whose name is that of the runner: there is one.
    std::thread killer([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
            const std::string name = entry.path().filename().string();
            if (name.find_first_not_of("0123456789") != std::string::npos) {
                continue;
            }
            try {
                const std::string stat = read_file("/proc/" + name + "/stat");
                const std::size_t after = stat.rfind(')');
                const bool mine = std::stoi(stat.substr(after + 4)) == getpid();
                if (mine && stat.find("(requal-runner-") != std::string::npos) {
                    kill(std::stoi(name), SIGKILL);
                }
            } catch (const std::exception&) {
                continue;  // a process that has just ended
            }
        }
    });
    const auto error = error_of([&] { loaded.run(input()); });
    killer.join();
    EXPECT_ERROR(error, ErrorKind::toolchain, "killed by SIGKILL");
}

TEST_F(Failures, ErrorAnswersKeepTheRunnerAlive) {
    Runner runner(scripted());
    const std::string good = model();
    EXPECT_ERROR(error_of([&] { runner.load(folder() + "/missing.onnx"); }), ErrorKind::input,
                 "missing.onnx");
    write_file_atomically(folder() + "/broken.scripted.json", "{\"scripted\": 1");
    EXPECT_ERROR(error_of([&] { runner.load(folder() + "/broken.scripted.json"); }),
                 ErrorKind::input, "broken.scripted.json");
    EXPECT_ERROR(error_of([&] {
                     runner.load(
                         model(R"([{"kind": "load_failure", "message": "no such kernel"}])", "f"));
                 }),
                 ErrorKind::toolchain, "no such kernel");
    EXPECT_ERROR(error_of([&] {
                     runner.build(model(R"([{"kind": "build_failure", "node": "mixed"}])", "b"),
                                  folder() + "/engine");
                 }),
                 ErrorKind::toolchain, "node mixed");
    LoadedRunnable loaded = runner.load(good);
    EXPECT_EQ(loaded.run(input()).size(), 2U);
}

TEST_F(Failures, NothingIsLeftBehindByAnOrderlyEnd) {
    std::string out;
    {
        Runner runner(scripted());
        LoadedRunnable loaded = runner.load(model());
        loaded.run(input());
        EXPECT_GT(runner.peak_resident_bytes(), 100'000U);
    }
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        const std::string children = read_file(entry.path().string() + "/children");
        EXPECT_EQ(children, "");
    }
}

TEST_F(Failures, WhatAKilledRunnerLeftBehindIsRemovedByTheNextOne) {
    const TemporaryFolder temporary;
    setenv("TMPDIR", temporary.path().c_str(), 1);
    setenv("REQUAL_SSH", "sh " REQUAL_SOURCE_DIR "/tests/toolchain/fake_ssh.sh", 1);
    const auto runner_folders = [&] {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
            count += entry.path().filename().string().starts_with("requal-runner") ? 1U : 0U;
        }
        return count;
    };
    const std::string path = model(R"([{"kind": "crash", "at_run": 1}])");
    RunnerOptions options = scripted();
    options.remote = "ssh://nobody@example.invalid";
    options.program = REQUAL_BUILD_DIR "/tests/runners/requal-runner-scripted";
    {
        Runner crashing(options);
        LoadedRunnable loaded = crashing.load(path);
        EXPECT_ERROR(error_of([&] { loaded.run(input()); }), ErrorKind::toolchain,
                     "as the script says");
    }
    EXPECT_EQ(runner_folders(), 1U);
    {
        Runner next(options);
        Runner beside(options);
        LoadedRunnable one = next.load(path);
        LoadedRunnable other = beside.load(path);
        EXPECT_EQ(runner_folders(), 2U) << "those of the two that live";
    }
    EXPECT_EQ(runner_folders(), 0U);
    unsetenv("TMPDIR");
    unsetenv("REQUAL_SSH");
}

}  // namespace
}  // namespace requal::toolchain
