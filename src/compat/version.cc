#include "compat/version.h"

#include <algorithm>
#include <cctype>

namespace requal::compat {

namespace {

constexpr std::size_t number_limit = 8;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Smallest and largest number that may stand at `index`.
std::uint64_t low(const Version& version, std::size_t index) {
    return index < version.numbers.size() ? version.numbers[index] : 0;
}
std::uint64_t high(const Version& version, std::size_t index) {
    return index < version.numbers.size() ? version.numbers[index] : UINT64_MAX;
}

enum class Bound { low, high };

/// -1, 0, 1: the bound of `left` against the bound of `right`.
int compare(const Version& left, Bound left_bound, const Version& right, Bound right_bound) {
    for (std::size_t i = 0; i < number_limit; ++i) {
        const std::uint64_t a = left_bound == Bound::low ? low(left, i) : high(left, i);
        const std::uint64_t b = right_bound == Bound::low ? low(right, i) : high(right, i);
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
    Version version;
    version.text = text;
    std::string_view rest = text;
    if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
        if (colon == 0 ||
            !std::all_of(rest.begin(), rest.begin() + static_cast<long>(colon), is_digit))
            return std::nullopt;
        rest.remove_prefix(colon + 1);
    }
    if (!rest.empty() && std::string_view("vVrR").find(rest.front()) != std::string_view::npos)
        rest.remove_prefix(1);
    for (;;) {
        std::size_t digits = 0;
        std::uint64_t number = 0;
        while (digits < rest.size() && is_digit(rest[digits])) {
            number = number * 10 + static_cast<std::uint64_t>(rest[digits] - '0');
            if (++digits > 9)
                return std::nullopt;
        }
        if (digits == 0 || version.numbers.size() == number_limit)
            return std::nullopt;
        version.numbers.push_back(static_cast<std::uint32_t>(number));
        rest.remove_prefix(digits);
        if (!rest.starts_with('.'))
            break;
        rest.remove_prefix(1);
    }
    if (rest.empty())
        return version;
    if (std::string_view("-+~ ").find(rest.front()) == std::string_view::npos)
        return std::nullopt;
    if (rest.front() == '-') {
        const std::size_t end = std::min(rest.find('+'), rest.size());
        version.revision = rest.substr(1, end - 1);
        rest.remove_prefix(end);
    }
    constexpr std::string_view mark = "+cuda";
    if (const std::size_t at = rest.find(mark); at != std::string_view::npos) {
        std::string_view cuda = rest.substr(at + mark.size());
        const std::size_t end =
            static_cast<std::size_t>(std::find_if(cuda.begin(), cuda.end(),
                                                  [](char c) { return !is_digit(c) && c != '.'; }) -
                                     cuda.begin());
        version.cuda = cuda.substr(0, end);
    }
    return version;
}

Truth at_least(const Version& left, const Version& right) {
    if (compare(left, Bound::low, right, Bound::high) >= 0)
        return Truth::yes;
    return compare(left, Bound::high, right, Bound::low) < 0 ? Truth::no : Truth::unknown;
}

Truth newer(const Version& left, const Version& right) {
    if (compare(left, Bound::low, right, Bound::high) > 0)
        return Truth::yes;
    return compare(left, Bound::high, right, Bound::low) <= 0 ? Truth::no : Truth::unknown;
}

Truth same_numbers(const Version& left, const Version& right, std::size_t depth) {
    const std::size_t written = std::min({left.numbers.size(), right.numbers.size(), depth});
    if (!std::equal(left.numbers.begin(), left.numbers.begin() + static_cast<long>(written),
                    right.numbers.begin()))
        return Truth::no;
    return written == depth ? Truth::yes : Truth::unknown;
}

Version exactly(const Version& version) {
    Version result = version;
    result.numbers.resize(number_limit, 0);
    return result;
}

}  // namespace requal::compat
