#include "toolchain/runners/scripted/faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/error.h"
#include "toolchain/frame.h"

namespace requal::scripted {

namespace {

int protocol_fd = -1;

void write_raw(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = write(fd, bytes.data(), bytes.size());
        if (written <= 0) {
            _exit(1);
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

void remember_protocol_descriptor() {
    protocol_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
}

void crash() {
    std::fputs("scripted: about to crash, as the script says\n", stderr);
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    std::abort();
}

void hang() {
    for (;;) {
        pause();
    }
}

void flood(const std::string& what) {
    if (what == "frame") {
        // 2^50 bytes in one attachment
        write_raw(
            protocol_fd,
            std::string_view(
                "RQF1\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00{}", 22));
    } else if (what == "garbage") {
        write_raw(protocol_fd, "Warning: I am a runtime that prints\n");
    } else if (what == "torn") {
        write_raw(protocol_fd,
                  std::string_view("RQF1\x40\x00\x00\x00\x00\x00\x00\x00{\"type\":", 20));
        _exit(0);
    } else if (what == "stderr") {
        const std::string line(1023, 'e');
        for (;;) {
            write_raw(STDERR_FILENO, line + "\n");
        }
    } else if (what == "stdout") {
        std::printf("a runtime that prints on standard output\n");
        std::fflush(stdout);
        write_raw(STDOUT_FILENO, "RQF1 and on descriptor 1 itself\n");
    } else {
        throw Error(ErrorKind::input, "there is no flood " + what);
    }
}

void sleep_ms(double duration_ms) {
    if (duration_ms <= 0) {
        return;
    }
    const auto nanoseconds = static_cast<std::int64_t>(duration_ms * 1e6);
    timespec wait{static_cast<time_t>(nanoseconds / 1'000'000'000),
                  static_cast<long>(nanoseconds % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, &wait) != 0) {
    }
}

void fault_at_start() {
    const char* const asked = std::getenv("REQUAL_SCRIPTED_START");
    const std::string_view what = asked == nullptr ? "" : asked;
    if (what.empty()) {
        return;
    }
    if (what == "crash") {
        crash();
    }
    if (what == "hang") {
        hang();
    }
    if (what == "version") {
        toolchain::FrameChannel channel(STDIN_FILENO, STDOUT_FILENO);
        const auto hello = channel.receive();
        toolchain::Message answer;
        answer.header = Json::object({{"type", "answer"},
                                      {"id", hello ? hello->header.get("id") : Json()},
                                      {"protocol", toolchain::protocol_version + 1},
                                      {"capabilities", Json::object()}});
        channel.send(answer);
        (void)channel.receive();
        std::exit(0);
    }
    flood(std::string(what));
    hang();
}

}  // namespace requal::scripted
