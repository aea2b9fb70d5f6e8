// One self-contained HTML page of a coverage/1 document: the matrix, and what stands behind each cell. No script.
#pragma once

#include <string>

#include "base/json.h"

namespace requal::evidence {

std::string coverage_page(const Json& document);

}  // namespace requal::evidence
