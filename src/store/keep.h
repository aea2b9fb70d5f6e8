// Garbage collection: what a policy keeps stays, and all that a baseline, an open deviation or unfinished work needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace requal::store {

/// "names", "baselines", "runs:N", "days:N", "tag:T"; several are joined. None: "names".
struct KeepPolicy {
    bool names = false;      ///< every reference that is current
    std::int64_t runs = -1;  ///< the newest N runs
    std::int64_t days = -1;  ///< what was recorded in the last N days
    std::vector<std::string> tags;
    std::vector<std::string> words;  ///< as given
};
/// Error(usage) that names the word.
KeepPolicy parse_keep(const std::vector<std::string>& words);

struct GcReport {
    std::vector<BlobEntry> removed;
    std::uint64_t removed_bytes = 0;
    std::uint64_t kept = 0;
    std::uint64_t orphans = 0;  ///< of removed: blobs that no record named
    bool dry = false;
};

/// Removes blobs that nothing kept needs, first recording which (record `gc`). What a kept document names by digest stays, and
/// what those name. Error(storage).
GcReport collect_garbage(Store& store, const KeepPolicy& policy, bool dry_run);

}  // namespace requal::store
