// Progress, logs and events, also on a pseudo-terminal.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/progress.h"
#include "error_of.h"

namespace requal {
namespace {

std::string drain(int fd) {
    std::string text;
    char bytes[4096];
    for (ssize_t count = 0; (count = ::read(fd, bytes, sizeof bytes)) > 0;)
        text.append(bytes, static_cast<std::size_t>(count));
    return text;
}

/// Runs `work` with standard error in `fd`.
template <class Work>
void with_stderr(int fd, Work&& work) {
    const FileDescriptor saved(::dup(STDERR_FILENO));
    ::dup2(fd, STDERR_FILENO);
    work();
    ::dup2(saved.get(), STDERR_FILENO);
    set_output({});
}

/// What `work` writes to a terminal on standard error.
template <class Work>
std::string on_terminal(Work&& work) {
    const FileDescriptor master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    EXPECT_TRUE(master);
    EXPECT_EQ(::grantpt(master.get()), 0);
    EXPECT_EQ(::unlockpt(master.get()), 0);
    FileDescriptor slave(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    EXPECT_TRUE(slave);
    ::setenv("TERM", "xterm", 1);
    with_stderr(slave.get(), work);
    ::fcntl(master.get(), F_SETFL, O_NONBLOCK);
    return drain(master.get());
}

/// What `work` writes to a pipe on standard error.
template <class Work>
std::string on_pipe(Work&& work) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const FileDescriptor read_end(ends[0]);
    FileDescriptor write_end(ends[1]);
    with_stderr(write_end.get(), work);
    write_end.reset();
    return drain(read_end.get());
}

TEST(LogTest, QuietVerboseAndEscapes) {
    EXPECT_EQ(on_pipe([] {
                  set_output({});
                  log_info("a\x1b[2J\nb");
                  log_warning("w");
                  log_detail("hidden");
                  set_output({.verbose = true});
                  log_detail("shown");
                  set_output({.quiet = true, .verbose = true});
                  log_info("q");
                  log_warning("q");
                  log_detail("q");
              }),
              "a\\x1b[2J\\x0ab\nwarning: w\nshown\n");
}

TEST(LogTest, NoColourIsRespected) {
    ::unsetenv("NO_COLOR");
    EXPECT_NE(on_terminal([] { log_warning("w"); }).find("\x1b[33m"), std::string::npos);
    ::setenv("NO_COLOR", "1", 1);
    EXPECT_EQ(on_terminal([] { log_warning("w"); }), "warning: w\r\n");
    ::unsetenv("NO_COLOR");
}

TEST(ProgressTest, ABarOnATerminalIsRemovedAtTheEnd) {
    const std::string shown = on_terminal([] {
        Progress progress("comp\x1b"
                          "aring",
                          500);
        progress.advance(12);
        log_info("in between");
    });
    EXPECT_NE(shown.find("comp\\x1baring 12/500 2 %"), std::string::npos) << shown;
    EXPECT_NE(shown.find(" left"), std::string::npos) << shown;
    EXPECT_NE(shown.find("\r\x1b[Kin between\r\n"), std::string::npos) << shown;
}

TEST(ProgressTest, NoBarWithoutATerminalOrWhenUnwanted) {
    const auto work = [] { Progress("p", 2).advance(); };
    EXPECT_EQ(on_pipe(work), "");
    EXPECT_EQ(on_terminal([&] {
                  set_output({.progress = false});
                  work();
              }),
              "");
    EXPECT_EQ(on_terminal([&] {
                  set_output({.quiet = true});
                  work();
              }),
              "");
    EXPECT_EQ(on_terminal([&] {
                  ::setenv("TERM", "dumb", 1);
                  work();
              }),
              "");
}

TEST(ProgressTest, StrangeTotals) {
    EXPECT_NE(on_terminal([] { Progress("p", 0).advance(); }).find("p 1/0 100 %"),
              std::string::npos);
    EXPECT_NE(on_terminal([] { Progress("p", 2).advance(3); }).find("p 3/2 100 %"),
              std::string::npos);
}

TEST(EventTest, JsonLines) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const FileDescriptor read_end(ends[0]);
    FileDescriptor write_end(ends[1]);
    emit_event("nobody listens");
    set_output({.events_fd = write_end.get()});
    emit_event("gate", Json::object({{"id", "a\nb"}, {"verdict", "pass"}}));
    { Progress("p", 3).advance(3); }
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([] {
            for (int k = 0; k < 50; ++k)
                emit_event("tick");
        });
    for (std::thread& thread : threads)
        thread.join();
    set_output({});
    write_end.reset();
    const std::string text = drain(read_end.get());
    std::vector<Json> events;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = text.find('\n', start);
        ASSERT_NE(end, std::string::npos);
        events.push_back(parse_json(std::string_view(text).substr(start, end - start), "events"));
        start = end + 1;
    }
    ASSERT_EQ(events.size(), 203U);
    EXPECT_EQ(write_json_compact(events[0]), R"({"event":"gate","id":"a\nb","verdict":"pass"})");
    EXPECT_EQ(events[1].at("event").as_string(), "progress");
    EXPECT_TRUE(events[1].at("left_s").is_null());
    EXPECT_EQ(events[2].at("done").as_integer(), 3);
    EXPECT_EQ(events[2].at("left_s").as_number(), 0.0);
    EXPECT_EQ(events[202], Json::object({{"event", "tick"}}));
}

TEST(EventTest, AListenerThatLeavesDoesNotStopTheWork) {
    const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(on_pipe([&] {
                  set_output({.events_fd = full.get()});
                  emit_event("a");
                  emit_event("b");
              }),
              "warning: events can no longer be written: no further ones are sent\n");
}

}  // namespace
}  // namespace requal
