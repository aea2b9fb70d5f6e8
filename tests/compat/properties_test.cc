// Properties of coverage and guard under random rules, engines and machines.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "base/yaml.h"
#include "compat/coverage.h"
#include "compat/guard.h"

namespace requal::compat {
namespace {

/// CI_FULL=1 runs ten times as many.
const int rounds = std::getenv("CI_FULL") != nullptr ? 4000 : 400;

class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}
    std::size_t below(std::size_t n) {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_);
    }
    bool often() { return below(4) != 0; }
    template <typename List>
    std::string of(const List& list) {
        return std::string(list[below(std::size(list))]);
    }

private:
    std::mt19937 engine_;
};

constexpr std::string_view versions[] = {"8.5.2",     "8.6.1.6",   "9.1.0.4",
                                         "10.3.0.26", "10.3.0.30", "10.16.2.10",
                                         "11.3.0.15", "11.4.0.12", "11.4"};
constexpr std::string_view gpus[] = {"H100",        "B200",     "NVIDIA A100-SXM4-80GB",
                                     "NVIDIA L40S", "Tesla T4", "Jetson AGX Orin 64GB",
                                     "Foo 9000"};
constexpr std::string_view systems[] = {"linux", "windows", "driveos"};
constexpr std::string_view architectures[] = {"x86_64", "aarch64"};
constexpr std::string_view flags[] = {
    "version-compatible", "exclude-lean-runtime", "hardware-compatible-ampere-plus",
    "hardware-compatible-same-cc", "runtime-platform-windows-amd64"};
constexpr std::string_view products[] = {"tensorrt", "tensorrt", "tensorrt", "tensorrt-rtx",
                                         "openvino"};

const RuleSet& rules() {
    // notes decide nothing and cost time
    static const RuleSet set = [] {
        RuleSet all = load_rules();
        std::erase_if(all.rules, [](const Rule& rule) {
            return rule.effect == Effect::note && !rule.id.starts_with("GUARD-");
        });
        return all;
    }();
    return set;
}

Facts random_facts(Random& random, bool engine) {
    Facts facts;
    if (random.often())
        facts["product"] = {random.of(products)};
    if (random.often())
        facts["version"] = {random.of(versions)};
    if (random.often())
        facts["gpu"] = {random.of(gpus)};
    if (random.often())
        facts["os"] = {random.of(systems)};
    if (random.often())
        facts["arch"] = {random.of(architectures)};
    if (engine && random.often()) {
        facts["flags"] = {};
        for (const std::string_view flag : flags)
            if (random.below(3) == 0)
                facts["flags"].emplace_back(flag);
    }
    derive(facts, rules().tables);
    return facts;
}

/// A rule set with random exclusions and routes; each is one that `rules check` accepts.
RuleSet random_rules(Random& random) {
    RuleSet set = rules();
    static constexpr std::string_view lefts[] = {"built.version", "target.version", "built.gpu",
                                                 "target.gpu",    "built.os",       "target.os",
                                                 "built.product"};
    for (int i = 0; i < 4; ++i) {
        Rule rule;
        rule.id = "RANDOM-" + std::to_string(i);
        rule.product = "tensorrt";
        rule.says = rule.id;
        rule.effect = random.below(3) == 0 ? Effect::allows : Effect::excludes;
        static constexpr std::string_view axes[] = {"version", "gpu", "platform"};
        rule.axis = rule.effect == Effect::allows || random.below(2) == 0 ? random.of(axes) : "";
        const std::size_t count = 1 + random.below(2);
        for (std::size_t c = 0; c < count; ++c) {
            const std::string left = random.of(lefts);
            const bool version = left.ends_with("version");
            static constexpr std::string_view bounds[] = {">=", "<", ">", "<="};
            static constexpr std::string_view words[] = {"is", "is-not"};
            const std::string value = version                     ? random.of(versions)
                                      : left.ends_with("gpu")     ? random.of(gpus)
                                      : left.ends_with("product") ? random.of(products)
                                                                  : random.of(systems);
            rule.when.push_back(parse_condition(
                left + " " + (version ? random.of(bounds) : random.of(words)) + " " + value));
        }
        if (rule.effect == Effect::excludes)
            rule.when.push_back(parse_condition("built.product is tensorrt"));
        set.rules.push_back(std::move(rule));
    }
    return set;
}

Target target_of(const Facts& facts) {
    Target target;
    target.id = "T";
    target.facts = facts;
    target.facts.try_emplace("product", std::vector<std::string>{"tensorrt"});
    return target;
}

