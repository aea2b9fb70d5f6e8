// Child processes and cancellation.
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "base/cancel.h"
#include "base/process.h"
#include "error_of.h"

namespace requal {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

Child shell(const std::string& script) {
    return Child({.command = {"sh", "-c", script}});
}

std::string read_all(int fd) {
    std::string text;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(fd, bytes, sizeof bytes)) > 0;)
        text.append(bytes, static_cast<std::size_t>(count));
    return text;
}

bool is_running(int pid) {
    try {
        // A dead process that nobody has collected yet is not running.
        const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
        const char state = stat.at(stat.rfind(')') + 2);
        return state != 'Z' && state != 'X';
    } catch (const Error&) {
        return false;
    }
}

/// True once `pid` does not run any more; the signal that ends it was sent before, it needs no luck but some time.
bool stops(int pid) {
    for (int i = 0; i < 6000 && is_running(pid); ++i)
        ::usleep(10'000);
    return !is_running(pid);
}

TEST(ChildTest, TalksThroughPipes) {
    Child child({.command = {"cat"}});
    const std::string text = "hello\n";
    write_all(child.input_fd(), std::as_bytes(std::span(text.data(), text.size())), "cat");
    child.close_input();
    EXPECT_EQ(read_all(child.output_fd()), text);
    EXPECT_TRUE(child.wait(-1));
    EXPECT_EQ(child.exit_code(), 0);
    EXPECT_EQ(child.status_text(), "exit status 0");
    EXPECT_GT(child.peak_resident_bytes(), 0U);
    EXPECT_EQ(child.resident_bytes(), 0U);
}

TEST(ChildTest, ArgumentsAndEnvironmentArriveAsTheyAre) {
    ::setenv("REQUAL_TEST_KEPT", "kept", 1);
    ::setenv("REQUAL_TEST_CHANGED", "old", 1);
    Child child(
        {.command = {"sh", "-c",
                     "printf '%s|' \"$1\" \"$2\" \"$REQUAL_TEST_KEPT\" \"$REQUAL_TEST_CHANGED\"",
                     "sh", "a b", "$(x);"},
         .environment = {{"REQUAL_TEST_CHANGED", "new"}}});
    EXPECT_EQ(read_all(child.output_fd()), "a b|$(x);|kept|new|");
    ::unsetenv("REQUAL_TEST_KEPT");
    ::unsetenv("REQUAL_TEST_CHANGED");
}

TEST(ChildTest, ExtraDescriptorsArriveEvenWhenTheirNumbersCross) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    FileDescriptor read_end(ends[0]), write_end(ends[1]);
    // Each descriptor's number here is the other's number in the child.
    Child child(
        {.command = {"sh", "-c", "echo through >&" + std::to_string(read_end.get())},
         .extra_fds = {{read_end.get(), write_end.get()}, {write_end.get(), read_end.get()}}});
    write_end.reset();
    EXPECT_TRUE(child.wait(-1));
    EXPECT_EQ(child.exit_code(), 0) << child.stderr_tail();
    EXPECT_EQ(read_all(read_end.get()), "through\n");
}

TEST(ChildTest, DescriptorsOfOursDoNotLeak) {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() + "/a", "x");
    const FileDescriptor ours = open_regular_file(folder.path() + "/a");
    Child child({.command = {"ls", "-l", "/proc/self/fd"}});
    EXPECT_EQ(read_all(child.output_fd()).find(folder.path()), std::string::npos);
}

TEST(ChildTest, ACrashIsToldByItsSignal) {
    Child child = shell("kill -SEGV $$");
    EXPECT_TRUE(child.wait(-1));
    EXPECT_EQ(child.signal_number(), SIGSEGV);
    EXPECT_EQ(child.exit_code(), -1);
    EXPECT_EQ(child.status_text(), "killed by SIGSEGV");
}

TEST(ChildTest, AHangEndsWithTheDeadline) {
    Child child = shell("trap '' TERM; while :; do sleep 1000; done");
    EXPECT_FALSE(child.wait(second_ns / 20));
    EXPECT_FALSE(child.ended());
    EXPECT_EQ(child.status_text(), "running");
    EXPECT_GT(child.resident_bytes(), 0U);
    child.kill();
    EXPECT_TRUE(child.wait(-1));
    EXPECT_EQ(child.status_text(), "killed by SIGKILL");
}

TEST(ChildTest, AFloodOnStandardErrorDoesNotStopItAndItsEndIsKept) {
    Child child = shell("yes 0123456789 | head -c 5000000 >&2; echo the end >&2; echo done");
    EXPECT_EQ(read_all(child.output_fd()), "done\n");
    EXPECT_TRUE(child.wait(-1));
    const std::string tail = child.stderr_tail();
    EXPECT_EQ(tail.size(), std::size_t{64} << 10);
    EXPECT_TRUE(tail.ends_with("the end\n"));
    EXPECT_NE(tail.find("0123456789\n0123456789\n"), std::string::npos);
}

