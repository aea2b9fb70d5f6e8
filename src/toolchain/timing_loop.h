// The timing loop inside a runner.
#pragma once

#include <cstdint>
#include <vector>

#include "toolchain/runner.h"

namespace requal::toolchain {

/// CLOCK_MONOTONIC in nanoseconds.
std::int64_t monotonic_ns();

/// Bounds of a loop; it ends at the first of `runs` and `duration_ns` that is > 0 and reached.
struct LoopBounds {
    std::uint64_t warmup_runs = 0;
    std::uint64_t runs = 0;
    std::int64_t duration_ns = 0;
    std::int64_t pause_ns = 0;
};

struct LoopResult {
    std::vector<std::int64_t> durations_ns;  ///< of the counted runs, in order
    std::int64_t first_run_ns = 0;       ///< of the very first run of the loop, warm-up included
    std::int64_t timer_overhead_ns = 0;  ///< median of back-to-back clock reads
};

/// Times session.time_once() after prepare_timing(). Error(input) for bounds that never end or need too much memory.
LoopResult timing_loop(Session& session, const LoopBounds& bounds);

}  // namespace requal::toolchain
