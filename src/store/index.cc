#include "store/index.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <sqlite3.h>

#include "base/error.h"
#include "base/file.h"
#include "store/files.h"

namespace requal::store {

namespace {

constexpr int application_id = 0x52514c31;  // "RQL1"

constexpr const char* tables = R"(
CREATE TABLE ledgers(id TEXT PRIMARY KEY, seq INTEGER, digest BLOB, offset INTEGER, last_wall TEXT) WITHOUT ROWID;
CREATE TABLE records(ledger TEXT, seq INTEGER, type TEXT, offset INTEGER, length INTEGER, PRIMARY KEY(ledger, seq)) WITHOUT ROWID;
CREATE TABLE blobs(digest BLOB PRIMARY KEY, size INTEGER) WITHOUT ROWID;
CREATE TABLE refs(id INTEGER PRIMARY KEY, ledger TEXT, seq INTEGER, name TEXT, kind TEXT, tags TEXT, digest BLOB, size INTEGER,
                  files TEXT, summary TEXT, time TEXT, current INTEGER);
CREATE INDEX refs_by_name ON refs(name, ledger);
CREATE INDEX refs_by_kind ON refs(kind);
CREATE TABLE works(id TEXT PRIMARY KEY, kind TEXT, key TEXT, state TEXT, ledger TEXT, seq INTEGER, body TEXT, result TEXT) WITHOUT ROWID;
CREATE INDEX works_by_key ON works(kind, key, seq);
CREATE TABLE steps(work TEXT, name TEXT, inputs TEXT, outputs TEXT, ledger TEXT, seq INTEGER, PRIMARY KEY(work, name)) WITHOUT ROWID;
CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
)";

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

[[noreturn]] void refuse_database(sqlite3* database, const std::string& path) {
    const int code = database == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database);
    const std::string message = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
    const char* next = "check the disk and the store's folder";
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        next = "run 'requal store check', then 'requal store rebuild'";
    if (code == SQLITE_FULL)
        next = "free some space, or run 'requal store gc'";
    throw Error(ErrorKind::storage, "the index: " + message, path, next);
}

void Query::refuse() const {
    refuse_database(database_, path_);
}

std::string json_text(const Json& json) {
    return json.is_null() ? std::string() : write_json_compact(json);
}
Json json_from(const std::string& text, const std::string& path) {
    if (text.empty())
        return {};
    try {
        return parse_json(text, path);
    } catch (const Error&) {
        damaged("the index holds text that is no JSON; run 'requal store rebuild'", path);
    }
}

Digest digest_at(const Json& json, std::string_view key) {
    return parse_digest(json.at(key).as_string());
}

}  // namespace

struct Index::Statements {
    Query record, blob, outdate, reference;
    Statements(sqlite3* db, const std::string& path)
        : record(db, "INSERT OR REPLACE INTO records VALUES(?,?,?,?,?)", path),
          blob(db, "INSERT OR REPLACE INTO blobs VALUES(?,?)", path),
          outdate(db, "UPDATE refs SET current=0 WHERE name=? AND ledger=? AND current=1", path),
          reference(
              db,
              "INSERT INTO refs(ledger,seq,name,kind,tags,digest,size,files,summary,time,current) "
              "VALUES(?,?,?,?,?,?,?,?,?,?,1)",
              path) {}
};

