// The document snapshot/1: what one machine is at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "machine/gpus.h"

namespace requal::station {

struct SnapshotRequest {
    std::string sysroot = {};               ///< empty: this computer
    std::vector<std::string> folders = {};  ///< searched for libraries besides the usual ones
    std::vector<std::string> engines = {};  ///< files, their paths below the root
    Json earlier =
        {};  ///< an earlier snapshot: its digests are taken over where a file's size, inode and times are equal; null: none
    int jobs = 0;                        ///< threads that hash, 0: number of cores
    bool idle = false;                   ///< hash at the lowest priority
    std::uint64_t bytes_per_second = 0;  ///< at most, 0: no limit
    std::optional<machine::Gpus> gpus =
        {};                         ///< what NVIDIA's driver told; nothing: it was not asked
    Json application = {};          ///< as probe_application() gives it; null: none
    Json application_unknown = {};  ///< its unknown parts, an array; null: none
    bool (*stop)() = nullptr;
};

/// Error(input) for a sysroot that is no folder and for an engine that is not there; everything else that cannot be read is in `unknown`.
Json take_snapshot(const SnapshotRequest& request, const Clock& clock);

/// Over what describes the state: see docs/formats/snapshot.md.
Digest state_digest(const Json& snapshot);

/// Reads a snapshot. Error(input) for another schema; Error(storage) when its state_digest is not that of its content.
Json read_snapshot(const std::string& text, const std::string& source);

/// The same for a document that was read already.
Json checked_snapshot(Json document, const std::string& source);

/// For people.
std::string snapshot_text(const Json& snapshot);

/// Text of a member of an object, empty when it is none.
std::string text_at(const Json& object, std::string_view key);

}  // namespace requal::station
