// Conditions of rules: one short line, "built.version >= 8.6", evaluated to yes, no or unknown.
#pragma once

#include <string>
#include <string_view>

#include "compat/facts.h"

namespace requal::compat {

/// LEFT OPERATOR RIGHT. LEFT is built.FACT or target.FACT; RIGHT is such a fact, or words joined by '|'.
///   is, is-not         the word (one of the words)
///   has, lacks         the list holds the word (any of the words, or none of them)
///   includes           the list holds every word of the fact on the right
///   >= > <= <          versions; of a fact on the right, numbers that are not written leave it unknown
///   same               equal words, whatever the case
///   same-gpu           the same GPU model, names compared word by word
///   same-build, same-release, same-minor, same-major   4, 3, 2, 1 numbers
///   same-text          versions written alike; other numbers are a no, fewer numbers unknown
/// What is not stated is unknown.
struct Condition {
    std::string text;  ///< as written
    std::string left, operation, right;
    bool right_is_fact = false;
    bool about_built = false;  ///< speaks of the engine
};

/// Error(input) without a place: the caller knows it.
Condition parse_condition(std::string_view text);

struct Outcome {
    Truth truth = Truth::unknown;
    bool both_stated = false;  ///< unknown only because what is stated is not detailed enough
};
Outcome evaluate(const Condition& condition, const Facts& built, const Facts& target,
                 const Tables& tables);

}  // namespace requal::compat
