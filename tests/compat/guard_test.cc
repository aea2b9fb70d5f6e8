// The guard's decision table, row by row.
#include <gtest/gtest.h>

#include "base/error.h"
#include "compat/guard.h"

namespace requal::compat {
namespace {

const RuleSet& rules() {
    static const RuleSet set = load_rules();
    return set;
}

artifact::Recognised plan(const std::string& version) {
    artifact::Recognised found;
    found.kind = "tensorrt-plan";
    if (!version.empty())
        found.recorded["runtime_version"] = version;
    return found;
}

Json manifest(const std::string& text) {
    return parse_json(text, "manifest");
}

/// A plan built on an A100 with 10.8.0.43; `flags` as JSON text.
Json plan_manifest(const std::string& flags) {
    return manifest(
        R"({"schema": "engine-manifest/1", "toolchain": {"name": "tensorrt", "version": "10.8.0.43"},
      "options": {"requested": {}, "effective": {)" +
        (flags.empty() ? std::string() : "\"flags\": " + flags) +
        R"(}}, "host": {"architecture": "x86_64", "kernel": "6.1"},
      "target": {"gpu": "NVIDIA A100-SXM4-80GB", "os": "linux", "architecture": "x86_64"}})");
}

Facts machine(const std::string& gpu, const std::string& version, const std::string& os = "linux",
              const std::string& arch = "x86_64") {
    Facts facts = {{"os", {os}}, {"arch", {arch}}};
    if (!gpu.empty())
        facts["gpu"] = {gpu};
    if (!version.empty())
        facts["version"] = {version};
    derive(facts, rules().tables);
    return facts;
}

GuardResult judge(const artifact::Recognised& artefact, const Json& its_manifest, const Facts& on,
                  Truth digest = Truth::yes) {
    return decide(rules(),
                  {artefact, its_manifest, its_manifest.is_null() ? Truth::unknown : digest, on});
}

struct Row {
    Decision decision;
    std::string rule;
};

void expect(const GuardResult& result, const Row& row) {
    ASSERT_FALSE(result.reasons.empty());
    EXPECT_EQ(name_of(result.decision), name_of(row.decision)) << result.reasons.front().message;
    bool found = false;
    for (const Reason& reason : result.reasons) {
        EXPECT_NE(rules().rule(reason.rule), nullptr) << reason.rule << " is no rule";
        found = found || reason.rule == row.rule;
    }
    EXPECT_TRUE(found) << "expected " << row.rule << ", got " << result.reasons.front().rule;
    if (result.decision == Decision::refused || result.decision == Decision::cannot_tell) {
        EXPECT_FALSE(result.next.empty()) << "it says what to do next";
    }
}

constexpr const char* a100 = "NVIDIA A100-SXM4-80GB";

TEST(Guard, WhatIsNoEngine) {
    artifact::Recognised model;
    model.kind = "onnx";
    expect(judge(model, {}, machine(a100, "10.8.0.43")), {Decision::refused, "GUARD-KIND"});
    expect(judge(artifact::Recognised{}, {}, machine(a100, "10.8.0.43")),
           {Decision::cannot_tell, "GUARD-KIND"});
    artifact::Recognised cut;
    cut.damage = {"begins as a TensorRT plan and is cut off"};
    expect(judge(cut, {}, machine(a100, "10.8.0.43")), {Decision::refused, "GUARD-DAMAGED"});
    for (const char* kind : {"ort", "tflite", "openvino-ir", "torchscript", "torch-checkpoint",
                             "safetensors", "calibration-cache", "timing-cache", "npz"}) {
        artifact::Recognised other;
        other.kind = kind;
        expect(judge(other, {}, machine("", "")), {Decision::refused, "GUARD-KIND"});
    }
}

TEST(Guard, DamageIsRefusedAndWhatIsMerelyOddIsNot) {
    artifact::Recognised whole = plan("10.8.0.43");
    artifact::Recognised damaged = whole, odd = whole;
    damaged.damage = {"nothing follows the header"};
    odd.oddities = {"only the first 100 contexts are listed"};
    const Facts here = machine(a100, "10.8.0.43");
    expect(judge(whole, plan_manifest("[]"), here), {Decision::allowed, "TRT-DEFAULT-MATCH"});
    expect(judge(odd, plan_manifest("[]"), here), {Decision::allowed, "TRT-DEFAULT-MATCH"});
    expect(judge(damaged, plan_manifest("[]"), here), {Decision::refused, "GUARD-DAMAGED"});
    artifact::Recognised other;  // such as a PyTorch export archive: nothing of it is broken
    other.oddities = {"not among the kinds"};
    expect(judge(other, {}, here), {Decision::cannot_tell, "GUARD-KIND"});
}

TEST(Guard, OtherBytesThanTheManifestDescribes) {
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine(a100, "10.8.0.43"), Truth::no),
           {Decision::refused, "GUARD-DIGEST"});
    expect(judge(plan("10.3.0.26"), plan_manifest("[]"), machine(a100, "10.8.0.43")),
           {Decision::refused, "GUARD-CONTRADICTION"});
    artifact::Recognised rtx;
    rtx.kind = "tensorrt-rtx-plan";
    expect(judge(rtx, plan_manifest("[]"), machine(a100, "10.8.0.43")),
           {Decision::refused, "GUARD-CONTRADICTION"});
}

