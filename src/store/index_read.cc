// What the index is asked: blobs, references, work and its steps, records, and whether it is what it should be.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "store/files.h"
#include "store/index.h"
#include "store/query.h"

namespace requal::store {

void Index::remove_blob(const Digest& digest) {
    Query(database_, "DELETE FROM blobs WHERE digest=?", path_).bind(digest).run();
}

std::optional<std::uint64_t> Index::blob_size(const Digest& digest) const {
    Query& query = statements().size;
    query.reset();
    query.bind(digest);
    const std::optional<std::uint64_t> found =
        query.step() ? std::optional(query.number(0)) : std::nullopt;
    query.reset();
    return found;
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
