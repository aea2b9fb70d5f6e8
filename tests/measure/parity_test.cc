#include <algorithm>
#include <atomic>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "measure/numerics/output_writer.h"
#include "measure/numerics/parity.h"
#include "tensor/npy.h"

namespace requal::measure {
namespace {

Tensor row(const std::vector<float>& values) {
    Tensor tensor(ElementType::float32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.mutable_values<float>().begin());
    return tensor;
}

Tensor words(const std::vector<std::string>& values) {
    Tensor tensor(ElementType::string, {static_cast<std::int64_t>(values.size())});
    tensor.strings() = values;
    return tensor;
}

/// Inputs x = [i, i + 1].
class Counting final : public data::InputSource {
public:
    explicit Counting(std::uint64_t count) : count_(count) {}
    std::uint64_t size() const override { return count_; }
    NamedTensors sample(std::uint64_t index) const override {
        const auto value = static_cast<float>(index);
        return {{"x", row({value, value + 1})}};
    }
    std::string sample_name(std::uint64_t index) const override {
        return "s" + std::to_string(index);
    }
    Json describe() const override { return Json::object({{"kind", "random"}}); }

private:
    std::uint64_t count_;
};

using Compute = std::function<NamedTensors(std::uint64_t, const NamedTensors&)>;
std::atomic<int> open_sides{0};
std::atomic<int> most_open{0};

/// A side that computes in this process, in one buffer that it uses again, as runners do.
class Computed final : public OutputSource {
public:
    explicit Computed(Compute compute) : compute_(std::move(compute)) {
        most_open = std::max(most_open.load(), ++open_sides);
    }
    ~Computed() override { --open_sides; }
    NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) override {
        NamedTensors computed = compute_(index, inputs);
        if (computed.size() != 1 || computed[0].second.type() == ElementType::string) {
            return computed;
        }
        const auto bytes = computed[0].second.bytes();
        buffer_.assign(bytes.begin(), bytes.end());
        return {{computed[0].first,
                 Tensor(computed[0].second.type(), computed[0].second.shape(), buffer_, nullptr)}};
    }
    Json describe() const override { return Json::object({{"kind", "runner"}}); }

private:
    Compute compute_;
    std::vector<std::byte> buffer_;
};

OpenSide side(Compute compute) {
    return [compute = std::move(compute)] { return std::make_unique<Computed>(compute); };
}

Compute scaled(float factor, const std::string& name = "y") {
    return [factor, name](std::uint64_t, const NamedTensors& inputs) -> NamedTensors {
        const auto values = inputs[0].second.values<float>();
        return {{name, row({values[0] * factor, values[1] * factor})}};
    };
}

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

class Parity : public testing::TestWithParam<bool> {
protected:
    ParityOptions options() const {
        ParityOptions result;
        result.parallel = GetParam();
        result.progress_name.clear();
        return result;
    }
};

INSTANTIATE_TEST_SUITE_P(Turns, Parity, testing::Values(false, true),
                         [](const auto& turn) { return turn.param ? "together" : "in_turn"; });

TEST_P(Parity, EqualSidesPass) {
    most_open = 0;
    const ParityResult result =
        compare_outputs(Counting(20), side(scaled(2)), side(scaled(2)), options());
    EXPECT_EQ(result.verdict, Verdict::pass);
    EXPECT_EQ(result.samples, 20U);
    ASSERT_EQ(result.outputs.size(), 1U);
    EXPECT_EQ(result.outputs[0].second.count(), 40U);
    EXPECT_EQ(result.outputs[0].second.exact(), 40U);
    EXPECT_EQ(result.reference.at("kind").as_string(), "runner");
    EXPECT_EQ(most_open, GetParam() ? most_open.load() : 1);  // in turn: never both
    EXPECT_EQ(open_sides, 0);
}

TEST_P(Parity, OneWrongSampleIsFoundAndNamed) {
    const Compute wrong = [](std::uint64_t index, const NamedTensors& inputs) {
        return scaled(index == 13 ? 3.0F : 2.0F)(index, inputs);
    };
    const ParityResult result =
        compare_outputs(Counting(20), side(scaled(2)), side(wrong), options());
    EXPECT_EQ(result.verdict, Verdict::fail);
    EXPECT_EQ(result.outputs[0].second.worst_sample(), 13U);
    EXPECT_EQ(result.outputs[0].second.outside(), 2U);
}

TEST_P(Parity, NamesThatDoNotMatch) {
    const std::string message = message_of([&] {
        compare_outputs(Counting(2), side(scaled(1, "y")), side(scaled(1, "z")), options());
    });
    EXPECT_NE(message.find("the reference has y; the candidate has z"), std::string::npos)
        << message;
    EXPECT_NE(message.find("--map REF=CAND"), std::string::npos) << message;
    ParityOptions mapped = options();
    mapped.output_names = {{"y", "z"}};
    EXPECT_EQ(
        compare_outputs(Counting(2), side(scaled(1, "y")), side(scaled(1, "z")), mapped).verdict,
        Verdict::pass);
    mapped.output_names = {{"y", "w"}};
    EXPECT_NE(message_of([&] {
                  compare_outputs(Counting(2), side(scaled(1, "y")), side(scaled(1, "z")), mapped);
              }).find("--map y=w"),
              std::string::npos);
}

TEST_P(Parity, MoreOutputsThanTheOtherSideHas) {
    const Compute two = [](std::uint64_t, const NamedTensors&) -> NamedTensors {
        return {{"y", row({1})}, {"extra", row({2})}};
    };
    const Compute one = [](std::uint64_t, const NamedTensors&) -> NamedTensors {
        return {{"y", row({1})}};
    };
    EXPECT_NE(message_of([&] {
                  compare_outputs(Counting(1), side(one), side(two), options());
              }).find("outputs do not match"),
              std::string::npos);
    ParityOptions only = options();
    only.only = {"y"};
    EXPECT_EQ(compare_outputs(Counting(1), side(one), side(two), only).verdict, Verdict::pass);
    EXPECT_EQ(compare_outputs(Counting(1), side(two), side(one), only).verdict, Verdict::pass);
    only.only = {"nosuch"};
    EXPECT_NE(message_of([&] {
                  compare_outputs(Counting(1), side(two), side(one), only);
              }).find("no output 'nosuch'"),
              std::string::npos);
}

TEST_P(Parity, OtherShapesAndTypes) {
    const Compute longer = [](std::uint64_t, const NamedTensors&) -> NamedTensors {
        return {{"y", row({1, 2, 3})}};
    };
    const std::string message =
        message_of([&] { compare_outputs(Counting(1), side(scaled(1)), side(longer), options()); });
    EXPECT_EQ(message, "output 'y', sample 's0': shape 3 is not the reference's 2");
    const Compute text = [](std::uint64_t, const NamedTensors&) -> NamedTensors {
        return {{"y", words({"a", "b"})}};
    };
    EXPECT_NE(message_of([&] {
                  compare_outputs(Counting(1), side(scaled(1)), side(text), options());
              }).find("type string"),
              std::string::npos);
}

TEST_P(Parity, StringsGoThroughTheSpoolToo) {
    const Compute text = [](std::uint64_t index, const NamedTensors&) -> NamedTensors {
        return {{"label", words({"cat", std::string(index, 'x') + std::string("\0y", 2)})},
                {"score", row({0.5F})}};
    };
    const ParityResult result = compare_outputs(Counting(5), side(text), side(text), options());
    EXPECT_EQ(result.verdict, Verdict::pass);
    EXPECT_EQ(result.outputs[0].second.exact(), 10U);
    EXPECT_EQ(result.outputs[1].second.exact(), 5U);
}

TEST_P(Parity, ShapesMayDifferBetweenSamples) {
    const Compute growing = [](std::uint64_t index, const NamedTensors&) -> NamedTensors {
        return {{"y", row(std::vector<float>(index, 1.0F))}};
    };
    const ParityResult result =
        compare_outputs(Counting(5), side(growing), side(growing), options());
    EXPECT_EQ(result.outputs[0].second.count(), 10U);
}

TEST_P(Parity, AFailingSideIsReportedAsItFails) {
    const Compute failing = [](std::uint64_t index, const NamedTensors& inputs) {
        if (index == 3) {
            throw Error(ErrorKind::toolchain, "runner crashed");
        }
        return scaled(1)(index, inputs);
    };
    EXPECT_EQ(message_of(
                  [&] { compare_outputs(Counting(9), side(failing), side(scaled(1)), options()); }),
              "runner crashed");
    EXPECT_EQ(message_of(
                  [&] { compare_outputs(Counting(9), side(scaled(1)), side(failing), options()); }),
              "runner crashed");
    const OpenSide closed = []() -> std::unique_ptr<OutputSource> {
        throw Error(ErrorKind::missing, "no runner");
    };
    EXPECT_EQ(message_of([&] { compare_outputs(Counting(9), closed, side(scaled(1)), options()); }),
              "no runner");
    EXPECT_EQ(message_of([&] { compare_outputs(Counting(9), side(scaled(1)), closed, options()); }),
              "no runner");
    EXPECT_EQ(open_sides, 0);
}

TEST_P(Parity, TolerancesByOutputAndByType) {
    ParityOptions chosen = options();
    chosen.by_output = {{"y", {100, 0}}};
    EXPECT_EQ(compare_outputs(Counting(3), side(scaled(1)), side(scaled(2)), chosen).verdict,
              Verdict::pass);
    chosen.by_output = {{"nosuch", {100, 0}}};
    EXPECT_NE(message_of([&] {
                  compare_outputs(Counting(3), side(scaled(1)), side(scaled(2)), chosen);
              }).find("no output 'nosuch'"),
              std::string::npos);
    chosen.by_output.clear();
    chosen.default_tolerance = [](std::string_view output, ElementType reference, ElementType,
                                  const Json& candidate) {
        EXPECT_EQ(output, "y");
        EXPECT_EQ(reference, ElementType::float32);
        EXPECT_EQ(candidate.at("kind").as_string(), "runner");
        return std::optional<Tolerance>({100, 0});
    };
    EXPECT_EQ(compare_outputs(Counting(3), side(scaled(1)), side(scaled(2)), chosen).verdict,
              Verdict::pass);
}

TEST_P(Parity, SavedOutputsAsEitherSide) {
    const TemporaryFolder folder;
    const Counting inputs(4);
    const std::string path = folder.path() + "/golden";
    {
        OutputWriter writer(path, false);
        for (std::uint64_t i = 0; i < inputs.size(); ++i) {
            const NamedTensors sample = inputs.sample(i);
            writer.add(inputs.sample_name(i), data::digest_of_sample(sample), scaled(2)(i, sample));
        }
        EXPECT_FALSE(folder_exists(path));  // not before it is whole
        writer.commit(Json::object({{"kind", "runner"}}), inputs.describe());
    }
    const OpenSide saved = [&] { return saved_outputs(path); };
    EXPECT_TRUE(is_saved_outputs(path));
    EXPECT_EQ(compare_outputs(inputs, saved, side(scaled(2)), options()).verdict, Verdict::pass);
    EXPECT_EQ(compare_outputs(inputs, side(scaled(3)), saved, options()).verdict, Verdict::fail);
    EXPECT_EQ(compare_outputs(*data::no_inputs(4), saved, saved, options()).verdict, Verdict::pass);
    EXPECT_NE(message_of([&] {
                  compare_outputs(Counting(5), saved, side(scaled(2)), options());
              }).find("holds 4 saved samples"),
              std::string::npos);
    // Other inputs: x = [i + 1, i + 2].
    class Shifted final : public data::InputSource {
    public:
        std::uint64_t size() const override { return 4; }
        NamedTensors sample(std::uint64_t index) const override {
            return Counting(9).sample(index + 1);
        }
        std::string sample_name(std::uint64_t index) const override {
            return std::to_string(index);
        }
        Json describe() const override { return Json::object(); }
    };
    EXPECT_NE(message_of([&] {
                  compare_outputs(Shifted(), saved, side(scaled(2)), options());
              }).find("saved for other inputs"),
              std::string::npos);
    // One changed byte in a saved file is found by its digest.
    std::string bytes = read_file(path + "/000002.npz");
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_file_atomically(path + "/000002.npz", bytes);
    EXPECT_NE(message_of([&] {
                  compare_outputs(inputs, saved, side(scaled(2)), options());
              }).find("samples.json records"),
              std::string::npos);
}

TEST(SavedOutputs, GoldenNpzWithItsSampleOrder) {
    const TemporaryFolder folder;
    Tensor stacked(ElementType::float32, {3, 2});
    for (std::size_t i = 0; i < 6; ++i) {
        stacked.mutable_values<float>()[i] = static_cast<float>(i);
    }
    const std::string path = folder.path() + "/golden.npz";
    write_npz_file(path, {{"y", stacked}});
    EXPECT_EQ(*saved_outputs(path)->size(), 1U);
    EXPECT_EQ(saved_outputs(path)->outputs(0, {})[0].second.shape(), (Shape{3, 2}));
    write_file_atomically(folder.path() + "/samples.json", R"(["a", "b", "c"])");
    const auto side_of_three = saved_outputs(path);
    EXPECT_EQ(*side_of_three->size(), 3U);
    const NamedTensors second = side_of_three->outputs(1, {});
    EXPECT_EQ(second[0].second.shape(), (Shape{2}));
    EXPECT_EQ(second[0].second.values<float>()[0], 2);
    write_file_atomically(folder.path() + "/samples.json", R"(["a", "b"])");
    EXPECT_NE(message_of([&] {
                  saved_outputs(path);
              }).find("array 'y' is 3x2 and samples.json lists 2 samples"),
              std::string::npos);
}

TEST(SavedOutputs, HostileSampleLists) {
    const TemporaryFolder folder;
    const std::string list = folder.path() + "/samples.json";
    const auto opened = [&](const std::string& text) {
        write_file_atomically(list, text);
        return message_of([&] { saved_outputs(folder.path())->outputs(0, {}); });
    };
    const auto listed = [](const std::string& entry) {
        return R"({"schema": "samples/1", "requal": "0", "samples": [)" + entry + "]}";
    };
    write_npz_file(folder.path() + "/../outside.npz", {{"y", row({1})}});
    EXPECT_NE(opened(listed(R"({"name": "a", "file": "../outside.npz"})")), "no error");
    EXPECT_NE(opened(listed(R"({"name": "a", "file": "/etc/passwd"})")), "no error");
    EXPECT_NE(opened(listed(R"({"name": "a", "file": "nosuch.npz"})")), "no error");
    EXPECT_NE(opened(listed(R"({"name": "a"})")).find("has no file"), std::string::npos);
    EXPECT_NE(opened(listed(R"({"name": "a", "file": "x"}, {"name": "a", "file": "x"})"))
                  .find("listed twice"),
              std::string::npos);
    EXPECT_NE(opened(listed(R"({"name": "a", "digest": "md5:1"})")), "no error");
    EXPECT_NE(opened(R"({"schema": "samples/9", "samples": []})"), "no error");
    EXPECT_NE(opened("[").find("samples.json"), std::string::npos);
    EXPECT_NE(opened(listed("")).find("holds no saved outputs"), std::string::npos);
}

TEST(OutputWriter, NothingStaysWithoutCommitAndNothingIsReplacedUnasked) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/out";
    const Digest digest = digest_of("x");
    {
        OutputWriter writer(path, false);
        writer.add("a", digest, {{"y", row({1})}});
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    const auto write = [&](bool replace) {
        OutputWriter writer(path, replace);
        writer.add("a", digest, {{"y", row({1})}});
        writer.commit(Json::object(), Json::object());
    };
    write(false);
    EXPECT_NE(message_of([&] { write(false); }).find("exists already"), std::string::npos);
    write(true);
    EXPECT_EQ(*saved_outputs(path)->size(), 1U);
    // A folder that is not ours is not removed, --force or not.
    const std::string other = folder.path() + "/photos";
    make_folders(other);
    write_file_atomically(other + "/me.jpg", "x");
    EXPECT_NE(message_of([&] { OutputWriter(other, true); }).find("no folder of saved outputs"),
              std::string::npos);
    EXPECT_TRUE(file_exists(other + "/me.jpg"));
}

}  // namespace
}  // namespace requal::measure
