// Which toolchains work here, proved through their runners with the tiny model and never believed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace requal::toolchain {

/// What is known of one toolchain on this machine.
struct ToolchainProof {
    std::string name;              ///< "onnxruntime:cpu"
    std::vector<std::string> can;  ///< proved here: "build", "run"
    std::string proof;             ///< "ran", "built" or "never run"
    std::string version;           ///< of the runtime; empty: unknown
    std::string why_not;     ///< one line; empty when everything that the runner claims was proved
    std::string how_to_get;  ///< empty when it works
    std::string runner;      ///< path of the program, empty: none here
    bool works() const { return why_not.empty(); }
};

/// A toolchain that Requal has words for, whether or not it is here.
struct KnownToolchain {
    std::string name;
    std::string how_to_get;
};
/// Of rules/toolchains.yaml, embedded or in a folder. Error(input) names file and line.
std::vector<KnownToolchain> known_toolchains(const std::string& rules_folder = {});

struct ProofLimits {
    std::int64_t start_timeout_ns = 60'000'000'000;
    std::int64_t answer_timeout_ns = 120'000'000'000;
};

/// Asks every runner program found for its toolchains, lets each build and run the tiny model, and compares the output. A runner
/// that crashes, hangs or answers nonsense is recorded in `why_not`. Known toolchains without a runner are added. Sorted by
/// name. `only`: names to look at, empty: all. `rules_folder` as for known_toolchains(). Throws Error(interrupted), and Error(storage) without a folder for temporary files.
std::vector<ToolchainProof> prove_toolchains(const std::vector<std::string>& only = {},
                                             const std::string& rules_folder = {},
                                             const ProofLimits& limits = {});

}  // namespace requal::toolchain
