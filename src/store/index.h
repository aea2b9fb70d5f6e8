// The index: an SQLite database that says what ledgers and blobs say, only faster. It is made from them again at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "store/layout.h"
#include "store/ledger.h"

struct sqlite3;

namespace requal::store {

/// One binding of a name (or of no name) to a blob, as a record of type `put` says it.
struct Reference {
    std::string ledger;
    std::uint64_t seq = 0;
    std::string name;  ///< may be empty
    std::string kind;
    std::vector<std::string> tags;
    Digest digest{};
    std::uint64_t size_bytes = 0;
    std::map<std::string, Digest> files;  ///< other blobs that belong to it, by file name
    Json summary;                         ///< what lists show of it; null when there is nothing
    std::string time;                     ///< ISO wall time of its record
    bool current = true;                  ///< the newest of its name, and not forgotten
    bool present = true;                  ///< its blob is here
};

struct BlobEntry {
    Digest digest{};
    std::uint64_t size_bytes = 0;
};

struct ReferenceFilter {
    std::string name = {};  ///< empty: any
    std::string kind = {};
    std::string tag = {};
    bool history = false;  ///< also what is no longer current
    std::string ledger = {};
};

/// A piece of resumable work (store/steps.h).
struct WorkEntry {
    std::string id, kind, key, state;  ///< state: "open", "finished", "abandoned"
    std::string ledger;
    std::uint64_t seq = 0;  ///< of its start
    Json body;              ///< of work-started
    Json result;            ///< of work-finished; null while it is open
};
struct StepEntry {
    std::string name, inputs;  ///< digest of what it depends on
    Json outputs;
    std::uint64_t seq = 0;
};

/// Positions of records, for readers of the ledger.
struct RecordPlace {
    std::string ledger, type;
    std::uint64_t seq = 0, offset = 0, length = 0;
};

class Index {
public:
    enum class Open { write, read, memory };
    /// Error(storage) when the file is no index of ours (another program's database, damage).
    /// `own`: the store's own ledger. Other ledgers give references and records, and say nothing about what is here.
    Index(const std::string& path, Open how, std::string own);
    ~Index();
    Index(const Index&) = delete;
    Index& operator=(const Index&) = delete;

    bool has_tables() const;
    void begin();
    void commit();
    void roll_back();

    /// What `record` of `ledger` says, and that the ledger is known up to `head` (set_head afterwards).
    void apply(const std::string& ledger, const Record& record);
    Head head(const std::string& ledger) const;
    void set_head(const std::string& ledger, const Head& head, const std::string& last_wall);
    std::string last_wall(const std::string& ledger) const;
    std::vector<std::string> ledgers() const;

    void remove_blob(const Digest& digest);
    std::optional<std::uint64_t> blob_size(const Digest& digest) const;
    void each_blob(const std::function<void(const BlobEntry&)>& visit) const;
    std::vector<Digest> blobs_beginning(const std::string& hex_prefix, std::size_t limit) const;
    std::uint64_t blob_count() const;
    std::uint64_t blob_bytes() const;

    std::vector<Reference> references(const ReferenceFilter& filter) const;
    /// The current reference of a name: of the own ledger first, else of the other ledgers' newest.
    std::optional<Reference> find(const std::string& name) const;

    /// The newest work of this kind and key, whatever its state.
    std::optional<WorkEntry> last_work(const std::string& kind, const std::string& key) const;
    std::vector<WorkEntry> works(const std::string& state) const;
    std::vector<StepEntry> steps(const std::string& work) const;
    std::vector<RecordPlace> records(const std::string& ledger, const std::string& type) const;
    Json setting(const std::string& name) const;  ///< null when never set

    /// Everything in it as text, equal for equal content; for comparison with one that was made again.
    Digest content_digest() const;
    /// "ok", or what SQLite finds wrong.
    std::string integrity() const;
    /// SQLite's counter of changes of the file.
    static std::uint64_t change_counter(const std::string& path);

private:
    struct Statements;
    void execute(const char* sql) const;
    [[noreturn]] void fail_here(const char* operation) const;
    void apply_put(const std::string& ledger, const Record& record);
    void apply_gc(const Record& record);
    void apply_work(const std::string& ledger, const Record& record);

    std::string path_;
    std::string own_;
    sqlite3* database_ = nullptr;
    Statements& statements() const;
    mutable std::unique_ptr<Statements> statements_;
};

}  // namespace requal::store
