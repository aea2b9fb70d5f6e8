// The ledger: one file of JSON Lines, each record with the digest of the line before it.
//
// A line is {"body", "prev", "seq", "time", "type"}, keys sorted, on one line. The digest of a record is over the bytes of its
// line without LF; `prev` of the first record is 64 zeros. The head file says where the ledger ends; it is written after the
// record has reached the disk, so that a ledger shorter than its head was cut, and what stands behind the head is the trace of
// a process that was killed: whole records there count, a torn rest is set aside.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "store/layout.h"

namespace requal::store {

struct NewRecord {
    std::string type;
    Json body = Json::object();
};

struct Record {
    std::uint64_t seq = 0;
    std::string prev;  ///< hex digest of the line before
    std::string type;
    Json body;
    Json time;
    std::uint64_t offset = 0;  ///< of its line in the file
    std::uint64_t length = 0;  ///< of its line with LF
};

/// Where a ledger ends: the next record's seq, digest of the last line, bytes so far.
struct Head {
    std::uint64_t seq = 0;
    Digest digest{};
    std::uint64_t offset = 0;
    bool operator==(const Head&) const = default;
};

/// Longest line in bytes; longer ones are refused, also on import.
constexpr std::uint64_t line_limit_bytes = 16 << 20;

/// Error(storage) when the head file is damaged; a head of nothing when there is none.
Head read_head(const Layout& layout, const std::string& id);
void write_head(const Layout& layout, const std::string& id, const Head& head);

/// Reads records from `from` to the end of the file or to `end_offset` and checks chain, numbers and form; `each` gets them in
/// order. Returns where the good part ends; `torn` is set to why reading stopped before the end. Error(storage) for I/O.
Head scan_ledger(const std::string& path, const Head& from, const std::function<void(Record)>& each,
                 std::string& torn, std::uint64_t end_offset = UINT64_MAX);

/// Reads one line that stands at `offset`.
Record read_record(const std::string& path, std::uint64_t offset, std::uint64_t length);

/// Lines of new records behind `head`, which is moved on. `last_wall` is the ISO time of the record before: a record whose
/// wall time lies before it says so by time.went_back.
std::string lines_of(const std::vector<NewRecord>& records, const Clock& clock, Head& head,
                     std::string& last_wall, std::vector<Record>& made);

/// Appends `lines` at `head.offset` and flushes them; on failure the file is cut back. Error(storage).
void append_lines(const Layout& layout, const std::string& id, const Head& head,
                  const std::string& lines);

/// What stands behind the head after a crash: whole records are kept, a torn rest moves to ledger/ID.torn-HEX. Returns the new
/// head (written when it moved). Error(storage) when the ledger is shorter than its head.
Head recover_ledger(const Layout& layout, const std::string& id);

/// Ids of the ledgers of this store, sorted.
std::vector<std::string> ledger_ids(const Layout& layout);

}  // namespace requal::store
