// Is everything in the store what it was when it was written?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace requal::store {

struct Damage {
    std::string path;  ///< below the store's folder
    std::string what;
};

struct CheckReport {
    std::vector<Damage>
        damages;  ///< in the order in which they were found: format, ledgers, index, blobs, runs
    std::vector<std::string>
        notes;  ///< traces of killed processes, files that are not the store's: no damage
    std::uint64_t records = 0, blobs = 0, blob_bytes = 0, references = 0, orphans = 0;
    bool clean() const { return damages.empty(); }
};

struct CheckOptions {
    int threads = 2;
    bool blobs = true;  ///< false: only that they are there, with their size
    Json checkpoint =
        {};  ///< {"ledger", "seq", "digest"} kept elsewhere: the chain must hold it; null: none
};

/// Changes nothing. Error(input) where there is no store. Waits for a writer; what is put meanwhile waits for it.
CheckReport check_store(const std::string& folder, const CheckOptions& options = {});

}  // namespace requal::store