TEST(Guard, TheDefaultMatch) {
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine(a100, "10.8.0.43-1+cuda12.8")),
           {Decision::allowed, "TRT-DEFAULT-MATCH"});
    expect(judge(plan("10.8.0.43"), plan_manifest(""), machine(a100, "10.8.0.43")),
           {Decision::allowed, "TRT-DEFAULT-MATCH"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine(a100, "10.8.0.40")),
           {Decision::refused, "VC-FORWARD-ONLY"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine(a100, "10.9.0.1")),
           {Decision::refused, "TRT-DEFAULT-VERSION"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine("NVIDIA L40S", "10.8.0.43")),
           {Decision::refused, "TRT-DEFAULT-GPU"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine(a100, "10.8.0.43", "windows")),
           {Decision::refused, "TRT-PLATFORM"});
    // flags that nobody recorded: neither allowed nor refused
    expect(judge(plan("10.8.0.43"), plan_manifest(""), machine("NVIDIA L40S", "10.8.0.43")),
           {Decision::cannot_tell, "GUARD-NO-ROUTE"});
}

TEST(Guard, WithoutAManifestAPlansDeviceIsNeverDecided) {
    for (const char* gpu : {a100, "NVIDIA L40S", "Foo 9000", ""})
        expect(judge(plan("10.8.0.43"), {}, machine(gpu, "10.8.0.43")),
               {Decision::cannot_tell, "GUARD-NO-MANIFEST"});
    // the version that the bytes record may refuse it
    expect(judge(plan("10.8.0.43"), {}, machine(a100, "10.3.0.26")),
           {Decision::refused, "VC-FORWARD-ONLY"});
    expect(judge(plan(""), {}, machine(a100, "10.3.0.26")),
           {Decision::cannot_tell, "GUARD-NO-MANIFEST"});
}

TEST(Guard, Routes) {
    const Json both = plan_manifest(R"(["version-compatible", "hardware-compatible-ampere-plus"])");
    GuardResult result = judge(plan("10.8.0.43"), both, machine("NVIDIA L40S", "10.13.2.6"));
    expect(result, {Decision::allowed_by_route, "HC-AMPERE-PLUS"});
    expect(result, {Decision::allowed_by_route, "VC-SAME-MAJOR"});
    expect(result, {Decision::allowed_by_route, "VC-HOST-CODE"});
    EXPECT_GE(result.prices.size(), 2U);
    EXPECT_FALSE(result.duties.empty());
    expect(judge(plan("10.8.0.43"), both, machine("Tesla T4", "10.8.0.43")),
           {Decision::refused, "HC-AMPERE-FLOOR"});
    expect(judge(plan("10.8.0.43"), both, machine("NVIDIA L40S", "11.4.1.3")),
           {Decision::allowed_by_route, "VC-CROSS-10-11"});
    expect(judge(plan("10.8.0.43"), both, machine("NVIDIA L40S", "11.2.0.3")),
           {Decision::refused, "VC-OLDTEXT-11"});
    // a GPU that is not known: its compute capability decides, and nobody stated it
    expect(judge(plan("10.8.0.43"), both, machine("Foo 9000", "10.8.0.43")),
           {Decision::cannot_tell, "GUARD-UNKNOWN"});
}

