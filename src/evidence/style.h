// The style sheet of reports: light and dark, readable in print, colour never the only sign.
#pragma once

#include <string_view>

namespace requal::evidence {

std::string_view style_sheet();

}  // namespace requal::evidence
