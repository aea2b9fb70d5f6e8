// ONNX Runtime's profile: which node ran where, for how long, on which types.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"

namespace requal::toolchain::ort {

/// Runs that are averaged, after one that is left out.
inline constexpr int profiled_runs = 3;

struct Profile {
    std::map<std::string, std::uint64_t> nodes_by_provider;
    std::map<std::string, std::uint64_t>
        compute_nodes_by_type;  ///< convolutions, products and the like, "f32" -> count
    Json
        document;  ///< {"nodes": [{name, op, provider, type, time_ms}], "runs", "providers", "precision"}
};

/// Reads the JSON that EnableProfiling writes, of one warm-up run and `runs` more. Error(toolchain) when it is not that.
Profile read_profile(std::string_view text, int runs);

/// "f32", "f16", "mixed", or "unknown" when nothing computes.
std::string executed_precision(const Profile& profile);

}  // namespace requal::toolchain::ort
