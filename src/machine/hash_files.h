// Digests of many files side by side, gently: the page cache keeps what it had, and the disk can be shared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/root.h"

namespace requal::machine {

struct HashJob {
    std::string path;  ///< below the root
    std::uint64_t size_bytes = 0;
    std::string digest;  ///< "sha256:..", empty when it could not be read
    std::string reason;  ///< why not
};

struct HashOptions {
    int jobs = 0;                            ///< threads, 0: number of cores
    bool idle = false;                       ///< at the lowest priority of processor and disk
    std::uint64_t bytes_per_second = 0;      ///< of all threads together, 0: no limit
    std::uint64_t most_bytes = 1ULL << 35U;  ///< larger files are left out with a reason
};

/// Fills digest or reason of every job, the largest files first. Pages that were not in the page cache before are given back after
/// reading, as far as the kernel tells which those were. Error(interrupted) when cancelled is left to the caller: `stop` is polled.
void hash_files(const Root& root, std::vector<HashJob>& jobs, const HashOptions& options,
                bool (*stop)() = nullptr);

}  // namespace requal::machine
