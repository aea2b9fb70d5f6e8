// Clocks behind a seam that tests can replace.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace requal {

/// Reads of time. The real one is system_clock(); tests pass their own.
class Clock {
public:
    virtual ~Clock() = default;
    virtual std::int64_t wall_ns() const = 0;       ///< nanoseconds since 1970-01-01 UTC
    virtual std::int64_t monotonic_ns() const = 0;  ///< CLOCK_MONOTONIC
    virtual bool synchronised() const = 0;    ///< the kernel says that wall time is disciplined
    virtual std::string boot_id() const = 0;  ///< empty when unreadable
};

const Clock& system_clock();

/// "2026-11-30T18:00:00.123456Z".
std::string iso_time(std::int64_t wall_ns);

/// {"wall": ISO, "clock": "synced"|"unsynced", "monotonic_ns": N (string past 2^53), "boot_id": ...}.
Json time_stamp(const Clock& clock);

}  // namespace requal
