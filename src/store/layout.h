// Where things lie in a store, its format file, and small sealed documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/json.h"

namespace requal::store {

/// Version of the store's form that this program writes.
constexpr int format_version = 1;

/// Paths below a store's folder.
struct Layout {
    std::string root;

    std::string format() const { return root + "/format"; }
    std::string lock() const { return root + "/lock"; }             ///< held by a writer
    std::string blob_lock() const { return root + "/lock-blobs"; }  ///< shared by puts, alone by gc
    std::string database() const { return root + "/requal.db"; }
    std::string seal() const { return root + "/requal.db.seal"; }
    std::string reserve() const { return root + "/reserve"; }  ///< zeros that hold space back
    std::string blobs() const { return root + "/blobs/sha256"; }
    std::string ledgers() const { return root + "/ledger"; }
    std::string tmp() const { return root + "/tmp"; }
    std::string runs() const { return root + "/runs"; }
    std::string blob(const Digest& digest) const;   ///< blobs/sha256/aa/HEX
    std::string ledger(std::string_view id) const;  ///< ledger/ID.jsonl
    std::string head(std::string_view id) const;    ///< ledger/ID.head
};

/// What the file `format` says.
struct Format {
    int version = format_version;
    int readable_by = format_version;  ///< the oldest form whose programs can read this one
    std::string ledger;                ///< id of the store's own ledger: 16 hex digits
    bool writable() const { return version == format_version; }
};

/// Error(input) where there is no store; Error(storage) for damage and for a form that cannot be read here.
Format read_format(const Layout& layout);
void write_format(const Layout& layout, const Format& format);
/// 0: a folder that the first programs filled (runs/ without a format file); -1: nothing there.
int version_without_format(const Layout& layout);

/// A small document with a member `check`, the digest of its other members: any changed byte is found.
std::string sealed_text(Json document);
/// Error(storage) that names `path` when it was changed.
Json read_sealed(const std::string& path);

bool is_ledger_id(std::string_view text);

/// Names, kinds and tags. A name is one part of a path: 1 to 200 bytes of UTF-8 without control characters, '/', '\\', marks
/// that reorder text; not "." or "..", not beginning with '-' or '.', and nothing that reads as a digest. Error(input).
void check_name(std::string_view name);
/// 1 to 64 of a-z, 0-9 and '-', beginning with a letter. Error(input) that says `what`.
void check_word(std::string_view word, std::string_view what);
/// 1 to 100 bytes of UTF-8 without control characters and blanks. Error(input).
void check_tag(std::string_view tag);

}  // namespace requal::store
