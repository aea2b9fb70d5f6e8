#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/input_request.h"
#include "data/inputs.h"
#include "tensor/npy.h"

namespace requal::data {
namespace {

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return std::string(name_of(error.kind())) + ": " + error.what();
    }
    return "no error";
}

Tensor floats(const Shape& shape, float first = 0) {
    Tensor tensor(ElementType::float32, shape);
    for (float& value : tensor.mutable_values<float>()) {
        value = first++;
    }
    return tensor;
}

const std::vector<InputPort> image = {{"image", ElementType::float32, {-1, 3, 2, 2}}};

TEST(RandomInputs, EqualForEqualSeedAndOtherwiseNot) {
    const std::map<std::string, Shape> shapes = {{"image", {1, 3, 2, 2}}};
    const auto first = random_inputs(image, 3, 7, shapes);
    const auto again = random_inputs(image, 3, 7, shapes);
    const auto other = random_inputs(image, 3, 8, shapes);
    EXPECT_EQ(digest_of_sample(first->sample(2)), digest_of_sample(again->sample(2)));
    EXPECT_NE(digest_of_sample(first->sample(2)), digest_of_sample(other->sample(2)));
    EXPECT_NE(digest_of_sample(first->sample(2)), digest_of_sample(first->sample(1)));
    EXPECT_EQ(first->describe().at("algorithm").as_string(), "splitmix64-by-name/1");
    EXPECT_EQ(first->size(), 3U);
}

TEST(RandomInputs, ValuesStayInTheirRange) {
    const std::vector<InputPort> ports = {{"f", ElementType::float16, {4096}},
                                          {"i", ElementType::int8, {4096}},
                                          {"one", ElementType::float32, {8}}};
    const auto inputs =
        random_inputs(ports, 1, 3, {}, {{"f", {-1, 1}}, {"i", {-128, 127}}, {"one", {2, 2}}});
    const NamedTensors sample = inputs->sample(0);
    for (std::uint64_t i = 0; i < 4096; ++i) {
        EXPECT_GE(sample[0].second.number_at(i), -1);
        EXPECT_LT(sample[0].second.number_at(i), 1);
    }
    const auto bytes = sample[1].second.values<std::int8_t>();
    EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), -128);
    EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 127);
    EXPECT_EQ(sample[2].second.number_at(5), 2);
}

TEST(RandomInputs, WhatCannotBeMadeIsSaid) {
    EXPECT_NE(message_of([] { random_inputs(image, 1, 0, {}); })
                  .find("usage: input 'image' has dynamic axes: ?x3x2x2; fix them, for example "
                        "--shape image:1x3x2x2"),
              std::string::npos);
    EXPECT_NE(message_of([] {
                  random_inputs(image, 1, 0, {{"imge", {1, 3, 2, 2}}});
              }).find("no input 'imge'"),
              std::string::npos);
    EXPECT_NE(message_of([] {
                  random_inputs(image, 1, 0, {{"image", {1, 4, 2, 2}}});
              }).find("does not fit"),
              std::string::npos);
    EXPECT_NE(message_of([] {
                  random_inputs(image, 1, 0, {{"image", {1, 3}}});
              }).find("does not fit"),
              std::string::npos);
    const std::map<std::string, Shape> shapes = {{"image", {1, 3, 2, 2}}};
    EXPECT_NE(message_of([&] {
                  random_inputs(image, 1, 0, shapes, {{"x", {0, 1}}});
              }).find("no input 'x'"),
              std::string::npos);
    const std::vector<InputPort> whole = {{"i", ElementType::uint8, {4}}};
    EXPECT_NE(message_of([&] {
                  random_inputs(whole, 1, 0, {}, {{"i", {0, 256}}})->sample(0);
              }).find("whole numbers"),
              std::string::npos);
    EXPECT_NE(message_of([&] {
                  random_inputs(whole, 1, 0, {}, {{"i", {0.5, 2}}})->sample(0);
              }).find("whole numbers"),
              std::string::npos);
    const std::vector<InputPort> wave = {{"c", ElementType::complex64, {4}}};
    EXPECT_NE(
        message_of([&] { random_inputs(wave, 1, 0, {})->sample(0); }).find("has no generator"),
        std::string::npos);
    // Sizes are refused before memory is taken.
    const std::vector<InputPort> vast = {{"v", ElementType::float64, {1 << 20, 1 << 20}}};
    EXPECT_NE(message_of([&] { random_inputs(vast, 1, 0, {})->sample(0); }).find("input: "),
              std::string::npos);
}

