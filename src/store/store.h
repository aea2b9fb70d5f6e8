// The store: blobs by digest, references to them, and the ledger that says how they came. Several processes at once are normal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "store/files.h"
#include "store/index.h"
#include "store/layout.h"
#include "store/ledger.h"
#include "store/reserve.h"

namespace requal::store {

enum class Access {
    read,    ///< an existing store; one that cannot be written, or of a newer form, too
    write,   ///< an existing store that will be written
    create,  ///< the same, made when there is none
};

struct StoreOptions {
    Access access = Access::read;
    const Clock* clock = &system_clock();
    std::vector<std::string> lowers =
        {};  ///< stores below: blobs and references that are not here are looked up there, in order
};

/// Folders of $REQUAL_STORE_LOWER, separated by ':'.
std::vector<std::string> lowers_from_environment();

struct Quota {
    std::uint64_t max_bytes = 0;      ///< 0: none
    std::uint64_t reserve_bytes = 0;  ///< of it, kept for records and results of work
    /// Of the disk, held back for the same: the reserve, and never less than the default.
    std::uint64_t held_bytes() const { return std::max(reserve_bytes, default_reserve_bytes); }
};

class Store {
public:
    /// Error(input) where there is none, Error(storage) for damage, a form that this program cannot read or write, a database
    /// that belongs to something else.
    explicit Store(const std::string& folder, StoreOptions options = {});
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    const Layout& layout() const { return layout_; }
    const Format& format() const { return format_; }
    const std::string& ledger_id() const { return format_.ledger; }
    const Clock& clock() const { return *options_.clock; }
    bool can_write() const { return can_write_; }

    /// The index, brought up to what other processes wrote unless one of them is writing just now.
    Index& index();

    /// The index as index() left it last, without looking at what others wrote since.
    const Index& known_index() const { return substitute_ ? *substitute_ : *index_; }

    /// Path of a blob, here or in a store below; nullopt when it is in none. Only the size of the file is looked at.
    std::optional<std::string> find_blob(const Digest& digest);
    /// The same; Error(input) when it is not here, saying when it was removed.
    std::string blob_path(const Digest& digest);
    /// Content of a small blob, checked against its digest; Error(storage) for damage.
    std::string read_blob(const Digest& digest, std::uint64_t limit_bytes = 64 << 20);
    /// A name, "sha256:HEX", HEX, or at least 8 of its digits. Error(input) when nothing or more than one thing fits.
    Reference resolve(const std::string& name);
    /// References here, then those of stores below whose names are not hidden by one above.
    std::vector<Reference> references(const ReferenceFilter& filter);
    Quota quota();

    /// Appends records; Error(storage). Returns them with seq and time.
    std::vector<Record> append(const std::vector<NewRecord>& records);

private:
    friend class Writing;
    void open_index();
    bool behind() const;
    void catch_up(bool all_must_be_good);
    std::unique_ptr<Index> index_in_memory() const;

    Layout layout_;
    StoreOptions options_;
    Format format_;
    bool can_write_ = false;
    std::unique_ptr<Index> index_;
    std::unique_ptr<Index>
        substitute_;  ///< in memory, where the index cannot be brought up (a full disk)
    std::vector<std::unique_ptr<Store>> lowers_;
};

/// The write lock of a store, held from construction to destruction. What a killed writer left is put in order first.
class Writing {
public:
    explicit Writing(Store& store);
    ~Writing();
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    /// To the ledger's disk, then into the index.
    std::vector<Record> append(const std::vector<NewRecord>& records);
    /// For changes of the index beside append(): the seal is written at the end.
    void touched() { changed_ = true; }
    /// Writes the seal; the destructor does it too, but keeps errors to itself.
    void finish();

private:
    Store& store_;
    FileDescriptor lock_;
    Head head_;
    bool changed_ = false;
};

/// Digest and counter of the index as it is now, beside it: `store check` finds any changed byte by them.
void write_seal(const Layout& layout);

/// Reads all ledgers into `index`, the own one last. Error(storage) names the first damage.
void fill_index(const Layout& layout, Index& index);

/// Makes the index again from ledgers and blobs, and the folders of runs from their blobs. Returns how many records were read.
std::uint64_t rebuild(const std::string& folder);

}  // namespace requal::store
