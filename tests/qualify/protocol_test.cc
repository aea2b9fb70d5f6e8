// Protocols read, and broken ones refused by file and line.
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "qualify/protocol.h"

namespace requal::qualify {
namespace {

const std::string good = R"(schema: protocol/1
name: small
title: A small protocol
model:
  file: model.onnx
  digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
  shapes:
    x: 1x4
reference:
  toolchain: onnxruntime:cpu
  options:
    threads: 2
candidate:
  toolchain: openvino:cpu
  precision: f32
inputs:
  random:
    count: 4
    seed: 1
    ranges:
      x: [-1, 1.5]
gates:
  - id: parity
    kind: parity
    atol: 1e-4
    rtol: 0.001
    rule: sum
    max_cosine_drop: 1e-6
  - id: finite
    kind: finite
  - id: again
    kind: repeatability
    runs: 3
  - id: p99
    kind: latency
    percentile: p99
    limit_ms: 12.5
    runs: 400
    warmup: 10
)";

/// `good` with the first `from` replaced.
std::string with(const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Protocol, IsRead) {
    const Protocol protocol = parse_protocol(good, "some/folder/p.yaml");
    EXPECT_EQ(protocol.name, "small");
    EXPECT_EQ(protocol.folder, "some/folder");
    EXPECT_EQ(protocol.digest, digest_of(good));
    EXPECT_EQ(protocol.model.shapes.at("x"), (Shape{1, 4}));
    EXPECT_EQ(protocol.reference.options.at("threads").as_integer(), 2);
    EXPECT_EQ(protocol.candidate.precision, "f32");
    EXPECT_EQ(protocol.inputs.random_count, 4U);
    EXPECT_EQ(protocol.inputs.ranges.at("x"), (std::pair<double, double>{-1, 1.5}));
    ASSERT_EQ(protocol.gates.size(), 4U);
    const auto& parity = std::get<ParityGate>(protocol.gates[0].criterion);
    EXPECT_EQ(parity.tolerance.atol, 1e-4);
    EXPECT_EQ(parity.tolerance.rtol, 1e-3);
    EXPECT_EQ(parity.tolerance.rule, measure::ToleranceRule::sum);
    EXPECT_EQ(parity.max_cosine_drop, 1e-6);
    EXPECT_EQ(std::get<RepeatabilityGate>(protocol.gates[2].criterion).runs, 3U);
    const auto& latency = std::get<LatencyGate>(protocol.gates[3].criterion);
    EXPECT_EQ(latency.quantile, 0.99);
    EXPECT_EQ(latency.limit_ms, 12.5);
    EXPECT_EQ(criterion_text(protocol.gates[3]), "p99 latency <= 12.5 ms over at least 400 runs");
}

TEST(Protocol, FewestRunsBearTheInterval) {
    // 0.5^6 = 0.0156 <= 0.025 < 0.5^5; 0.99^368 = 0.02477 <= 0.025 < 0.99^367.
    EXPECT_EQ(fewest_runs(0.5), 6U);
    EXPECT_EQ(fewest_runs(0.9), 36U);
    EXPECT_EQ(fewest_runs(0.99), 368U);
}

struct Broken {
    const char* what;
    std::string text;
    int line;
    const char* says;
};

TEST(Protocol, BrokenOnesAreRefusedByFileAndLine) {
    const std::string parity = "  - id: parity\n    kind: parity\n    atol: 1e-4\n    rtol: "
                               "0.001\n    rule: sum\n    max_cosine_drop: 1e-6\n";
    const Broken cases[] = {
        {"unknown key", with("title:", "titel:"), 3, "titel"},
        {"unknown key of a gate", with("    max_cosine_drop:", "    max_cosinus_drop:"), 28,
         "max_cosinus_drop"},
        {"duplicate key", with("title: A small protocol", "name: twice"), 3, "name"},
        {"duplicate key inside", with("    rule: sum\n", "    rule: sum\n    atol: 1\n"), 28,
         "atol"},
        {"missing key",
         with("  digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
              ""),
         5, "digest"},
        {"missing rule", with("    rule: sum\n", ""), 23, "rule"},
        {"missing gates", good.substr(0, good.find("gates:")), 1, "gates"},
        {"text for a number", with("atol: 1e-4", "atol: tight"), 25, "atol"},
        {"quoted number", with("atol: 1e-4", "atol: '1e-4'"), 25, "atol"},
        {"real for an integer", with("runs: 3", "runs: 3.5"), 33, "runs"},
        {"list for a text", with("name: small", "name: [small]"), 2, "name"},
        {"map for a list", with("gates:\n" + parity, "gates:\n  id: x\n"), 0, ""},
        {"negative tolerance", with("atol: 1e-4", "atol: -1"), 25, ">= 0"},
        {"unknown rule", with("rule: sum", "rule: either-or"), 27, "rule"},
        {"unknown kind", with("kind: finite", "kind: finit"), 30, "finit"},
        {"unknown percentile", with("percentile: p99", "percentile: p42"), 36, "p42"},
        {"too few runs", with("runs: 400", "runs: 100"), 38, "368"},
        {"zero limit", with("limit_ms: 12.5", "limit_ms: 0"), 37, "> 0"},
        {"same id", with("id: again", "id: finite"), 31, "finite"},
        {"reserved id", with("id: again", "id: engine"), 31, "engine"},
        {"id that is no identifier", with("id: again", "id: ../again"), 31, "identifier"},
        {"two parity gates for all",
         with("  - id: finite\n    kind: finite\n",
              "  - id: finite\n    kind: parity\n    atol: 1\n    rtol: 0\n    rule: sum\n"),
         29, "stands above"},
        {"no parity gate", with(parity, ""), 23, "compares"},
        {"digest too short", with("sha256:0123", "sha256:123"), 6, "digest"},
        {"shape that is none", with("x: 1x4", "x: 1xfour"), 8, "shape"},
        {"dynamic shape", with("x: 1x4", "x: 1x-1"), 8, ""},
        {"zero dimension", with("x: 1x4", "x: 4x0"), 8, ">= 1"},
        {"toolchain that is none", with("toolchain: openvino:cpu", "toolchain: ../../bin/sh"), 14,
         "toolchain"},
        {"toolchain with a space", with("toolchain: openvino:cpu", "toolchain: openvino cpu"), 14,
         "toolchain"},
        {"unknown precision", with("precision: f32", "precision: f8"), 15, "f8"},
        {"nested option", with("    threads: 2", "    threads: [2]"), 12, "one value"},
        {"both kinds of input", with("inputs:\n", "inputs:\n  file: a.npz\n"), 17, "exactly one"},
        {"no input",
         with("  random:\n    count: 4\n    seed: 1\n    ranges:\n      x: [-1, 1.5]\n",
              "  digest: sha256:00\n"),
         17, "exactly one"},
        {"no sample", with("count: 4", "count: 0"), 18, "between"},
        {"range upside down", with("[-1, 1.5]", "[2, 1]"), 21, "low < high"},
        {"range of one", with("[-1, 1.5]", "[2]"), 21, "[low, high]"},
        {"other schema", with("protocol/1", "protocol/9"), 1, "protocol/9"},
        {"yes for a boolean", with("threads: 2", "threads: yes"), 12, "yes"},
        {"octal", with("threads: 2", "threads: 010"), 12, "010"},
        {"anchor", with("name: small", "name: &a small"), 2, ""},
        {"tag", with("name: small", "name: !!str small"), 2, ""},
        {"tab", with("  file: model.onnx", "\tfile: model.onnx"), 5, ""},
        {"second document", good + "---\nschema: protocol/1\n", 0, ""},
        {"empty", "", 0, ""},
        {"a list", "- 1\n", 1, "map"},
        {"text", "hello\n", 1, ""},
        {"binary", std::string("\x00\xff\x01", 3), 0, ""},
    };
    for (const Broken& broken : cases) {
        try {
            (void)parse_protocol(broken.text, "p.yaml");
            ADD_FAILURE() << broken.what << ": accepted";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input) << broken.what;
            const std::string line = error.what();
            if (broken.line > 0) {
                EXPECT_TRUE(error.where().starts_with("p.yaml:" + std::to_string(broken.line)))
                    << broken.what << ": " << line;
            } else {
                EXPECT_TRUE(error.where().starts_with("p.yaml")) << broken.what << ": " << line;
            }
            EXPECT_NE(line.find(broken.says), std::string::npos) << broken.what << ": " << line;
            EXPECT_EQ(line.find('\n'), std::string::npos) << broken.what << ": " << line;
        }
    }
}

TEST(Protocol, ReferenceHasNoPrecision) {
    EXPECT_THROW((void)parse_protocol(with("  toolchain: onnxruntime:cpu\n",
                                           "  toolchain: onnxruntime:cpu\n  precision: f32\n"),
                                      "p.yaml"),
                 Error);
}

TEST(Protocol, AFileThatIsNotThere) {
    try {
        (void)read_protocol("/nonexistent/protocol.yaml");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
    }
}

}  // namespace
}  // namespace requal::qualify
