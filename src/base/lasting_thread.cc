#include "base/lasting_thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace requal {

namespace {

class LastingThread {
public:
    LastingThread() {
        std::thread([this] { serve(); }).detach();
    }

    void run(const std::function<void()>& work) {
        const std::lock_guard turn(turn_);  // one piece of work at a time
        std::unique_lock lock(mutex_);
        work_ = &work;
        changed_.notify_all();
        changed_.wait(lock, [this] { return work_ == nullptr; });
    }

private:
    [[noreturn]] void serve() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return work_ != nullptr; });
            (*work_)();
            work_ = nullptr;
            changed_.notify_all();
        }
    }

    std::mutex turn_;
    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()>* work_ = nullptr;
};

}  // namespace

void run_in_lasting_thread(const std::function<void()>& work) {
    if (::syscall(SYS_gettid) == ::getpid()) {
        work();
        return;
    }
    // Never destroyed: the thread outlives every static object.
    static LastingThread& thread = *new LastingThread;
    thread.run(work);
}

}  // namespace requal
