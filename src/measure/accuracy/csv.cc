#include "measure/accuracy/csv.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace requal::measure {

CsvReader::CsvReader(std::string path) : path_(std::move(path)), text_(read_file(path_)) {
    if (text_.compare(0, 3, "\xEF\xBB\xBF") == 0) {
        at_ = 3;
    }
    if (!split(columns_)) {
        fail("empty", "the first line names the columns");
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].empty()) {
            fail("column " + std::to_string(i + 1) + " has no name",
                 "the first line names the columns");
        }
    }
    std::vector<std::string_view> sorted(columns_.begin(), columns_.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
        fail("column '" + std::string(*twice) + "' stands twice", "name each column once");
    }
}

int CsvReader::find(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? -1 : static_cast<int>(found - columns_.begin());
}

bool CsvReader::next(std::vector<std::string>& fields) {
    if (!split(fields)) {
        return false;
    }
    if (fields.size() != columns_.size()) {
        fail(std::to_string(fields.size()) + " fields where the header has " +
                 std::to_string(columns_.size()),
             "the file may be cut short; quote fields that hold commas");
    }
    return true;
}

std::string CsvReader::where() const {
    return path_ + ":" + std::to_string(line_);
}

void CsvReader::fail(const std::string& message, const std::string& advice) const {
    throw Error(ErrorKind::input, message, where(), advice);
}

bool CsvReader::split(std::vector<std::string>& fields) {
    fields.clear();
    line_ = next_line_;
    // empty lines at the end are no records
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
        next_line_ += text_[at_] == '\n' ? 1U : 0U;
        line_ = next_line_;
        ++at_;
    }
    if (at_ >= text_.size()) {
        return false;
    }
    std::string field;
    bool quoted = false, was_quoted = false;
    for (;; ++at_) {
        const bool end = at_ >= text_.size();
        const char c = end ? '\n' : text_[at_];
        if (quoted) {
            if (end) {
                fail("a quote is never closed", "the file may be cut short");
            }
            next_line_ += c == '\n' ? 1U : 0U;
            if (c != '"') {
                field += c;
            } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
                field += '"';
                ++at_;
            } else {
                quoted = false;
            }
        } else if (c == '"' && field.empty() && !was_quoted) {
            quoted = was_quoted = true;
        } else if (c == ',' || c == '\n') {
            if (c == '\n' && !was_quoted && !field.empty() && field.back() == '\r') {
                field.pop_back();
            }
            if (field.find('\0') != std::string::npos || !is_utf8(field)) {
                fail("a field is not UTF-8 text", "write the file as UTF-8");
            }
            fields.push_back(std::move(field));
            field.clear();
            was_quoted = false;
            if (c == '\n') {
                at_ = std::min(at_ + 1, text_.size());
                next_line_ += end ? 0U : 1U;
                return true;
            }
        } else if (was_quoted && c != '\r') {
            fail("text stands behind a closing quote", "double the quotes inside of a field");
        } else if (!was_quoted) {
            field += c;
        }
    }
}

}  // namespace requal::measure
