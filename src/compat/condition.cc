#include "compat/condition.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "compat/version.h"

namespace requal::compat {

namespace {

const std::vector<std::string_view>& operations() {
    static const std::vector<std::string_view> all = {
        "is",         "is-not",   "has",  "lacks",    "includes",   ">=",           ">",
        "<=",         "<",        "same", "same-gpu", "same-build", "same-release", "same-minor",
        "same-major", "same-text"};
    return all;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

void check_fact(const std::string& name) {
    const std::size_t dot = name.find('.');
    const auto& names = fact_names();
    if (std::find(names.begin(), names.end(), std::string_view(name).substr(dot + 1)) ==
        names.end()) {
        const std::string near = nearest(std::string_view(name).substr(dot + 1), names);
        throw Error(ErrorKind::input, "unknown fact '" + name + "'", "",
                    near.empty() ? "" : "is it " + name.substr(0, dot + 1) + near + "?");
    }
}

bool is_fact(std::string_view word) {
    return word.starts_with("built.") || word.starts_with("target.");
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::vector<std::string> alternatives(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream parts(text);
    for (std::string word; std::getline(parts, word, '|');)
        words.push_back(word);
    return words;
}

const std::vector<std::string>* find(const std::string& name, const Facts& built,
                                     const Facts& target) {
    const std::size_t dot = name.find('.');
    const Facts& facts = name.starts_with("built.") ? built : target;
    const auto found = facts.find(std::string_view(name).substr(dot + 1));
    return found == facts.end() ? nullptr : &found->second;
}

bool holds(const std::vector<std::string>& list, const std::string& word) {
    return std::any_of(list.begin(), list.end(),
                       [&](const std::string& item) { return lower(item) == lower(word); });
}

Outcome compare_versions(const std::string& operation, const std::string& left,
                         const std::string& right, bool bound) {
    const auto a = parse_version(left);
    auto b = parse_version(right);
    if (!a || !b)
        return {};
    if (bound)
        b = exactly(*b);
    Truth truth = Truth::unknown;
    const auto negated = [](Truth value) {
        return value == Truth::yes ? Truth::no : value == Truth::no ? Truth::yes : Truth::unknown;
    };
    if (operation == ">=")
        truth = at_least(*a, *b);
    else if (operation == ">")
        truth = newer(*a, *b);
    else if (operation == "<=")
        truth = negated(newer(*a, *b));
    else if (operation == "<")
        truth = negated(at_least(*a, *b));
    else if (operation == "same-build")
        truth = same_numbers(*a, *b, 4);
    else if (operation == "same-release")
        truth = same_numbers(*a, *b, 3);
    else if (operation == "same-minor")
        truth = same_numbers(*a, *b, 2);
    else if (operation == "same-major")
        truth = same_numbers(*a, *b, 1);
    else  // same-text
        truth =
            left == right ? Truth::yes
            : same_numbers(*a, *b, std::min(a->numbers.size(), b->numbers.size())) == Truth::no ||
                    (a->numbers.size() == b->numbers.size() && !a->revision.empty() &&
                     !b->revision.empty())
                ? Truth::no
                : Truth::unknown;
    return {truth, true};
}

}  // namespace

Condition parse_condition(std::string_view text) {
    Condition condition;
    condition.text = text;
    std::istringstream words{std::string(text)};
    words >> condition.left >> condition.operation;
    std::getline(words >> std::ws, condition.right);
    if (!is_fact(condition.left))
        throw Error(ErrorKind::input,
                    "a condition begins with built.FACT or target.FACT, not '" + condition.left +
                        "'",
                    "", "write for example 'built.version >= 8.6'");
    check_fact(condition.left);
    const auto& known = operations();
    if (std::find(known.begin(), known.end(), condition.operation) == known.end())
        throw Error(ErrorKind::input, "unknown operator '" + condition.operation + "'", "",
                    "use one of is, is-not, has, lacks, includes, >=, >, <=, <, same, same-gpu, "
                    "same-build, same-release, same-minor, same-major, same-text");
    if (condition.right.empty())
        throw Error(ErrorKind::input, "nothing stands behind '" + condition.operation + "'", "",
                    "write a value or a fact there");
    condition.right_is_fact = is_fact(condition.right);
    if (condition.right_is_fact)
        check_fact(condition.right);
    condition.about_built = condition.left.starts_with("built.") ||
                            (condition.right_is_fact && condition.right.starts_with("built."));
    if (is_one_of(condition.operation, {">=", ">", "<=", "<"}) && !condition.right_is_fact &&
        !parse_version(condition.right))
        throw Error(ErrorKind::input, "'" + condition.right + "' is no version", "",
                    "write numbers with points, such as 8.6");
    if (condition.operation.starts_with("same") && !condition.right_is_fact)
        throw Error(ErrorKind::input, "'" + condition.operation + "' compares two facts", "",
                    "write a fact on the right");
    if (condition.operation == "includes" && !condition.right_is_fact)
        throw Error(ErrorKind::input, "'includes' compares two facts", "", "use 'has' for words");
    return condition;
}

Outcome evaluate(const Condition& condition, const Facts& built, const Facts& target,
                 const Tables& tables) {
    const auto* left = find(condition.left, built, target);
    if (!left)
        return {};
    const std::vector<std::string>* right = nullptr;
    std::vector<std::string> words;
    if (condition.right_is_fact) {
        right = find(condition.right, built, target);
        if (!right)
            return {};
    } else {
        words = alternatives(condition.right);
        right = &words;
    }
    const std::string& operation = condition.operation;
    if (operation == "has" || operation == "lacks") {
        const bool any = std::any_of(right->begin(), right->end(),
                                     [&](const std::string& word) { return holds(*left, word); });
        return {truth_of(any == (operation == "has")), true};
    }
    if (operation == "includes")
        return {truth_of(std::all_of(right->begin(), right->end(),
                                     [&](const std::string& word) { return holds(*left, word); })),
                true};
    if (left->size() != 1 || right->empty())
        return {};
    if (operation == "is" || operation == "is-not")
        return {truth_of(holds(*right, left->front()) == (operation == "is")), true};
    if (right->size() != 1)
        return {};
    if (operation == "same")
        return {truth_of(lower(left->front()) == lower(right->front())), true};
    if (operation == "same-gpu") {
        const SameGpu same = same_gpu(left->front(), right->front(), tables);
        return {same.same, same.same != Truth::unknown || same.looser};
    }
    return compare_versions(operation, left->front(), right->front(), !condition.right_is_fact);
}

}  // namespace requal::compat
