// The document baseline/1 of an engine that is already in service: what is there, frozen, and how each part of it is known.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace requal::station {

/// A statement about the engine by a person: "model.digest=sha256:..".
struct Claim {
    std::string field, value;
};

struct AdoptRequest {
    std::string engine;  ///< path on this computer
    Json snapshot;       ///< snapshot/1 that has the engine among `engines`
    std::vector<Claim> claims;
    std::string by;  ///< who claims; needed with claims
};

/// Fields of an engine manifest that a baseline speaks of: each is observed, claimed or unknown.
const std::vector<std::string_view>& baseline_fields();

/// Always of state `adopted`: nothing was qualified. Error(input) for an engine that cannot be read; Error(usage) for an unknown field, a
/// claim without a name behind it, and a claim about what was observed to be otherwise.
Json adopt(const AdoptRequest& request, const Clock& clock);

/// Over the whole document but `content_digest`.
std::string content_digest(const Json& baseline);

/// A baseline/1 that was read; Error(storage) when its content_digest, or that of its snapshot, is not that of its content.
Json checked_baseline(Json document, const std::string& source);

/// The snapshot inside a baseline, or the document itself where it is a snapshot; checked.
Json snapshot_of(Json document, const std::string& source);
/// The same from text.
Json read_snapshot_or_baseline(const std::string& text, const std::string& source);

std::string baseline_text(const Json& baseline);

}  // namespace requal::station