class InputFiles : public testing::Test {
protected:
    std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
    TemporaryFolder folder_;
};

TEST_F(InputFiles, OneNpzIsOneSample) {
    write_npz_file(path("in.npz"), {{"image", floats({1, 3, 2, 2})}});
    const auto inputs = inputs_from_path(path("in.npz"), image, {});
    EXPECT_EQ(inputs->size(), 1U);
    EXPECT_EQ(inputs->sample(0)[0].second.shape(), (Shape{1, 3, 2, 2}));
    EXPECT_EQ(inputs->describe().at("kind").as_string(), "npz");
}

TEST_F(InputFiles, OneMoreLeadingAxisCountsSamples) {
    const std::vector<InputPort> two = {{"image", ElementType::float32, {-1, 2}},
                                        {"name", ElementType::string, {1}}};
    Tensor names(ElementType::string, {3, 1});
    names.strings() = {"a", "b", "c"};
    write_npz_file(path("in.npz"), {{"image", floats({3, 4, 2})}, {"name", names}});
    const auto inputs = inputs_from_path(path("in.npz"), two, {});
    ASSERT_EQ(inputs->size(), 3U);
    const NamedTensors last = inputs->sample(2);
    EXPECT_EQ(find_tensor(last, "image")->shape(), (Shape{4, 2}));
    EXPECT_EQ(find_tensor(last, "image")->values<float>()[0], 16);
    EXPECT_EQ(find_tensor(last, "name")->strings()[0], "c");
    // Lengths that disagree are no samples.
    write_npz_file(path("bad.npz"), {{"image", floats({2, 4, 2})}, {"name", names}});
    EXPECT_NE(message_of([&] { inputs_from_path(path("bad.npz"), two, {}); }).find("input: "),
              std::string::npos);
}

TEST_F(InputFiles, AFolderInNameOrderOrInThatOfItsList) {
    write_npz_file(path("b.npz"), {{"image", floats({1, 3, 2, 2}, 2)}});
    write_npz_file(path("a.npz"), {{"image", floats({1, 3, 2, 2}, 1)}});
    const auto inputs = inputs_from_path(folder_.path(), image, {});
    ASSERT_EQ(inputs->size(), 2U);
    EXPECT_EQ(inputs->sample_name(0), "a");
    EXPECT_EQ(inputs->sample(0)[0].second.values<float>()[0], 1);
    const std::string digest = inputs->describe().at("digest").as_string();
    write_file_atomically(
        path("samples.json"),
        R"({"schema":"samples/1","requal":"0","samples":[{"name":"second","file":"b.npz"},{"name":"first","file":"a.npz"}]})");
    const auto listed = inputs_from_path(folder_.path(), image, {});
    EXPECT_EQ(listed->sample_name(0), "second");
    EXPECT_EQ(listed->sample(0)[0].second.values<float>()[0], 2);
    EXPECT_NE(listed->describe().at("digest").as_string(), digest);
}

TEST_F(InputFiles, NpyForAModelWithOneInput) {
    write_npy_file(path("x.npy"), floats({1, 3, 2, 2}));
    EXPECT_EQ(inputs_from_path(path("x.npy"), image, {})->size(), 1U);
    EXPECT_EQ(inputs_from_path(folder_.path(), image, {})->sample(0)[0].first, "image");
    const std::vector<InputPort> two = {image[0], {"other", ElementType::float32, {1}}};
    EXPECT_NE(message_of([&] {
                  inputs_from_path(path("x.npy"), two, {});
              }).find("npy files carry no names"),
              std::string::npos);
    EXPECT_NE(message_of([&] {
                  inputs_from_path(folder_.path(), two, {});
              }).find("npy files carry no names"),
              std::string::npos);
}

TEST_F(InputFiles, WrongNameTypeOrShapeNamesFileAndArray) {
    const auto with = [&](const NamedTensors& arrays) {
        write_npz_file(path("in.npz"), arrays);
        return message_of([&] { inputs_from_path(path("in.npz"), image, {}); });
    };
    EXPECT_NE(with({{"img", floats({1, 3, 2, 2})}})
                  .find("array 'img' is no input of the model; its inputs are: image"),
              std::string::npos);
    EXPECT_NE(with({}).find("input 'image'"), std::string::npos);
    EXPECT_NE(with({{"image", Tensor(ElementType::float64, {1, 3, 2, 2})}})
                  .find("type float64 where the model wants float32"),
              std::string::npos);
    const std::string shape = with({{"image", floats({1, 4, 2, 2})}});
    EXPECT_NE(shape.find("in.npz, array 'image': shape 1x4x2x2 where the model wants ?x3x2x2"),
              std::string::npos)
        << shape;
    write_npz_file(path("in.npz"), {{"image", floats({2, 3, 2, 2})}});
    EXPECT_NE(message_of([&] {
                  inputs_from_path(path("in.npz"), image, {{"image", {1, 3, 2, 2}}});
              }).find("wants 1x3x2x2"),
              std::string::npos);
}

