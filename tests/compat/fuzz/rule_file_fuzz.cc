// Any text as a rule file: an error of input by file and line, or rules that decide without a crash. A first byte '1' makes the rest
// the file of stacks, any other byte that of rules; the other file is a small one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/yaml.h"
#include "compat/assess.h"
#include "compat/rule_set.h"

namespace {

using namespace requal;

constexpr const char* small_rules = R"(topic: t
collected: "2026-11-30"
review_by: "2027-05-31"
sources:
  - {key: S, title: a document, product: tensorrt, version: 11.4.0, date: 2026-10-05}
products:
  - name: tensorrt
    match: M
    axes:
      - {name: gpu, same: built.gpu same-gpu target.gpu, meaning: GPU model}
      - {name: version, same: built.version same-build target.version, meaning: version}
rules:
  - {id: M, topic: t, product: tensorrt, effect: match, says: all agree, sources: [S], certainty: stated}
)";

void use(const compat::RuleSet& rules) {
    const compat::Facts built = {{"product", {"tensorrt"}},
                                 {"version", {"10.8.0.43"}},
                                 {"gpu", {"NVIDIA A100-SXM4-80GB"}},
                                 {"flags", {"version-compatible"}}};
    compat::Facts target = built;
    target["version"] = {"11.4.0.12"};
    target["gpu"] = {"H100"};
    target["l4t"] = {"r36.4.3"};
    compat::derive(target, rules.tables);
    const compat::Assessment found = compat::assess(rules, built, target);
    for (const std::string& id : found.rule_ids())
        if (rules.rule(id) == nullptr)
            std::abort();
    for (const compat::Rule& rule : rules.rules) {
        const std::string text = write_json(compat::rule_json(rules, rule, "2026-11-30"));
        if (write_json(parse_json(text, "fuzz")) != text)
            std::abort();
    }
    for (const char* moment : {"2026-10-20", "10.3.0"})
        if (compat::as_of(rules, moment).rules.size() > rules.rules.size())
            std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Yaml known_rules = parse_yaml(small_rules, "rules.yaml");
    static const Yaml known_stacks = parse_yaml("topic: stacks\n", "stacks.yaml");
    if (size == 0)
        return 0;
    const bool stacks = data[0] == '1';
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        const YamlLimits limits{.size_bytes = 65536, .depth = 20, .nodes = 2000};
        const Yaml yaml = parse_yaml(text, stacks ? "stacks.yaml" : "rules.yaml", limits);
        const Yaml& rules_file = stacks ? known_rules : yaml;
        const Yaml& stacks_file = stacks ? yaml : known_stacks;
        // all mistakes at once, each with its place
        std::vector<std::string> problems;
        use(compat::read_rule_set(rules_file, stacks_file, &problems));
        for (const std::string& problem : problems)
            if (problem.find(".yaml") == std::string::npos)
                std::abort();
        // the first mistake alone: the same verdict
        bool refused = false;
        try {
            (void)compat::read_rule_set(rules_file, stacks_file);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::input)
                std::abort();
            refused = true;
        }
        if (refused == problems.empty())
            std::abort();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::input)
            std::abort();
    }
    return 0;
}