TEST(ChildTest, StandardErrorOfARunningChildCanBeRead) {
    Child child = shell("echo early >&2; echo ready; read line");
    char byte = 0;
    ASSERT_EQ(::read(child.output_fd(), &byte, 1), 1);
    while (child.stderr_tail().empty())
        ::usleep(1000);
    EXPECT_EQ(child.stderr_tail(), "early\n");
    EXPECT_FALSE(child.ended());
}

TEST(ChildTest, WhatItLeavesBehindIsKilledToo) {
    int grandchild = 0;
    {
        Child child = shell("sleep 1000 & echo $!; exit 7");
        char line[32] = {};
        ASSERT_GT(::read(child.output_fd(), line, sizeof line - 1), 0);
        grandchild = std::atoi(line);
        EXPECT_TRUE(child.wait(-1));
        EXPECT_EQ(child.exit_code(), 7);
    }
    ASSERT_GT(grandchild, 0);
    EXPECT_TRUE(stops(grandchild));
}

TEST(ChildTest, TheDestructorKills) {
    int pid = 0;
    {
        const Child child({.command = {"sleep", "1000"}});
        pid = child.pid();
        EXPECT_TRUE(is_running(pid));
    }
    EXPECT_FALSE(is_running(pid));
}

TEST(ChildTest, ItDiesWithUs) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    FileDescriptor read_end(ends[0]), write_end(ends[1]);
    const pid_t parent = ::fork();
    if (parent == 0) {
        // inherit_stderr: no thread, which a forked copy of a program with threads could not start safely
        const Child child({.command = {"sleep", "1000"}, .inherit_stderr = true});
        const int pid = child.pid();
        [[maybe_unused]] const ssize_t count = ::write(write_end.get(), &pid, sizeof pid);
        ::kill(::getpid(), SIGKILL);
    }
    ASSERT_GT(parent, 0);
    int pid = 0;
    ASSERT_EQ(::read(read_end.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    EXPECT_TRUE(stops(pid));
    ::kill(parent, SIGKILL);
    // The status is of no interest: it was killed.
    Child waiter({.command = {"true"}});
    EXPECT_TRUE(waiter.wait(-1));
}

TEST(ChildTest, WritingToADeadChildIsAnError) {
    Child child({.command = {"true"}});
    EXPECT_TRUE(child.wait(-1));
    const std::string text(1 << 20, 'x');
    const Error error = error_of([&] {
        write_all(child.input_fd(), std::as_bytes(std::span(text.data(), text.size())), "runner");
    });
    EXPECT_EQ(error.kind(), ErrorKind::storage);
}

TEST(ChildTest, WhatCannotBeStartedIsMissing) {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() + "/text", "#!/nowhere/interpreter\n");
    for (const std::string& program :
         {std::string("requal-no-such-program"), folder.path() + "/absent", folder.path() + "/text",
          folder.path()}) {
        const Error error = error_of([&] { Child({.command = {program}}); });
        EXPECT_EQ(error.kind(), ErrorKind::missing) << program;
        EXPECT_EQ(error.where(), program);
    }
}

TEST(ChildTest, ExecutablePath) {
    EXPECT_TRUE(executable_path().ends_with("test_base_process"));
    EXPECT_EQ(executable_folder() + "/test_base_process", executable_path());
}

bool is_readable(int fd) {
    pollfd waiting{fd, POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1;
}

TEST(CancelTest, ASignalSetsTheFlagAndWakesPoll) {
    install_cancellation();
    reset_cancellation();
    EXPECT_FALSE(cancelled());
    EXPECT_NO_THROW(throw_if_cancelled());
    EXPECT_FALSE(is_readable(cancellation_fd()));
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        std::raise(number);
        EXPECT_TRUE(cancelled());
        EXPECT_TRUE(is_readable(cancellation_fd()));
        EXPECT_EQ(error_of([] { throw_if_cancelled(); }).kind(), ErrorKind::interrupted);
        reset_cancellation();
        EXPECT_FALSE(cancelled());
        EXPECT_FALSE(is_readable(cancellation_fd()));
    }
    request_cancellation();
    EXPECT_TRUE(cancelled());
    reset_cancellation();
}

TEST(CancelDeathTest, TheSecondSignalEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            install_cancellation();
            std::raise(SIGINT);
            std::raise(SIGTERM);
        },
        testing::ExitedWithCode(5), "");
}

}  // namespace
}  // namespace requal
