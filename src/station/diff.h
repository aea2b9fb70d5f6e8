// What differs between two snapshots, or two engine manifests: each difference with its class and severity.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/json.h"

namespace requal::station {

/// high: what was qualified is no longer what is there · medium: look at it, or it opens a way for more · low: for the record ·
/// unknown: known on one side only.
enum class Severity { high, medium, low, unknown };
std::string_view name_of(Severity severity);

/// A class of differences (docs/formats/diff.md).
struct DifferenceClass {
    std::string_view name;
    Severity severity;
};
const std::vector<DifferenceClass>& difference_classes();

/// One side: its document and where it comes from. The document is a snapshot/1 or an engine-manifest/1, both of the same kind.
struct Side {
    Json document;
    std::string from;
};

/// Reads a snapshot (its state_digest is checked) or an engine manifest; Error(input|storage).
Side read_side(const std::string& path);

/// The document diff/1. Error(input) when the sides are of different kinds.
Json diff_document(const Side& before, const Side& after);

/// Only the differences, for many pairs: [{"class", "severity", "path", "before", "after"}].
Json snapshot_differences(const Json& before, const Json& after);

/// Of a diff/1: pass 0, fail 1, undecidable 6.
ExitStatus exit_status_of_diff(const Json& diff);

std::string diff_text(const Json& diff);

}  // namespace requal::station
