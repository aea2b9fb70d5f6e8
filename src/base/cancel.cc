#include "base/cancel.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/error.h"

namespace requal {
namespace {

// Lock-free atomics and write() are all that a signal handler may touch.
std::atomic<int> requests{0};
std::atomic<int> pipe_read{-1};
std::atomic<int> pipe_write{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void wake() {
    const int fd = pipe_write.load();
    if (fd < 0)
        return;
    const char byte = 1;
    // A full pipe is readable already.
    [[maybe_unused]] const ssize_t count = ::write(fd, &byte, 1);
}

void on_signal(int) {
    const int saved = errno;
    if (requests.fetch_add(1) > 0)
        ::_exit(static_cast<int>(ExitStatus::interrupted));
    wake();
    errno = saved;
}

}  // namespace

void install_cancellation() {
    if (pipe_read.load() >= 0)
        return;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        throw_errno(errno, "make a pipe", "");
    pipe_write.store(ends[1]);
    pipe_read.store(ends[0]);
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction present {};
        ::sigaction(signal_number, nullptr, &present);
        if (present.sa_handler == SIG_IGN)
            continue;  // started by nohup or in the background: stays so
        struct sigaction action {};
        action.sa_handler = on_signal;
        ::sigemptyset(&action.sa_mask);
        // No SA_RESTART: what waits in poll() or read() sees EINTR and can look at
        // cancelled().
        ::sigaction(signal_number, &action, nullptr);
    }
}

bool cancelled() {
    return requests.load(std::memory_order_relaxed) > 0;
}

void throw_if_cancelled() {
    if (cancelled())
        throw Error(ErrorKind::interrupted, "interrupted", {}, "run it again to resume");
}

void request_cancellation() {
    requests.fetch_add(1);
    wake();
}

void reset_cancellation() {
    requests.store(0);
    const int fd = pipe_read.load();
    char bytes[64];
    while (fd >= 0 && ::read(fd, bytes, sizeof bytes) > 0) {
    }
}

int cancellation_fd() {
    return pipe_read.load();
}

}  // namespace requal
