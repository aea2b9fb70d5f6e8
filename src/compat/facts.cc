#include "compat/facts.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "compat/version.h"

namespace requal::compat {

const std::vector<std::string_view>& fact_names() {
    static const std::vector<std::string_view> names = {
        "product",  "version", "gpu",     "cc",  "os",    "os_release", "arch",
        "platform", "jetson",  "jetpack", "l4t", "cuda",  "driver",     "flags",
        "isa",      "cpu",     "soc",     "abi", "allows"};
    return names;
}

std::optional<std::string> word_of(const Facts& facts, std::string_view name) {
    const auto found = facts.find(name);
    if (found == facts.end() || found->second.size() != 1)
        return std::nullopt;
    return found->second.front();
}

std::string architecture_name(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower == "amd64" || lower == "x64" || lower == "x86-64")
        return "x86_64";
    return lower == "arm64" ? "aarch64" : lower;
}

std::string gpu_key(std::string_view name) {
    static const std::set<std::string, std::less<>> silent = {"nvidia", "geforce", "tesla",
                                                              "quadro", "gpu"};
    std::string key;
    std::istringstream words{std::string(name)};
    for (std::string word; words >> word;) {
        std::transform(word.begin(), word.end(), word.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (!silent.contains(word))
            key += (key.empty() ? "" : " ") + word;
    }
    return key;
}

namespace {

/// `key` is `begin`, or goes on with a further word (also "a100-sxm4").
bool begins_with_words(std::string_view key, std::string_view begin) {
    return key.starts_with(begin) &&
           (key.size() == begin.size() || key[begin.size()] == ' ' || key[begin.size()] == '-');
}

std::string plain_l4t(std::string_view l4t) {
    while (!l4t.empty() && !(l4t.front() >= '0' && l4t.front() <= '9'))
        l4t.remove_prefix(1);
    return std::string(l4t);
}

}  // namespace

const KnownGpu* Tables::gpu(std::string_view name) const {
    const std::string key = gpu_key(name);
    const KnownGpu* best = nullptr;
    for (const KnownGpu& known : gpus)
        if (begins_with_words(key, known.key) && (!best || known.key.size() > best->key.size()))
            best = &known;
    return best;
}

const Stack* Tables::stack_of_l4t(std::string_view l4t) const {
    const std::string wanted = plain_l4t(l4t);
    for (const Stack& stack : stacks)
        for (const std::string& name : stack.l4t)
            if (plain_l4t(name) == wanted)
                return &stack;
    return nullptr;
}

std::vector<const Stack*> Tables::stacks_of_jetpack(std::string_view jetpack) const {
    std::vector<const Stack*> found;
    for (const Stack& stack : stacks)
        if (stack.jetpack == jetpack)
            found.push_back(&stack);
    return found;
}

SameGpu same_gpu(std::string_view left, std::string_view right, const Tables& tables) {
    const std::string a = gpu_key(left), b = gpu_key(right);
    if (a == b)
        return {Truth::yes, false};
    if (begins_with_words(a, b) || begins_with_words(b, a))
        return {Truth::unknown, true};
    return {tables.gpu(left) && tables.gpu(right) ? Truth::no : Truth::unknown, false};
}

std::vector<std::string> derive(Facts& facts, const Tables& tables) {
    std::vector<std::string> notes;
    const auto add = [&](const std::string& name, const std::string& value,
                         const std::string& why) {
        if (value.empty() || facts.contains(name))
            return;
        facts[name] = {value};
        notes.push_back(name + " " + value + ": " + why);
    };
    if (const auto version = word_of(facts, "version"))
        if (const auto parsed = parse_version(*version))
            add("cuda", parsed->cuda, "written in the version " + *version);
    const auto l4t = word_of(facts, "l4t");
    if (const Stack* stack = l4t ? tables.stack_of_l4t(*l4t) : nullptr) {
        const std::string why = "L4T " + *l4t + " in rules/stacks.yaml";
        add("jetpack", stack->jetpack, why);
        add("cuda", stack->cuda, why);
        if (word_of(facts, "product") == "tensorrt")
            add("version", stack->tensorrt, why);
    }
    if (facts.contains("l4t") || facts.contains("jetpack")) {
        add("jetson", "yes", "it has a JetPack or L4T release");
        add("os", "linux", "JetPack is a Linux");
        add("arch", "aarch64", "JetPack runs on aarch64");
    }
    const auto gpu = word_of(facts, "gpu");
    if (const KnownGpu* known = gpu ? tables.gpu(*gpu) : nullptr) {
        const std::string why = *gpu + " in rules/stacks.yaml";
        add("cc", known->cc, why);
        add("jetson", known->jetson ? "yes" : "no", why);
    }
    const auto os = word_of(facts, "os");
    const auto arch = word_of(facts, "arch");
    if (os && arch && !facts.contains("platform"))
        facts["platform"] = {*os + "-" + *arch};
    return notes;
}

}  // namespace requal::compat
