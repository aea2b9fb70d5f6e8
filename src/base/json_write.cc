// Writes JSON so that equal content gives equal bytes.
#include <cmath>

#include "base/json.h"
#include "base/text.h"

namespace requal {
namespace {

constexpr std::size_t line_width = 100;

void append_string(std::string& out, std::string_view text) {
    constexpr char hex[] = "0123456789abcdef";
    // The one form that cannot be written as it is; printable() would also change
    // what JSON can hold.
    std::string repaired;
    if (!is_utf8(text)) {
        for (std::size_t i = 0; i < text.size();) {
            std::size_t length = 1;
            while (length <= 4 && i + length <= text.size() && !is_utf8(text.substr(i, length)))
                ++length;
            if (length <= 4 && i + length <= text.size()) {
                repaired += text.substr(i, length);
                i += length;
            } else {
                const auto byte = static_cast<unsigned char>(text[i++]);
                repaired += "\\x";
                repaired += hex[byte >> 4];
                repaired += hex[byte & 15];
            }
        }
        text = repaired;
    }
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        switch (c) {
        case '"':
            out += "\\\"";
            break;
        case '\\':
            out += "\\\\";
            break;
        case '\b':
            out += "\\b";
            break;
        case '\f':
            out += "\\f";
            break;
        case '\n':
            out += "\\n";
            break;
        case '\r':
            out += "\\r";
            break;
        case '\t':
            out += "\\t";
            break;
        default:
            if (byte < 0x20 || byte == 0x7F) {
                out += "\\u00";
                out += hex[byte >> 4];
                out += hex[byte & 15];
            } else {
                out += c;
            }
        }
    }
    out += '"';
}

void append_scalar(std::string& out, const Json& value) {
    switch (value.type()) {
    case Json::Type::null:
        out += "null";
        break;
    case Json::Type::boolean:
        out += value.as_boolean() ? "true" : "false";
        break;
    case Json::Type::integer:
        out += std::to_string(value.as_integer());
        break;
    case Json::Type::real: {
        const double number = value.as_number();
        if (!std::isfinite(number)) {
            out += "null";
            break;
        }
        const std::string text = shortest(number);
        out += text;
        if (text.find_first_of(".e") == std::string::npos)
            out += ".0";
        break;
    }
    case Json::Type::string:
        append_string(out, value.as_string());
        break;
    case Json::Type::array:
    case Json::Type::object:
        break;
    }
}

bool is_scalar(const Json& value) {
    return !value.is_array() && !value.is_object();
}

void append_compact(std::string& out, const Json& value) {
    if (is_scalar(value)) {
        append_scalar(out, value);
    } else if (value.is_array()) {
        out += '[';
        bool first = true;
        for (const Json& item : value.as_array()) {
            if (!first)
                out += ',';
            first = false;
            append_compact(out, item);
        }
        out += ']';
    } else {
        out += '{';
        bool first = true;
        for (const auto& [key, item] : value.as_object()) {
            if (!first)
                out += ',';
            first = false;
            append_string(out, key);
            out += ':';
            append_compact(out, item);
        }
        out += '}';
    }
}

/// Writes `items` as "[1, 2, 3]" when all are scalars and the line that ends
/// with it is not longer than `line_width`.
bool append_array_on_one_line(std::string& out, const Json::Array& items) {
    const std::size_t start = out.size();
    const std::size_t line_start = out.find_last_of('\n') + 1;  // npos + 1 is 0
    out += '[';
    for (const Json& item : items) {
        if (out.back() != '[')
            out += ", ";
        if (is_scalar(item))
            append_scalar(out, item);
        // The comma that may follow is counted in, so that the form does not depend
        // on what follows.
        if (!is_scalar(item) || out.size() - line_start + 2 > line_width) {
            out.resize(start);
            return false;
        }
    }
    out += ']';
    return true;
}

void append_pretty(std::string& out, const Json& value, std::size_t indentation) {
    const auto new_line = [&out](std::size_t columns) {
        out += '\n';
        out.append(columns, ' ');
    };
    if (is_scalar(value) || value.size() == 0) {
        append_compact(out, value);
    } else if (value.is_array()) {
        if (append_array_on_one_line(out, value.as_array()))
            return;
        out += '[';
        bool first = true;
        for (const Json& item : value.as_array()) {
            if (!first)
                out += ',';
            first = false;
            new_line(indentation + 2);
            append_pretty(out, item, indentation + 2);
        }
        new_line(indentation);
        out += ']';
    } else {
        out += '{';
        bool first = true;
        for (const auto& [key, item] : value.as_object()) {
            if (!first)
                out += ',';
            first = false;
            new_line(indentation + 2);
            append_string(out, key);
            out += ": ";
            append_pretty(out, item, indentation + 2);
        }
        new_line(indentation);
        out += '}';
    }
}

}  // namespace

std::string write_json(const Json& value) {
    std::string out;
    append_pretty(out, value, 0);
    out += '\n';
    return out;
}

std::string write_json_compact(const Json& value) {
    std::string out;
    append_compact(out, value);
    return out;
}

}  // namespace requal
