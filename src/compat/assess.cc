#include "compat/assess.h"

#include <algorithm>
#include <optional>

namespace requal::compat {

namespace {

void add_once(std::vector<std::string>& list, const std::string& item) {
    if (!item.empty() && std::find(list.begin(), list.end(), item) == list.end())
        list.push_back(item);
}

struct Evaluated {
    Truth needs = Truth::yes;
    Truth when = Truth::yes;
    Applied applied;
};

class Assessor {
public:
    Assessor(const RuleSet& rules, const Facts& built, const Facts& target)
        : rules_(rules), built_(built), target_(target) {}

    Assessment run() {
        const auto product = word_of(built_, "product");
        const auto target_product = word_of(target_, "product");
        if (!product)
            return result_;
        if (target_product && *target_product != *product) {
            exclude_other_product(*product, *target_product);
            return result_;
        }
        const Product* known = rules_.product(*product);
        if (!known || !target_product)
            return result_;
        product_ = known;
        for (const Axis& axis : known->axes)
            states_.push_back(evaluate(axis.same, built_, target_, rules_.tables));
        exclude();
        if (!result_.excludes.empty()) {
            result_.match = Match::excluded;
            return result_;
        }
        find_routes();
        return result_;
    }

private:
    Evaluated evaluated(const Rule& rule) const {
        Evaluated result;
        result.applied.rule = &rule;
        const auto ask = [&](const std::vector<Condition>& conditions, Truth& truth) {
            for (const Condition& condition : conditions) {
                const Truth one = evaluate(condition, built_, target_, rules_.tables).truth;
                truth = both(truth, one);
                if (one == Truth::yes)
                    result.applied.met.push_back(condition.text);
                else if (one == Truth::unknown)
                    result.applied.to_show.push_back(condition.text);
            }
        };
        ask(rule.needs, result.needs);
        ask(rule.when, result.when);
        return result;
    }

    const Outcome* state_of(const std::string& axis) const {
        for (std::size_t i = 0; i < product_->axes.size(); ++i)
            if (product_->axes[i].name == axis)
                return &states_[i];
        return nullptr;
    }

    /// Nobody spoke of the engine where a rule's conditions on it hold only because they are not about it.
    static bool speaks_of_engine(const Rule& rule) {
        return std::any_of(rule.when.begin(), rule.when.end(),
                           [](const Condition& condition) { return condition.about_built; });
    }

    void exclude_other_product(const std::string& product, const std::string& target_product) {
        for (const Rule& rule : rules_.rules) {
            if (rule.effect != Effect::excludes || rule.axis != "product" ||
                !speaks_of_engine(rule) ||
                (rule.product != product && rule.product != target_product))
                continue;
            // the rule must name both products: that of the engine by its condition, that of the target by its own
            Evaluated one = evaluated(rule);
            Facts swapped = built_;
            swapped["product"] = {target_product};
            const bool names_both =
                std::all_of(rule.when.begin(), rule.when.end(), [&](const Condition& condition) {
                    return evaluate(condition, swapped, target_, rules_.tables).truth == Truth::yes;
                });
            if (one.when == Truth::yes && names_both)
                result_.excludes.push_back(std::move(one.applied));
        }
        result_.differs.push_back("product: " + product + " and " + target_product);
        if (!result_.excludes.empty())
            result_.match = Match::excluded;
    }

    void exclude() {
        for (const Rule& rule : rules_.rules) {
            if (rule.effect != Effect::excludes || rule.product != product_->name ||
                rule.axis == "product" || !speaks_of_engine(rule))
                continue;
            if (!rule.axis.empty()) {
                const Outcome* state = state_of(rule.axis);
                if (!state || state->truth != Truth::no)
                    continue;
            }
            Evaluated one = evaluated(rule);
            if (one.needs == Truth::yes && one.when == Truth::yes)
                result_.excludes.push_back(std::move(one.applied));
        }
    }

    /// The route with the fewest conditions left to show.
    std::optional<Applied> route_over(const std::string& axis) const {
        std::optional<Applied> best;
        for (const Rule& rule : rules_.rules) {
            if (rule.effect != Effect::allows || rule.product != product_->name ||
                rule.axis != axis)
                continue;
            Evaluated one = evaluated(rule);
            if (one.needs != Truth::yes || one.when == Truth::no)
                continue;
            if (!best || one.applied.to_show.size() < best->to_show.size())
                best = std::move(one.applied);
        }
        return best;
    }

    void find_routes() {
        bool covered = true, route = false, open = false;
        Applied agreeing;
        agreeing.rule = product_->match.empty() ? nullptr : rules_.rule(product_->match);
        std::vector<std::string> bridged;
        for (std::size_t i = 0; i < product_->axes.size(); ++i) {
            const Axis& axis = product_->axes[i];
            const Outcome& state = states_[i];
            if (state.truth == Truth::yes) {
                agreeing.met.push_back(axis.same.text);
                continue;
            }
            if (auto over = route_over(axis.name)) {
                // an axis that may agree anyway asks nothing more than its route
                open = open || !over->to_show.empty();
                result_.routes.push_back(std::move(*over));
                bridged.push_back(axis.name);
                route = true;
            } else if (state.truth == Truth::unknown && state.both_stated) {
                agreeing.to_show.push_back(axis.same.text);
                open = true;
            } else {
                covered = false;
                const std::string line = axis.name + ": " + axis.meaning;
                (state.truth == Truth::no ? result_.differs : result_.unknown).push_back(line);
            }
        }
        if (!covered || (!agreeing.rule && !route)) {
            // what some axes would need does not matter where another one is not covered
            result_.routes.clear();
            return;
        }
        result_.match = route ? Match::route : Match::agree;
        if (agreeing.rule && (!route || !agreeing.met.empty() || !agreeing.to_show.empty()))
            result_.routes.insert(result_.routes.begin(), std::move(agreeing));
        for (const Applied& one : result_.routes) {
            for (const std::string& text : one.met)
                add_once(result_.met, text);
            for (const std::string& text : one.to_show)
                add_once(result_.to_show, text);
        }
        add_duties("");
        for (const std::string& axis : bridged)
            add_duties(axis);
        result_.complete = !open;
    }

    /// `axis` empty: duties whatever the route.
    void add_duties(const std::string& axis) {
        for (const Rule& rule : rules_.rules) {
            if (rule.effect != Effect::duty || rule.product != product_->name || rule.axis != axis)
                continue;
            Evaluated one = evaluated(rule);
            if (one.when == Truth::no)
                continue;
            add_once(result_.to_show, rule.says);
            result_.duties.push_back(std::move(one.applied));
        }
    }

    const RuleSet& rules_;
    const Facts& built_;
    const Facts& target_;
    const Product* product_ = nullptr;
    std::vector<Outcome> states_;
    Assessment result_;
};

}  // namespace

std::vector<std::string> Assessment::rule_ids() const {
    std::vector<std::string> ids;
    if (match == Match::excluded) {
        for (const Applied& one : excludes)
            add_once(ids, one.rule->id);
        return ids;
    }
    for (const Applied& one : routes)
        add_once(ids, one.rule->id);
    for (const Applied& one : duties)
        add_once(ids, one.rule->id);
    return ids;
}

std::vector<std::string> Assessment::prices() const {
    std::vector<std::string> list;
    for (const auto* group : {&routes, &duties})
        for (const Applied& one : *group)
            if (one.rule->price != "none")
                add_once(list, one.rule->price);
    return list;
}

Assessment assess(const RuleSet& rules, const Facts& built, const Facts& target) {
    return Assessor(rules, built, target).run();
}

}  // namespace requal::compat
