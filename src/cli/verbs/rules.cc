// rules: the compatibility rules and the tables of known stacks, listed, shown and checked.
// rooms: compat
#include <span>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "compat/rule_set.h"

namespace requal::cli {

namespace {

using compat::Rule;
using compat::RuleSet;

std::string today() {
    return time_stamp(system_clock()).at("wall").as_string().substr(0, 10);
}

Json rules_document(const RuleSet& rules) {
    Json document = new_document("rules", 1);
    document["rule_set"] = rules.described;
    return document;
}

RuleSet loaded(const Arguments& arguments, const Common& common, std::string& day) {
    RuleSet rules = compat::load_rules(common.rules);
    day = today();
    if (const auto moment = arguments.optional_text("--as-of")) {
        rules = compat::as_of(rules, *moment);
        if (compat::is_date(*moment))
            day = *moment;
    }
    return rules;
}

Result run_list(const Arguments& arguments, const Common& common) {
    std::string day;
    const RuleSet rules = loaded(arguments, common, day);
    const auto product = arguments.optional_text("--product");
    const auto topic = arguments.optional_text("--topic");
    const auto effect = arguments.optional_text("--effect");
    Result result;
    result.document = rules_document(rules);
    Json list = Json::array();
    std::vector<std::vector<std::string>> rows = {
        {"rule", "product", "effect", "certainty", "review by", "says"}};
    std::size_t overdue = 0;
    for (const Rule& rule : rules.rules) {
        if ((product && rule.product != *product) || (topic && rule.topic != *topic) ||
            (effect && name_of(rule.effect) != *effect) ||
            (arguments.flag("--overdue") && !is_overdue(rule, day)))
            continue;
        list.push_back(rule_json(rules, rule, day));
        overdue += is_overdue(rule, day) ? 1U : 0U;
        rows.push_back({rule.id, rule.product, std::string(name_of(rule.effect)),
                        std::string(name_of(rule.certainty)),
                        rule.review_by + (is_overdue(rule, day) ? " OVERDUE" : ""), rule.says});
    }
    result.text = table_text(rows) + std::to_string(list.size()) +
                  (list.size() == 1 ? " rule, " : " rules, ") + std::to_string(overdue) +
                  " past their review date\n";
    result.document["rules"] = std::move(list);
    return result;
}

std::string rule_text(const Json& rule) {
    std::vector<std::vector<std::string>> rows;
    const auto add = [&](const char* label, const char* key) {
        const Json& value = rule.get(key);
        if (value.is_string())
            rows.push_back({label, value.as_string()});
        else if (value.is_array())
            for (const Json& item : value.as_array())
                rows.push_back({label, item.is_string() ? item.as_string() : ""});
    };
    add("rule", "id");
    add("says", "says");
    add("product", "product");
    add("topic", "topic");
    add("effect", "effect");
    add("axis", "axis");
    add("needs", "needs");
    add("when", "when");
    add("exclusions", "exclusions");
    add("price", "price");
    add("next", "next");
    add("certainty", "certainty");
    for (const Json& source : rule.at("sources").as_array()) {
        std::string text = source.at("key").as_string();
        for (const char* key : {"title", "version", "date", "place"})
            if (source.get(key).is_string())
                text += ", " + source.get(key).as_string();
        rows.push_back({"source", text});
    }
    add("collected", "collected");
    add("review by", "review_by");
    if (rule.at("overdue").as_boolean())
        rows.push_back({"", "past its review date: read the sources again"});
    add("same question", "same_group");
    return table_text(rows);
}

/// The tables of rules/stacks.yaml, by name.
Json table_json(const RuleSet& rules, const std::string& name) {
    Json list = Json::array();
    const auto add_rows = [&](const std::vector<compat::TableRow>& rows) {
        for (const compat::TableRow& row : rows) {
            Json item = Json::object();
            for (const auto& [key, value] : row)
                item[key] = value;
            list.push_back(std::move(item));
        }
    };
    if (name == "gpus") {
        for (const compat::KnownGpu& gpu : rules.tables.gpus)
            list.push_back(Json::object({{"name", gpu.key},
                                         {"compute_capability", gpu.cc},
                                         {"jetson", gpu.jetson},
                                         {"has_variants", gpu.has_variants},
                                         {"source", gpu.source}}));
    } else if (name == "jetpack") {
        for (const compat::Stack& stack : rules.tables.stacks) {
            Json l4t = Json::array();
            for (const std::string& item : stack.l4t)
                l4t.push_back(item);
            list.push_back(Json::object({{"jetpack", stack.jetpack},
                                         {"l4t", std::move(l4t)},
                                         {"kernel", stack.kernel},
                                         {"ubuntu", stack.ubuntu},
                                         {"cuda", stack.cuda},
                                         {"cudnn", stack.cudnn},
                                         {"tensorrt", stack.tensorrt},
                                         {"modules", stack.modules},
                                         {"state", stack.state},
                                         {"note", stack.note}}));
        }
    } else if (name == "onnxruntime-tensorrt") {
        add_rows(rules.tables.onnxruntime_tensorrt);
    } else if (name == "cuda-driver") {
        add_rows(rules.tables.cuda_driver);
    } else {
        add_rows(rules.tables.end_of_life);
    }
    return list;
}

Result run_show(const Arguments& arguments, const Common& common) {
    std::string day;
    const RuleSet rules = loaded(arguments, common, day);
    const std::string id = arguments.text("NAME");
    Result result;
    result.document = rules_document(rules);
    static constexpr std::string_view tables[] = {"gpus", "jetpack", "onnxruntime-tensorrt",
                                                  "cuda-driver", "end-of-life"};
    if (std::find(std::begin(tables), std::end(tables), id) != std::end(tables)) {
        Json table = table_json(rules, id);
        std::vector<std::vector<std::string>> rows;
        for (const Json& item : table.as_array()) {
            if (rows.empty()) {
                rows.emplace_back();
                for (const auto& [key, value] : item.as_object())
                    rows.back().push_back(key);
            }
            rows.emplace_back();
            for (const std::string& key : rows.front()) {
                const Json& value = item.get(key);
                std::string cell = value.is_string() ? value.as_string() : "";
                if (value.is_boolean())
                    cell = value.as_boolean() ? "yes" : "no";
                else if (value.is_array())
                    for (const Json& part : value.as_array())
                        cell += (cell.empty() ? "" : " ") + part.as_string();
                rows.back().push_back(cell);
            }
        }
        result.text = table_text(rows);
        result.document["table"] = std::move(table);
        return result;
    }
    const Rule* rule = rules.rule(id);
    if (!rule) {
        std::vector<std::string_view> names(std::begin(tables), std::end(tables));
        for (const Rule& known : rules.rules)
            names.push_back(known.id);
        const std::string near = nearest(id, names);
        throw Error(ErrorKind::usage, "no rule or table '" + id + "'", "NAME",
                    near.empty() ? "see 'requal rules list'" : "is it " + near + "?");
    }
    Json list = Json::array();
    list.push_back(rule_json(rules, *rule, day));
    result.text = rule_text(list.as_array().front());
    if (!rule->group.empty())
        for (const Rule& other : rules.rules)
            if (other.group == rule->group && other.id != rule->id) {
                list.push_back(rule_json(rules, other, day));
                result.text += "\n" + rule_text(list.as_array().back());
            }
    result.document["rules"] = std::move(list);
    return result;
}

Result run_check(const Arguments& arguments, const Common& common) {
    const auto given = arguments.optional_text("DIR");
    const std::string folder = given ? *given : common.rules;
    const std::vector<std::string> problems = compat::check_rules(folder);
    Result result;
    result.document = new_document("rules", 1);
    Json list = Json::array();
    for (const std::string& problem : problems) {
        list.push_back(problem);
        result.text += printable(problem) + "\n";
    }
    result.document["problems"] = std::move(list);
    result.document["verdict"] = name_of(problems.empty() ? Verdict::pass : Verdict::fail);
    if (problems.empty()) {
        const RuleSet rules = compat::load_rules(folder);
        result.document["rule_set"] = rules.described;
        result.text =
            std::to_string(rules.rules.size()) + " rules, " + std::to_string(rules.sources.size()) +
            " sources, " + std::to_string(rules.tables.gpus.size()) + " GPUs, " +
            std::to_string(rules.tables.stacks.size()) + " JetPack releases: no mistakes\n";
    } else {
        result.status = ExitStatus::failed;
    }
    return result;
}

}  // namespace

std::vector<Verb> verbs_rules() {
    const Argument as_of = {.name = "--as-of",
                            .help =
                                "the rules as they were known then: a date, or a TensorRT version",
                            .value_name = "VERSION|DATE"};
    Verb list;
    list.group = "rules";
    list.name = "list";
    list.summary = "lists the compatibility rules with their certainty and review dates";
    list.description =
        "Each rule restates one document. Statements that disagree are all kept, and the "
        "stricter one decides. A rule past its review date is marked.";
    list.options = {
        {.name = "--product", .help = "only rules of this product", .value_name = "NAME"},
        {.name = "--topic", .help = "only rules of this topic", .value_name = "NAME"},
        {.name = "--effect",
         .help = "only rules of this effect",
         .value_name = "NAME",
         .choices = {"match", "allows", "excludes", "duty", "note"}},
        {.name = "--overdue", .kind = ValueKind::flag, .help = "only rules past their review date"},
        as_of};
    list.examples = {"requal rules list --product tensorrt --effect allows"};
    list.run = run_list;
    Verb show;
    show.group = "rules";
    show.name = "show";
    show.summary =
        "shows one rule with its conditions, price and sources, or a table of known stacks";
    show.description = "Rules on the same question, which may disagree with it, are shown behind "
                       "it. Tables: gpus, jetpack, "
                       "onnxruntime-tensorrt, cuda-driver, end-of-life.";
    show.positionals = {
        {.name = "NAME", .help = "id of a rule, or name of a table", .required = true}};
    show.options = {as_of};
    show.examples = {"requal rules show VC-CROSS-10-11", "requal rules show jetpack"};
    show.run = run_show;
    Verb check;
    check.group = "rules";
    check.name = "check";
    check.summary = "checks rule files; every mistake with its file and line";
    check.description = "Without DIR the rules of --rules, or those inside this program.";
    check.positionals = {{.name = "DIR", .kind = ValueKind::path, .help = "folder of rule files"}};
    check.examples = {"requal rules check rules"};
    check.run = run_check;
    return {list, show, check};
}

}  // namespace requal::cli
