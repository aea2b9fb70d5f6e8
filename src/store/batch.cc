#include "store/batch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "store/views.h"

namespace requal::store {

namespace {

constexpr std::uint64_t small_bytes = 1 << 20;
constexpr std::size_t single_flushes =
    16;  ///< above this, one flush of the whole file system is less work
constexpr std::size_t items_per_record = 1000;

FileDescriptor create_file(const std::string& path) {
    FileDescriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
    if (!file)
        fail(errno, "create", path);
    return file;
}

void close_written(FileDescriptor& file, const std::string& path) {
    if (::close(file.release()) != 0 && errno != EINTR)
        fail(errno, "close", path);
}

}  // namespace

struct Batch::Pending {
    Digest digest{};
    std::uint64_t size_bytes = 0;
    std::string temporary;  ///< empty: its bytes are here already, or come with another item
    bool link = false;      ///< the temporary file stays where it is
    bool repair = false;    ///< takes the place of a damaged blob
    ItemInfo info;
};

Batch::Batch(Store& store) : store_(store) {
    if (!store.can_write())
        fail(EROFS, "write", store.layout().root);
    make_folder(store.layout().tmp());
    remove_left_overs(store.layout().tmp());
    // gc waits for this one: what is found here now must not be gone at the commit.
    shared_ = lock_file(store.layout().blob_lock(), false, "removes blobs from this store");
}

Batch::~Batch() = default;

void Batch::essential() {
    essential_ = true;
    if (!reserve_)
        reserve_ = std::make_unique<ReserveUse>(store_.layout());
}

/// Anything but a result is put only where the space for results is held back as well.
void Batch::keep_the_reserve() {
    if (!essential_ && !std::exchange(reserve_held_, true))
        hold_reserve(store_.layout(), quota().held_bytes());
}

const Quota& Batch::quota() {
    if (!quota_) {
        quota_ = store_.quota();
        if (quota_->max_bytes > 0)
            used_bytes_ = store_.index().blob_bytes();
    }
    return *quota_;
}

bool Batch::is_whole(const Digest& digest, std::uint64_t size_bytes, const std::string& same_as) {
    if (whole_.contains(digest))
        return true;
    const std::string path = store_.layout().blob(digest);
    const Status present = status_of(path);
    if (present.kind == Kind::absent) {
        quota();  // brings the index up, once
        if (store_.known_index().blob_size(digest))
            repairs_.emplace(digest, std::nullopt);
        return false;
    }
    if (present.kind != Kind::file)
        throw Error(ErrorKind::storage, "no regular file stands where a blob belongs", path,
                    "see who put it there; remove it, then put the file again");
    const bool hashed = !same_as.empty() && status_of(same_as).inode == present.inode &&
                        status_of(same_as).device == present.device;
    const Digest found = hashed ? digest : digest_of_file(path);
    if (found == digest && present.size_bytes == size_bytes) {
        whole_.insert(digest);
        return true;
    }
    repairs_.emplace(digest, found);
    return false;
}

std::size_t Batch::size() const {
    return items_.size();
}

std::string Batch::staged_path() {
    keep_the_reserve();
    if (!staging_)
        staging_ = std::make_unique<Staging>(store_.layout().tmp(), "put");
    return staging_->next_name();
}

void Batch::refuse_over_quota(std::uint64_t more_bytes) {
    const std::uint64_t max = quota().max_bytes;
    if (max == 0)
        return;
    const std::uint64_t limit = essential_ ? max : max - std::min(max, quota().reserve_bytes);
    const std::uint64_t used = used_bytes_;
    if (used + fresh_bytes_ + more_bytes > limit)
        throw Error(
            ErrorKind::storage,
            "the store's limit is reached: " + readable_bytes(used + fresh_bytes_ + more_bytes) +
                " of " + readable_bytes(limit) +
                (essential_ ? "" : " (the rest is kept for records and results)"),
            store_.layout().root,
            "run 'requal store gc', or raise the limit with 'requal store quota'");
}

PutItem Batch::note(const Digest& digest, std::uint64_t size_bytes, const std::string& temporary,
                    const ItemInfo& info, bool link) {
    check_word(info.kind, "a kind");
    if (!info.name.empty())
        check_name(info.name);
    for (const std::string& tag : info.tags)
        check_tag(tag);
    PutItem item{digest, size_bytes, false};
    bool take = false;
    if (!temporary.empty() && !fresh_.contains(digest) &&
        !is_whole(digest, size_bytes, link ? temporary : std::string())) {
        take = true;
        item.repaired = repairs_.contains(digest);
        item.fresh = !item.repaired;
    }
    if (take) {
        keep_the_reserve();
        if (item.fresh)
            refuse_over_quota(size_bytes);
        fresh_.emplace(digest, items_.size());
        fresh_bytes_ += size_bytes;
    } else if (!temporary.empty() && !link) {
        ::unlink(temporary.c_str());
    }
    items_.push_back(
        {digest, size_bytes, take ? temporary : std::string(), link, item.repaired, info});
    return item;
}

PutItem Batch::add_bytes(std::string_view bytes, const ItemInfo& info) {
    const Digest digest = digest_of(bytes);
    if (fresh_.contains(digest) || is_whole(digest, bytes.size(), {}))
        return note(digest, bytes.size(), {}, info, false);
    const std::string path = staged_path();
    FileDescriptor file = create_file(path);
    write_all(file.get(), std::as_bytes(std::span(bytes.data(), bytes.size())), path);
    close_written(file, path);
    return note(digest, bytes.size(), path, info, false);
}

PutItem Batch::add_stream(int fd, const std::string& source, const ItemInfo& info) {
    const std::string path = staged_path();
    FileDescriptor file = create_file(path);
    const Copied copied = copy_and_hash(fd, source, file.get(), path, true);
    close_written(file, path);
    return note(copied.digest, copied.size_bytes, path, info, false);
}

PutItem Batch::add_file(const std::string& path, const ItemInfo& info) {
    const FileDescriptor source = open_regular_file(path);
    struct stat status {};
    if (::fstat(source.get(), &status) != 0)
        throw_errno(errno, "look at", path);
    const auto size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    if (size <= small_bytes)
        return add_bytes(read_file(path), info);
    refuse_over_quota(size);
    const std::string staged = staged_path();
    FileDescriptor file = create_file(staged);
    // Says at once that the disk is too small; where it cannot, writing will.
    if (::fallocate(file.get(), 0, 0, static_cast<off_t>(size)) != 0 && errno == ENOSPC)
        fail(errno, "write", staged);
    const Copied copied = copy_and_hash(source.get(), path, file.get(), staged, true);
    if (copied.size_bytes < size &&
        ::ftruncate(file.get(), static_cast<off_t>(copied.size_bytes)) != 0)
        fail(errno, "write", staged);
    close_written(file, staged);
    return note(copied.digest, copied.size_bytes, staged, info, false);
}

PutItem Batch::adopt_file(const std::string& path, const ItemInfo& info) {
    const FileDescriptor file = open_file(path);
    const Copied read = copy_and_hash(file.get(), path, -1, {});
    if (::fchmod(file.get(), 0444) != 0)
        fail(errno, "make read-only", path);
    return note(read.digest, read.size_bytes, path, info, true);
}

void Batch::add_reference(const Digest& digest, const ItemInfo& info) {
    std::uint64_t size = 0;
    if (const auto found = fresh_.find(digest); found != fresh_.end()) {
        size = items_[found->second].size_bytes;
    } else {
        const Status present = status_of(store_.layout().blob(digest));
        if (present.kind != Kind::file)
            throw Error(ErrorKind::input, "the store holds no such blob", digest.text(),
                        "put it first");
        size = present.size_bytes;
    }
    note(digest, size, {}, info, false);
}

/// Moves or links a flushed file to the place of its blob.
void Batch::place(const Pending& item, std::set<std::string>& folders,
                  std::vector<std::string>& placed) {
    const Layout& layout = store_.layout();
    const std::string target = layout.blob(item.digest);
    const Status present = status_of(target);
    if (!item.repair && present.kind == Kind::file && present.size_bytes == item.size_bytes)
        return;  // another process was faster
    const std::string folder = target.substr(0, target.find_last_of('/'));
    if (folders.insert(folder).second && make_folder(folder))
        folders.insert(layout.blobs());
    if (item.link) {
        // Where a damaged blob stands a second name is moved over it.
        const std::string name = item.repair ? staged_path() : target;
        if (::link(item.temporary.c_str(), name.c_str()) != 0)
            fail(errno, "link a finished file to", name);
        if (item.repair)
            rename_file(name, target);
    } else {
        rename_file(item.temporary, target);
    }
    placed.push_back(target);
}

/// What the items say, and which blobs were repaired.
std::vector<NewRecord> Batch::records_of_items() {
    std::vector<NewRecord> records;
    Json list = Json::array();
    const auto flush_list = [&] {
        if (list.size() > 0)
            records.push_back({"put", Json::object({{"items", std::move(list)}})});
        list = Json::array();
    };
    std::set<Digest> listed;
    Index& index = store_.index();
    for (const Pending& item : items_) {
        const bool plain = item.info.name.empty() && item.info.tags.empty() &&
                           item.info.files.empty() && item.info.summary.is_null() &&
                           item.info.kind == "blob";
        if (plain && (!listed.insert(item.digest).second || index.blob_size(item.digest)))
            continue;  // said already
        if (!item.info.name.empty() && index.blob_size(item.digest)) {
            const auto present = index.find(item.info.name);
            if (present && present->ledger == store_.ledger_id() &&
                present->digest == item.digest && present->kind == item.info.kind &&
                present->tags == item.info.tags && present->files == item.info.files)
                continue;  // said already
        }
        Json entry = Json::object({{"digest", item.digest.text()},
                                   {"size_bytes", item.size_bytes},
                                   {"kind", item.info.kind}});
        if (!item.info.name.empty())
            entry["name"] = item.info.name;
        if (!item.info.tags.empty())
            entry["tags"] = text_array(item.info.tags);
        for (const auto& [name, digest] : item.info.files)
            entry["files"][name] = digest.text();
        if (!item.info.summary.is_null())
            entry["summary"] = item.info.summary;
        list.push_back(std::move(entry));
        if (list.size() >= items_per_record)
            flush_list();
    }
    flush_list();
    Json repaired = Json::array();
    const auto flush_repaired = [&] {
        if (repaired.size() > 0)
            records.push_back({"repair", Json::object({{"blobs", std::move(repaired)}})});
        repaired = Json::array();
    };
    for (const Pending& item : items_) {
        if (!item.repair)
            continue;
        const std::optional<Digest>& found = repairs_.at(item.digest);
        repaired.push_back(Json::object({{"digest", item.digest.text()},
                                         {"size_bytes", item.size_bytes},
                                         {"found", found ? Json(found->text()) : Json()}}));
        if (repaired.size() >= items_per_record)
            flush_repaired();
    }
    flush_repaired();
    return records;
}

std::vector<Record> Batch::commit(const std::vector<NewRecord>& more) {
    const Layout& layout = store_.layout();
    std::vector<const Pending*> fresh;
    for (const Pending& item : items_) {
        if (!item.temporary.empty())
            fresh.push_back(&item);
    }
    if (fresh.size() > single_flushes) {
        sync_file_system(layout.root);
    } else {
        for (const Pending* item : fresh)
            sync_file(item->temporary);
    }

    Writing writing(store_);
    std::vector<Record> made;
    std::vector<std::string> placed;
    try {
        std::set<std::string> folders;
        for (const Pending* item : fresh)
            place(*item, folders, placed);
        if (folders.size() > single_flushes) {
            sync_file_system(layout.root);
        } else {
            for (const std::string& folder : folders)
                sync_folder(folder);
        }

        std::vector<NewRecord> records = records_of_items();
        records.insert(records.end(), more.begin(), more.end());
        if (!records.empty())
            made = writing.append(records);
    } catch (const Error&) {
        // Blobs that no record names would be left-overs; but where the record reached the disk they are its.
        try {
            const Head head = read_head(layout, store_.ledger_id());
            const Status ledger = status_of(layout.ledger(store_.ledger_id()));
            if (ledger.size_bytes == head.offset &&
                head == store_.index().head(store_.ledger_id())) {
                for (const std::string& path : placed) {
                    const Digest digest = parse_digest(path.substr(path.find_last_of('/') + 1));
                    if (!store_.index().blob_size(digest))
                        ::unlink(path.c_str());
                }
            }
        } catch (const Error&) {
            // left-overs are no damage
        }
        throw;
    }
    writing.finish();
    // Folders of runs showed the damaged file; they are made again from the blob that is there now.
    if (std::any_of(items_.begin(), items_.end(), [](const Pending& item) { return item.repair; }))
        make_views(store_);
    items_.clear();
    fresh_.clear();
    repairs_.clear();
    quota_.reset();
    fresh_bytes_ = 0;
    return made;
}

}  // namespace requal::store
