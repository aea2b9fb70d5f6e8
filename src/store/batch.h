// Putting blobs: written aside while they are hashed, flushed as one group, moved to their places, then named in the ledger.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace requal::store {

struct ItemInfo {
    std::string name = {};
    std::string kind = "blob";
    std::vector<std::string> tags = {};
    std::map<std::string, Digest> files = {};
    Json summary = {};
};

struct PutItem {
    Digest digest{};
    std::uint64_t size_bytes = 0;
    bool fresh = false;  ///< its bytes were not here before
    bool repaired =
        false;  ///< the blob that was here was damaged or missing; these bytes take its place
};

/// Nothing is in the store before commit(); a batch that is dropped leaves nothing behind.
class Batch {
public:
    explicit Batch(Store& store);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    /// One pass over the file. Error(input) when it is no regular file, Error(storage) when the store cannot take it.
    PutItem add_file(const std::string& path, const ItemInfo& info = {});
    PutItem add_stream(int fd, const std::string& source, const ItemInfo& info = {});
    PutItem add_bytes(std::string_view bytes, const ItemInfo& info = {});
    /// A finished file of ours on the same file system: linked into the store, not copied, and made read-only.
    PutItem adopt_file(const std::string& path, const ItemInfo& info = {});
    /// Another name for a blob that is here or in this batch.
    void add_reference(const Digest& digest, const ItemInfo& info);

    std::size_t size() const;
    std::uint64_t fresh_bytes() const { return fresh_bytes_; }
    /// Results of work may use the quota's reserve.
    void essential();
    /// Flushes, moves, and appends one group of records: those of the items, then `more`. Error(storage): then the store is as before.
    std::vector<Record> commit(const std::vector<NewRecord>& more = {});

private:
    struct Pending;
    PutItem note(const Digest& digest, std::uint64_t size_bytes, const std::string& temporary,
                 const ItemInfo& info, bool link);
    std::string staged_path();
    void refuse_over_quota(std::uint64_t more_bytes);
    const Quota& quota();
    void keep_the_reserve();
    /// The blob is here with these bytes. One that is damaged is not, nor one that the ledger names and that is gone.
    bool is_whole(const Digest& digest, std::uint64_t size_bytes, const std::string& same_as);
    void place(const Pending& item, std::set<std::string>& folders,
               std::vector<std::string>& placed);
    std::vector<NewRecord> records_of_items();

    Store& store_;
    FileDescriptor shared_;
    std::unique_ptr<Staging> staging_;
    std::vector<Pending> items_;
    std::map<Digest, std::size_t> fresh_;
    std::uint64_t fresh_bytes_ = 0;
    std::map<Digest, std::optional<Digest>>
        repairs_;  ///< what was found in place of a blob, if anything
    std::set<Digest> whole_;
    std::unique_ptr<ReserveUse> reserve_;
    bool essential_ = false;
    bool reserve_held_ = false;
    std::optional<Quota> quota_;  ///< read once a batch
    std::uint64_t used_bytes_ = 0;
};

/// Reads `from` to its end, or `limit_bytes` of it, hashing while writing to `to` (-1: only hashing). Memory: 16 MiB, whatever the
/// size. `own_file`: `to` is a new file that nobody else has open, which may be written past the page cache.
struct Copied {
    Digest digest{};
    std::uint64_t size_bytes = 0;
};
Copied copy_and_hash(int from, const std::string& source, int to, const std::string& target,
                     bool own_file = false, std::uint64_t limit_bytes = UINT64_MAX);

}  // namespace requal::store
