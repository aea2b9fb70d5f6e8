#include "toolchain/peer_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/file.h"

namespace requal::toolchain {

namespace {

constexpr int memory_interval_ms = 100;
constexpr int status_over_limit = 9;

std::uint64_t own_resident_bytes() {
    std::FILE* file = std::fopen("/proc/self/statm", "re");
    if (file == nullptr) {
        return 0;
    }
    unsigned long total = 0;
    unsigned long resident = 0;
    const int read = std::fscanf(file, "%lu %lu", &total, &resident);
    std::fclose(file);
    return read == 2 ? std::uint64_t{resident} * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))
                     : 0;
}

}  // namespace

struct PeerWatch::State {
    int answer_fd = -1;
    FileDescriptor wake;
    std::atomic<std::uint64_t> limit_bytes{0};
    std::atomic<bool> ending{false};
    std::mutex mutex;
    std::string folder;
    std::thread thread;

    void wake_up() const {
        const std::uint64_t one = 1;
        (void)!write(wake.get(), &one, sizeof one);
    }

    [[noreturn]] void end(int status) {
        const std::lock_guard lock(mutex);
        if (!folder.empty()) {
            std::error_code ignored;
            std::filesystem::remove_all(folder, ignored);
        }
        // The runtime is in the middle of something: its destructors must not run.
        _exit(status);
    }

    void look() {
        while (!ending) {
            pollfd polled[2] = {{answer_fd, 0, 0}, {wake.get(), POLLIN, 0}};
            const std::uint64_t limit = limit_bytes;
            const int ready = poll(polled, 2, limit > 0 ? memory_interval_ms : -1);
            if (ending) {
                return;
            }
            if (ready > 0 && (polled[0].revents & (POLLERR | POLLHUP)) != 0) {
                end(0);
            }
            if (ready > 0 && polled[1].revents != 0) {
                std::uint64_t count = 0;
                (void)!read(wake.get(), &count, sizeof count);
            }
            if (limit > 0) {
                const std::uint64_t resident = own_resident_bytes();
                if (resident > limit) {
                    std::fprintf(stderr,
                                 "requal runner: resident memory of %llu bytes is over the limit "
                                 "of %llu bytes\n",
                                 static_cast<unsigned long long>(resident),
                                 static_cast<unsigned long long>(limit));
                    end(status_over_limit);
                }
            }
        }
    }
};

PeerWatch::PeerWatch(int answer_fd) : state_(std::make_unique<State>()) {
    state_->answer_fd = answer_fd;
    state_->wake.reset(eventfd(0, EFD_CLOEXEC));
    state_->thread = std::thread([state = state_.get()] { state->look(); });
}

PeerWatch::~PeerWatch() {
    state_->ending = true;
    state_->wake_up();
    state_->thread.join();
}

void PeerWatch::end_process(int status) {
    std::fflush(nullptr);
    state_->end(status);
}

void PeerWatch::limit_memory(std::uint64_t limit_bytes) {
    state_->limit_bytes = limit_bytes;
    state_->wake_up();
}

void PeerWatch::remove_at_end(const std::string& folder) {
    const std::lock_guard lock(state_->mutex);
    state_->folder = folder;
}

}  // namespace requal::toolchain
