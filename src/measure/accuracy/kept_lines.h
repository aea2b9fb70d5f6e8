// A file that grows by one line a sample, so that an interrupted run goes on where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>

#include "base/file.h"
#include "base/json.h"

namespace requal::measure {

/// The first line says what made the others: a file that was begun by something else is Error(input). A torn last line is cut off.
class KeptLines {
public:
    KeptLines(std::string path, const Json& made_by);

    bool has(std::int64_t id) const { return done_.count(id) != 0; }
    std::size_t size() const { return done_.size(); }
    /// `line` is an object; `id` is set in it.
    void add(std::int64_t id, Json line);
    /// Every line, in the order of the file. Memory does not grow with their number.
    void each(const std::function<void(std::int64_t id, const Json& line)>& use) const;

private:
    std::uint64_t read_kept(const Json& made_by);

    std::string path_;
    FileDescriptor file_;
    std::unordered_set<std::int64_t> done_;
};

}  // namespace requal::measure
