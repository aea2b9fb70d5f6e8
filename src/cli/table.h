// Small tables of text for people: columns as wide as their widest cell, two blanks between.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace requal::cli {

/// Characters of UTF-8 text as a terminal counts them: continuation bytes take no place.
inline std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

/// Rows of cells; cells are escaped for the terminal. Lines end in LF and carry no blanks at their end.
inline std::string table_text(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(printable(row[i])));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string cell = printable(row[i]);
            line += cell;
            if (i + 1 < row.size()) {
                line.append(widths[i] - width_of(cell) + 2, ' ');
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace requal::cli
