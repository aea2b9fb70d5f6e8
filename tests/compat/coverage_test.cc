// Coverage of requested targets: statuses, findings, regeneration, and bad requests.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "compat/coverage.h"
#include "compat/coverage_csv.h"
#include "evidence/coverage_page.h"

namespace requal::compat {
namespace {

const RuleSet& rules() {
    static const RuleSet set = load_rules();
    return set;
}

Request request_of(const std::string& text, const std::string& path = "request.yaml") {
    return read_request(parse_yaml(text, path), path, rules().tables);
}

Json document_of(const std::string& text, CoverageOptions options = {}) {
    return coverage_document(rules(), request_of(text), options);
}

Json example(const std::string& name, CoverageOptions options = {}) {
    return coverage_document(
        rules(),
        read_request(std::string(REQUAL_SOURCE) + "/examples/coverage/" + name, rules().tables),
        options);
}

const Json& entry(const Json& document, const std::string& target, const std::string& offer) {
    for (const Json& item : document.at("targets").as_array())
        if (item.at("id").as_string() == target && item.at("offer").as_string() == offer)
            return item;
    throw std::runtime_error("no entry " + target + " " + offer);
}

std::string status(const Json& document, const std::string& target, const std::string& offer) {
    return entry(document, target, offer).at("status").as_string();
}

std::vector<std::string> texts(const Json& list) {
    std::vector<std::string> result;
    for (const Json& item : list.as_array())
        result.push_back(item.as_string());
    return result;
}

bool has(const Json& list, const std::string& item) {
    const auto all = texts(list);
    return std::find(all.begin(), all.end(), item) != all.end();
}

const Json* finding(const Json& document, const std::string& kind) {
    for (const Json& item : document.at("findings").as_array())
        if (item.at("kind").as_string() == kind)
            return &item;
    return nullptr;
}

std::string error_of(const std::string& text) {
    try {
        request_of(text);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

constexpr const char* head = "schema: coverage-request/1\n";

TEST(Coverage, Ep202IsAsTheSeedSays) {
    const Json document = example("ep-202.yaml");
    for (const char* offer : {"A", "B"}) {
        EXPECT_EQ(status(document, "EP-202-T1", offer), "documented");
        EXPECT_EQ(status(document, "EP-202-T2", offer), "documented");
        for (int t = 3; t <= 8; ++t)
            EXPECT_EQ(status(document, "EP-202-T" + std::to_string(t), offer), "unaddressed") << t;
    }
    EXPECT_EQ(document.at("verdict").as_string(), "undecidable");
    const Json& a = document.at("offers").as_array()[0].at("regeneration");
    const Json& b = document.at("offers").as_array()[1].at("regeneration");
    EXPECT_EQ(a.at("responsibility").as_string(), "not offered");
    EXPECT_EQ(b.at("responsibility").as_string(), "named");
    for (const auto& [name, input] : b.at("inputs").as_object())
        EXPECT_EQ(input.at("state").as_string(), "identified") << name;
    EXPECT_EQ(b.at("statements").at("validation_report").at("state").as_string(), "stated");
    for (const char* name :
         {"changes_included", "returns_unsupported", "returns_model_change", "dependencies_reach",
          "rights_to_modify", "rights_to_redistribute", "hand_off"})
        EXPECT_EQ(b.at("statements").at(name).at("state").as_string(), "unstated") << name;
    EXPECT_EQ(document.at("acceptance").at("decided").as_boolean(), false);
    EXPECT_TRUE(finding(document, "loose-target"));
    EXPECT_TRUE(finding(document, "named-not-identified"));
    EXPECT_TRUE(finding(document, "memory-not-shown"));
}

TEST(Coverage, AProductOfDimensionsMakesTheSameTargets) {
    const Request named =
        read_request(std::string(REQUAL_SOURCE) + "/examples/coverage/ep-202.yaml", rules().tables);
    const Request product =
        request_of(std::string(head) +
                   "dimensions:\n  id: EP-202-T\n  values:\n    gpu: [H100, B200]\n"
                   "    version: [11.3.0, 11.4.0]\n    platform: [linux-x86_64, windows-x86_64]\n");
    ASSERT_EQ(product.targets.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(product.targets[i].id, named.targets[i].id);
        EXPECT_EQ(product.targets[i].facts, named.targets[i].facts);
    }
}

TEST(Coverage, TheTransitionOfEp202SettlesNothing) {
    CoverageOptions options;
    options.transition = {{"T1", "T7"}};
    const Json move = example("ep-202.yaml", options).at("transition");
    EXPECT_EQ(move.at("to").as_string(), "EP-202-T7");
    ASSERT_EQ(move.at("offers").size(), 2U);
    for (const Json& offer : move.at("offers").as_array())
        for (const Json& step : offer.at("steps").as_array())
            EXPECT_EQ(step.at("settled").as_boolean(),
                      step.at("question").as_string() == "are the inputs identified?")
                << step.at("question").as_string();
    options.transition = {{"T1", "T9"}};
    EXPECT_THROW(example("ep-202.yaml", options), Error);
}

TEST(Coverage, JetsonFleet) {
    const Json document = example("jetson-fleet.yaml");
    EXPECT_EQ(status(document, "JP5-orin", "today"), "documented");
    // 8.5.2 on both, the build number is not written: the default match, still to be shown
    EXPECT_EQ(status(document, "JP5-newer", "today"), "covered-by-route");
    EXPECT_EQ(entry(document, "JP5-newer", "today").at("rule").as_string(), "TRT-DEFAULT-MATCH");
    EXPECT_TRUE(has(entry(document, "JP5-newer", "today").at("conditions_to_show"),
                    "built.version same-build target.version"));
    EXPECT_EQ(status(document, "JP60-orin", "today"), "documented");
    // 8.6 to 10.3: two statements, the stricter decides
    EXPECT_EQ(status(document, "JP62-orin", "today"), "excluded");
    EXPECT_EQ(status(document, "JP72-orin", "today"), "covered-by-route");
    EXPECT_TRUE(has(entry(document, "JP72-orin", "today").at("rules"), "VC-CROSS-8-10"));
    EXPECT_EQ(entry(document, "JP70-thor", "today").at("rule").as_string(), "TRT-DEFAULT-GPU");
    EXPECT_EQ(status(document, "JP70-thor", "proposal"), "excluded");
    EXPECT_TRUE(finding(document, "jetpack-as-key"));
    EXPECT_EQ(status(document, "TRT11-orin", "today"), "excluded");
    EXPECT_TRUE(has(entry(document, "TRT11-orin", "today").at("rules"), "TRT11-JETSON"));
    // hardware compatibility is excluded on JetPack, whatever the integrator says
    EXPECT_EQ(status(document, "JP62-nx", "proposal"), "excluded");
    EXPECT_EQ(entry(document, "JP62-nx", "proposal").at("rule").as_string(), "HC-JETPACK");
    EXPECT_TRUE(finding(document, "claim-against-rule"));
}

TEST(Coverage, VersionAndHardwareCompatiblePlan) {
    const Json document = example("version-and-hardware.yaml");
    EXPECT_EQ(status(document, "same", "plan"), "covered-by-route");
    EXPECT_EQ(texts(entry(document, "same", "plan").at("rules")),
              (std::vector<std::string>{"TRT-DEFAULT-MATCH"}));
    EXPECT_EQ(status(document, "other-gpu", "plan"), "covered-by-route");
    EXPECT_TRUE(has(entry(document, "other-gpu", "plan").at("rules"), "HC-AMPERE-PLUS"));
    EXPECT_FALSE(has(entry(document, "other-gpu", "plan").at("rules"), "VC-SAME-MAJOR"));
    const Json& newer = entry(document, "newer-runtime", "plan");
    EXPECT_EQ(newer.at("status").as_string(), "covered-by-route");
    EXPECT_TRUE(has(newer.at("rules"), "HC-AMPERE-PLUS"));
    EXPECT_TRUE(has(newer.at("rules"), "VC-SAME-MAJOR"));
    EXPECT_TRUE(has(newer.at("rules"), "VC-HOST-CODE"));
    EXPECT_EQ(newer.at("price").size(), 3U);
    EXPECT_EQ(status(document, "next-major", "plan"), "covered-by-route");
    EXPECT_TRUE(has(entry(document, "next-major", "plan").at("rules"), "VC-CROSS-10-11"));
    EXPECT_EQ(status(document, "disputed-major", "plan"), "excluded");
    EXPECT_EQ(entry(document, "disputed-major", "plan").at("rule").as_string(), "VC-OLDTEXT-11");
    EXPECT_EQ(entry(document, "older-runtime", "plan").at("rule").as_string(), "VC-FORWARD-ONLY");
    EXPECT_EQ(entry(document, "turing", "plan").at("rule").as_string(), "HC-AMPERE-FLOOR");
    EXPECT_EQ(entry(document, "windows", "plan").at("rule").as_string(), "TRT-PLATFORM");
    EXPECT_TRUE(has(entry(document, "orin", "plan").at("rules"), "HC-JETPACK"));
    EXPECT_EQ(entry(document, "rtx", "plan").at("rule").as_string(), "RTX-NOT-TRT");
    EXPECT_EQ(document.at("verdict").as_string(), "pass");
    // evidence of another model answers nothing, and the four questions stay apart
    EXPECT_EQ(entry(document, "same", "plan").at("questions").at("numerics").as_string(),
              "evidence");
    EXPECT_EQ(entry(document, "other-gpu", "plan").at("questions").at("numerics").as_string(),
              "unanswered");
    EXPECT_EQ(entry(document, "same", "plan").at("questions").at("workload").as_string(),
              "evidence of another");
    EXPECT_TRUE(finding(document, "evidence-of-another"));
}

TEST(Coverage, AsOfAnEarlierReleaseTheRouteIsNotKnown) {
    const Request request =
        read_request(std::string(REQUAL_SOURCE) + "/examples/coverage/version-and-hardware.yaml",
                     rules().tables);
    const Json before = coverage_document(as_of(rules(), "11.3.0"), request, {});
    EXPECT_EQ(status(before, "next-major", "plan"), "unaddressed");
}

std::string plan_request(const std::string& built, const std::string& rest = "") {
    return std::string(head) +
           "targets:\n  - {id: T, gpu: NVIDIA H100 80GB HBM3, version: 11.4.0.12, platform: "
           "linux-x86_64, os_release: x}\n"
           "offers:\n  - id: O\n    artefacts:\n      - id: E\n        kind: tensorrt-plan\n" +
           rest + "        built: {" + built + "}\n";
}

TEST(Coverage, FlagsThatAreNotStatedAreNotMissing) {
    const std::string where = "gpu: NVIDIA H100 80GB HBM3, platform: linux-x86_64";
    EXPECT_EQ(status(document_of(plan_request("version: 11.3.0.15, " + where)), "T", "O"),
              "unaddressed");
    EXPECT_EQ(
        status(document_of(plan_request("version: 11.3.0.15, flags: [], " + where)), "T", "O"),
        "excluded");
    EXPECT_EQ(status(document_of(
                         plan_request("version: 11.3.0.15, flags: [version-compatible], " + where)),
                     "T", "O"),
              "covered-by-route");
    EXPECT_EQ(status(document_of(plan_request("version: 11.5.0.1, " + where)), "T", "O"),
              "excluded")
        << "a newer plan never loads in an older runtime";
}

TEST(Coverage, UnknownGpuNamesAreKept) {
    const Json document = document_of(
        plan_request("version: 11.4.0.12, gpu: Foo 9000, platform: linux-x86_64, flags: []"));
    EXPECT_EQ(status(document, "T", "O"), "unaddressed");
    const Json other = document_of(
        std::string(head) +
        "targets:\n  - {id: T, gpu: Foo 9000, version: 11.4.0.12, platform: linux-x86_64}\n");
    EXPECT_EQ(other.at("requested").as_array()[0].at("facts").at("gpu").as_string(), "Foo 9000");
    EXPECT_FALSE(other.at("requested").as_array()[0].at("facts").has("compute_capability"));
    EXPECT_TRUE(finding(other, "loose-target"));
}

TEST(Coverage, InputsAndPromisesNeverRaiseAStatus) {
    const Json document = document_of(
        std::string(head) + "targets:\n  - {id: T, gpu: H100, version: 11.4.0, platform: "
                            "linux-x86_64}\noffers:\n  - id: O\n    artefacts:\n"
                            "      - id: M\n        kind: onnx\n        opset: 17\n        "
                            "documents: [{targets: [T], by: them}]\n"
                            "    regeneration:\n      party: them\n      confirms: [T]\n      "
                            "inputs: {graph: model.onnx, custom_operators: none needed}\n");
    EXPECT_EQ(status(document, "T", "O"), "unaddressed");
    EXPECT_TRUE(entry(document, "T", "O").at("regeneration").at("confirmed").as_boolean());
    EXPECT_TRUE(finding(document, "input-as-engine"));
    EXPECT_TRUE(finding(document, "opset-only"));
    EXPECT_TRUE(has(entry(document, "T", "O").at("regeneration").at("inputs_missing"), "parser"));
    EXPECT_FALSE(
        has(entry(document, "T", "O").at("regeneration").at("inputs_missing"), "custom_operators"));
}

TEST(Coverage, AFolderWithoutAPartyIsUnresolved) {
    const Json document = document_of(std::string(head) +
                                      "targets:\n  - {id: T, gpu: H100}\noffers:\n  - id: O\n    "
                                      "regeneration:\n      inputs: {graph: folder/model.onnx}\n");
    EXPECT_EQ(entry(document, "T", "O").at("regeneration").at("responsibility").as_string(),
              "unresolved");
}

TEST(Coverage, AProductsCapabilityIsNoPropertyOfAnArtefact) {
    const Json document = document_of(plan_request(
        "version: 11.3.0.15", "        documents: [{targets: [T], by: them, scope: product}]\n"));
    EXPECT_EQ(status(document, "T", "O"), "unaddressed");
    EXPECT_TRUE(finding(document, "general-capability"));
}

TEST(Coverage, AContainerTagIsNoIdentity) {
    const Json tag = document_of(
        plan_request("version: 11.3.0.15", "        container: registry/engine:latest\n"));
    EXPECT_TRUE(finding(tag, "named-not-identified"));
    const Json digest = document_of(plan_request(
        "version: 11.3.0.15",
        "        container: "
        "registry/"
        "engine@sha256:5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456\n"));
    EXPECT_FALSE(finding(digest, "named-not-identified"));
}

std::string plan_bytes(unsigned major, unsigned minor, unsigned patch, unsigned build) {
    std::string bytes = "ftrt" + std::string(20, '\0');
    for (const unsigned number : {major, minor, patch, build})
        bytes.push_back(static_cast<char>(number));
    return bytes + std::string(100, '\0');
}

TEST(Coverage, ClaimsAgainstBytesAreContradicted) {
    const TemporaryFolder folder;
    write_file_atomically(folder.path() + "/a.plan", plan_bytes(10, 3, 0, 26));
    const auto with = [&](const std::string& built, const std::string& rest) {
        const std::string path = folder.path() + "/request.yaml";
        return coverage_document(
            rules(),
            request_of(
                plan_request(
                    built,
                    "        file: a.plan\n        documents: [{targets: [T], by: them}]\n" + rest),
                path),
            {});
    };
    EXPECT_EQ(status(with("version: 11.4.0.12", ""), "T", "O"), "contradicted");
    EXPECT_EQ(status(with("version: 10.3.0.26", ""), "T", "O"), "documented");
    EXPECT_EQ(
        status(
            with("gpu: H100",
                 "        digest: "
                 "\"sha256:5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456\"\n"),
            "T", "O"),
        "contradicted");
    EXPECT_EQ(with("version: 11.4.0.12", "").at("verdict").as_string(), "fail");
    write_file_atomically(folder.path() + "/a.plan", std::string("PK\x03\x04 nothing", 12));
    EXPECT_EQ(status(with("version: 10.3.0.26", ""), "T", "O"), "contradicted");
}

TEST(Coverage, OnlyDamageContradictsAClaim) {
    const TemporaryFolder folder;
    const auto with = [&](const std::string& bytes) {
        write_file_atomically(folder.path() + "/a.plan", bytes);
        return coverage_document(
            rules(),
            request_of(plan_request("version: 10.3.0.26",
                                    "        file: a.plan\n"
                                    "        documents: [{targets: [T], by: them}]\n"),
                       folder.path() + "/request.yaml"),
            {});
    };
    const auto artefact = [](const Json& document) {
        return document.at("offers").as_array().at(0).at("artefacts").as_array().at(0);
    };
    const std::string whole = plan_bytes(10, 3, 0, 26);
    Json document = with(whole);
    EXPECT_EQ(status(document, "T", "O"), "documented");
    EXPECT_EQ(artefact(document).at("contradictions").size(), 0U);

    std::string odd = whole;  // a layout that is not known tells no version: nobody is contradicted
    odd[5] = 1;
    document = with(odd);
    EXPECT_EQ(status(document, "T", "O"), "documented");
    EXPECT_EQ(artefact(document).at("contradictions").size(), 0U);
    EXPECT_EQ(artefact(document).at("bytes").at("oddities").size(), 1U);
    EXPECT_EQ(artefact(document).at("bytes").at("damage").size(), 0U);

    for (const std::size_t size : {27U, 28U}) {  // inside its header, and nothing behind it
        document = with(whole.substr(0, size));
        EXPECT_EQ(status(document, "T", "O"), "contradicted") << size;
        EXPECT_EQ(artefact(document).at("bytes").at("damage").size(), 1U) << size;
        EXPECT_NE(artefact(document)
                      .at("contradictions")
                      .as_array()
                      .at(0)
                      .as_string()
                      .find("the file at hand is damaged"),
                  std::string::npos);
    }
    document = with(plan_bytes(11, 4, 0, 12));  // whole, and another one than was claimed
    EXPECT_EQ(status(document, "T", "O"), "contradicted");
    EXPECT_EQ(artefact(document).at("bytes").at("damage").size(), 0U);
}

TEST(Coverage, BadRequestsAreNamedByFileAndLine) {
    const std::string target = "targets:\n  - {id: T, gpu: H100}\n";
    struct Case {
        std::string text, expected;
    };
    const std::vector<Case> cases = {
        {"name: x\n" + target, "schema"},
        {"schema: coverage-request/2\n" + target, "is not coverage-request/1"},
        {std::string(head), "no target is named"},
        {head + target + "  - {id: T, gpu: B200}\n",
         "request.yaml:4: targets[1]: a second target 'T'"},
        {head + target + "  - {id: U, gpu: H100, needs: not}\n", "is the same target as 'T'"},
        {std::string(head) + "targets:\n  - {id: T, needs: maybe}\n", "none of now, later, not"},
        {std::string(head) + "targets:\n  - {id: T, gpu: H100, compute_capability: 8.7}\n",
         "contradicts the GPU H100"},
        {std::string(head) + "targets:\n  - {id: T, gpu: H100, jetpack: \"6.2\"}\n",
         "is no Jetson"},
        {std::string(head) + "targets:\n  - {id: T, jetpack: \"6.2\", l4t: r38.2.1}\n",
         "contradicts L4T"},
        {std::string(head) + "targets:\n  - {id: T, l4t: r36.4.3, arch: x86_64}\n",
         "linux-aarch64 only"},
        {std::string(head) + "targets:\n  - {id: T, platform: linux-x86_64, os: windows}\n",
         "contradicts"},
        {std::string(head) + "targets:\n  - {id: T, version: latest}\n", "is no version"},
        {std::string(head) + "targets:\n  - {id: T, gpuu: H100}\n", "gpuu"},
        {std::string(head) + "targets:\n  - {id: T, platform: linux}\n", "is no platform"},
        {head + target + "offers:\n  - {id: O}\n  - {id: O}\n", "a second offer"},
        {head + target +
             "offers:\n  - id: O\n    artefacts:\n      - {id: E, built: {flags: "
             "[version-compatable]}}\n",
         "is it version-compatible?"},
        {head + target +
             "offers:\n  - id: O\n    artefacts:\n      - {id: E, built: {flags: "
             "[hardware-compatible-same-cc, "
             "hardware-compatible-ampere-plus]}}\n",
         "contradict each other"},
        {head + target +
             "offers:\n  - id: O\n    artefacts:\n      - {id: E, documents: [{targets: [TT], by: "
             "x}]}\n",
         "no target 'TT'"},
        {head + target +
             "offers:\n  - id: O\n    artefacts:\n      - {id: E, documents: [{targets: [T]}]}\n",
         "by"},
        {head + target +
             "offers:\n  - id: O\n    artefacts:\n      - {id: E, digest: \"sha256:12\"}\n",
         "64 hexadecimal"},
        {head + target +
             "offers:\n  - id: O\n    artefacts:\n      - {id: E, file: ../../etc/passwd}\n",
         "file"},
        {head + target +
             "offers:\n  - id: O\n    artefacts:\n      - {id: E, file: not-here.plan}\n",
         "no such file"},
        {head + target +
             "offers:\n  - id: O\n    evidence:\n      - {question: colour, what: x, by: z}\n",
         "none of operators"},
    };
    for (const Case& one : cases) {
        const std::string error = error_of(one.text);
        EXPECT_NE(error.find(one.expected), std::string::npos) << one.text << "\n" << error;
        EXPECT_EQ(error.rfind("request.yaml:", 0), 0U) << error;
    }
}

TEST(Coverage, ProductsTooLargeToPrintAreRefused) {
    std::string text = std::string(head) + "dimensions:\n  id: T\n  values:\n";
    for (const char* name : {"gpu", "version", "cuda", "driver", "os_release"}) {
        text += "    " + std::string(name) + ": [";
        for (int i = 0; i < 20; ++i)
            text += (i > 0 ? ", " : "") + std::string(name == std::string("gpu") ? "G" : "") +
                    std::to_string(i + 1);
        text += "]\n";
    }
    const std::string error = error_of(text);
    EXPECT_NE(error.find("passes 4096 targets"), std::string::npos) << error;
    std::string many = std::string(head) + "dimensions:\n  id: T\n  values:\n    version: [";
    for (int i = 0; i < 1000; ++i)
        many += (i > 0 ? ", " : "") + std::string("1.") + std::to_string(i);
    many += "]\noffers:\n";
    for (int i = 0; i < 17; ++i)
        many += "  - id: O" + std::to_string(i) + "\n";
    EXPECT_THROW(document_of(many), Error);
}

TEST(Coverage, CsvAndHtmlEscapeWhatTheyShow) {
    const Json document =
        document_of(std::string(head) + "name: \"<script>alert(1)</script>\"\ntargets:\n  - {id: "
                                        "\"=HYPERLINK(1)\", gpu: \"<img src=x>, \\\"y\\\"\"}\n"
                                        "offers:\n  - {id: \"<b>O</b>\"}\n");
    const std::string html = evidence::coverage_page(document);
    EXPECT_EQ(html.find("<script>"), std::string::npos);
    EXPECT_EQ(html.find("<img"), std::string::npos);
    EXPECT_EQ(html.find("<b>O"), std::string::npos);
    EXPECT_NE(html.find("unaddressed"), std::string::npos);
    const std::string csv = coverage_csv(document);
    EXPECT_NE(csv.find("\n'=HYPERLINK(1),"), std::string::npos) << csv;
    EXPECT_NE(csv.find("\"<img src=x>, \"\"y\"\"\""), std::string::npos) << csv;
}

TEST(Coverage, EqualRequestsGiveEqualBytes) {
    EXPECT_EQ(write_json(example("jetson-fleet.yaml")), write_json(example("jetson-fleet.yaml")));
}

}  // namespace
}  // namespace requal::compat
