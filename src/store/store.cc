#include "store/store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "base/document.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/text.h"

namespace requal::store {

namespace {

std::string wall_of(const Record& record) {
    const Json& wall = record.time.get("wall");
    return wall.is_string() ? wall.as_string() : std::string();
}

/// Records of one ledger from where the index stands to the end of what is good.
void catch_up_ledger(const Layout& layout, Index& index, const std::string& id,
                     bool all_must_be_good) {
    const std::string path = layout.ledger(id);
    const Head known = index.head(id);
    const Status status = status_of(path);
    if (status.kind != Kind::file)
        damaged(status.kind == Kind::absent ? "the ledger is missing" : "no regular file", path);
    if (status.size_bytes < known.offset)
        damaged("records were removed from the end of the ledger", path);
    if (status.size_bytes == known.offset)
        return;
    std::string last_wall = index.last_wall(id);
    std::string torn;
    const Head end = scan_ledger(
        path, known,
        [&](const Record& record) {
            last_wall = wall_of(record);
            index.apply(id, record);
        },
        torn);
    if (!torn.empty() && all_must_be_good)
        damaged(torn, path);
    index.set_head(id, end, last_wall);
}

void make_places(const Layout& layout) {
    make_folders(layout.root);
    for (const std::string& folder :
         {layout.root + "/blobs", layout.blobs(), layout.ledgers(), layout.tmp(), layout.runs()})
        make_folder(folder);
}

void refuse_links(const Layout& layout) {
    for (const std::string& folder :
         {layout.root + "/blobs", layout.blobs(), layout.ledgers(), layout.tmp(), layout.runs()}) {
        const Kind kind = status_of(folder).kind;
        if (kind != Kind::folder && kind != Kind::absent)
            damaged(kind == Kind::link ? "a link stands where the store has a folder" : "no folder",
                    folder);
    }
}

/// What a killed writer left of a file that it was about to move into its place; with the write lock held there is no other.
void remove_unfinished(const std::string& folder) {
    for (const std::string& name : names_in(folder)) {
        if (name.starts_with(".requal-") && name.ends_with(".tmp"))
            ::unlink((folder + "/" + name).c_str());
    }
}

/// A writer was killed between its change of the index and the seal. A changed byte is not taken for that.
bool seal_is_old(const Layout& layout) {
    try {
        if (status_of(layout.seal()).kind == Kind::absent)
            return true;
        const std::uint64_t counter = Index::change_counter(layout.database());
        return counter != UINT64_MAX &&
               static_cast<std::uint64_t>(read_sealed(layout.seal()).at("changes").as_integer()) !=
                   counter;
    } catch (const Error&) {
        return false;
    }
}

/// Makes the places and the format file, unless another process was first.
void make_store(const Layout& layout) {
    make_places(layout);
    const FileDescriptor lock = lock_file(layout.lock(), true, "makes this store");
    if (status_of(layout.format()).kind == Kind::absent) {
        Format format;
        format.ledger = random_hex(8);
        write_format(layout, format);
    }
}

}  // namespace

std::vector<std::string> lowers_from_environment() {
    std::vector<std::string> lowers;
    const char* value = std::getenv("REQUAL_STORE_LOWER");
    std::string_view rest = value == nullptr ? "" : value;
    while (!rest.empty()) {
        const std::size_t colon = rest.find(':');
        if (colon != 0)
            lowers.emplace_back(rest.substr(0, colon));
        rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
    }
    return lowers;
}

void fill_index(const Layout& layout, Index& index) {
    std::vector<std::string> ids = ledger_ids(layout);
    index.begin();
    for (const std::string& id : ids)
        catch_up_ledger(layout, index, id, true);
    index.commit();
}

void write_seal(const Layout& layout) {
    const std::string path = layout.database();
    Json json = new_document("index-seal", 1);
    json["digest"] = digest_of_file(path).text();
    json["changes"] = Index::change_counter(path);
    write_file_atomically(layout.seal(), sealed_text(std::move(json)));
}

Store::Store(const std::string& folder, StoreOptions options) : options_(std::move(options)) {
    layout_.root = folder;
    if (options_.access == Access::create && status_of(layout_.format()).kind == Kind::absent) {
        const int version = version_without_format(layout_);
        // An empty folder runs/ is all that a first run that was killed may have left.
        if (version < 0 || (version == 0 && names_in(layout_.runs()).empty()))
            make_store(layout_);
    }
    format_ = read_format(layout_);
    refuse_links(layout_);
    if (options_.access != Access::read && !format_.writable())
        throw Error(ErrorKind::storage,
                    "a store of form " + std::to_string(format_.version) +
                        ", this program writes form " + std::to_string(format_version),
                    layout_.root, "reading works; to write, use a newer requal");
    can_write_ = format_.writable() && ::access(layout_.root.c_str(), W_OK) == 0;
    if (options_.access != Access::read && !can_write_)
        fail(errno == 0 ? EACCES : errno, "write", layout_.root);
    open_index();
    for (const std::string& lower : options_.lowers) {
        StoreOptions below;
        below.clock = options_.clock;
        lowers_.push_back(std::make_unique<Store>(lower, below));
    }
}

Store::~Store() = default;

std::unique_ptr<Index> Store::index_in_memory() const {
    auto index = std::make_unique<Index>(layout_.database(), Index::Open::memory, format_.ledger);
    index->begin();
    for (const std::string& id : ledger_ids(layout_))
        catch_up_ledger(layout_, *index, id, false);
    index->commit();
    return index;
}

void Store::open_index() {
    if (can_write_) {
        const bool absent = status_of(layout_.database()).kind == Kind::absent;
        FileDescriptor lock;
        if (absent)
            lock = lock_file(layout_.lock(), true, "writes to this store");
        index_ = std::make_unique<Index>(layout_.database(), Index::Open::write, format_.ledger);
        if (absent)
            write_seal(layout_);
        return;
    }
    if (status_of(layout_.database()).kind == Kind::file &&
        status_of(layout_.database() + "-journal").kind == Kind::absent) {
        index_ = std::make_unique<Index>(layout_.database(), Index::Open::read, format_.ledger);
        if (index_->has_tables() && !behind())
            return;
    }
    index_ = index_in_memory();
}

bool Store::behind() const {
    for (const std::string& id : ledger_ids(layout_)) {
        const Status status = status_of(layout_.ledger(id));
        const Head known = index_->head(id);
        if (status.kind == Kind::absent ? known.offset != 0 : status.size_bytes != known.offset)
            return true;
    }
    return false;
}

void Store::catch_up(bool all_must_be_good) {
    index_->begin();
    try {
        for (const std::string& id : ledger_ids(layout_)) {
            if (status_of(layout_.ledger(id)).kind == Kind::absent && index_->head(id).offset == 0)
                continue;
            catch_up_ledger(layout_, *index_, id, all_must_be_good);
        }
        index_->commit();
    } catch (...) {
        index_->roll_back();
        throw;
    }
}

Index& Store::index() {
    if (!behind()) {
        substitute_.reset();
        return *index_;
    }
    if (!can_write_) {
        index_ = index_in_memory();
        return *index_;
    }
    const FileDescriptor lock = try_lock_file(layout_.lock(), true);
    if (!lock || !behind())
        return substitute_ ? *substitute_ : *index_;
    try {
        recover_ledger(layout_, format_.ledger);
        catch_up(true);
        write_seal(layout_);
        substitute_.reset();
        return *index_;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::storage)
            throw;
        // Where nothing can be written reading still works; damage shows itself again here.
        log_detail(error.what());
        substitute_ = index_in_memory();
        return *substitute_;
    }
}

