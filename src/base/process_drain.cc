#include "base/process_drain.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/error.h"

namespace requal {
namespace {

constexpr std::size_t kept_bytes = std::size_t{64} << 10;
/// More than a pipe holds by default; a pipe of another size is cut off here
/// once its child has ended.
constexpr std::size_t bytes_after_end = std::size_t{1} << 20;

}  // namespace

Child::ErrorDrain::ErrorDrain(FileDescriptor read_end) : pipe_(std::move(read_end)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw_errno(errno, "make a pipe", "");
    stop_read_.reset(ends[0]);
    stop_write_.reset(ends[1]);
    const int flags = ::fcntl(pipe_.get(), F_GETFL);
    ::fcntl(pipe_.get(), F_SETFL, flags | O_NONBLOCK);
    // Signals are for the threads that work.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { read_all(); });
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Child::ErrorDrain::~ErrorDrain() {
    finish();
}

void Child::ErrorDrain::finish() {
    if (!thread_.joinable())
        return;
    stop_write_.reset();
    thread_.join();
}

std::string Child::ErrorDrain::tail() {
    const std::lock_guard lock(mutex_);
    return ring_.substr(start_) + ring_.substr(0, start_);
}

void Child::ErrorDrain::read_all() {
    while (true) {
        pollfd waiting[2] = {{pipe_.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
        if (::poll(waiting, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        if (waiting[1].revents != 0)
            break;
        if (waiting[0].revents != 0 && !read_some())
            return;
    }
    for (std::size_t seen = 0; seen < bytes_after_end; seen += 4096) {
        pollfd waiting{pipe_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 0) <= 0 || !read_some())
            return;
    }
}

/// False at the end of the pipe.
bool Child::ErrorDrain::read_some() {
    char bytes[4096];
    const ssize_t count = ::read(pipe_.get(), bytes, sizeof bytes);
    if (count > 0)
        keep(bytes, static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void Child::ErrorDrain::keep(const char* bytes, std::size_t count) {
    const std::lock_guard lock(mutex_);
    const std::size_t room = kept_bytes - ring_.size();
    const std::size_t appended = std::min(room, count);
    ring_.append(bytes, appended);
    for (std::size_t i = appended; i < count; ++i) {
        ring_[start_] = bytes[i];
        start_ = (start_ + 1) % kept_bytes;
    }
}

}  // namespace requal