Offer offer_of(const std::vector<Facts>& engines) {
    Offer offer;
    offer.id = "O";
    for (const Facts& facts : engines) {
        Artefact artefact;
        artefact.id = "E" + std::to_string(offer.artefacts.size());
        artefact.built = facts;
        offer.artefacts.push_back(std::move(artefact));
    }
    return offer;
}

Status status_of(const RuleSet& set, const Target& target, const Offer& offer) {
    return cover(set, target, offer, std::vector<Bytes>(offer.artefacts.size())).status;
}

TEST(Properties, NoRuleExcludesAnEngineThatNobodyDescribed) {
    Random random(1);
    for (int i = 0; i < rounds; ++i) {
        const RuleSet set = random_rules(random);
        EXPECT_EQ(status_of(set, target_of(random_facts(random, false)), offer_of({Facts{}})),
                  Status::unaddressed);
    }
}

TEST(Properties, AnExclusionRestsOnStatedFactsOnly) {
    // take away any fact that the excluding rule asks for, and that rule no longer excludes
    Random random(2);
    int seen = 0;
    for (int i = 0; i < rounds; ++i) {
        const RuleSet set = random_rules(random);
        const Facts built = random_facts(random, true);
        const Target target = target_of(random_facts(random, false));
        const Assessment found = assess(set, built, target.facts);
        if (found.match != Match::excluded)
            continue;
        ++seen;
        for (const Applied& one : found.excludes) {
            EXPECT_TRUE(one.to_show.empty()) << one.rule->id;
            for (const Condition& condition : one.rule->when) {
                if (!condition.left.starts_with("built."))
                    continue;
                Facts less = built;
                less.erase(condition.left.substr(6));
                for (const Applied& other : assess(set, less, target.facts).excludes) {
                    EXPECT_NE(other.rule, one.rule)
                        << one.rule->id << " without " << condition.left;
                }
            }
        }
    }
    EXPECT_GT(seen, rounds / 10);
}

TEST(Properties, AddingARuleNeverTurnsUnaddressedIntoExcludedWhereItsFactsAreUnstated) {
    Random random(3);
    for (int i = 0; i < rounds; ++i) {
        const Facts built = random_facts(random, true);
        const Target target = target_of(random_facts(random, false));
        if (status_of(rules(), target, offer_of({built})) != Status::unaddressed)
            continue;
        RuleSet set = rules();
        Rule rule;
        rule.id = "R";
        rule.product = "tensorrt";
        rule.effect = Effect::excludes;
        rule.when = {parse_condition("built.product is tensorrt"),
                     parse_condition("built.driver >= 1")};
        set.rules.push_back(rule);  // nobody states a driver here
        EXPECT_EQ(status_of(set, target, offer_of({built})), Status::unaddressed);
    }
}

TEST(Properties, AddingAnOfferNeverLowersAStatus) {
    Random random(4);
    for (int i = 0; i < rounds; ++i) {
        Request request;
        request.targets = {target_of(random_facts(random, false))};
        const Offer first = offer_of({random_facts(random, true)});
        Offer second = offer_of({random_facts(random, true), random_facts(random, true)});
        second.id = "P";
        const auto entry = [&](const Offer& offer) {
            return cover(rules(), request.targets[0], offer,
                         std::vector<Bytes>(offer.artefacts.size()));
        };
        const Verdict before = coverage_verdict(request, {{entry(first)}});
        const Verdict after = coverage_verdict(request, {{entry(first), entry(second)}});
        const auto rank = [](Verdict verdict) {
            return verdict == Verdict::pass ? 2 : verdict == Verdict::undecidable ? 1 : 0;
        };
        EXPECT_GE(rank(after), rank(before));
        EXPECT_EQ(entry(first).status, entry(first).status);
    }
}

TEST(Properties, AnotherOfferChangesNothingInTheDocumentOfTheFirst) {
    const std::string head = "schema: coverage-request/1\ntargets:\n  - {id: T, gpu: H100, "
                             "version: 11.4.0, platform: linux-x86_64}\n"
                             "offers:\n  - id: A\n    artefacts:\n      - {id: E, built: {product: "
                             "tensorrt, version: 11.3.0, gpu: H100, platform: linux-x86_64}}\n";
    const std::string more = "  - id: B\n    artefacts:\n      - {id: E, built: {product: "
                             "tensorrt, version: 11.4.0, gpu: H100, "
                             "platform: linux-x86_64}, documents: [{targets: [T], by: them}]}\n";
    const auto of = [&](const std::string& text) {
        return coverage_document(rules(), read_request(parse_yaml(text, "r"), "r", rules().tables),
                                 {});
    };
    EXPECT_EQ(of(head).at("targets").as_array()[0], of(head + more).at("targets").as_array()[0]);
}