TEST(Guard, HardwareCompatibilityNeverReachesAJetson) {
    const Json both = plan_manifest(R"(["version-compatible", "hardware-compatible-ampere-plus"])");
    Facts orin = machine("Jetson AGX Orin 64GB", "10.8.0.43", "linux", "aarch64");
    expect(judge(plan("10.8.0.43"), both, orin), {Decision::refused, "HC-JETPACK"});
}

TEST(Guard, WhatIsNotKnownOfTheMachine) {
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine("", "10.8.0.43")),
           {Decision::cannot_tell, "GUARD-UNKNOWN"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine(a100, "")),
           {Decision::cannot_tell, "GUARD-UNKNOWN"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), machine(a100, "10.8.0")),
           {Decision::cannot_tell, "GUARD-UNKNOWN"});
}

TEST(Guard, GpusOfThisMachine) {
    const Json host =
        parse_json(R"({"architecture": "x86_64", "kernel": "6.1", "cpu": {"isa": []}})", "host");
    const auto on = [&](const machine::Gpus& gpus) {
        return host_machine_facts(host, "10.8.0.43", rules().tables, gpus);
    };
    const machine::Gpu its{a100, "8.0"}, other{"NVIDIA L40S", "8.9"};
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), on({{its}, "570.86.15", ""})),
           {Decision::allowed, "TRT-DEFAULT-MATCH"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), on({{its, its}, "570.86.15", ""})),
           {Decision::allowed, "TRT-DEFAULT-MATCH"});
    expect(judge(plan("10.8.0.43"), plan_manifest("[]"), on({{other}, "570.86.15", ""})),
           {Decision::refused, "TRT-DEFAULT-GPU"});
    // without an engine manifest the machine's GPU decides nothing
    expect(judge(plan("10.8.0.43"), {}, on({{its}, "570.86.15", ""})),
           {Decision::cannot_tell, "GUARD-NO-MANIFEST"});
    for (const machine::Gpus& unknown :
         {machine::Gpus{{its, other}, "570.86.15", ""}, machine::Gpus{{}, "570.86.15", ""},
          machine::Gpus{{}, "", "NVIDIA's driver library is not here"}, machine::Gpus{}}) {
        EXPECT_FALSE(why_no_gpu(unknown).empty());
        expect(judge(plan("10.8.0.43"), plan_manifest("[]"), on(unknown)),
               {Decision::cannot_tell, "GUARD-UNKNOWN"});
    }
    EXPECT_EQ(on({{its}, "570.86.15", ""}).at("driver"), std::vector<std::string>{"570.86.15"});
    EXPECT_TRUE(asks_for_gpu(*rules().product("tensorrt")));
    EXPECT_FALSE(asks_for_gpu(*rules().product("openvino")));
}

TEST(Guard, OpenVinoBlobs) {
    artifact::Recognised blob;
    blob.kind = "openvino-blob";
    blob.recorded["runtime_version"] = "2026.4.1";
    const Json its = manifest(R"({"schema": "engine-manifest/1",
      "toolchain": {"name": "openvino:cpu", "version": "2026.4.1-22982-e213a147257-releases/2026/4"},
      "host": {"architecture": "x86_64", "kernel": "6.1", "cpu": {"isa": ["avx2", "fma"]}}})");
    const auto host = [](const std::string& version, const std::string& isa,
                         const std::string& arch = "x86_64") {
        return host_machine_facts(
            parse_json("{\"architecture\": \"" + arch +
                           "\", \"kernel\": \"6.1\", \"cpu\": {\"isa\": " + isa + "}}",
                       "host"),
            version, rules().tables);
    };
    const std::string same = "2026.4.1-22982-e213a147257-releases/2026/4";
    expect(judge(blob, its, host(same, R"(["avx2", "fma", "avx512f"])")),
           {Decision::allowed, "OV-SAME-BUILD"});
    expect(judge(blob, its, host(same, R"(["fma"])")), {Decision::refused, "OV-ISA"});
    expect(judge(blob, its, host("2026.4.1-22990-abc", R"(["avx2", "fma"])")),
           {Decision::refused, "OV-OTHER-BUILD"});
    expect(judge(blob, its, host("2026.3.0-1-x", R"(["avx2", "fma"])")),
           {Decision::refused, "OV-OTHER-BUILD"});
    expect(judge(blob, its, host(same, R"(["avx2", "fma"])", "aarch64")),
           {Decision::refused, "OV-ARCH"});
    expect(judge(blob, {}, host(same, R"(["avx2", "fma"])")),
           {Decision::cannot_tell, "GUARD-UNKNOWN"});
    expect(judge(blob, its, host("", R"(["avx2", "fma"])")),
           {Decision::cannot_tell, "GUARD-UNKNOWN"});
}

