// Independent pieces of work on a few threads.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cancel.h"

namespace requal::measure {

/// Calls `work(index)` for 0 <= index < count, on up to `threads` threads, in any order. The first exception ends it and is thrown
/// here; so does cancellation.
template <typename Work>
void parallel_for(std::size_t count, int threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto loop = [&] {
        try {
            for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
                throw_if_cancelled();
                work(i);
            }
        } catch (...) {
            next = count;
            const std::lock_guard<std::mutex> lock(mutex);
            if (!failure) {
                failure = std::current_exception();
            }
        }
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads && static_cast<std::size_t>(t) < count; ++t) {
        others.emplace_back(loop);
    }
    loop();
    for (std::thread& thread : others) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace requal::measure