GuardInput guard_input(const Facts& built, const Facts& machine) {
    GuardInput input;
    input.artefact.kind = "tensorrt-plan";
    Json target = Json::object(), manifest = Json::object();
    const auto set = [&](const char* key, const char* fact) {
        if (const auto word = word_of(built, fact))
            target[key] = *word;
    };
    set("gpu", "gpu");
    set("os", "os");
    set("architecture", "arch");
    manifest["schema"] = "engine-manifest/1";
    manifest["toolchain"] = Json::object({{"name", "tensorrt"}});
    if (const auto version = word_of(built, "version"))
        manifest["toolchain"]["version"] = *version;
    manifest["target"] = std::move(target);
    if (const auto list = built.find("flags"); list != built.end()) {
        Json words = Json::array();
        for (const std::string& word : list->second)
            words.push_back(word);
        manifest["options"] =
            Json::object({{"effective", Json::object({{"flags", std::move(words)}})}});
    }
    input.manifest = std::move(manifest);
    input.digest_matches = Truth::yes;
    input.machine = machine;
    input.machine.erase("product");
    return input;
}

TEST(Properties, TheGuardNeverAllowsWhatARuleExcludes) {
    Random random(5);
    int allowed = 0, refused = 0;
    for (int i = 0; i < rounds * 2; ++i) {
        const RuleSet set = random_rules(random);
        const Facts built = random_facts(random, true);
        // often the machine is the one that the engine was built on
        const GuardInput input =
            guard_input(built, random.below(2) == 0 ? built : random_facts(random, false));
        const GuardResult result = decide(set, input);
        const Assessment found = assess(set, result.built, result.target);
        const bool allows =
            result.decision == Decision::allowed || result.decision == Decision::allowed_by_route;
        allowed += allows ? 1 : 0;
        refused += result.decision == Decision::refused ? 1 : 0;
        if (found.match == Match::excluded) {
            EXPECT_EQ(result.decision, Decision::refused);
        }
        EXPECT_TRUE(!allows || found.complete);
    }
    EXPECT_GT(allowed, 10);
    EXPECT_GT(refused, 100);
}

TEST(Properties, AStricterRuleNeverOpensTheGuard) {
    // adding an exclusion moves decisions towards refusal only
    Random random(6);
    for (int i = 0; i < rounds; ++i) {
        RuleSet set = random_rules(random);
        const GuardInput input =
            guard_input(random_facts(random, true), random_facts(random, false));
        std::vector<Rule> kept;
        for (const Rule& rule : set.rules)
            if (!(rule.id.starts_with("RANDOM-") && rule.effect == Effect::excludes))
                kept.push_back(rule);
        RuleSet looser = set;
        looser.rules = kept;
        const Decision strict = decide(set, input).decision;
        const Decision loose = decide(looser, input).decision;
        EXPECT_TRUE(strict == Decision::refused || strict == loose)
            << name_of(strict) << " and " << name_of(loose);
    }
}

TEST(Properties, WithoutAManifestAPlanIsNeverAllowed) {
    Random random(7);
    for (int i = 0; i < rounds; ++i) {
        GuardInput input = guard_input({}, random_facts(random, false));
        input.manifest = Json();
        input.digest_matches = Truth::unknown;
        input.artefact.recorded["runtime_version"] = random.of(versions);
        const Decision decision = decide(random_rules(random), input).decision;
        EXPECT_TRUE(decision == Decision::refused || decision == Decision::cannot_tell);
    }
}

TEST(Properties, TensorRtRulesAreNotBorrowed) {
    Random random(8);
    for (int i = 0; i < rounds; ++i) {
        Facts built = random_facts(random, true), target = random_facts(random, false);
        const std::string product = random.below(2) == 0 ? "tensorrt-rtx" : "tensorrt-safety";
        built["product"] = {product};
        target["product"] = {product};
        const Assessment found = assess(rules(), built, target);
        for (const auto* group : {&found.excludes, &found.routes, &found.duties})
            for (const Applied& one : *group)
                EXPECT_EQ(one.rule->product, product) << one.rule->id;
    }
}

}  // namespace
}  // namespace requal::compat
