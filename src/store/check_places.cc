#include "store/check_places.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/files.h"

namespace requal::store {

namespace {

void read_reserve(const std::string& path) {
    const FileDescriptor file = open_file(path);
    std::string block(256 << 10, '\0');
    while (true) {
        const ssize_t count = ::read(file.get(), block.data(), block.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            fail(errno, "read", path);
        if (count == 0)
            return;
        if (std::string_view(block)
                .substr(0, static_cast<std::size_t>(count))
                .find_first_not_of('\0') != std::string_view::npos)
            damaged("the reserve is zeros, this one holds something; remove it", path);
    }
}

void look_at_reserve(const std::string& path, CheckReport& report) {
    try {
        read_reserve(path);
    } catch (const Error& error) {
        report.damages.push_back({"reserve", error.message()});
    }
}

}  // namespace

void check_places(const Layout& layout, CheckReport& report) {
    const auto damage = [&report](const std::string& name, const std::string& what) {
        report.damages.push_back({name, what});
    };
    const auto note = [&report](const std::string& text) { report.notes.push_back(text); };
    for (const std::string& name : names_in(layout.root)) {
        const std::string path = layout.root + "/" + name;
        const Status status = status_of(path);
        const bool is_folder =
            name == "blobs" || name == "ledger" || name == "tmp" || name == "runs";
        const bool is_file = name == "format" || name == "lock" || name == "lock-blobs" ||
                             name == "requal.db" || name == "requal.db.seal" || name == "reserve" ||
                             name == "requal.db-journal";
        if (is_folder && status.kind != Kind::folder)
            damage(name, status.kind == Kind::link ? "a link stands where the store has a folder"
                                                   : "no folder");
        else if (is_file && status.kind != Kind::file)
            damage(name, status.kind == Kind::link ? "a link stands where the store has a file"
                                                   : "no regular file");
        else if (name.starts_with("lock") && is_file && status.size_bytes != 0)
            damage(name, "a lock is empty, this one holds bytes");
        else if (name == "reserve")
            look_at_reserve(path, report);
        else if (name.starts_with(".requal-"))
            note(name + ": left by a process that was killed");
        else if (!is_folder && !is_file)
            note(name + ": not of the store");
    }
}

}  // namespace requal::store
