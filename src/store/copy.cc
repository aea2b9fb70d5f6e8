// One pass over a stream: this thread reads and writes, another hashes.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "store/batch.h"

namespace requal::store {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::size_t block_count = 6;
constexpr std::uint64_t writeback_bytes = 16 << 20;

/// Blocks go round: filled by the reader, hashed in order by the thread.
class HashThread {
public:
    HashThread() {
        for (auto& block : blocks_)
            block.resize(block_bytes);
        thread_ = std::thread([this] { work(); });
    }
    ~HashThread() {
        {
            const std::lock_guard guard(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        if (thread_.joinable())
            thread_.join();
    }
    HashThread(const HashThread&) = delete;
    HashThread& operator=(const HashThread&) = delete;

    std::span<std::byte> free_block() {
        std::unique_lock guard(mutex_);
        changed_.wait(guard, [this] { return filled_ - hashed_ < block_count; });
        return blocks_[filled_ % block_count];
    }
    void give(std::size_t size) {
        {
            const std::lock_guard guard(mutex_);
            sizes_[filled_ % block_count] = size;
            ++filled_;
        }
        changed_.notify_all();
    }
    Digest finish() {
        {
            const std::lock_guard guard(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        thread_.join();
        if (failure_)
            std::rethrow_exception(failure_);
        return hasher_.finish();
    }

private:
    void work() {
        while (true) {
            std::size_t index = 0, size = 0;
            {
                std::unique_lock guard(mutex_);
                changed_.wait(guard, [this] { return hashed_ < filled_ || ended_; });
                if (hashed_ == filled_)
                    return;
                index = hashed_ % block_count;
                size = sizes_[index];
            }
            try {
                hasher_.update(std::span<const std::byte>(blocks_[index]).first(size));
            } catch (...) {
                failure_ = std::current_exception();
            }
            {
                const std::lock_guard guard(mutex_);
                ++hashed_;
            }
            changed_.notify_all();
        }
    }

    std::array<std::vector<std::byte>, block_count> blocks_;
    std::array<std::size_t, block_count> sizes_{};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t filled_ = 0, hashed_ = 0;
    bool ended_ = false;
    std::exception_ptr failure_;
    Hasher hasher_;
    std::thread thread_;
};

std::size_t read_block(int from, std::span<std::byte> block, const std::string& source) {
    std::size_t used = 0;
    while (used < block.size()) {
        const ssize_t count = ::read(from, block.data() + used, block.size() - used);
        if (count < 0 && errno == EINTR) {
            throw_if_cancelled();
            continue;
        }
        if (count < 0)
            throw_errno(errno, "read", source);
        if (count == 0)
            break;
        used += static_cast<std::size_t>(count);
    }
    return used;
}

}  // namespace

Copied copy_and_hash(int from, const std::string& source, int to, const std::string& target) {
    HashThread hashing;
    Copied copied;
    std::uint64_t started = 0;  // written back, or on its way
    while (true) {
        throw_if_cancelled();
        const std::span<std::byte> block = hashing.free_block();
        const std::size_t size = read_block(from, block, source);
        if (size == 0)
            break;
        hashing.give(size);  // hashed while we write; both only read the block
        if (to >= 0) {
            write_all(to, block.first(size), target);
            copied.size_bytes += size;
            if (copied.size_bytes - started >= writeback_bytes) {
                // The disk begins now, not at the flush; a file system that cannot is none the worse.
                (void)::sync_file_range(to, static_cast<off_t>(started),
                                        static_cast<off_t>(copied.size_bytes - started),
                                        SYNC_FILE_RANGE_WRITE);
                started = copied.size_bytes;
            }
        } else {
            copied.size_bytes += size;
        }
        if (size < block.size())
            break;
    }
    copied.digest = hashing.finish();
    return copied;
}

}  // namespace requal::store