TEST(Guard, RtxAndSafetyBorrowNothing) {
    artifact::Recognised rtx;
    rtx.kind = "tensorrt-rtx-plan";
    const Json its = manifest(
        R"({"schema": "engine-manifest/1", "toolchain": {"name": "tensorrt-rtx", "version": "1.4.0.76"},
      "options": {"effective": {"flags": ["version-compatible", "hardware-compatible-ampere-plus"]}},
      "target": {"gpu": "NVIDIA GeForce RTX 4090", "os": "linux", "architecture": "x86_64"}})");
    expect(judge(rtx, its, machine("NVIDIA GeForce RTX 4090", "1.4.0.76")),
           {Decision::allowed, "RTX-DEFAULT-MATCH"});
    expect(judge(rtx, its, machine("NVIDIA GeForce RTX 4090", "1.5.0.10")),
           {Decision::refused, "RTX-VERSION"});
    expect(judge(rtx, its, machine("NVIDIA GeForce RTX 5090", "1.4.0.76")),
           {Decision::refused, "GUARD-NO-ROUTE"});
    const Json safety = manifest(
        R"({"schema": "engine-manifest/1", "toolchain": {"name": "tensorrt-safety", "version": "10.8.0.43"},
      "target": {"gpu": "NVIDIA A100-SXM4-80GB", "os": "linux", "architecture": "x86_64"}})");
    expect(judge(artifact::Recognised{}, safety, machine(a100, "10.8.0.43")),
           {Decision::cannot_tell, "GUARD-NO-RULE"});
}

TEST(Guard, HailoExecutables) {
    artifact::Recognised hef;
    hef.kind = "hailo-hef";
    hef.recorded["hw_arch"] = "HAILO8";
    Facts on = {{"soc", {"HAILO8L"}}, {"version", {"4.23.0"}}};
    expect(judge(hef, {}, on), {Decision::refused, "HEF-8-ON-8L"});
    on["soc"] = {"HAILO15H"};
    expect(judge(hef, {}, on), {Decision::refused, "HEF-ARCH"});
    // no rule between compiler and library was found, so nothing is promised
    on["soc"] = {"HAILO8"};
    expect(judge(hef, {}, on), {Decision::cannot_tell, "GUARD-UNKNOWN"});
}

TEST(Guard, Snapshots) {
    const Json snapshot = parse_json(R"({"schema": "snapshot/1",
      "device": {"model": "Jetson AGX Orin 64GB"}, "os": {"name": "linux", "architecture": "aarch64"},
      "l4t": {"release": "36", "revision": "4.3"},
      "libraries": [{"soname": "libnvinfer.so.10", "path": "/usr/lib/libnvinfer.so.10", "version": "10.3.0.30"},
                    {"soname": "libcudart.so.12", "version": "12.6.68"}]})",
                                     "snapshot");
    const Facts facts = machine_facts(snapshot, "tensorrt", rules().tables, "snapshot");
    EXPECT_EQ(word_of(facts, "version"), "10.3.0.30");
    EXPECT_EQ(word_of(facts, "jetpack"), "6.2");
    EXPECT_EQ(word_of(facts, "cc"), "8.7");
    Json two = snapshot;
    two["libraries"].push_back(
        Json::object({{"soname", "libnvinfer.so.10"}, {"version", "10.13.2.6"}}));
    EXPECT_FALSE(word_of(machine_facts(two, "tensorrt", rules().tables, "s"), "version"))
        << "which of the two a process loads is not known";
    Json none = snapshot;
    none["libraries"] = Json::array();
    EXPECT_FALSE(machine_facts(none, "tensorrt", rules().tables, "s").contains("version"))
        << "what a JetPack ships is not what is installed";
    Json other = snapshot;
    other["schema"] = "inspect/1";
    EXPECT_THROW(machine_facts(other, "tensorrt", rules().tables, "s"), Error);
    other["schema"] = "snapshot/1";
    other["device"] = "Orin";
    EXPECT_THROW(machine_facts(other, "tensorrt", rules().tables, "s"), Error);
}

}  // namespace
}  // namespace requal::compat