std::optional<std::string> Store::find_blob(const Digest& digest) {
    const std::string path = layout_.blob(digest);
    if (status_of(path).kind == Kind::file)
        return path;
    for (const auto& lower : lowers_) {
        if (auto found = lower->find_blob(digest))
            return found;
    }
    return std::nullopt;
}

std::string Store::blob_path(const Digest& digest) {
    if (auto found = find_blob(digest))
        return *found;
    if (index().blob_size(digest))
        damaged("the blob is missing", layout_.blob(digest));
    throw Error(ErrorKind::input, "the store holds no such blob", digest.text(),
                "see 'requal store list'; one that 'store gc' removed has to be put again");
}

std::string Store::read_blob(const Digest& digest, std::uint64_t limit_bytes) {
    const std::string path = blob_path(digest);
    std::string content = read_whole(path, limit_bytes);
    if (digest_of(content) != digest)
        damaged("the blob's bytes do not have its digest", path);
    return content;
}

Reference Store::resolve(const std::string& name) {
    if (name.empty())
        throw Error(ErrorKind::input, "an empty name names nothing", {}, "see 'requal store list'");
    if (auto reference = index().find(name))
        return *reference;
    std::string hex = name.starts_with("sha256:") ? name.substr(7) : name;
    const bool digits =
        hex.size() >= 8 && hex.size() <= 64 && std::all_of(hex.begin(), hex.end(), [](char c) {
            return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        });
    if (digits) {
        const std::vector<Digest> found = index().blobs_beginning(hex, 2);
        if (found.size() > 1)
            throw Error(ErrorKind::input, "more than one blob's digest begins so", name,
                        "give more digits");
        if (found.size() == 1) {
            Reference reference;
            reference.digest = found.front();
            reference.kind = "blob";
            reference.size_bytes = index().blob_size(found.front()).value_or(0);
            return reference;
        }
    }
    for (const auto& lower : lowers_) {
        try {
            return lower->resolve(name);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::input)
                throw;
        }
    }
    throw Error(ErrorKind::input, "the store has nothing of this name", name,
                "see 'requal store list'");
}

