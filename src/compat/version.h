// Versions as people, packages and plan headers write them, compared without pretending to know numbers that are not written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compat/truth.h"

namespace requal::compat {

/// "11.4", "v10.16", "10.3.0.26-1+cuda12.5" (numbers 10.3.0.26, revision "1", cuda "12.5"), "8.5.2-1+cuda11.4",
/// "1:2.3-4ubuntu1", "r36.4.3", "2026.4.1-22179-7d30a3f".
/// A version with few numbers stands for all that begin with them: "11.4" may be 11.4.0 or 11.4.1.
struct Version {
    std::string text;                    ///< as written
    std::vector<std::uint32_t> numbers;  ///< 1 to 8, each below 10^9
    std::string revision;                ///< behind '-', empty: none
    std::string cuda;                    ///< behind "+cuda", empty: none
};

/// nullopt for anything that does not begin with a number (after an epoch "1:", or "v", "V", "r", "R"), for more than 8 numbers,
/// numbers of more than 9 digits, "10." and "10.x".
std::optional<Version> parse_version(std::string_view text);

/// left >= right, and left > right. Unknown where numbers that are not written would decide.
Truth at_least(const Version& left, const Version& right);
Truth newer(const Version& left, const Version& right);
/// The first `depth` numbers are equal; unknown when one side has fewer and the written ones agree.
Truth same_numbers(const Version& left, const Version& right, std::size_t depth);
/// A bound of a rule, such as 8.6: numbers that are not written are zeros.
Version exactly(const Version& version);

}  // namespace requal::compat
