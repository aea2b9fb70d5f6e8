// The entries of coverage/1 as CSV (RFC 4180, LF line ends, one header line).
#pragma once

#include <string>

#include "base/json.h"

namespace requal::compat {

/// Columns: target, needs, product, version, gpu, os, arch, l4t, offer, status, rules, artefact, documented_by, conditions_to_show,
/// price, why, next. Parts of a list are joined by "; ". A cell that a spreadsheet would compute (it begins with = + - @, a tab or a
/// line end) gets an apostrophe in front.
std::string coverage_csv(const Json& document);

}  // namespace requal::compat
