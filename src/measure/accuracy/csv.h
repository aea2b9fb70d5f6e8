// Comma-separated values (RFC 4180) with a header line, record by record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace requal::measure {

/// A file read whole; records are split one at a time. Columns are named by the header, which is needed.
class CsvReader {
public:
    /// Error(input) for an empty file, a column without a name or two of one name.
    explicit CsvReader(std::string path);

    const std::vector<std::string>& columns() const { return columns_; }
    int find(std::string_view column) const;  ///< -1 when absent
    /// Next record, which has as many fields as the header; false at the end. Error(input) "FILE:LINE" for another number of fields,
    /// an open quote, NUL or text that is not UTF-8.
    bool next(std::vector<std::string>& fields);
    std::string where() const;  ///< "FILE:LINE" of the record read last

private:
    bool split(std::vector<std::string>& fields);
    [[noreturn]] void fail(const std::string& message, const std::string& advice) const;

    std::string path_, text_;
    std::vector<std::string> columns_;
    std::size_t at_ = 0;
    std::size_t line_ = 0, next_line_ = 1;
};

}  // namespace requal::measure
