#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace requal {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

void append_escaped(std::string& out, unsigned char byte) {
    out += "\\x";
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 15];
}

/// Length in bytes of the well-formed UTF-8 sequence at the start of `text`, 0
/// when there is none; its code point.
std::size_t sequence_length(std::string_view text, char32_t& code_point) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) {
        code_point = first;
        return 1;
    }
    std::size_t length = 0;
    char32_t smallest = 0;
    if (first >= 0xC2 && first <= 0xDF) {
        length = 2;
        smallest = 0x80;
        code_point = first & 0x1FU;
    } else if (first >= 0xE0 && first <= 0xEF) {
        length = 3;
        smallest = 0x800;
        code_point = first & 0x0FU;
    } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4;
        smallest = 0x10000;
        code_point = first & 0x07U;
    } else {
        return 0;
    }
    if (text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U)
            return 0;
        code_point = (code_point << 6) | (byte(i) & 0x3FU);
    }
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    if (code_point < smallest || code_point > 0x10FFFF || surrogate)
        return 0;
    return length;
}

/// Characters that move the cursor, start escape sequences, break lines or
/// reorder what is shown.
bool drives_terminal(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/// Edit distance with swaps of neighbours counted once (optimal string
/// alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        previous[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
            current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                current[j] = std::min(current[j], before[j - 2] + 1);
            }
        }
        std::swap(before, previous);
        std::swap(previous, current);
    }
    return previous[b.size()];
}

std::string without_trailing_zeros(std::string text) {
    if (text.find('.') == std::string::npos)
        return text;
    while (text.back() == '0')
        text.pop_back();
    if (text.back() == '.')
        text.pop_back();
    return text;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        char32_t code_point = 0;
        const std::size_t length = sequence_length(text, code_point);
        if (length != 0 && !drives_terminal(code_point)) {
            out += text.substr(0, length);
            text.remove_prefix(length);
            continue;
        }
        const std::size_t escaped = std::max<std::size_t>(length, 1);
        for (std::size_t i = 0; i < escaped; ++i)
            append_escaped(out, static_cast<unsigned char>(text[i]));
        text.remove_prefix(escaped);
    }
    return out;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        char32_t code_point = 0;
        const std::size_t length = sequence_length(text, code_point);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string nearest(std::string_view word, std::span<const std::string_view> candidates) {
    constexpr std::size_t longest = 100;  // the distance takes time proportional
                                          // to the product of both lengths
    if (word.empty() || word.size() > longest)
        return {};
    std::string_view best;
    std::size_t best_distance = word.size() / 3 + 2;
    for (const std::string_view candidate : candidates) {
        if (candidate.size() > longest)
            continue;
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return std::string(best);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    if (text.size() > 1 && text.front() == '+' && text[1] != '-')
        text.remove_prefix(1);
    std::int64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::optional<double> parse_real(std::string_view text) {
    // Only decimal forms: what follows would also read "inf", "nan" and
    // hexadecimal numbers.
    std::string_view rest = text;
    if (!rest.empty() && (rest.front() == '+' || rest.front() == '-'))
        rest.remove_prefix(1);
    const auto digits = [&] {
        std::size_t count = 0;
        while (count < rest.size() && rest[count] >= '0' && rest[count] <= '9')
            ++count;
        rest.remove_prefix(count);
        return count;
    };
    std::size_t mantissa = digits();
    if (!rest.empty() && rest.front() == '.') {
        rest.remove_prefix(1);
        mantissa += digits();
    }
    if (mantissa == 0)
        return std::nullopt;
    if (!rest.empty() && (rest.front() == 'e' || rest.front() == 'E')) {
        rest.remove_prefix(1);
        if (!rest.empty() && (rest.front() == '+' || rest.front() == '-'))
            rest.remove_prefix(1);
        if (digits() == 0)
            return std::nullopt;
    }
    if (!rest.empty())
        return std::nullopt;
#if defined(__cpp_lib_to_chars)
    if (text.front() == '+')
        text.remove_prefix(1);
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec == std::errc::result_out_of_range) {
        // Too large is refused; too small is zero, as strtod() reads it.
        const double rounded = std::strtod(std::string(text).c_str(), nullptr);
        return std::isfinite(rounded) ? std::optional<double>(rounded) : std::nullopt;
    }
    if (result.ec != std::errc())
        return std::nullopt;
#else
    // Standard libraries without from_chars() for double (libc++ before 20);
    // Requal never calls setlocale().
    const double value = std::strtod(std::string(text).c_str(), nullptr);
#endif
    return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::string shortest(double value) {
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value < 0 ? "-inf" : "inf";
    char buffer[32];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
    return std::string(buffer, result.ptr);
}

std::string readable(double value, int digits) {
    if (!std::isfinite(value))
        return shortest(value);
    if (value == 0)
        return "0";
    digits = std::clamp(digits, 1, 17);
    const double magnitude = std::fabs(value);
    char buffer[64];
    std::to_chars_result result{};
    if (magnitude >= 1e-4 && magnitude < 1e7) {
        const int exponent = static_cast<int>(std::floor(std::log10(magnitude)));
        result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed,
                               std::max(0, digits - 1 - exponent));
        return without_trailing_zeros(std::string(buffer, result.ptr));
    }
    result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific,
                           digits - 1);
    const std::string text(buffer, result.ptr);
    const std::size_t e = text.find('e');
    return without_trailing_zeros(text.substr(0, e)) + text.substr(e);
}

std::string readable_bytes(unsigned long long size_bytes) {
    if (size_bytes < 1000)
        return std::to_string(size_bytes) + " B";
    constexpr std::string_view units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = static_cast<double>(size_bytes) / 1000;
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < std::size(units)) {  // 999.5 would be shown as 1000
        value /= 1000;
        ++unit;
    }
    return readable(value, 3) + " " + std::string(units[unit]);
}

std::string readable_seconds(double seconds) {
    if (!std::isfinite(seconds))
        return shortest(seconds);
    if (seconds < 0)
        return "-" + readable_seconds(-seconds);
    if (seconds == 0)
        return "0 s";
    if (seconds < 1e-6)
        return readable(seconds * 1e9, 3) + " ns";
    if (seconds < 1e-3)
        return readable(seconds * 1e6, 3) + " µs";
    if (seconds < 1)
        return readable(seconds * 1e3, 3) + " ms";
    if (seconds < 59.95)
        return readable(seconds, 3) + " s";
    const double limit = 1e15;
    const auto whole = static_cast<long long>(std::llround(std::min(seconds, limit)));
    const auto pair = [](long long big, const char* big_unit, long long small,
                         const char* small_unit) {
        std::string text = std::to_string(big) + " " + big_unit;
        if (small != 0)
            text += " " + std::to_string(small) + " " + small_unit;
        return text;
    };
    if (whole < 3600)
        return pair(whole / 60, "min", whole % 60, "s");
    if (whole < 86400)
        return pair(whole / 3600, "h", whole % 3600 / 60, "min");
    return pair(whole / 86400, "d", whole % 86400 / 3600, "h");
}

bool TextLines::next(std::string_view& line) {
    if (rest_.empty()) {
        return false;
    }
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    ++number_;
    return true;
}

}  // namespace requal