TEST_F(InputFiles, FilesThatAreNoInputs) {
    EXPECT_NE(message_of([&] { inputs_from_path(path("nosuch.npz"), image, {}); }).find("input: "),
              std::string::npos);
    EXPECT_NE(message_of([&] {
                  inputs_from_path(folder_.path(), image, {});
              }).find("holds no npz or npy files"),
              std::string::npos);
    write_file_atomically(path("text.npz"), "hello");
    EXPECT_NE(message_of([&] {
                  inputs_from_path(path("text.npz"), image, {});
              }).find("neither npy nor npz"),
              std::string::npos);
    write_npz_file(path("cut.npz"), {{"image", floats({1, 3, 2, 2})}});
    const std::string whole = read_file(path("cut.npz"));
    write_file_atomically(path("cut.npz"), whole.substr(0, whole.size() / 2));
    EXPECT_NE(message_of([&] { inputs_from_path(path("cut.npz"), image, {}); }).find("input: "),
              std::string::npos);
    EXPECT_NE(message_of([&] { inputs_from_path("/dev/null", image, {}); }).find("input: "),
              std::string::npos);
}

TEST(Samples, DigestIsOfContentNotOfOrder) {
    const NamedTensors one = {{"a", floats({2})}, {"b", floats({3})}};
    const NamedTensors two = {{"b", floats({3})}, {"a", floats({2})}};
    EXPECT_EQ(digest_of_sample(one), digest_of_sample(two));
    EXPECT_NE(digest_of_sample(one), digest_of_sample({{"a", floats({2})}, {"c", floats({3})}}));
    EXPECT_NE(digest_of_sample({{"a", floats({2, 1})}}), digest_of_sample({{"a", floats({1, 2})}}));
    EXPECT_NE(digest_of_sample({{"a", floats({2})}}),
              digest_of_sample({{"a", Tensor(ElementType::int32, {2})}}));
}

TEST(Samples, TwoArraysOfOneName) {
    EXPECT_NE(message_of([] {
                  check_sample({{"image", floats({1, 3, 2, 2})}, {"image", floats({1, 3, 2, 2})}},
                               image, "f");
              }).find("two arrays"),
              std::string::npos);
}

TEST(NamedTexts, ShapesAndRanges) {
    EXPECT_EQ(parse_named_shape("x:1x3", "--shape"), (std::pair<std::string, Shape>{"x", {1, 3}}));
    EXPECT_EQ(parse_named_shape("serving:0:2x2", "--shape").first, "serving:0");
    EXPECT_EQ(parse_named_range("serving:0:-1:2.5", "--range"),
              (std::pair<std::string, std::pair<double, double>>{"serving:0", {-1, 2.5}}));
    for (const char* text :
         {"", ":", "x", "x:", ":1x3", "x:1x", "x:-1", "x:1 x3", "x:99999999999999999999"}) {
        EXPECT_NE(message_of([&] { parse_named_shape(text, "--shape"); }).find("usage: --shape"),
                  std::string::npos)
            << text;
    }
    for (const char* text : {"", "x", "x:1", ":1:2", "x:1:", "x::1", "x:2:1", "x:a:1", "x:nan:1",
                             "x:0:inf", "x:1e999:2"}) {
        EXPECT_NE(message_of([&] { parse_named_range(text, "--range"); }).find("usage: --range"),
                  std::string::npos)
            << text;
    }
}

TEST(InputRequests, OneSourceOnly) {
    InputRequest request;
    EXPECT_NE(message_of([&] { open_inputs(request, image); }).find("no inputs are given"),
              std::string::npos);
    request.random = 1;
    request.path = "x";
    EXPECT_NE(message_of([&] { check_request(request); }).find("exclude each other"),
              std::string::npos);
    request.random.reset();
    EXPECT_NE(message_of([&] { check_request(request); }).find("input: x"), std::string::npos);
}

}  // namespace
}  // namespace requal::data
