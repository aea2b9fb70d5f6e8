#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "measure/timing/latency.h"

namespace requal::measure {
namespace {

constexpr double ms = 1e-6;  // in nanoseconds

/// n durations of 1, 2, ... n milliseconds, the longest first: a rank is then its own value in milliseconds.
std::vector<std::int64_t> ranks(std::int64_t n) {
    std::vector<std::int64_t> durations(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        durations[static_cast<std::size_t>(i)] = (n - i) * 1'000'000;
    }
    return durations;
}

TEST(Latency, IntervalsAreThoseOfScipy) {
    std::ifstream file("data/latency_intervals.csv");
    ASSERT_TRUE(file) << "run in tests/measure";
    int lines = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) {
            continue;
        }
        std::istringstream fields(line);
        std::int64_t samples = 0, rank = 0, lower = 0, upper = 0;
        double q = 0;
        char comma = 0;
        ASSERT_TRUE(fields >> samples >> comma >> q >> comma >> rank >> comma >> lower >> comma >>
                    upper)
            << line;
        ++lines;
        const LatencyStatistics statistics(ranks(samples));
        const auto percentile = statistics.percentile(q);
        const bool borne = static_cast<double>(samples) * (1 - q) >= 1 - 1e-9;
        ASSERT_EQ(percentile.has_value(), borne) << line;
        if (!percentile) {
            continue;
        }
        EXPECT_DOUBLE_EQ(percentile->value_ms, static_cast<double>(rank)) << line;
        ASSERT_EQ(percentile->ci_low_ms.has_value(), lower > 0) << line;
        ASSERT_EQ(percentile->ci_high_ms.has_value(), upper > 0) << line;
        if (lower > 0) {
            EXPECT_DOUBLE_EQ(*percentile->ci_low_ms, static_cast<double>(lower)) << line;
        }
        if (upper > 0) {
            EXPECT_DOUBLE_EQ(*percentile->ci_high_ms, static_cast<double>(upper)) << line;
        }
    }
    EXPECT_EQ(lines, 66);
}

TEST(Latency, PlainNumbers) {
    const std::vector<std::int64_t> durations = {4'000'000, 1'000'000, 3'000'000, 2'000'000};
    const LatencyStatistics statistics(durations);
    EXPECT_EQ(statistics.samples(), 4U);
    EXPECT_DOUBLE_EQ(statistics.mean_ms(), 2.5);
    EXPECT_DOUBLE_EQ(statistics.min_ms(), 1);
    EXPECT_DOUBLE_EQ(statistics.max_ms(), 4);
    EXPECT_NEAR(statistics.standard_deviation_ms(), 1.2909944487358056, 1e-15);
    EXPECT_DOUBLE_EQ(statistics.percentile(0.5)->value_ms, 2);
    EXPECT_EQ(statistics.sorted_ns().front(), 1'000'000);
}

TEST(Latency, WhatTheSamplesCannotBearIsNamed) {
    const Json few = LatencyStatistics(ranks(30)).to_json();
    EXPECT_TRUE(few.at("p99_ms").is_null());
    EXPECT_DOUBLE_EQ(few.at("p50_ms").as_number(), 15);
    std::string unknown;
    for (const Json& line : few.at("unknown").as_array()) {
        unknown += line.as_string() + "\n";
    }
    EXPECT_NE(unknown.find("p99_ms: 30 samples cannot bear it; it needs 100"), std::string::npos)
        << unknown;
    const Json many = LatencyStatistics(ranks(1000)).to_json();
    EXPECT_EQ(many.at("unknown").size(), 0U);
    EXPECT_DOUBLE_EQ(many.at("p99_ms").as_number(), 990);
}

TEST(Latency, EmptySeries) {
    const LatencyStatistics statistics(std::vector<std::int64_t>{});
    EXPECT_FALSE(statistics.percentile(0.5));
    EXPECT_EQ(statistics.to_json().at("samples").as_integer(), 0);
    EXPECT_TRUE(statistics.to_json().at("p50_ms").is_null());
}

TEST(Latency, EqualDurationsHaveAnIntervalOfNoWidth) {
    const std::vector<std::int64_t> durations(500, 7'000'000);
    const auto p50 = LatencyStatistics(durations).percentile(0.5);
    ASSERT_TRUE(p50 && p50->ci_low_ms && p50->ci_high_ms);
    EXPECT_DOUBLE_EQ(*p50->ci_low_ms, 7'000'000 * ms);
    EXPECT_DOUBLE_EQ(*p50->ci_high_ms, 7'000'000 * ms);
}

}  // namespace
}  // namespace requal::measure
