// Resampling, intervals and slices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/error.h"
#include "measure/accuracy/anomaly.h"
#include "measure/accuracy/box_match.h"
#include "measure/accuracy/detection.h"
#include "measure/accuracy/metric_table.h"
#include "measure/accuracy/slices.h"
#include "measure/accuracy/weights.h"

namespace requal::measure {
namespace {

TEST(Weights, SumUpAndDependOnSeedAndReplicateOnly) {
    std::vector<std::uint32_t> a(1000), b(1000);
    draw_weights(7, 3, a);
    draw_weights(7, 3, b);
    EXPECT_EQ(a, b);
    EXPECT_EQ(std::accumulate(a.begin(), a.end(), 0U), 1000U);
    draw_weights(7, 4, b);
    EXPECT_NE(a, b);
    draw_weights(8, 3, b);
    EXPECT_NE(a, b);
    // about 1/e of the samples is not drawn
    const auto missing = static_cast<double>(std::count(a.begin(), a.end(), 0U));
    EXPECT_NEAR(missing / 1000, std::exp(-1.0), 0.05);
}

TEST(Weights, AreTheSameOnEveryMachine) {
    std::vector<std::uint32_t> weights(5);
    draw_weights(0, 0, weights);
    const std::uint64_t first = counter_random(0, 0, 0);
    // by hand, from the documented formula
    const auto mix = [](std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    };
    const std::uint64_t golden = 0x9e3779b97f4a7c15ULL;
    EXPECT_EQ(first, mix(mix(mix(golden) + golden) + golden));
    EXPECT_GE(weights[(first >> 32) * 5 >> 32], 1U);
}

TEST(Intervals, FollowNumpysLinearRule) {
    const Interval interval = percentile_interval({4, 1, 3, 2, 5}, 0.5);
    EXPECT_DOUBLE_EQ(interval.low, 2);
    EXPECT_DOUBLE_EQ(interval.high, 4);
    EXPECT_FALSE(percentile_interval({}, 0.95).known());
    std::vector<double> values(100, 1.0);
    values[0] = NAN;
    EXPECT_TRUE(percentile_interval(values, 0.95).known());
    std::fill(values.begin(), values.begin() + 6, NAN);
    const Interval broken = percentile_interval(values, 0.95);
    EXPECT_FALSE(broken.known());
    EXPECT_EQ(broken.why_not, "undefined in 6 of 100 resamples");
}

TEST(Intervals, OfSharesAreExact) {
    EXPECT_FALSE(share_interval(0, 0, 0.95).known());
    EXPECT_EQ(share_interval(0, 10, 0.95).low, 0);
    EXPECT_NEAR(share_interval(0, 10, 0.95).high, 1 - std::pow(0.025, 0.1), 1e-12);
    EXPECT_EQ(share_interval(10, 10, 0.95).high, 1);
    EXPECT_NEAR(mcnemar_p(0, 5), 2 * std::pow(0.5, 5), 1e-12);
    EXPECT_EQ(mcnemar_p(0, 0), 1);
    EXPECT_EQ(mcnemar_p(4, 4), 1);
}

TEST(Slices, AreReadFromWords) {
    const SliceSpec spec = parse_slice("class*distance_m=0,10,25", "--slice");
    ASSERT_EQ(spec.size(), 2U);
    EXPECT_EQ(spec[1].bounds, (std::vector<double>{0, 10, 25}));
    EXPECT_EQ(band_of(spec[1].bounds, 10), 1);
    EXPECT_EQ(band_of(spec[1].bounds, 25), 1);
    EXPECT_EQ(band_of(spec[1].bounds, 25.1), -1);
    EXPECT_EQ(band_of(spec[1].bounds, -0.1), -1);
    EXPECT_EQ(band_of(spec[1].bounds, NAN), -1);
    for (const char* bad : {"", "colour", "d=", "d=1", "d=2,1", "d=1,x", "class*class", "=1,2"}) {
        EXPECT_THROW(parse_slice(bad, "--slice"), Error) << bad;
    }
}

/// Weights of w must give what the same set with every image w times gives.
TEST(Resampling, AWeightIsARepeatedImage) {
    LabelledBoxes once, repeated;
    DetectedBoxes found_once, found_repeated;
    const std::vector<std::uint32_t> weights = {2, 0, 3, 1};
    once.categories = repeated.categories = {{1, "a"}};
    std::int64_t next = 1;
    for (std::uint32_t i = 0; i < 4; ++i) {
        once.images.push_back({i, "x"});
        for (std::uint32_t copy = 0; copy < std::max(1U, weights[i]); ++copy) {
            const auto image = static_cast<std::uint32_t>(repeated.images.size());
            if (copy < weights[i]) {
                repeated.images.push_back({image, "x"});
            }
            const auto add = [&](LabelledBoxes& set, DetectedBoxes& found, std::uint32_t at) {
                for (int g = 0; g < 3; ++g) {
                    LabelledBox box;
                    box.x = 100.0 * g;
                    box.width = box.height = 10;
                    box.area = 100;
                    box.id = next++;
                    box.image = at;
                    set.boxes.push_back(box);
                }
                // scores differ between images, so that no order of equal ones matters
                for (int d = 0; d < 4; ++d) {
                    DetectedBox box;
                    box.x = 100.0 * d + i;
                    box.width = box.height = 10;
                    box.score = 0.9 - 0.2 * d + 0.01 * i;
                    box.image = at;
                    found.boxes.push_back(box);
                }
            };
            if (copy == 0) {
                add(once, found_once, i);
            }
            if (copy < weights[i]) {
                add(repeated, found_repeated, image);
            }
        }
    }
    const std::vector<BoxView> views(1);
    ScoreScratch scratch;
    const CategoryScores by_weight =
        score_category(match_category(once, found_once, 0, views)[0], weights, scratch);
    const CategoryScores by_copies =
        score_category(match_category(repeated, found_repeated, 0, views)[0], {}, scratch);
    EXPECT_GT(by_weight.ap50_95, 0.1);
    EXPECT_LT(by_weight.ap50_95, 0.9);
    EXPECT_NEAR(by_weight.ap50_95, by_copies.ap50_95, 1e-12);
    EXPECT_NEAR(by_weight.ap75, by_copies.ap75, 1e-12);
    EXPECT_NEAR(by_weight.ar1, by_copies.ar1, 1e-12);
    EXPECT_NEAR(by_weight.ar100, by_copies.ar100, 1e-12);
}

TEST(Resampling, ThreadsDoNotMatter) {
    LabelledBoxes set;
    DetectedBoxes found;
    set.categories = {{1, "a"}, {2, "b"}, {3, "c"}};
    for (std::uint32_t i = 0; i < 50; ++i) {
        set.images.push_back({i, "x"});
    }
    for (std::uint32_t c = 0; c < 3; ++c) {
        for (std::uint32_t i = 0; i < 50; ++i) {
            LabelledBox object;
            object.width = object.height = 20;
            object.area = 400;
            object.id = 1 + i + 50 * c;
            object.image = i;
            object.category = c;
            set.boxes.push_back(object);
            DetectedBox box;
            box.x = i % (3 + c);
            box.width = box.height = 20;
            box.score = 1.0 / (1 + i % 7);
            box.image = i;
            box.category = c;
            found.boxes.push_back(box);
        }
    }
    DetectionOptions options;
    options.bootstrap.replicates = 64;
    options.slices = {parse_slice("class", "test")};
    const auto run = [&](int threads) {
        options.bootstrap.threads = threads;
        const Evaluation result = evaluate_detection(set, &found, found, options);
        return write_json(result.overall.to_json()) + write_json(result.slices.at(2).to_json());
    };
    const std::string alone = run(1);
    EXPECT_EQ(run(4), alone);
    EXPECT_EQ(run(64), alone);
}

TEST(Regions, TouchAtCorners) {
    const std::vector<std::uint8_t> mask = {1, 0, 0, 0,  //
                                            0, 1, 0, 1,  //
                                            0, 0, 0, 1};
    std::vector<std::uint32_t> regions;
    EXPECT_EQ(label_regions(mask, 3, 4, regions), (std::vector<std::uint64_t>{2, 2}));
    EXPECT_EQ(regions[0], regions[5]);
    EXPECT_NE(regions[0], regions[7]);
}

}  // namespace
}  // namespace requal::measure
