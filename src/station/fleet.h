// Many snapshots: the distinct states, the odd ones out, the overdue and the silent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/json.h"

namespace requal::station {

struct FleetRequest {
    std::vector<std::string> files;  ///< snapshots; a station's name is its file's, without ".json"
    std::vector<std::string> expected;  ///< names of stations that must be there
    std::string
        reference;  ///< file of the state that all should have; empty: the most frequent state
    std::int64_t overdue_ns = 0;  ///< a snapshot older than this is overdue; 0: none is
    std::int64_t now_ns = 0;      ///< wall time
    int jobs = 0;                 ///< threads, 0: number of cores
};

/// The document fleet/1. Files that are no snapshots, or altered ones, are listed as refused and do not stop the others. Error(input)
/// without any snapshot, and for a reference that cannot be read.
Json fleet_document(const FleetRequest& request);

/// 0: one state, nothing overdue, silent or refused; 1 otherwise.
ExitStatus exit_status_of_fleet(const Json& fleet);

std::string fleet_text(const Json& fleet);

/// Files DIR/*.json, sorted; Error(input) for no folder.
std::vector<std::string> snapshot_files(const std::string& folder);

}  // namespace requal::station
