// The files of rules/ inside this program; their definition is written by the build (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace requal {

/// A file below rules/, by its name relative to that folder.
struct EmbeddedFile {
    std::string_view name;
    std::string_view bytes;
};

/// All of them, sorted by name.
std::span<const EmbeddedFile> embedded_files();

/// 64 hex digits: the SHA-256 of what sha256sum prints for these files, in this order.
std::string_view embedded_digest();

}  // namespace requal
