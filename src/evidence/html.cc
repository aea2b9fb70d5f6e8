#include "evidence/html.h"

#include "base/text.h"

namespace requal::evidence {

namespace {

/// The name of a direction mark or override that starts at `text`, all of them three bytes long; empty when there is none.
/// Source: Unicode Standard Annex 9, section 2.
std::string_view direction_mark(std::string_view text) {
    if (text.size() < 3 || text[0] != '\xe2') {
        return {};
    }
    if (text[1] == '\x80') {
        switch (text[2]) {
        case '\x8e':
            return "\\u{200E}";
        case '\x8f':
            return "\\u{200F}";
        case '\xaa':
            return "\\u{202A}";
        case '\xab':
            return "\\u{202B}";
        case '\xac':
            return "\\u{202C}";
        case '\xad':
            return "\\u{202D}";
        case '\xae':
            return "\\u{202E}";
        default:
            return {};
        }
    }
    if (text[1] == '\x81') {
        switch (text[2]) {
        case '\xa6':
            return "\\u{2066}";
        case '\xa7':
            return "\\u{2067}";
        case '\xa8':
            return "\\u{2068}";
        case '\xa9':
            return "\\u{2069}";
        default:
            return {};
        }
    }
    return {};
}

}  // namespace

std::string html_text(std::string_view raw) {
    const std::string text = printable(raw);
    std::string html;
    html.reserve(text.size() + text.size() / 8);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (const std::string_view mark = direction_mark(std::string_view(text).substr(i)); !mark.empty()) {
            html += mark;
            i += 2;
            continue;
        }
        switch (text[i]) {
        case '&':
            html += "&amp;";
            break;
        case '<':
            html += "&lt;";
            break;
        case '>':
            html += "&gt;";
            break;
        case '"':
            html += "&quot;";
            break;
        case '\'':
            html += "&#39;";
            break;
        default:
            html += text[i];
        }
    }
    return html;
}

}  // namespace requal::evidence
