// The part of a report that shows task quality: a table of slices with intervals, their plot, and the flips.
#pragma once

#include <string>

#include "base/json.h"

namespace requal::evidence {

/// HTML of the member `accuracy` of a record (run/1); empty when it is null. Error(input) for what no run writes.
std::string accuracy_html(const Json& accuracy);

}  // namespace requal::evidence
