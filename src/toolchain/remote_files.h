// Files on their way to and from a remote runner, in pieces and with their digests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "toolchain/conversation.h"

namespace requal::toolchain {

class RemoteFiles {
public:
    explicit RemoteFiles(Conversation& conversation) : conversation_(conversation) {}

    /// Sends `path` and its companions; returns the name of the main file over there. What was sent before is not sent again.
    std::string send(const std::string& path);
    /// A name over there for a file that a build will write under the name of `output_path`.
    std::string reserve(const std::string& output_path);
    /// Fetches the files `names` (all in the folder of `reserved`) beside `output_path`; returns their paths here, the main one
    /// first. Each appears whole or not at all. Error(toolchain) for names that leave the folder, Error(storage) for damage.
    std::vector<std::string> fetch(const Json& names, const std::string& reserved,
                                   const std::string& output_path);

private:
    void send_one(const std::string& path, const std::string& name, const std::string& digest);
    void fetch_one(const std::string& name, const std::string& path);

    Conversation& conversation_;
    std::map<std::string, std::string> sent_;  ///< digests and names -> name over there
    int folders_ = 0;
};

}  // namespace requal::toolchain
