// The files that a client has put beside a remote runner: one temporary folder that ends with the runner.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"

namespace requal::toolchain {

class RunnerFiles {
public:
    /// One piece of a file: {"name", "offset", "total_bytes", "sha256"}. Pieces come in order; the last one checks the digest.
    /// Returns {"complete", "path"}. Error(input) for names that leave the folder, Error(storage) for damage.
    Json put(const Json& request, const std::string& piece);
    /// {"name", "offset", "max_bytes"} -> {"size_bytes"} and, with the first piece, {"sha256"}.
    Json get(const Json& request, std::string& piece);
    /// Path of a file named by the client; the folders that it lies in are made.
    std::string path_of(const std::string& name);
    /// Names, relative to the folder, of all files under the folder of `name`.
    Json beside(const std::string& name);
    /// Folder, empty when none was needed.
    std::string folder() const;

private:
    struct Incoming {
        std::string name;
        std::string part_path;
        FileDescriptor file;
        Hasher hasher;
        std::uint64_t received = 0;
    };
    std::unique_ptr<TemporaryFolder> folder_;
    FileDescriptor in_use_;  ///< locked as long as this runner lives, however it ends
    std::optional<Incoming> incoming_;
};

}  // namespace requal::toolchain
