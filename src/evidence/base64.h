// Base64 (RFC 4648, section 4), strictly: one text for each value.
#pragma once

#include <string>
#include <string_view>

namespace requal::evidence {

std::string encode_base64(std::string_view bytes);

/// Standard alphabet with padding, no blanks or line ends, unused bits zero; Error(input) at `where` otherwise.
std::string decode_base64(std::string_view text, std::string_view where);

}  // namespace requal::evidence
