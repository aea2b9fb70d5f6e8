#include "evidence/html.h"

#include "base/text.h"

namespace requal::evidence {

std::string html_text(std::string_view raw) {
    const std::string text = printable(raw);
    std::string html;
    html.reserve(text.size() + text.size() / 8);
    for (const char c : text) {
        switch (c) {
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
            html += c;
        }
    }
    return html;
}

}  // namespace requal::evidence
