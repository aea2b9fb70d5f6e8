#include "qualify/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "store/store.h"
#include "store/views.h"

namespace fs = std::filesystem;

namespace requal::qualify {

namespace {

constexpr std::string_view prefix = "run-";
constexpr std::string_view lock_suffix = ".lock";

bool is_run_id(std::string_view name) {
    return !name.empty() && name.size() <= 64 && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'T' || c == 'Z' ||
                      c == '-';
           });
}

/// A lock file of this path that we hold; empty when another process took or removed it meanwhile.
FileDescriptor take_lock(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) {
        if (errno == EEXIST) {
            return {};
        }
        throw Error(ErrorKind::storage,
                    "cannot create the lock of a run: " + std::generic_category().message(errno),
                    path, "check that the store can be written");
    }
    // Between the two calls a cleaner may have locked and removed the file; then it is not ours.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        return {};
    }
    struct stat ours {};
    struct stat present {};
    if (::fstat(file.get(), &ours) != 0 || ::stat(path.c_str(), &present) != 0 ||
        ours.st_ino != present.st_ino || ours.st_dev != present.st_dev) {
        return {};
    }
    return file;
}

void remove_left_overs(const std::string& tmp) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(tmp, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(prefix) || !name.ends_with(lock_suffix)) {
            continue;
        }
        const FileDescriptor lock(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
        if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
            continue;  // a living run
        }
        const std::string folder = entry.path().string();
        fs::remove_all(folder.substr(0, folder.size() - lock_suffix.size()), ignored);
        ::unlink(folder.c_str());
    }
}

void flush_folder(const std::string& path) {
    const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) {
        throw Error(ErrorKind::storage,
                    "cannot flush the folder: " + std::generic_category().message(errno), path,
                    "check the disk");
    }
}

/// Files and folders below `path`, leaves first. Files written by a runner were not flushed by us.
void flush_tree(const std::string& path) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_directory()) {
            continue;
        }
        const FileDescriptor file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        if (file && ::fsync(file.get()) != 0) {
            throw Error(ErrorKind::storage,
                        "cannot flush the file: " + std::generic_category().message(errno),
                        entry.path().string(), "check the disk");
        }
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_directory()) {
            flush_folder(entry.path().string());
        }
    }
    flush_folder(path);
}

}  // namespace

std::string new_run_id(const Clock& clock) {
    std::string time;
    for (const char c : iso_time(clock.wall_ns())) {
        if (c == '.') {
            break;
        }
        if (c != '-' && c != ':') {
            time += c;
        }
    }
    if (time.empty() || time.back() != 'Z') {
        time += 'Z';
    }
    std::array<unsigned char, 4> random{};
    if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
        throw_errno(errno, "getrandom", "the kernel's random numbers");
    }
    char text[16];
    std::snprintf(text, sizeof text, "-%02x%02x%02x%02x", random[0], random[1], random[2],
                  random[3]);
    return time + text;
}

bool RunFolder::make(const std::string& store, const std::string& id) {
    const std::string tmp = store + "/tmp";
    make_folders(tmp);
    make_folders(store + "/runs");
    remove_left_overs(tmp);
    id_ = id;
    path_ = tmp + "/" + std::string(prefix) + id_;
    final_path_ = store + "/runs/" + id_;
    lock_path_ = path_ + std::string(lock_suffix);
    lock_ = take_lock(lock_path_);
    if (!lock_ || fs::exists(final_path_)) {
        return false;
    }
    make_folders(path_);
    return true;
}

RunFolder::RunFolder(const std::string& store, const Clock& clock) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        if (make(store, new_run_id(clock))) {
            return;
        }
    }
    throw Error(ErrorKind::storage, "cannot make the folder of a run", store + "/tmp",
                "see what else works in this store");
}

RunFolder::RunFolder(const std::string& store, const std::string& id) {
    if (!make(store, id)) {
        throw Error(ErrorKind::storage, "cannot make the folder of the run",
                    store + "/tmp/run-" + id, "see what else works in this store");
    }
}

RunFolder::~RunFolder() {
    std::error_code ignored;
    if (!committed_) {
        fs::remove_all(path_, ignored);
    }
    ::unlink(lock_path_.c_str());
}

void RunFolder::commit() {
    try {
        flush_tree(path_);
    } catch (const fs::filesystem_error& error) {
        throw Error(ErrorKind::storage, error.code().message(), path_, "check the disk");
    }
    if (::rename(path_.c_str(), final_path_.c_str()) != 0) {
        throw Error(ErrorKind::storage,
                    "cannot move the finished run into the store: " +
                        std::generic_category().message(errno),
                    final_path_, "check the store");
    }
    committed_ = true;
    flush_folder(fs::path(final_path_).parent_path().string());
}

std::string find_run(const std::string& store, const std::string& name) {
    if (is_run_id(name)) {
        const std::string in_store = store + "/runs/" + name;
        if (file_exists(in_store + "/record.json")) {
            return in_store;
        }
        // The ledger may know it all the same: its folder only shows the blobs.
        if (file_exists(store + "/format")) {
            store::Store here(store);
            const auto run = here.index().find(name);
            if (run && run->kind == "run" && here.can_write()) {
                store::make_view(here, *run);
                return in_store;
            }
        }
    }
    if (folder_exists(name) && file_exists(name + "/record.json")) {
        return name;
    }
    if (fs::path(name).filename() == "record.json" && file_exists(name)) {
        const std::string folder = fs::path(name).parent_path().string();
        return folder.empty() ? "." : folder;
    }
    throw Error(ErrorKind::input, "no such run", name,
                "give a run id of the store " + store + " or the folder of a run");
}

}  // namespace requal::qualify
