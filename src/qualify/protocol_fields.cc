#include "qualify/protocol_fields.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace requal::qualify {

namespace {

constexpr std::uint64_t most_runs = 10'000'000;

bool is_identifier(std::string_view text) {
    if (text.empty() || text.size() > 64 || text.front() == '-') {
        return false;
    }
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
}

}  // namespace

std::string identifier(const Yaml& node) {
    std::string text = node.text();
    if (!is_identifier(text)) {
        node.fail("'" + printable(text) + "' is no identifier",
                  "use up to 64 lower-case letters, digits and '-'");
    }
    return text;
}

std::string line_of_text(const Yaml& node) {
    std::string text = node.text();
    if (text.empty()) {
        node.fail("must not be empty");
    }
    if (text.find('\0') != std::string::npos || text.find('\n') != std::string::npos) {
        node.fail("must be one line of text");
    }
    return text;
}

Digest digest_at(const Yaml& node) {
    try {
        return parse_digest(node.text());
    } catch (const Error& error) {
        node.fail(error.message(), "write sha256: and 64 hex digits, as sha256sum prints them");
    }
}

double bound(const Yaml& node) {
    const double value = node.number();
    if (!std::isfinite(value) || value < 0) {
        node.fail("must be a finite number >= 0");
    }
    return value;
}

std::uint64_t count(const Yaml& node, std::uint64_t least) {
    const std::int64_t value = node.integer();
    if (value < 0 || static_cast<std::uint64_t>(value) < least ||
        static_cast<std::uint64_t>(value) > most_runs) {
        node.fail("must be between " + std::to_string(least) + " and " + std::to_string(most_runs));
    }
    return static_cast<std::uint64_t>(value);
}

}  // namespace requal::qualify
