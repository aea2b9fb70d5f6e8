// Reading below a root folder as if it were "/": no link, whatever it says, leads outside, and only regular files are opened.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace requal::machine {

/// What became of looking for something: `found`, `absent` (it is certainly not there), or `unreadable` with the reason.
enum class Presence { found, absent, unreadable };

struct RootText {
    Presence presence = Presence::absent;
    std::string bytes;
    std::string reason;  ///< of unreadable: "permission denied"
    explicit operator bool() const { return presence == Presence::found; }
};

struct RootFile {
    Presence presence = Presence::absent;
    FileDescriptor fd;  ///< open for reading when it was asked for
    struct stat info {};
    std::string path;  ///< below the root with all links resolved: "/usr/lib/libx.so.1.2"
    std::string reason;
    explicit operator bool() const { return presence == Presence::found; }
};

struct RootFolder {
    Presence presence = Presence::absent;
    std::vector<std::string> names;  ///< sorted by bytes, without "." and ".."
    std::string reason;
    explicit operator bool() const { return presence == Presence::found; }
};

/// A root folder, held open. All paths are absolute as seen from inside. Each part of a path is opened by itself without following
/// links; links are followed by hand, 40 at most, absolute ones from the root, and ".." stops at it. Safe for use from several threads.
class Root {
public:
    /// Error(input) when `folder` is no folder. "/" (or empty) is this computer.
    explicit Root(const std::string& folder = "/");

    bool is_this_computer() const { return this_computer_; }

    /// A regular file, opened for reading when `open` is set; FIFOs, devices, sockets and folders are unreadable with their reason.
    RootFile file(std::string_view path, bool open = true) const;
    /// The whole file; one larger than `limit_bytes` is unreadable. Files of /proc and /sys say 0 for their size and are read to their end.
    RootText text(std::string_view path, std::size_t limit_bytes = std::size_t{1} << 20U) const;
    /// text() without blanks and NUL bytes at its end.
    RootText line(std::string_view path) const;
    RootFolder folder(std::string_view path) const;
    /// The text of a link, and where it leads after all links.
    RootText link(std::string_view path) const;
    RootText resolved(std::string_view path) const;
    /// Something of any kind is there.
    bool exists(std::string_view path) const;

private:
    struct Walk;
    Walk walk(std::string_view path, bool follow_last) const;
    std::shared_ptr<FileDescriptor> root_;
    bool this_computer_ = false;
};

}  // namespace requal::machine
