// Tables that fit the terminal: columns that matter least are left out, then long cells are shortened.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/table.h"

namespace requal::cli {

/// Columns of standard output: $COLUMNS, else of the terminal, else 0 (no limit).
inline std::size_t output_columns() {
    if (const char* text = std::getenv("COLUMNS")) {
        const auto value = parse_integer(text);
        if (value && *value > 0 && *value < 100'000)
            return static_cast<std::size_t>(*value);
    }
    winsize size{};
    if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    return 0;
}

/// The first `width` characters of UTF-8 text, the last one "…" when some were cut.
inline std::string shortened(const std::string& text, std::size_t width) {
    if (width_of(text) <= width)
        return text;
    std::string result;
    std::size_t taken = 0;
    for (const char c : text) {
        const bool starts = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        if (starts && taken + 1 >= width)
            break;
        taken += starts ? 1 : 0;
        result += c;
    }
    return width == 0 ? std::string() : result + "…";
}

inline std::size_t table_width(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(printable(row[i])));
    }
    std::size_t total = 0;
    for (const std::size_t width : widths)
        total += width + 2;
    return total < 2 ? 0 : total - 2;
}

/// `rows` with a heading. While they are wider than `width` (0: no limit), columns of `least_first` are left out in that order;
/// then the lines are shortened.
inline std::string fitted_table(std::vector<std::vector<std::string>> rows, std::size_t width,
                                std::vector<std::size_t> least_first) {
    for (std::size_t next = 0; width > 0 && next < least_first.size() && table_width(rows) > width;
         ++next) {
        const std::size_t column = least_first[next];
        for (auto& row : rows) {
            if (column < row.size())
                row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
        }
        for (std::size_t& other : least_first) {
            if (other > column)
                --other;
        }
    }
    const std::string text = table_text(rows);
    if (width == 0 || table_width(rows) <= width)
        return text;
    std::string fitted;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = text.find('\n', begin);
        fitted += shortened(text.substr(begin, end - begin), width) + "\n";
        begin = end + 1;
    }
    return fitted;
}

}  // namespace requal::cli
