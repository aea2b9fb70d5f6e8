// A running application: the files that it has mapped, and what it was started with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/hash_files.h"
#include "machine/probe.h"

namespace requal::machine {

struct ApplicationRequest {
    std::optional<std::int64_t> pid;
    std::string unit;       ///< a systemd unit of this computer
    std::string container;  ///< an id, or the beginning of one
    HashOptions hashing;
};

/// A line of /proc/PID/maps with a file behind it.
struct Mapping {
    std::string path;
    bool deleted = false;  ///< the file is no longer under this name
    std::uint64_t inode = 0;
    bool operator==(const Mapping&) const = default;
};

/// Each mapped file once, sorted by path. Never throws; lines of another form are left out.
std::vector<Mapping> parse_maps(std::string_view text);

/// {"executable", "libraries": [{path, product, soname, version, digest}], "deleted": [paths], "environment": {loader and CUDA
/// variables}, "limits": {..}, "devices": [device nodes held open], "learned_from": "mapped"}. Files are read through
/// /proc/PID/root, so those of a container are its own. Error(input) when there is no such process, unit or container, or when it ends
/// while it is read; Error(storage) when reading it is not permitted.
Json probe_application(const ApplicationRequest& request, Unknown& unknown);

}  // namespace requal::machine
