#include "toolchain/timing_loop.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>

#include "base/error.h"

namespace requal::toolchain {

namespace {

constexpr std::uint64_t runs_limit = std::uint64_t{1} << 27;  // a series of 1 GiB
constexpr std::uint64_t first_room = std::uint64_t{1} << 16;

std::int64_t timer_overhead() {
    std::array<std::int64_t, 1001> reads{};
    for (std::int64_t& read : reads) {
        const std::int64_t before = monotonic_ns();
        read = monotonic_ns() - before;
    }
    std::nth_element(reads.begin(), reads.begin() + reads.size() / 2, reads.end());
    return reads[reads.size() / 2];
}

void sleep_for(std::int64_t duration_ns) {
    timespec wait{static_cast<time_t>(duration_ns / 1'000'000'000),
                  static_cast<long>(duration_ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, &wait) != 0) {
    }
}

std::int64_t timed(Session& session) {
    const std::int64_t before = monotonic_ns();
    session.time_once();
    return monotonic_ns() - before;
}

}  // namespace

std::int64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

LoopResult timing_loop(Session& session, const LoopBounds& bounds) {
    if (bounds.runs == 0 && bounds.duration_ns <= 0) {
        throw Error(ErrorKind::input, "a timing loop needs a number of runs or a duration");
    }
    if (bounds.runs > runs_limit || bounds.warmup_runs > runs_limit) {
        throw Error(ErrorKind::input,
                    "a timing loop has at most " + std::to_string(runs_limit) + " runs", {},
                    "split it");
    }
    LoopResult result;
    result.timer_overhead_ns = timer_overhead();
    for (std::uint64_t i = 0; i < bounds.warmup_runs; ++i) {
        const std::int64_t duration = timed(session);
        if (i == 0) {
            result.first_run_ns = duration;
        }
        if (bounds.pause_ns > 0) {
            sleep_for(bounds.pause_ns);
        }
    }
    // Room is made (and its pages touched) before the loop; where only a duration is given it grows between two runs.
    std::vector<std::int64_t>& series = result.durations_ns;
    series.resize(static_cast<std::size_t>(bounds.runs > 0 ? bounds.runs : first_room));
    const std::uint64_t most = bounds.runs > 0 ? bounds.runs : runs_limit;
    const std::int64_t end = bounds.duration_ns > 0 ? monotonic_ns() + bounds.duration_ns
                                                    : std::numeric_limits<std::int64_t>::max();
    std::size_t count = 0;
    while (count < most) {
        if (count == series.size()) {
            series.resize(2 * series.size());
        }
        const std::int64_t before = monotonic_ns();
        session.time_once();
        const std::int64_t after = monotonic_ns();
        series[count++] = after - before;
        if (after >= end) {
            break;
        }
        if (bounds.pause_ns > 0) {
            sleep_for(bounds.pause_ns);
        }
    }
    series.resize(count);
    if (bounds.warmup_runs == 0) {
        result.first_run_ns = series.front();
    }
    return result;
}

}  // namespace requal::toolchain
