// store put, get, list: blobs and references to them.
// rooms: base store
#include "store/store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "base/document.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/store_arguments.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "store/batch.h"

namespace requal::cli {

namespace {

using store::Access;
using store::Reference;

// --- put ----------------------------------------------------------------------------------------------------------------------

constexpr std::size_t group_files = 20'000;
constexpr std::uint64_t group_bytes = std::uint64_t{4} << 30;

/// `left_out`: what stands below a folder and is no file (links, FIFOs, devices).
std::vector<std::string> paths_to_put(const Arguments& arguments,
                                      std::vector<std::string>& left_out) {
    std::vector<std::string> paths;
    const auto add = [&](const std::string& path) {
        if (path == "-" || !folder_exists(path)) {
            paths.push_back(path);
            return;
        }
        if (!arguments.flag("--recursive"))
            throw Error(ErrorKind::input, "a folder", path,
                        "give --recursive to put the files below it");
        const std::size_t before = paths.size();
        std::error_code error;
        for (std::filesystem::recursive_directory_iterator i(path, error), end; !error && i != end;
             i.increment(error)) {
            if (i->is_regular_file() && !i->is_symlink())
                paths.push_back(i->path().string());
            else if (i->is_symlink() || !i->is_directory())
                left_out.push_back(i->path().string());
        }
        if (error)
            throw Error(ErrorKind::input, "cannot read the folder: " + error.message(), path);
        std::sort(paths.begin() + static_cast<std::ptrdiff_t>(before), paths.end());
    };
    for (const std::string& path : arguments.all("FILE"))
        add(path);
    if (const auto list = arguments.optional_text("--list")) {
        std::string text = read_file(*list, 1 << 30);
        std::size_t begin = 0;
        while (begin < text.size()) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            if (end > begin)
                add(text.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    if (paths.empty())
        throw Error(ErrorKind::usage, "nothing to put", "FILE",
                    "name files, or a list of them with --list");
    return paths;
}

Result run_put(const Arguments& arguments, const Common& common) {
    std::vector<std::string> left_out;
    const std::vector<std::string> paths = paths_to_put(arguments, left_out);
    store::ItemInfo info;
    info.name = arguments.optional_text("--name").value_or("");
    info.kind = arguments.text("--kind");
    info.tags = arguments.all("--tag");
    if (!info.name.empty() && paths.size() != 1)
        throw Error(ErrorKind::usage, "one name for " + std::to_string(paths.size()) + " files",
                    "--name", "put them one by one");
    if (arguments.given("--name"))
        store::check_name(info.name);
    store::check_word(info.kind, "a kind");
    for (const std::string& tag : info.tags)
        store::check_tag(tag);
    // Looked at before a store is made: bad input changes nothing.
    for (const std::string& path : paths) {
        if (path != "-" && !file_exists(path))
            open_regular_file(path);
    }

    store::Store here(common.store, store_options(Access::create));
    Result result;
    result.document = new_document("store-put", 1);
    Json items = Json::array();
    std::uint64_t fresh = 0, repaired = 0, fresh_bytes = 0, total_bytes = 0;
    Progress progress("put", paths.size());
    std::size_t next = 0;
    while (next < paths.size()) {
        store::Batch batch(here);
        for (;
             next < paths.size() && batch.size() < group_files && batch.fresh_bytes() < group_bytes;
             ++next) {
            const std::string& path = paths[next];
            const store::PutItem item = path == "-"
                                            ? batch.add_stream(STDIN_FILENO, "standard input", info)
                                            : batch.add_file(path, info);
            fresh += item.fresh ? 1 : 0;
            repaired += item.repaired ? 1 : 0;
            fresh_bytes += item.fresh ? item.size_bytes : 0;
            total_bytes += item.size_bytes;
            if (common.json)
                items.push_back(Json::object({{"digest", item.digest.text()},
                                              {"size_bytes", item.size_bytes},
                                              {"fresh", item.fresh},
                                              {"repaired", item.repaired},
                                              {"source", path}}));
            else if (paths.size() <= 100)
                result.text += item.digest.text() + "  " + printable(path) +
                               (item.fresh      ? ""
                                : item.repaired ? "  (repaired: what was here was damaged)"
                                                : "  (was here)") +
                               "\n";
            progress.advance();
        }
        batch.commit();
    }
    result.document["items"] = items;
    result.document["name"] = info.name.empty() ? Json() : Json(info.name);
    result.document["fresh"] = fresh;
    result.document["fresh_bytes"] = fresh_bytes;
    result.document["repaired"] = repaired;
    result.document["total_bytes"] = total_bytes;
    std::sort(left_out.begin(), left_out.end());
    result.document["left_out"] = text_array(left_out);
    if (!left_out.empty())
        result.text += "note: left out, as no regular file: " + printable(left_out.front()) +
                       (left_out.size() > 1
                            ? " and " + std::to_string(left_out.size() - 1) + " more (see --json)"
                            : "") +
                       "\n";
    if (paths.size() > 1)
        result.text += std::to_string(paths.size()) + " files, " + std::to_string(fresh) +
                       " new, " + readable_bytes(fresh_bytes) +
                       (repaired > 0 ? ", " + std::to_string(repaired) + " repaired" : "") + "\n";
    return result;
}

// --- get ----------------------------------------------------------------------------------------------------------------------

Result run_get(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, store_options(Access::read));
    const Reference reference = here.resolve(arguments.text("NAME"));
    const std::string path = here.blob_path(reference.digest);
    const FileDescriptor source = store::open_file(path);
    const auto refuse = [&] { store::damaged("the blob's bytes do not have its digest", path); };
    Result result;
    const auto target = arguments.optional_text("--out");
    if (target) {
        AtomicFile file(*target);
        if (store::copy_and_hash(source.get(), path, file.fd(), *target).digest != reference.digest)
            refuse();
        file.commit();
        result.text = printable(*target) + "\n";
    } else {
        // Nothing of a damaged blob may leave, so it is read twice.
        if (store::copy_and_hash(source.get(), path, -1, {}).digest != reference.digest)
            refuse();
        if (!common.json) {
            if (::lseek(source.get(), 0, SEEK_SET) != 0)
                store::fail(errno, "read", path);
            if (store::copy_and_hash(source.get(), path, STDOUT_FILENO, "standard output").digest !=
                reference.digest)
                refuse();
        }
    }
    result.document = new_document("store-get", 1);
    result.document["reference"] = reference_json(reference);
    result.document["path"] = target ? *target : path;
    return result;
}

// --- list ---------------------------------------------------------------------------------------------------------------------

Result run_list(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, store_options(Access::read));
    Result result;
    result.document = new_document("store-list", 1);
    if (arguments.flag("--blobs")) {
        Json blobs = Json::array();
        here.index().each_blob([&](const store::BlobEntry& blob) {
            if (common.json) {
                blobs.push_back(Json::object(
                    {{"digest", blob.digest.text()}, {"size_bytes", blob.size_bytes}}));
                return;
            }
            result.text += "sha256:";
            result.text += blob.digest.hex();
            result.text += "  ";
            result.text += std::to_string(blob.size_bytes);
            result.text += '\n';
        });
        result.document["blobs"] = blobs;
        return result;
    }
    store::ReferenceFilter filter;
    filter.name = arguments.optional_text("--name").value_or("");
    filter.kind = arguments.optional_text("--kind").value_or("");
    filter.tag = arguments.optional_text("--tag").value_or("");
    filter.history = arguments.flag("--history");
    Json references = Json::array();
    std::vector<std::vector<std::string>> rows{
        {"name", "kind", "size", "digest", "recorded", "tags"}};
    for (const Reference& reference : here.references(filter)) {
        if (common.json) {
            references.push_back(reference_json(reference));
            continue;
        }
        std::string tags;
        for (const std::string& tag : reference.tags)
            tags += (tags.empty() ? "" : " ") + tag;
        if (!reference.current)
            tags += tags.empty() ? "(earlier)" : " (earlier)";
        if (!reference.present)
            tags += tags.empty() ? "(removed)" : " (removed)";
        rows.push_back({reference.name.empty() ? "-" : reference.name, reference.kind,
                        readable_bytes(reference.size_bytes), reference.digest.hex().substr(0, 12),
                        reference.time.substr(0, 19), tags});
    }
    result.document["references"] = references;
    const std::uint64_t count = here.index().blob_count();
    const std::uint64_t bytes = here.index().blob_bytes();
    result.document["blob_count"] = count;
    result.document["blob_bytes"] = bytes;
    if (rows.size() > 1)
        result.text = table_text(rows);
    result.text += std::to_string(count) + (count == 1 ? " blob, " : " blobs, ") +
                   readable_bytes(bytes) + "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_store() {
    Verb put =
        grouped_verb("store", "put", "puts files into the store, each once by its digest", run_put);
    put.description = "Reads each file once, hashing while writing. Files that are here already "
                      "take no place again. Many files are flushed as one "
                      "group. Without --name a file is found by its digest; a name that exists "
                      "gets a new meaning and keeps its history.";
    put.positionals = {{.name = "FILE",
                        .kind = ValueKind::path,
                        .help = "files, '-' for standard input",
                        .repeated = true}};
    put.options = {
        {.name = "--name", .help = "name of the one file", .value_name = "NAME"},
        {.name = "--kind",
         .help = "what it is: model, engine, dataset, …",
         .value_name = "WORD",
         .fallback = "blob"},
        {.name = "--tag", .help = "a tag of the reference", .value_name = "TAG", .repeated = true},
        {.name = "--recursive",
         .kind = ValueKind::flag,
         .help = "put the files below folders, too"},
        {.name = "--list",
         .kind = ValueKind::path,
         .help = "a file with one path a line",
         .value_name = "FILE"}};
    put.examples = {"requal store put model.onnx --name ocr-detector --kind model",
                    "requal store put --recursive images/"};

    Verb get = grouped_verb("store", "get",
                            "writes a blob of the store to a file or to standard output", run_get);
    get.description = "The bytes are checked against the digest before anything appears. With "
                      "--json and without --out only says where the "
                      "blob lies.";
    get.positionals = {{.name = "NAME",
                        .help = "a name, or a digest, or its first 8 digits or more",
                        .required = true}};
    get.options = {{.name = "--out",
                    .kind = ValueKind::path,
                    .help = "the file to write",
                    .value_name = "FILE"}};
    get.examples = {"requal store get ocr-detector --out model.onnx"};

    Verb list = grouped_verb("store", "list", "lists references, or all blobs", run_list);
    list.options = {
        {.name = "--name", .help = "only this name", .value_name = "NAME"},
        {.name = "--kind", .help = "only this kind", .value_name = "WORD"},
        {.name = "--tag", .help = "only what has this tag", .value_name = "TAG"},
        {.name = "--history", .kind = ValueKind::flag, .help = "also what a name meant earlier"},
        {.name = "--blobs", .kind = ValueKind::flag, .help = "all blobs, with or without a name"}};
    list.examples = {"requal store list --kind model", "requal store list --blobs"};
    return {put, get, list};
}

}  // namespace requal::cli
