#include "store/views.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace requal::store {

namespace {

bool is_whole(Store& store, const Reference& run) {
    const std::string folder = store.layout().runs() + "/" + run.name;
    if (status_of(folder).kind != Kind::folder)
        return false;
    for (const auto& [name, digest] : run.files) {
        const Status status = status_of(folder + "/" + name);
        const auto blob = store.find_blob(digest);
        if (!blob)
            continue;  // nothing to make it from
        if (status.kind != Kind::file)
            return false;
        if (status.inode != status_of(*blob).inode && digest_of_file(folder + "/" + name) != digest)
            return false;
    }
    return true;
}

}  // namespace

void make_view(Store& store, const Reference& run) {
    check_name(run.name);
    const std::string target = store.layout().runs() + "/" + run.name;
    if (is_whole(store, run))
        return;
    Staging staging(store.layout().tmp(), "view");
    const std::string folder = staging.path() + "/run";
    make_folder(folder);
    for (const auto& [name, digest] : run.files) {
        check_name(name);
        const auto blob = store.find_blob(digest);
        if (!blob)
            continue;
        // Another file system below (a lower store) cannot be linked to.
        if (::link(blob->c_str(), (folder + "/" + name).c_str()) != 0) {
            std::error_code error;
            std::filesystem::copy_file(*blob, folder + "/" + name, error);
            if (error)
                fail(error.value(), "copy", folder + "/" + name);
        }
    }
    sync_folder(folder);
    remove_view(store.layout(), run.name);
    rename_file(folder, target);
    sync_folder(store.layout().runs());
}

std::uint64_t make_views(Store& store) {
    std::uint64_t made = 0;
    ReferenceFilter filter;
    filter.kind = "run";
    filter.ledger = store.ledger_id();
    for (const Reference& run : store.index().references(filter)) {
        if (run.files.empty() || is_whole(store, run))
            continue;
        make_view(store, run);
        ++made;
    }
    return made;
}

void remove_view(const Layout& layout, const std::string& name) {
    const std::string path = layout.runs() + "/" + name;
    const Kind kind = status_of(path).kind;
    if (kind == Kind::absent)
        return;
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error)
        fail(error.value(), "remove", path);
}

}  // namespace requal::store
