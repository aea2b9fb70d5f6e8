// What an unquoted YAML scalar means, and which ones are refused because readers disagree about them.
#pragma once

#include <string_view>

namespace requal {

/// Type of an unquoted scalar in the strict subset.
enum class PlainKind { text, boolean, integer, real };
PlainKind plain_kind(std::string_view scalar);

/// Why `scalar` may not be written without quotes: a clause such as "YAML 1.1 reads it as false"; empty when it may.
std::string_view why_ambiguous(std::string_view scalar);

}  // namespace requal