Index::Index(const std::string& path, Open how, std::string own)
    : path_(path), own_(std::move(own)) {
    const int flags =
        how == Open::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const std::string name = how == Open::memory ? ":memory:" : path;
    if (how != Open::memory) {
        const Status status = status_of(path);
        if (status.kind != Kind::file && status.kind != Kind::absent)
            damaged("no regular file", path);
    }
    try {
        if (sqlite3_open_v2(name.c_str(), &database_, flags | SQLITE_OPEN_NOFOLLOW, nullptr) !=
            SQLITE_OK)
            refuse_database(database_, path_);
        sqlite3_busy_timeout(database_, 60'000);
        std::uint64_t id = 0, objects = 0;
        {
            Query query(database_, "PRAGMA application_id", path_);
            query.step();
            id = query.number(0);
            Query count(database_, "SELECT count(*) FROM sqlite_master", path_);
            count.step();
            objects = count.number(0);
        }
        const bool fresh = id == 0 && objects == 0;
        if (!fresh && id != application_id)
            throw Error(ErrorKind::storage, "a database that belongs to something else", path_,
                        "move it away, then run 'requal store rebuild'");
        if (how == Open::read)
            return;
        execute("PRAGMA journal_mode=DELETE");
        execute("PRAGMA synchronous=FULL");
        execute("PRAGMA cache_size=-16000");
        execute("PRAGMA temp_store=MEMORY");
        if (fresh) {
            execute("BEGIN IMMEDIATE");
            // Another process may have been faster between the look and the lock.
            if (!has_tables()) {
                execute(("PRAGMA application_id=" + std::to_string(application_id)).c_str());
                execute(tables);
            }
            execute("COMMIT");
        }
    } catch (...) {
        sqlite3_close(database_);
        throw;
    }
}

Index::~Index() {
    statements_.reset();
    sqlite3_close(database_);
}

void Index::execute(const char* sql) const {
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        refuse_database(database_, path_);
}

bool Index::has_tables() const {
    Query query(database_, "SELECT count(*) FROM sqlite_master WHERE name='settings'", path_);
    query.step();
    return query.number(0) == 1;
}

void Index::begin() {
    execute("BEGIN IMMEDIATE");
}
void Index::commit() {
    execute("COMMIT");
}
void Index::roll_back() {
    if (sqlite3_get_autocommit(database_) == 0)
        sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Index::apply(const std::string& ledger, const Record& record) {
    if (!statements_)
        statements_ = std::make_unique<Statements>(database_, path_);
    statements_->record.bind(ledger)
        .bind(record.seq)
        .bind(record.type)
        .bind(record.offset)
        .bind(record.length)
        .run();
    try {
        if (record.type == "put") {
            apply_put(ledger, record);
        } else if (record.type == "forget") {
            statements_->outdate.bind(record.body.at("name").as_string()).bind(ledger).run();
        } else if (ledger != own_) {
            return;
        } else if (record.type == "gc") {
            apply_gc(record);
        } else if (record.type == "settings") {
            for (const auto& [name, value] : record.body.as_object())
                Query(database_, "INSERT OR REPLACE INTO settings VALUES(?,?)", path_)
                    .bind(name)
                    .bind(write_json_compact(value))
                    .run();
        } else if (record.type == "work-started" || record.type == "step-finished" ||
                   record.type == "work-finished") {
            apply_work(ledger, record);
        }
    } catch (const Error& error) {
        // A well chained record with a body that says nothing to us (of a merged ledger) stays a record.
        if (error.kind() != ErrorKind::input)
            throw;
    }
}

void Index::apply_put(const std::string& ledger, const Record& record) {
    const std::string time =
        record.time.get("wall").is_string() ? record.time.get("wall").as_string() : "";
    for (const Json& item : record.body.at("items").as_array()) {
        const Digest digest = digest_at(item, "digest");
        const auto size = static_cast<std::uint64_t>(item.at("size_bytes").as_integer());
        if (ledger == own_)
            statements_->blob.bind(digest).bind(size).run();
        const std::string name = item.has("name") ? item.at("name").as_string() : "";
        const bool plain =
            name.empty() && !item.has("tags") && !item.has("files") && !item.has("summary");
        if (!name.empty())
            check_name(name);
        if (plain && item.at("kind").as_string() == "blob")
            continue;
        if (!name.empty())
            statements_->outdate.bind(name).bind(ledger).run();
        statements_->reference.bind(ledger)
            .bind(record.seq)
            .bind(name)
            .bind(item.at("kind").as_string())
            .bind(json_text(item.get("tags")))
            .bind(digest)
            .bind(size)
            .bind(json_text(item.get("files")))
            .bind(json_text(item.get("summary")))
            .bind(time)
            .run();
    }
}

void Index::apply_gc(const Record& record) {
    for (const Json& item : record.body.at("removed").as_array())
        remove_blob(digest_at(item, "digest"));
}

void Index::apply_work(const std::string& ledger, const Record& record) {
    const std::string work = record.body.at("work").as_string();
    if (record.type == "work-started") {
        Query(database_, "INSERT OR REPLACE INTO works VALUES(?,?,?,'open',?,?,?,'')", path_)
            .bind(work)
            .bind(record.body.at("kind").as_string())
            .bind(record.body.at("key").as_string())
            .bind(ledger)
            .bind(record.seq)
            .bind(write_json_compact(record.body))
            .run();
    } else if (record.type == "step-finished") {
        Query(database_, "INSERT OR REPLACE INTO steps VALUES(?,?,?,?,?,?)", path_)
            .bind(work)
            .bind(record.body.at("step").as_string())
            .bind(record.body.at("inputs").as_string())
            .bind(write_json_compact(record.body.at("outputs")))
            .bind(ledger)
            .bind(record.seq)
            .run();
    } else {
        Query(database_, "UPDATE works SET state=?, result=? WHERE id=? AND ledger=?", path_)
            .bind(record.body.at("state").as_string())
            .bind(write_json_compact(record.body))
            .bind(work)
            .bind(ledger)
            .run();
    }
}

Head Index::head(const std::string& ledger) const {
    Query query(database_, "SELECT seq,digest,offset FROM ledgers WHERE id=?", path_);
    query.bind(ledger);
    Head found;
    if (query.step()) {
        found.seq = query.number(0);
        found.digest = query.digest(1);
        found.offset = query.number(2);
    }
    return found;
}

std::string Index::last_wall(const std::string& ledger) const {
    Query query(database_, "SELECT last_wall FROM ledgers WHERE id=?", path_);
    query.bind(ledger);
    return query.step() ? query.text(0) : std::string();
}

void Index::set_head(const std::string& ledger, const Head& head, const std::string& last_wall) {
    Query(database_, "INSERT OR REPLACE INTO ledgers VALUES(?,?,?,?,?)", path_)
        .bind(ledger)
        .bind(head.seq)
        .bind(head.digest)
        .bind(head.offset)
        .bind(last_wall)
        .run();
}

std::vector<std::string> Index::ledgers() const {
    Query query(database_, "SELECT id FROM ledgers ORDER BY id", path_);
    std::vector<std::string> ids;
    while (query.step())
        ids.push_back(query.text(0));
    return ids;
}

void Index::remove_blob(const Digest& digest) {
    Query(database_, "DELETE FROM blobs WHERE digest=?", path_).bind(digest).run();
}

std::optional<std::uint64_t> Index::blob_size(const Digest& digest) const {
    Query query(database_, "SELECT size FROM blobs WHERE digest=?", path_);
    query.bind(digest);
    if (!query.step())
        return std::nullopt;
    return query.number(0);
}

void Index::each_blob(const std::function<void(const BlobEntry&)>& visit) const {
    Query query(database_, "SELECT digest,size FROM blobs ORDER BY digest", path_);
    while (query.step())
        visit({query.digest(0), query.number(1)});
}

std::vector<Digest> Index::blobs_beginning(const std::string& hex_prefix, std::size_t limit) const {
    std::string low = hex_prefix, high = hex_prefix;
    low.resize(64, '0');
    high.resize(64, 'f');
    Query query(database_, "SELECT digest FROM blobs WHERE digest BETWEEN ? AND ? LIMIT ?", path_);
    query.bind(parse_digest(low)).bind(parse_digest(high)).bind(static_cast<std::uint64_t>(limit));
    std::vector<Digest> found;
    while (query.step())
        found.push_back(query.digest(0));
    return found;
}

std::uint64_t Index::blob_count() const {
    Query query(database_, "SELECT count(*) FROM blobs", path_);
    query.step();
    return query.number(0);
}

std::uint64_t Index::blob_bytes() const {
    Query query(database_, "SELECT coalesce(sum(size),0) FROM blobs", path_);
    query.step();
    return query.number(0);
}

std::vector<Reference> Index::references(const ReferenceFilter& filter) const {
    std::string sql =
        "SELECT "
        "r.ledger,r.seq,r.name,r.kind,r.tags,r.digest,r.size,r.files,r.summary,r.time,r.current,"
        "b.digest IS NOT NULL FROM refs r LEFT JOIN blobs b ON b.digest=r.digest WHERE 1";
    if (!filter.history)
        sql += " AND r.current=1";
    std::vector<std::string> values;
    for (const auto& [column, value] :
         {std::pair{"name", filter.name}, {"kind", filter.kind}, {"ledger", filter.ledger}}) {
        if (!value.empty()) {
            sql += std::string(" AND r.") + column + "=?";
            values.push_back(value);
        }
    }
    sql += " ORDER BY r.time, r.id";
    Query query(database_, sql.c_str(), path_);
    for (const std::string& value : values)
        query.bind(value);
    std::vector<Reference> found;
    while (query.step()) {
        Reference reference;
        reference.ledger = query.text(0);
        reference.seq = query.number(1);
        reference.name = query.text(2);
        reference.kind = query.text(3);
        reference.digest = query.digest(5);
        reference.size_bytes = query.number(6);
        reference.time = query.text(9);
        reference.current = query.number(10) != 0;
        reference.present = query.number(11) != 0;
        try {
            const Json tags = json_from(query.text(4), path_);
            if (tags.is_array()) {
                for (const Json& tag : tags.as_array())
                    reference.tags.push_back(tag.as_string());
            }
            const Json files = json_from(query.text(7), path_);
            if (files.is_object()) {
                for (const auto& [name, digest] : files.as_object())
                    reference.files.emplace(name, parse_digest(digest.as_string()));
            }
            reference.summary = json_from(query.text(8), path_);
        } catch (const Error& error) {
            // of a merged ledger whose items have another form
            if (error.kind() != ErrorKind::input)
                throw;
        }
        if (filter.tag.empty() || std::find(reference.tags.begin(), reference.tags.end(),
                                            filter.tag) != reference.tags.end())
            found.push_back(std::move(reference));
    }
    return found;
}

std::optional<Reference> Index::find(const std::string& name) const {
    ReferenceFilter filter;
    filter.name = name;
    std::vector<Reference> found = references(filter);
    std::optional<Reference> best;
    for (Reference& reference : found) {
        if (!best || reference.ledger == own_ || best->ledger != own_)
            best = std::move(reference);
    }
    return best;
}

std::optional<WorkEntry> Index::last_work(const std::string& kind, const std::string& key) const {
    Query query(
        database_,
        "SELECT id,kind,key,state,ledger,seq,body,result FROM works WHERE ledger=? AND kind=? AND "
        "key=? "
        "ORDER BY seq DESC LIMIT 1",
        path_);
    query.bind(own_).bind(kind).bind(key);
    if (!query.step())
        return std::nullopt;
    return WorkEntry{query.text(0),
                     query.text(1),
                     query.text(2),
                     query.text(3),
                     query.text(4),
                     query.number(5),
                     json_from(query.text(6), path_),
                     json_from(query.text(7), path_)};
}

std::vector<WorkEntry> Index::works(const std::string& state) const {
    Query query(database_,
                "SELECT id,kind,key,state,ledger,seq,body,result FROM works WHERE state=? ORDER BY "
                "ledger,seq",
                path_);
    query.bind(state);
    std::vector<WorkEntry> found;
    while (query.step())
        found.push_back({query.text(0), query.text(1), query.text(2), query.text(3), query.text(4),
                         query.number(5), json_from(query.text(6), path_),
                         json_from(query.text(7), path_)});
    return found;
}

std::vector<StepEntry> Index::steps(const std::string& work) const {
    Query query(database_, "SELECT name,inputs,outputs,seq FROM steps WHERE work=? ORDER BY seq",
                path_);
    query.bind(work);
    std::vector<StepEntry> found;
    while (query.step())
        found.push_back(
            {query.text(0), query.text(1), json_from(query.text(2), path_), query.number(3)});
    return found;
}

std::vector<RecordPlace> Index::records(const std::string& ledger, const std::string& type) const {
    Query query(
        database_,
        type.empty()
            ? "SELECT ledger,type,seq,offset,length FROM records WHERE ledger=? ORDER BY seq"
            : "SELECT ledger,type,seq,offset,length FROM records WHERE ledger=? AND type=? ORDER "
              "BY seq",
        path_);
    query.bind(ledger);
    if (!type.empty())
        query.bind(type);
    std::vector<RecordPlace> found;
    while (query.step())
        found.push_back(
            {query.text(0), query.text(1), query.number(2), query.number(3), query.number(4)});
    return found;
}

Json Index::setting(const std::string& name) const {
    Query query(database_, "SELECT value FROM settings WHERE name=?", path_);
    query.bind(name);
    return query.step() ? json_from(query.text(0), path_) : Json();
}

Digest Index::content_digest() const {
    Hasher hasher;
    // refs.id depends on the order in which ledgers were read, so it is left out.
    for (const char* sql :
         {"SELECT id,seq,digest,offset,last_wall FROM ledgers ORDER BY 1",
          "SELECT * FROM records ORDER BY 1,2", "SELECT * FROM blobs ORDER BY 1",
          // NOLINTNEXTLINE(bugprone-suspicious-missing-comma)
          "SELECT ledger,seq,name,kind,tags,digest,size,files,summary,time,current FROM refs "
          "ORDER BY ledger,seq,name,digest,kind,tags,current,files,summary",
          "SELECT * FROM works ORDER BY 1", "SELECT * FROM steps ORDER BY 1,2",
          "SELECT * FROM settings ORDER BY 1"}) {
        Query query(database_, sql, path_);
        while (query.step()) {
            for (int column = 0; column < query.columns(); ++column) {
                const std::string text = query.text(column);
                hasher.update(std::to_string(text.size()) + ":");
                hasher.update(text);
            }
        }
        hasher.update(std::string_view("\n"));
    }
    return hasher.finish();
}

std::string Index::integrity() const {
    Query query(database_, "PRAGMA integrity_check(1)", path_);
    return query.step() ? query.text(0) : "no answer";
}

std::uint64_t Index::change_counter(const std::string& path) {
    const std::string header = [&] {
        const FileDescriptor file = open_file(path);
        std::string bytes(100, '\0');
        const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
        bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        return bytes;
    }();
    if (header.size() < 100)
        return 0;
    const auto word = [&](std::size_t at) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < 4; ++i)
            value = value << 8 | static_cast<unsigned char>(header[at + i]);
        return value;
    };
    // Both change with every transaction: one changed byte makes them differ, which no transaction does.
    return word(24) == word(92) ? word(24) : UINT64_MAX;
}

}  // namespace requal::store
