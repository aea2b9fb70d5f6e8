#include "machine/hash_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/digest.h"

namespace requal::machine {

namespace {

constexpr std::size_t block_bytes = std::size_t{4} << 20U;

/// Was none of these pages in the page cache? False where that cannot be told: then nothing is given back.
bool none_cached(int fd, std::uint64_t offset, std::size_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at == MAP_FAILED)
        return false;
    std::vector<unsigned char> present((size + page - 1) / page, 1);
    const bool told = ::mincore(at, size, present.data()) == 0;
    ::munmap(at, size);
    return told && std::none_of(present.begin(), present.end(),
                                [](unsigned char byte) { return (byte & 1U) != 0; });
}

/// Shared by the threads: when the next block may be read.
class Pace {
public:
    explicit Pace(std::uint64_t bytes_per_second)
        : rate_(bytes_per_second), begin_(std::chrono::steady_clock::now()) {}
    void wait_for(std::size_t bytes) {
        if (rate_ == 0)
            return;
        const std::uint64_t before = read_.fetch_add(bytes);
        std::this_thread::sleep_until(
            begin_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(static_cast<double>(before) /
                                                       static_cast<double>(rate_))));
    }

private:
    std::uint64_t rate_;
    std::chrono::steady_clock::time_point begin_;
    std::atomic<std::uint64_t> read_{0};
};

void hash_one(const Root& root, HashJob& job, const HashOptions& options, Pace& pace,
              bool (*stop)()) {
    RootFile file = root.file(job.path);
    if (!file) {
        job.reason = file.presence == Presence::absent ? "it went away" : file.reason;
        return;
    }
    const auto size = static_cast<std::uint64_t>(file.info.st_size);
    if (size > options.most_bytes) {
        job.reason = "larger than " + std::to_string(options.most_bytes) + " bytes";
        return;
    }
    ::posix_fadvise(file.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Hasher hasher;
    std::vector<std::byte> buffer(std::min<std::uint64_t>(block_bytes, size + 1));
    std::uint64_t offset = 0;
    while (offset < size) {
        if (stop && stop()) {
            job.reason = "interrupted";
            return;
        }
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, size - offset));
        pace.wait_for(wanted);
        const bool give_back = none_cached(file.fd.get(), offset, wanted);
        std::size_t done = 0;
        while (done < wanted) {
            const ssize_t got = ::pread(file.fd.get(), buffer.data() + done, wanted - done,
                                        static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0) {
                job.reason =
                    got == 0 ? "it became shorter while it was read" : std::strerror(errno);
                return;
            }
            done += static_cast<std::size_t>(got);
        }
        hasher.update(std::span<const std::byte>(buffer.data(), wanted));
        if (give_back)
            ::posix_fadvise(file.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(wanted),
                            POSIX_FADV_DONTNEED);
        offset += wanted;
    }
    struct stat after {};
    if (::fstat(file.fd.get(), &after) == 0 &&
        (after.st_size != file.info.st_size || after.st_mtim.tv_sec != file.info.st_mtim.tv_sec ||
         after.st_mtim.tv_nsec != file.info.st_mtim.tv_nsec)) {
        job.reason = "it was written while it was read";
        return;
    }
    job.digest = hasher.finish().text();
}

}  // namespace

void hash_files(const Root& root, std::vector<HashJob>& jobs, const HashOptions& options,
                bool (*stop)()) {
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
        return jobs[left].size_bytes > jobs[right].size_bytes;
    });
    Pace pace(options.bytes_per_second);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        if (options.idle) {
            const auto self = static_cast<id_t>(::syscall(SYS_gettid));
            ::setpriority(PRIO_PROCESS, self, 19);     // Linux: of this thread only
            ::syscall(SYS_ioprio_set, 1, 0, 3 << 13);  // this thread, the idle class
        }
        for (std::size_t i = next++; i < order.size(); i = next++)
            hash_one(root, jobs[order[i]], options, pace, stop);
    };
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t count =
        std::min(options.jobs > 0 ? static_cast<std::size_t>(options.jobs) : cores, jobs.size());
    // never in the calling thread: its priority could not be raised again
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i)
        threads.emplace_back(work);
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace requal::machine
