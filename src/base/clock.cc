#include "base/clock.h"

#include <sys/timex.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/error.h"
#include "base/file.h"

namespace requal {
namespace {

std::int64_t read_clock(clockid_t id) {
    timespec time{};
    ::clock_gettime(id, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

class SystemClock final : public Clock {
public:
    std::int64_t wall_ns() const override { return read_clock(CLOCK_REALTIME); }
    std::int64_t monotonic_ns() const override { return read_clock(CLOCK_MONOTONIC); }
    bool synchronised() const override {
        timex state{};  // modes 0: only asks
        const int answer = ::adjtimex(&state);
        return answer >= 0 && answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
    }
    std::string boot_id() const override {
        try {
            std::string id = read_file("/proc/sys/kernel/random/boot_id", 256);
            while (!id.empty() && id.back() == '\n')
                id.pop_back();
            return id;
        } catch (const Error&) {
            return {};
        }
    }
};

}  // namespace

const Clock& system_clock() {
    static const SystemClock clock;
    return clock;
}

std::string iso_time(std::int64_t wall_ns) {
    using namespace std::chrono;
    const sys_time<nanoseconds> point{nanoseconds(wall_ns)};
    const sys_days day = floor<days>(point);
    const year_month_day date(day);
    const hh_mm_ss<nanoseconds> time(point - day);
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                  static_cast<int>(time.minutes().count()),
                  static_cast<int>(time.seconds().count()),
                  static_cast<int>(time.subseconds().count() / 1000));
    return text;
}

Json time_stamp(const Clock& clock) {
    return Json::object({{"wall", iso_time(clock.wall_ns())},
                         {"clock", clock.synchronised() ? "synced" : "unsynced"},
                         {"monotonic_ns", static_cast<std::uint64_t>(clock.monotonic_ns())},
                         {"boot_id", clock.boot_id()}});
}

}  // namespace requal
