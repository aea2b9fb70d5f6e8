// Shared libraries of inference runtimes below a root, and the Python packages beside them.
#pragma once

#include <string>
#include <vector>

#include "machine/hash_files.h"
#include "machine/probe.h"

namespace requal::machine {

struct LibraryRequest {
    std::vector<std::string> folders;  ///< looked at besides the usual ones
    Json
        earlier;  ///< `libraries` of an earlier snapshot: digests of files with equal size, inode and times are taken over; null: none
    HashOptions hashing;
    bool (*stop)() = nullptr;
};

struct LibraryFacts {
    Json libraries = Json::array();  ///< as in snapshot/1, sorted by path
    Json python = Json::array();
    Json disagreements = Json::array();
    std::int64_t trusted = 0;  ///< digests that were taken over
};

/// "tensorrt", "cuda", "cudnn", "driver", "onnxruntime", "openvino", "qnn", "hailort", "tensorrt-rtx"; empty: a library of none of these.
std::string product_of_library(std::string_view file_name);

/// "10.3.0" of "libnvinfer.so.10.3.0"; empty when fewer than two numbers stand there.
std::string version_in_name(std::string_view file_name);

/// `packages`: as probe_packages() gives them, for versions with a build number and for disagreements.
LibraryFacts probe_libraries(const Root& root, const LibraryRequest& request, const Json& packages,
                             Unknown& unknown);

/// One library as it stands in a snapshot, without digest; used for mapped files too.
Json describe_library(const RootFile& file, const std::string& product, Unknown& unknown);

}  // namespace requal::machine
