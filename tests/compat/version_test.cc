// Versions of every form, and comparisons that do not invent numbers.
#include <gtest/gtest.h>

#include "compat/version.h"

namespace requal::compat {
namespace {

Version of(std::string_view text) {
    const auto version = parse_version(text);
    EXPECT_TRUE(version) << text;
    return version.value_or(Version{});
}

TEST(Version, FormsThatPackagesAndPeopleWrite) {
    using Numbers = std::vector<std::uint32_t>;
    EXPECT_EQ(of("10.3.0.26-1+cuda12.5").numbers, (Numbers{10, 3, 0, 26}));
    EXPECT_EQ(of("10.3.0.26-1+cuda12.5").revision, "1");
    EXPECT_EQ(of("10.3.0.26-1+cuda12.5").cuda, "12.5");
    EXPECT_EQ(of("8.5.2-1+cuda11.4").numbers, (Numbers{8, 5, 2}));
    EXPECT_EQ(of("8.5.2-1+cuda11.4").cuda, "11.4");
    EXPECT_EQ(of("11.4").numbers, (Numbers{11, 4}));
    EXPECT_EQ(of("v10.16").numbers, (Numbers{10, 16}));
    EXPECT_EQ(of("r36.4.3").numbers, (Numbers{36, 4, 3}));
    EXPECT_EQ(of("1:2.3-4ubuntu1").numbers, (Numbers{2, 3}));
    EXPECT_EQ(of("1:2.3-4ubuntu1").revision, "4ubuntu1");
    EXPECT_EQ(of("2026.4.1-22982-e213a147257-releases/2026/4").numbers, (Numbers{2026, 4, 1}));
    EXPECT_EQ(of("11").numbers, (Numbers{11}));
    EXPECT_EQ(of("5.0 DP").numbers, (Numbers{5, 0}));
}

TEST(Version, WhatIsNone) {
    for (const char* text : {"", "latest", "10.", "10.x", ".5", "10..3", "1234567890", "v",
                             "1.2.3.4.5.6.7.8.9", ":1.0", "x:1.0", "10,3", "cuda12.5", "-1"})
        EXPECT_FALSE(parse_version(text)) << text;
}

TEST(Version, ComparisonsWithWhatIsNotWritten) {
    EXPECT_EQ(at_least(of("11.4.0"), of("11.3.0")), Truth::yes);
    EXPECT_EQ(at_least(of("11.3.0"), of("11.4.0")), Truth::no);
    EXPECT_EQ(at_least(of("11.4"), of("11.4.1")), Truth::unknown);
    EXPECT_EQ(newer(of("11.4"), of("11.4.1")), Truth::unknown);
    EXPECT_EQ(newer(of("11.5"), of("11.4.1")), Truth::yes);
    EXPECT_EQ(at_least(of("8.6"), exactly(of("8.6"))), Truth::yes);
    EXPECT_EQ(at_least(of("8.6.1.6"), exactly(of("8.6"))), Truth::yes);
    EXPECT_EQ(at_least(of("8"), exactly(of("8.6"))), Truth::unknown);
    EXPECT_EQ(newer(of("10.16.2.10"), exactly(of("10.16.2"))), Truth::yes);
}

TEST(Version, SameNumbers) {
    EXPECT_EQ(same_numbers(of("10.3.0.26"), of("10.3.0.26-1+cuda12.5"), 4), Truth::yes);
    EXPECT_EQ(same_numbers(of("10.3.0.26"), of("10.3.0.30"), 4), Truth::no);
    EXPECT_EQ(same_numbers(of("10.3.0"), of("10.3.0.30"), 4), Truth::unknown);
    EXPECT_EQ(same_numbers(of("10.3.0"), of("10.3.0.30"), 3), Truth::yes);
    EXPECT_EQ(same_numbers(of("10"), of("11.3.0.30"), 4), Truth::no);
}

}  // namespace
}  // namespace requal::compat
