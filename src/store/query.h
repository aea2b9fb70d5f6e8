// What SQLite is to the index: prepared statements whose failures are errors that name the file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <sqlite3.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/json.h"
#include "store/files.h"
#include "store/index.h"

namespace requal::store {

/// A prepared statement, bound in order.
class Query {
public:
    Query(sqlite3* database, const char* sql, const std::string& path)
        : database_(database), path_(path) {
        if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK)
            refuse();
    }
    ~Query() { sqlite3_finalize(statement_); }
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    Query& bind(const std::string& text) {
        check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                                SQLITE_TRANSIENT));
        return *this;
    }
    Query& bind(std::uint64_t value) {
        check(sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(value)));
        return *this;
    }
    Query& bind(const Digest& digest) {
        check(sqlite3_bind_blob(statement_, ++bound_, digest.bytes.data(),
                                static_cast<int>(digest.bytes.size()), SQLITE_TRANSIENT));
        return *this;
    }
    bool step() {
        const int answer = sqlite3_step(statement_);
        if (answer != SQLITE_ROW && answer != SQLITE_DONE)
            refuse();
        return answer == SQLITE_ROW;
    }
    void run() {
        while (step()) {
        }
        sqlite3_reset(statement_);
        sqlite3_clear_bindings(statement_);
        bound_ = 0;
    }
    /// For the next use; nothing stays locked by a row that was read.
    void reset() {
        sqlite3_reset(statement_);
        bound_ = 0;
    }
    std::string text(int column) const {
        const auto* data = sqlite3_column_text(statement_, column);
        return data == nullptr ? std::string()
                               : std::string(reinterpret_cast<const char*>(data),
                                             static_cast<std::size_t>(
                                                 sqlite3_column_bytes(statement_, column)));
    }
    std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
    }
    Digest digest(int column) const {
        Digest found;
        const auto* data =
            static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
        if (data == nullptr ||
            sqlite3_column_bytes(statement_, column) != static_cast<int>(found.bytes.size()))
            damaged("the index holds no digest where one belongs; run 'requal store rebuild'",
                    path_);
        std::copy_n(data, found.bytes.size(), found.bytes.begin());
        return found;
    }
    int columns() const { return sqlite3_column_count(statement_); }

private:
    void check(int answer) {
        if (answer != SQLITE_OK)
            refuse();
    }
    [[noreturn]] void refuse() const;

    sqlite3* database_;
    sqlite3_stmt* statement_ = nullptr;
    const std::string& path_;
    int bound_ = 0;
};

[[noreturn]] inline void refuse_database(sqlite3* database, const std::string& path) {
    const int code = database == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database);
    const std::string message = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
    const char* next = "check the disk and the store's folder";
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        next = "run 'requal store check', then 'requal store rebuild'";
    if (code == SQLITE_FULL)
        next = "free some space, or run 'requal store gc'";
    throw Error(ErrorKind::storage, "the index: " + message, path, next);
}

inline void Query::refuse() const {
    refuse_database(database_, path_);
}

inline std::string json_text(const Json& json) {
    return json.is_null() ? std::string() : write_json_compact(json);
}
inline Json json_from(const std::string& text, const std::string& path) {
    if (text.empty())
        return {};
    try {
        return parse_json(text, path);
    } catch (const Error&) {
        damaged("the index holds text that is no JSON; run 'requal store rebuild'", path);
    }
}

/// Statements that are used again and again.
struct Index::Statements {
    Query record, blob, outdate, reference, size;
    Statements(sqlite3* db, const std::string& path)
        : record(db, "INSERT OR REPLACE INTO records VALUES(?,?,?,?,?)", path),
          blob(db, "INSERT OR REPLACE INTO blobs VALUES(?,?)", path),
          outdate(db, "UPDATE refs SET current=0 WHERE name=? AND ledger=? AND current=1", path),
          reference(
              db,
              "INSERT INTO refs(ledger,seq,name,kind,tags,digest,size,files,summary,time,current) "
              "VALUES(?,?,?,?,?,?,?,?,?,?,1)",
              path),
          size(db, "SELECT size FROM blobs WHERE digest=?", path) {}
};

}  // namespace requal::store
