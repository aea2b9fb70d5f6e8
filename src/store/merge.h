// Ledgers of other stores, taken in as they are: nothing is renumbered, and the own ledger says up to where each was seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace requal::store {

struct MergedLedger {
    std::string ledger;
    std::uint64_t records = 0;  ///< it has now
    std::uint64_t added = 0;    ///< of them new here
};
struct MergeReport {
    std::vector<MergedLedger> ledgers;
    std::uint64_t blobs = 0;  ///< brought along
};

/// Takes in the ledgers of another store (with its blobs) or one ledger as JSON Lines (`store ledger export`). A chain that is
/// broken, or that went another way than the part that is here, is Error(input); then the store is as before.
MergeReport merge(Store& store, const std::string& source);

/// The bytes of a ledger up to its head, to a file or, for an empty path, to standard output. Error(input) for an unknown id.
std::uint64_t export_ledger(Store& store, const std::string& id, const std::string& path);

struct UpgradeReport {
    int from = 0;
    std::uint64_t runs = 0;
};
/// Gives a store of form 0 its ledger, and takes in folders of runs that the ledger does not know. Error(storage|input).
UpgradeReport upgrade(const std::string& folder, const Clock& clock = system_clock());

/// What lists show of a run: its verdict, protocol, toolchain, time, latency; from its record (run/1).
Json run_summary(const Json& record);

}  // namespace requal::store
