// One pass over a stream: this thread reads and writes, another hashes the same block meanwhile.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <utility>

#include "base/cancel.h"
#include "base/error.h"
#include "base/file.h"
#include "store/batch.h"
#include "store/files.h"

namespace requal::store {

namespace {

constexpr std::size_t block_bytes = std::size_t{4} << 20;
constexpr std::size_t block_count = 4;
constexpr std::size_t alignment_bytes = 4096;
constexpr std::uint64_t writeback_bytes = 16 << 20;

/// Blocks go round: filled by the reader, hashed in order by the thread.
class HashThread {
public:
    HashThread() {
        for (auto& block : blocks_) {
            // Not zeroed: pages that are never used are never there.
            block.reset(static_cast<std::byte*>(std::aligned_alloc(alignment_bytes, block_bytes)));
            if (!block)
                throw std::bad_alloc();
        }
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
        return {blocks_[filled_ % block_count].get(), block_bytes};
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
                hasher_.update(std::span<const std::byte>(blocks_[index].get(), size));
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

    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::array<std::unique_ptr<std::byte, Free>, block_count> blocks_;
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

/// Writes past the page cache where the file system can: a copy of the bytes and the search for free pages less, and nothing is
/// left to flush at the end.
class DirectWriter {
public:
    DirectWriter(int fd, const std::string& path, bool wanted) : fd_(fd), path_(path) {
        const int flags = wanted ? ::fcntl(fd, F_GETFL) : -1;
        direct_ = flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
    }
    void write(std::span<const std::byte> bytes) {
        if (bytes.size() % alignment_bytes != 0)
            end_direct();  // the last block
        while (!bytes.empty()) {
            if (!direct_) {
                write_all(fd_, bytes, path_);
                return;
            }
            const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) {
                throw_if_cancelled();
            } else if (count < 0 && errno == EINVAL) {
                end_direct();  // accepted, and not meant, or stopped between two blocks
            } else if (count < 0) {
                fail(errno, "write", path_);
            } else {
                bytes = bytes.subspan(static_cast<std::size_t>(count));
            }
        }
    }
    bool is_direct() const { return direct_; }

private:
    void end_direct() {
        if (!std::exchange(direct_, false))
            return;
        const int flags = ::fcntl(fd_, F_GETFL);
        if (flags < 0 || ::fcntl(fd_, F_SETFL, flags & ~O_DIRECT) != 0)
            fail(errno, "write", path_);
    }

    int fd_;
    const std::string& path_;
    bool direct_ = false;
};

}  // namespace

Copied copy_and_hash(int from, const std::string& source, int to, const std::string& target,
                     bool own_file, std::uint64_t limit_bytes) {
    HashThread hashing;
    DirectWriter writer(to, target, own_file && to >= 0);
    (void)::posix_fadvise(from, 0, 0, POSIX_FADV_SEQUENTIAL);
    Copied copied;
    std::uint64_t started = 0;  // written back, or on its way
    const off_t place = to >= 0 ? ::lseek(to, 0, SEEK_CUR) : 0;
    const off_t base = place > 0 ? place : 0;
    while (true) {
        throw_if_cancelled();
        std::span<std::byte> block = hashing.free_block();
        block = block.first(static_cast<std::size_t>(
            std::min<std::uint64_t>(block.size(), limit_bytes - copied.size_bytes)));
        const std::size_t size = read_block(from, block, source);
        if (size == 0)
            break;
        hashing.give(size);  // hashed while we write; both only read the block
        if (to >= 0) {
            writer.write(block.first(size));
            copied.size_bytes += size;
            if (!writer.is_direct() && copied.size_bytes - started >= writeback_bytes) {
                // The disk begins now, not at the flush; a file system that cannot is none the worse.
                (void)::sync_file_range(to, base + static_cast<off_t>(started),
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
