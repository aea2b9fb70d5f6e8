// The report of one run: a single HTML file without script, made from the record and from nothing else.
#pragma once

#include <string>

#include "base/json.h"

namespace requal::evidence {

/// Renders a document of schema run/1. Equal records give equal bytes. Every text of the record is escaped. Error(input) when the
/// record lacks what the report must show.
std::string render_report(const Json& record);

}  // namespace requal::evidence
