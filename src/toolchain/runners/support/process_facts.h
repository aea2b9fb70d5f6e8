// What a runner can read about its own process: mapped runtime libraries, threads, the processor's instruction sets.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace requal::toolchain {

/// Shared libraries mapped into this process whose file name contains one of `parts`: [{"path", "soname"}], by path.
/// Paths are those of /proc/self/maps, so a file that was replaced since is marked by the kernel's " (deleted)".
Json mapped_libraries(std::span<const std::string_view> parts);

/// Number of threads of this process now; 0 when it cannot be read.
std::size_t thread_count();

/// Instruction sets of the processor that inference libraries choose kernels by, sorted: ["avx2", "avx512_bf16", ...].
Json cpu_features();

/// "Intel(R) Xeon(R) Processor"; empty when unknown.
std::string cpu_model();

/// `text` on one line: line breaks and runs of blanks become one blank, blanks at the ends go.
std::string one_line(std::string_view text);

}  // namespace requal::toolchain
