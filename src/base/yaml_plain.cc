#include "base/yaml_plain.h"

#include <algorithm>
#include <string>

namespace requal {
namespace {

/// Takes characters from the front of a scalar.
class Scan {
public:
    explicit Scan(std::string_view text) : rest_(text) {}
    bool take(char c) {
        if (rest_.empty() || rest_.front() != c)
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    void sign() {
        if (!take('-'))
            take('+');
    }
    std::size_t digits(std::string_view allowed = "0123456789") {
        const std::size_t count = std::min(rest_.find_first_not_of(allowed), rest_.size());
        rest_.remove_prefix(count);
        return count;
    }
    bool starts_with_digit() const {
        return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
    }
    bool at_end() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

constexpr std::string_view digits_and_underscores = "0123456789_";

PlainKind number_kind(std::string_view scalar) {
    Scan scan(scalar);
    scan.sign();
    std::size_t mantissa = scan.digits();
    PlainKind kind = PlainKind::integer;
    if (scan.take('.')) {
        kind = PlainKind::real;
        mantissa += scan.digits();
    }
    if (mantissa == 0)
        return PlainKind::text;
    if (scan.take('e') || scan.take('E')) {
        kind = PlainKind::real;
        scan.sign();
        if (scan.digits() == 0)
            return PlainKind::text;
    }
    return scan.at_end() ? kind : PlainKind::text;
}

/// A number once its underscores are taken out.
bool is_number_with_underscores(std::string_view scalar) {
    if (scalar.find('_') == std::string_view::npos)
        return false;
    Scan scan(scalar);
    scan.sign();
    if (!scan.starts_with_digit())
        return false;
    std::string without;
    std::copy_if(scalar.begin(), scalar.end(), std::back_inserter(without),
                 [](char c) { return c != '_'; });
    return number_kind(without) != PlainKind::text;
}

/// 1:30 and 12:30:45.5, numbers to the base of 60 in YAML 1.1.
bool is_sexagesimal(std::string_view scalar) {
    Scan scan(scalar);
    scan.sign();
    if (!scan.starts_with_digit())
        return false;
    scan.digits(digits_and_underscores);
    std::size_t groups = 0;
    while (scan.take(':')) {
        if (const std::size_t digits = scan.digits(); digits == 0 || digits > 2)
            return false;
        ++groups;
    }
    if (groups > 0 && scan.take('.'))
        scan.digits(digits_and_underscores);
    return groups > 0 && scan.at_end();
}

/// 0x1F, 0o17, 0b101.
bool has_base_prefix(std::string_view scalar) {
    Scan scan(scalar);
    scan.sign();
    if (!scan.take('0'))
        return false;
    std::size_t digits = 0;
    if (scan.take('x') || scan.take('X'))
        digits = scan.digits("0123456789abcdefABCDEF_");
    else if (scan.take('o') || scan.take('O'))
        digits = scan.digits("01234567_");
    else if (scan.take('b') || scan.take('B'))
        digits = scan.digits("01_");
    return digits > 0 && scan.at_end();
}

bool has_leading_zero(std::string_view scalar) {
    Scan scan(scalar);
    scan.sign();
    return scan.take('0') && scan.starts_with_digit() && number_kind(scalar) != PlainKind::text;
}

}  // namespace

PlainKind plain_kind(std::string_view scalar) {
    if (scalar == "true" || scalar == "false")
        return PlainKind::boolean;
    return number_kind(scalar);
}

std::string_view why_ambiguous(std::string_view scalar) {
    std::string lower(scalar.substr(0, 16));
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (scalar.size() <= 5) {
        for (const std::string_view word : {"yes", "no", "on", "off", "y", "n"}) {
            if (lower == word)
                return "YAML 1.1 reads it as true or false, YAML 1.2 as text";
        }
        if ((lower == "true" || lower == "false") && lower != scalar)
            return "YAML readers disagree whether it is text; write true or false in small letters";
        const std::string_view unsigned_form = std::string_view(lower).substr(
            lower.starts_with('-') || lower.starts_with('+') ? 1 : 0);
        if (unsigned_form == ".inf" || unsigned_form == ".nan")
            return "numbers must be finite";
    }
    if (scalar == "<<")
        return "merge keys are not allowed";
    if (scalar == "=")
        return "YAML 1.1 gives it a meaning of its own";
    if (has_leading_zero(scalar))
        return "YAML 1.1 reads a leading zero as octal, YAML 1.2 as decimal";
    if (has_base_prefix(scalar))
        return "YAML versions disagree on hexadecimal, octal and binary numbers; write it in "
               "decimal";
    if (is_sexagesimal(scalar))
        return "YAML 1.1 reads it as a number to the base of 60, YAML 1.2 as text";
    if (is_number_with_underscores(scalar))
        return "YAML 1.1 reads it as a number, YAML 1.2 as text";
    return {};
}

}  // namespace requal
