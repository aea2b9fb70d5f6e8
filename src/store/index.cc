#include "store/index.h"

#include <utility>

#include <sqlite3.h>

#include "base/error.h"
#include "base/file.h"
#include "store/files.h"
#include "store/query.h"

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

Digest digest_at(const Json& json, std::string_view key) {
    return parse_digest(json.at(key).as_string());
}

}  // namespace

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

Index::Statements& Index::statements() const {
    if (!statements_)
        statements_ = std::make_unique<Statements>(database_, path_);
    return *statements_;
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
    statements()
        .record.bind(ledger)
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

}  // namespace requal::store
