// Text for terminals: escaping, and distances between words for "did you mean".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace requal {

/// `text` with control characters, DEL, C1, line separators, marks that reorder text, and bytes that are not UTF-8 written
/// as \xNN (byte by byte), so that it is one line and cannot drive a terminal. A backslash stays as it is.
std::string printable(std::string_view text);

/// True when `text` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

/// The candidate nearest to `word` by edit distance, empty when none is near (distance > 1/3 of the length + 1).
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

/// The whole of `text` as a decimal integer (optional sign), or as a finite decimal number (optional sign, point and
/// exponent; no hexadecimal, "inf" or "nan"); nullopt otherwise. The locale does not matter.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);

/// Shortest decimal form of `value` that reads back as the same double. NaN and infinities: "nan", "inf", "-inf".
std::string shortest(double value);

/// A number for people: about `digits` significant digits, no exponent between 1e-4 and 1e7.
std::string readable(double value, int digits = 4);

/// The lines of a text one after the other, without LF and a CR in front of it; nothing behind the last LF is no line.
class TextLines {
public:
    explicit TextLines(std::string_view text) : rest_(text) {}
    bool next(std::string_view& line);              ///< false at the end
    std::size_t number() const { return number_; }  ///< of the line given last, from 1

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

/// A size for people: "12.3 MB" (decimal units). A duration for people: "1.23 ms", "4.5 s", "2 min 3 s".
std::string readable_bytes(unsigned long long size_bytes);
std::string readable_seconds(double seconds);

}  // namespace requal
