// Yes, no, and what nobody said: the three are kept apart in every decision about compatibility.
#pragma once

#include <string_view>

namespace requal::compat {

enum class Truth { no, unknown, yes };

constexpr std::string_view name_of(Truth truth) {
    return truth == Truth::yes ? "yes" : truth == Truth::no ? "no" : "unknown";
}
constexpr Truth both(Truth left, Truth right) {
    return left < right ? left : right;
}
constexpr Truth truth_of(bool value) {
    return value ? Truth::yes : Truth::no;
}

}  // namespace requal::compat
