// File-system calls of the store: nothing is followed through a planted link, every failure names its path.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace requal::store {

/// Error(storage) from errno, also for what elsewhere is the user's mistake: inside a store nobody names files.
[[noreturn]] void fail(int error_number, std::string_view operation, const std::string& path);
/// Error(storage) for damage that was found.
[[noreturn]] void damaged(const std::string& what, const std::string& path);

enum class Kind { absent, file, folder, link, other };
struct Status {
    Kind kind = Kind::absent;
    std::uint64_t size_bytes = 0;
    std::uint64_t inode = 0;
    std::uint64_t device = 0;
};
Status status_of(const std::string& path);  ///< lstat

/// Makes one folder unless it is there; a link or a file in its place is Error(storage). True when it was made.
bool make_folder(const std::string& path);
void sync_folder(const std::string& path);
/// Flushes the whole file system that holds `folder`: one flush for many small files.
void sync_file_system(const std::string& folder);
void sync_file(const std::string& path);
void rename_file(const std::string& from, const std::string& to);
/// A regular file of the store, opened for reading without following a link.
FileDescriptor open_file(const std::string& path);
/// Whole content of a regular file of the store, at most `limit_bytes`; Error(storage).
std::string read_whole(const std::string& path, std::uint64_t limit_bytes);
/// Names in a folder, sorted; "." and ".." are left out.
std::vector<std::string> names_in(const std::string& folder);

/// An exclusive or shared flock that the kernel frees when its holder dies. `waited` is told once when another holds it.
/// Error(interrupted) on a signal.
FileDescriptor lock_file(const std::string& path, bool exclusive, const std::string& what);
/// The same without waiting; empty when another process holds it.
FileDescriptor try_lock_file(const std::string& path, bool exclusive);

/// A lock file that exists only while someone holds it; empty when another process does.
FileDescriptor take_passing_lock(const std::string& path);

/// A folder of our own under the store's tmp, known as ours by a lock: what a killed process left is removed by the next.
class Staging {
public:
    Staging(const std::string& tmp, std::string_view prefix);
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    const std::string& path() const { return path_; }
    std::string next_name();  ///< a path in it that is not used yet

private:
    std::string path_;
    std::string lock_path_;
    FileDescriptor lock_;
    std::uint64_t count_ = 0;
};

/// Removes staging folders whose owners are gone.
void remove_left_overs(const std::string& tmp);

std::string random_hex(std::size_t bytes);

}  // namespace requal::store
