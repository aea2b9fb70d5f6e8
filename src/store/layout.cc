#include "store/layout.h"

#include <algorithm>
#include <string>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "store/files.h"

namespace requal::store {

namespace {

constexpr std::uint64_t small_limit_bytes = 64 << 10;

bool is_hex(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

[[noreturn]] void refuse(std::string_view what, std::string_view value, const std::string& why) {
    throw Error(ErrorKind::input, std::string(what) + " " + why, std::string(value.substr(0, 100)),
                "use letters, digits, '.', '_' and '-'");
}

}  // namespace

std::string Layout::blob(const Digest& digest) const {
    const std::string hex = digest.hex();
    return blobs() + "/" + hex.substr(0, 2) + "/" + hex;
}

std::string Layout::ledger(std::string_view id) const {
    return ledgers() + "/" + std::string(id) + ".jsonl";
}

std::string Layout::head(std::string_view id) const {
    return ledgers() + "/" + std::string(id) + ".head";
}

bool is_ledger_id(std::string_view text) {
    return text.size() == 16 && is_hex(text);
}

std::string sealed_text(Json document) {
    document["check"] = digest_of(write_json_compact(document)).text();
    return write_json_compact(document) + "\n";
}

Json read_sealed(const std::string& path) {
    const std::string text = read_whole(path, small_limit_bytes);
    try {
        Json document = parse_json(text, path);
        Json::Object rest = document.as_object();
        rest.erase("check");
        if (sealed_text(Json(std::move(rest))) == text)
            return document;
    } catch (const Error&) {
        // said below
    }
    damaged("changed since it was written", path);
}

int version_without_format(const Layout& layout) {
    return status_of(layout.runs()).kind == Kind::folder ? 0 : -1;
}

Format read_format(const Layout& layout) {
    const std::string path = layout.format();
    const Kind kind = status_of(path).kind;
    if (kind == Kind::absent) {
        if (version_without_format(layout) == 0)
            throw Error(ErrorKind::storage, "a store of form 0, without ledger", layout.root,
                        "run 'requal store upgrade'");
        throw Error(ErrorKind::input, "there is no store", layout.root,
                    "name one with --store; 'requal store put' and 'requal qualify' make one");
    }
    const Json document = read_sealed(path);
    Format format;
    try {
        require_schema(document, "store-format", 1, path);
        format.version = static_cast<int>(document.at("version").as_integer());
        format.readable_by = static_cast<int>(document.at("readable_by").as_integer());
        format.ledger = document.at("ledger").as_string();
    } catch (const Error& error) {
        damaged("no format file of a store: " + error.message(), path);
    }
    if (format.readable_by > format_version)
        throw Error(ErrorKind::storage,
                    "a store of form " + std::to_string(format.version) +
                        ", this program reads up to " + std::to_string(format_version),
                    layout.root, "use a newer requal");
    if (!is_ledger_id(format.ledger))
        damaged("names no ledger", path);
    return format;
}

void write_format(const Layout& layout, const Format& format) {
    Json document = new_document("store-format", 1);
    document["version"] = format.version;
    document["readable_by"] = format.readable_by;
    document["ledger"] = format.ledger;
    write_file_atomically(layout.format(), sealed_text(std::move(document)));
}

void check_name(std::string_view name) {
    if (name.empty() || name.size() > 200)
        refuse("a name", name, "has 1 to 200 bytes");
    if (!is_utf8(name))
        refuse("a name", name, "is UTF-8");
    if (printable(name) != name)
        refuse("a name", name, "has no control characters or marks that reorder text");
    if (name.find_first_of("/\\") != std::string_view::npos || name == "." || name == "..")
        refuse("a name", name, "is no path");
    if (name.front() == '-' || name.front() == '.' || name.front() == ' ' || name.back() == ' ')
        refuse("a name", name, "does not begin with '-', '.' or a blank, nor end with a blank");
    if (name.starts_with("sha256:") || (name.size() >= 8 && name.size() <= 64 && is_hex(name)))
        refuse("a name", name, "does not read as a digest");
}

void check_word(std::string_view word, std::string_view what) {
    const bool good = !word.empty() && word.size() <= 64 && word.front() >= 'a' &&
                      word.front() <= 'z' && std::all_of(word.begin(), word.end(), [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                      });
    if (!good)
        throw Error(ErrorKind::input,
                    std::string(what) + " is 1 to 64 of a-z, 0-9 and '-', beginning with a letter",
                    std::string(word.substr(0, 100)));
}

void check_tag(std::string_view tag) {
    if (tag.empty() || tag.size() > 100)
        refuse("a tag", tag, "has 1 to 100 bytes");
    if (!is_utf8(tag) || printable(tag) != tag || tag.find(' ') != std::string_view::npos)
        refuse("a tag", tag, "is UTF-8 without control characters and blanks");
}

}  // namespace requal::store