std::vector<Reference> Store::references(const ReferenceFilter& filter) {
    std::vector<Reference> all = index().references(filter);
    std::set<std::string> names;
    for (const Reference& reference : all)
        names.insert(reference.name);
    for (const auto& lower : lowers_) {
        for (Reference& reference : lower->references(filter)) {
            if (reference.name.empty() || names.insert(reference.name).second)
                all.push_back(std::move(reference));
        }
    }
    return all;
}

Quota Store::quota() {
    Quota quota;
    const Json max = index().setting("max_bytes");
    const Json reserve = index().setting("reserve_bytes");
    if (!max.is_null())
        quota.max_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, max.as_integer()));
    if (!reserve.is_null())
        quota.reserve_bytes =
            static_cast<std::uint64_t>(std::max<std::int64_t>(0, reserve.as_integer()));
    return quota;
}

std::vector<Record> Store::append(const std::vector<NewRecord>& records) {
    const ReserveUse reserve(layout_);
    Writing writing(*this);
    std::vector<Record> made = writing.append(records);
    writing.finish();
    return made;
}

Writing::Writing(Store& store) : store_(store) {
    if (!store.can_write_)
        fail(EROFS, "write", store.layout_.root);
    lock_ = lock_file(store.layout_.lock(), true, "writes to this store");
    const Layout& layout = store.layout_;
    store.substitute_.reset();
    remove_unfinished(layout.root);
    remove_unfinished(layout.ledgers());
    head_ = recover_ledger(layout, store.ledger_id());
    changed_ = seal_is_old(layout);
    if (head_.offset == 0) {
        append({{"ledger-started",
                 Json::object({{"ledger", store.ledger_id()}, {"requal", program_version()}})}});
    }
    if (store.behind()) {
        store.catch_up(true);
        changed_ = true;
    }
}

Writing::~Writing() {
    try {
        finish();
    } catch (const Error& error) {
        log_detail(error.what());
    }
}

void Writing::finish() {
    if (!std::exchange(changed_, false))
        return;
    write_seal(store_.layout_);
}

std::vector<Record> Writing::append(const std::vector<NewRecord>& records) {
    const Layout& layout = store_.layout_;
    const std::string& id = store_.ledger_id();
    Index& index = *store_.index_;
    Head head = head_;
    std::string last_wall = index.last_wall(id);
    std::vector<Record> made;
    const std::string lines = lines_of(records, store_.clock(), head, last_wall, made);
    append_lines(layout, id, head_, lines);
    // From here on the records stand, whatever happens: the next writer finds them behind the head.
    head_ = head;
    try {
        write_head(layout, id, head);
        changed_ = true;
        index.begin();
        try {
            for (const Record& record : made)
                index.apply(id, record);
            index.set_head(id, head, last_wall);
            index.commit();
        } catch (...) {
            index.roll_back();
            throw;
        }
    } catch (const Error& error) {
        // The caller is told what holds, not only what failed.
        throw Error(error.kind(), error.message() + "; it is recorded all the same", error.where(),
                    "mend that; the next call brings the store up to the record");
    }
    return made;
}

std::uint64_t rebuild(const std::string& folder) {
    Layout layout{folder};
    const Format format = read_format(layout);
    if (!format.writable())
        throw Error(ErrorKind::storage, "a store of a newer form", folder, "use a newer requal");
    refuse_links(layout);
    const FileDescriptor lock = lock_file(layout.lock(), true, "writes to this store");
    // Another program's database is not ours to replace.
    if (status_of(layout.database()).kind != Kind::absent) {
        try {
            const Index present(layout.database(), Index::Open::read, format.ledger);
        } catch (const Error& error) {
            if (error.message().find("belongs to something else") != std::string::npos)
                throw;
        }
    }
    const ReserveUse reserve(layout);
    recover_ledger(layout, format.ledger);
    make_folder(layout.tmp());
    std::uint64_t records = 0;
    {
        Staging staging(layout.tmp(), "rebuild");
        const std::string fresh = staging.path() + "/requal.db";
        {
            Index index(fresh, Index::Open::write, format.ledger);
            fill_index(layout, index);
            for (const std::string& id : index.ledgers())
                records += index.head(id).seq;
        }
        sync_file(fresh);
        ::unlink((layout.database() + "-journal").c_str());
        rename_file(fresh, layout.database());
        sync_folder(layout.root);
    }
    write_seal(layout);
    return records;
}

}  // namespace requal::store
