// Text into HTML: names come from models, protocols and file systems, and may be hostile.
#pragma once

#include <string>
#include <string_view>

namespace requal::evidence {

/// `text` escaped for element content and quoted attributes. Control characters and bytes that are not UTF-8 become visible \xNN,
/// and so do the characters that turn the direction of writing, so that a name cannot pose as another (base/text.h, printable()).
std::string html_text(std::string_view text);

}  // namespace requal::evidence
