// Thirty days of a run every hour take less than 200 MB; CI_FULL=1 writes all 720, without it half a day is held to their share.
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/check.h"
#include "store/steps.h"

namespace requal::store {
namespace {

constexpr std::uint64_t month_hours = 30 * 24;
constexpr std::uint64_t limit_bytes = 200'000'000;

class HourlyClock final : public Clock {
public:
    std::int64_t wall_ns() const override { return 1'796'000'000'000'000'000 + now_ns_; }
    std::int64_t monotonic_ns() const override { return now_ns_; }
    bool synchronised() const override { return true; }
    std::string boot_id() const override { return "6f1a1c1e-0000-4000-8000-000000000000"; }
    void next_hour() { now_ns_ += 3'600'000'000'000; }

private:
    std::int64_t now_ns_ = 0;
};

/// What cannot be shared between runs or made smaller.
std::string noise(std::mt19937_64& random, std::size_t size_bytes) {
    std::string bytes;
    while (bytes.size() < size_bytes) {
        const std::uint64_t word = random();
        bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    bytes.resize(size_bytes);
    return bytes;
}

/// As `du` counts: blocks of every file, once for each inode.
std::uint64_t disk_bytes(const std::string& folder) {
    std::set<std::pair<dev_t, ino_t>> seen;
    std::uint64_t sum = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        struct stat status {};
        if (::lstat(entry.path().c_str(), &status) == 0 &&
            seen.emplace(status.st_dev, status.st_ino).second)
            sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return sum;
}

TEST(StoreMonth, HourlyRunsOfThirtyDaysStayBelow200MB) {
    const char* full = std::getenv("CI_FULL");
    const bool whole_month = full != nullptr && *full != '\0' && std::string_view(full) != "0";
    const std::uint64_t hours = whole_month ? month_hours : 12;
    const TemporaryFolder folder;
    HourlyClock clock;
    StoreOptions options;
    options.access = Access::create;
    options.clock = &clock;
    std::mt19937_64 random(4);
    const std::string engine = noise(random, 1'600'000);  // built again from equal inputs: one blob
    {
        Store store(folder.path() + "/s", options);
        for (std::uint64_t hour = 0; hour < hours; ++hour, clock.next_hour()) {
            WorkRequest request;
            request.kind = "qualify";
            request.key = "parts-inspection";
            request.identity = "sha256:0";
            request.id = "run-" + std::to_string(hour);
            Work work(store, request);
            ItemInfo run;
            // Sizes of the files of examples/ run for real: record 26 kB, report 27 kB, 400 durations, a result of each step.
            for (const auto& [step, size] : {std::pair<const char*, std::size_t>{"build", 7'000},
                                             {"parity", 16'000},
                                             {"repeatability", 3'000},
                                             {"latency", 8'000}}) {
                const Json inputs = Json::object({{"hour", hour}, {"step", step}});
                work.start_step(step, inputs);
                Batch batch(store);
                StepResult result;
                result.blobs.emplace("(result)", batch.add_bytes(noise(random, size)).digest);
                if (std::string_view(step) == "build")
                    result.blobs.emplace("engine", batch.add_bytes(engine).digest);
                work.finish_step(step, inputs, result, batch);
            }
            Batch batch(store);
            for (const auto& [name, size] :
                 {std::pair<const char*, std::size_t>{"record.json", 26'000},
                  {"report.html", 28'000},
                  {"latency_ns.npy", 3'328}})
                run.files.emplace(name, batch.add_bytes(noise(random, size)).digest);
            run.name = request.id;
            run.kind = "run";
            run.summary = Json::object({{"verdict", "pass"}, {"protocol", "parts-inspection"}});
            batch.add_reference(run.files.at("record.json"), run);
            work.finish(Json::object({{"verdict", "pass"}}), batch);
        }
    }
    const std::uint64_t bytes = disk_bytes(folder.path());
    std::cout << hours << " hourly runs: " << static_cast<double>(bytes) / 1e6
              << " MB on the disk, "
              << static_cast<double>(bytes) / static_cast<double>(hours) * month_hours / 1e6
              << " MB a month (below " << limit_bytes / 1'000'000 << ")\n";
    // What every store has once counts whole, however few hours there are.
    EXPECT_LT(bytes, limit_bytes * hours / month_hours + (whole_month ? 0 : 4'000'000));
    EXPECT_TRUE(check_store(folder.path() + "/s").clean());
}

}  // namespace
}  // namespace requal::store
