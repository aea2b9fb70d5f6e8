#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "measure/numerics/default_tolerance.h"
#include "measure/numerics/difference.h"

namespace requal::measure {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float inf_value = std::numeric_limits<float>::infinity();

Tensor floats(const Shape& shape, const std::vector<float>& values) {
    Tensor tensor(ElementType::float32, shape);
    EXPECT_EQ(tensor.count(), values.size());
    std::copy(values.begin(), values.end(), tensor.mutable_values<float>().begin());
    return tensor;
}

Tensor row(const std::vector<float>& values) {
    return floats({static_cast<std::int64_t>(values.size())}, values);
}

Difference difference_of(const std::vector<float>& reference, const std::vector<float>& candidate,
                         Tolerance tolerance = {}) {
    Difference difference(tolerance);
    difference.add(row(reference), row(candidate));
    return difference;
}

TEST(Difference, NothingComparedIsUndecidable) {
    EXPECT_EQ(Difference(Tolerance{}).verdict(), Verdict::undecidable);
    Difference empty({1, 1});
    empty.add(row({}), row({}));
    EXPECT_EQ(empty.verdict(), Verdict::undecidable);
    EXPECT_EQ(empty.samples(), 1U);
}

TEST(Difference, TheTwoRules) {
    // |a - b| = 0.3; atol 0.2, rtol * |b| = 0.2: the sum holds it, neither bound alone does.
    EXPECT_EQ(difference_of({2}, {2.3F}, {0.2, 0.1, ToleranceRule::sum}).verdict(), Verdict::pass);
    EXPECT_EQ(difference_of({2}, {2.3F}, {0.2, 0.1, ToleranceRule::either}).verdict(),
              Verdict::fail);
    EXPECT_EQ(difference_of({2}, {2.3F}, {0.4, 0, ToleranceRule::either}).verdict(), Verdict::pass);
    EXPECT_EQ(difference_of({2}, {2.3F}, {0, 0.2, ToleranceRule::either}).verdict(), Verdict::pass);
}

TEST(Difference, TheBoundItselfPasses) {
    EXPECT_EQ(difference_of({1}, {1.5F}, {0.5, 0}).outside(), 0U);
    EXPECT_EQ(difference_of({1}, {1.5F}, {std::nextafter(0.5, 0.0), 0}).outside(), 1U);
}

TEST(Difference, NonFiniteFailsUnlessAcceptedAtTheSamePlace) {
    EXPECT_EQ(difference_of({1, nan_value}, {1, nan_value}, {1, 1}).verdict(), Verdict::fail);
    EXPECT_EQ(difference_of({1, nan_value}, {1, nan_value}, {1, 1}).outside(), 0U);
    const Tolerance accepting{1, 1, ToleranceRule::sum, true};
    EXPECT_EQ(difference_of({1, nan_value}, {1, nan_value}, accepting).verdict(), Verdict::pass);
    EXPECT_EQ(difference_of({1, inf_value}, {1, inf_value}, accepting).verdict(), Verdict::pass);
    EXPECT_EQ(difference_of({1, inf_value}, {1, -inf_value}, accepting).verdict(), Verdict::fail);
    EXPECT_EQ(difference_of({1, 2}, {1, nan_value}, accepting).verdict(), Verdict::fail);
    EXPECT_EQ(difference_of({1, inf_value}, {1, 2}, accepting).verdict(), Verdict::fail);
}

TEST(Difference, NonFiniteLeavesTheOtherNumbersAlone) {
    const Difference difference = difference_of({1, 2, 3}, {1.5F, nan_value, 3}, {0, 0});
    EXPECT_DOUBLE_EQ(difference.max_abs(), 0.5);
    EXPECT_DOUBLE_EQ(difference.mean_abs(), 0.25);
    EXPECT_EQ(difference.nan(), 1U);
    EXPECT_EQ(difference.nonfinite_pairs(), 1U);
    EXPECT_EQ(difference.outside(), 2U);
    EXPECT_EQ(difference.worst_index(), 1U);
    const Json json = difference.to_json("y");
    EXPECT_TRUE(json.at("worst").at("candidate").is_null());
    EXPECT_EQ(json.at("worst").at("nonfinite").at("candidate").as_string(), "nan");
    EXPECT_EQ(json.at("verdict").as_string(), "fail");
}

TEST(Difference, WhatWouldHavePassedPasses) {
    const std::vector<float> reference = {1, -2, 3, 0, 100};
    const std::vector<float> candidate = {1.25F, -2.5F, 3, 0.125F, 101};
    for (const ToleranceRule rule : {ToleranceRule::sum, ToleranceRule::either}) {
        const Difference difference = difference_of(reference, candidate, {0.125, 0.0078125, rule});
        EXPECT_EQ(difference.verdict(), Verdict::fail);
        EXPECT_EQ(difference_of(reference, candidate, {difference.needed_atol(), 0.0078125, rule})
                      .verdict(),
                  Verdict::pass);
        EXPECT_EQ(
            difference_of(reference, candidate, {0.125, difference.needed_rtol(), rule}).verdict(),
            Verdict::pass);
        EXPECT_EQ(
            difference_of(reference, candidate, {difference.needed_atol() * 0.999, 0.0078125, rule})
                .verdict(),
            Verdict::fail);
        EXPECT_EQ(
            difference_of(reference, candidate, {0.125, difference.needed_rtol() * 0.999, rule})
                .verdict(),
            Verdict::fail);
    }
    EXPECT_TRUE(std::isinf(difference_of({0}, {1}).needed_rtol()));
}

TEST(Difference, TheWorstElementOfManySamples) {
    Difference difference({0, 0});
    difference.add(floats({2, 2}, {0, 0, 0, 0}), floats({2, 2}, {0, 0.5F, 0, 0}));
    difference.add(floats({2, 2}, {0, 0, 0, 0}), floats({2, 2}, {0, 0, 4, 0}));
    difference.add(floats({2, 2}, {0, 0, 0, 0}), floats({2, 2}, {4, 0, 0, 0}));
    EXPECT_EQ(difference.worst_sample(), 1U);
    EXPECT_EQ(difference.worst_index(), 2U);
    const Json worst = difference.to_json("y").at("worst");
    EXPECT_EQ(worst.at("index"), Json::array({1, 0}));
    EXPECT_DOUBLE_EQ(worst.at("candidate").as_number(), 4);
}

TEST(Difference, MergeIsAsIfSeenInOneGo) {
    const std::vector<std::vector<float>> references = {
        {1, 2, 3, 4, 5}, {0, 0, nan_value, 1, 2}, {-1, 7, 8, 9, 10}};
    const std::vector<std::vector<float>> candidates = {
        {1, 2.5F, 3, 4, 5}, {0, 1, nan_value, inf_value, 2}, {-1, 7, 8, 9.25F, 10}};
    Difference whole({0.1, 0.1}), first({0.1, 0.1}), rest({0.1, 0.1});
    for (std::size_t i = 0; i < references.size(); ++i) {
        whole.add(row(references[i]), row(candidates[i]));
        (i == 0 ? first : rest).add(row(references[i]), row(candidates[i]));
    }
    first.merge(rest);
    EXPECT_EQ(first.to_json("y"), whole.to_json("y"));
    EXPECT_EQ(first.worst_sample(), 1U);
    EXPECT_EQ(first.worst_index(), 3U);
}

TEST(Difference, WhatCannotBeComparedIsSaid) {
    Difference difference({1, 1});
    EXPECT_THROW(difference.add(row({1, 2}), row({1, 2, 3})), Error);
    EXPECT_THROW(difference.add(floats({2, 1}, {1, 2}), row({1, 2})), Error);
    EXPECT_THROW(difference.add(row({1}), Tensor(ElementType::int32, {1})), Error);
    EXPECT_THROW(difference.add(Tensor(ElementType::string, {1}), row({1})), Error);
    EXPECT_THROW(
        difference.add(Tensor(ElementType::complex64, {1}), Tensor(ElementType::complex64, {1})),
        Error);
    EXPECT_EQ(difference.count(), 0U);
    try {
        difference.add(row({1, 2}), row({1, 2, 3}));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_STREQ(error.what(), "shape 3 is not the reference's 2");
    }
}

TEST(Difference, BooleansAndBytesThatAreNotOne) {
    // Booleans come from outside: every byte that is not zero is true.
    Tensor left(ElementType::boolean, {3}), right(ElementType::boolean, {3});
    left.mutable_bytes()[0] = std::byte{1};
    right.mutable_bytes()[0] = std::byte{255};
    right.mutable_bytes()[2] = std::byte{1};
    Difference difference({0, 0});
    difference.add(left, right);
    EXPECT_EQ(difference.outside(), 1U);
    EXPECT_EQ(difference.exact(), 2U);
}

TEST(Difference, RuleWords) {
    EXPECT_EQ(parse_tolerance_rule("sum"), ToleranceRule::sum);
    EXPECT_EQ(parse_tolerance_rule("either"), ToleranceRule::either);
    EXPECT_THROW(parse_tolerance_rule("both"), Error);
}

TEST(DefaultTolerance, TheCoarsestPrecisionDecides) {
    const DefaultTolerances table;
    const Json plain = Json::object();
    const Json half_engine = Json::object(
        {{"facts", Json::object({{"precision", Json::object({{"executed", "f16"}})}})}});
    const SourcedTolerance single = table.choose(ElementType::float32, ElementType::float32, plain);
    EXPECT_DOUBLE_EQ(single.tolerance.atol, 1e-5);
    EXPECT_NE(single.source.find("rules/tolerances.yaml: float32 ("), std::string::npos)
        << single.source;
    EXPECT_DOUBLE_EQ(table.choose(ElementType::float32, ElementType::float16, plain).tolerance.atol,
                     1e-3);
    EXPECT_DOUBLE_EQ(
        table.choose(ElementType::float32, ElementType::float32, half_engine).tolerance.atol, 1e-3);
    EXPECT_DOUBLE_EQ(
        table.choose(ElementType::float32, ElementType::bfloat16, plain).tolerance.rtol, 1.6e-2);
    const SourcedTolerance whole =
        table.choose(ElementType::int64, ElementType::int64, half_engine);
    EXPECT_EQ(whole.tolerance.atol, 0);
    EXPECT_EQ(whole.tolerance.rtol, 0);
}

}  // namespace
}  // namespace requal::measure
