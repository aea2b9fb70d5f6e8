#include "compat/rule_set.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/rules.h"
#include "base/yaml.h"
#include "compat/version.h"

namespace requal::compat {

std::string_view name_of(Effect effect) {
    switch (effect) {
    case Effect::match:
        return "match";
    case Effect::allows:
        return "allows";
    case Effect::excludes:
        return "excludes";
    case Effect::duty:
        return "duty";
    case Effect::note:
        break;
    }
    return "note";
}

std::string_view name_of(Certainty certainty) {
    switch (certainty) {
    case Certainty::stated:
        return "stated";
    case Certainty::stated_second:
        return "stated-2nd";
    case Certainty::inferred:
        return "inferred";
    case Certainty::not_found:
        break;
    }
    return "not found";
}

namespace {

bool has_the_form_of_a_date(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-')
        return false;
    for (const std::size_t i : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 9U})
        if (text[i] < '0' || text[i] > '9')
            return false;
    return true;
}

}  // namespace

bool is_date(std::string_view text) {
    if (!has_the_form_of_a_date(text))
        return false;
    const auto number = [&](std::size_t begin, std::size_t count) {
        int value = 0;
        for (const char c : text.substr(begin, count))
            value = value * 10 + (c - '0');
        return value;
    };
    const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                           std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                           std::chrono::day(static_cast<unsigned>(number(8, 2)))};
    return number(0, 4) > 0 && date.ok();
}

namespace {

/// Reads a rule file; mistakes are thrown, or collected so that one call names all of them.
class Reader {
public:
    Reader(RuleSet& set, std::vector<std::string>* problems) : set_(set), problems_(problems) {}

    void read(const Yaml& rules, const Yaml& stacks) {
        guarded([&] {
            rules.allow_keys({"topic", "collected", "review_by", "sources", "products", "rules"});
            collected_ = date(rules, "collected");
            review_by_ = date(rules, "review_by");
        });
        each(rules, "sources", [&](const Yaml& item) { read_source(item); });
        each(rules, "products", [&](const Yaml& item) { read_product(item); });
        each(rules, "rules", [&](const Yaml& item) { read_rule(item); });
        guarded([&] {
            stacks.allow_keys({"topic", "collected", "review_by", "sources", "gpus", "jetpack",
                               "onnxruntime_tensorrt", "cuda_driver", "end_of_life", "rules"});
            if (stacks.has("collected"))
                collected_ = date(stacks, "collected");
            if (stacks.has("review_by"))
                review_by_ = date(stacks, "review_by");
        });
        each(stacks, "sources", [&](const Yaml& item) { read_source(item); });
        each(stacks, "gpus", [&](const Yaml& item) { read_gpu(item); });
        each(stacks, "jetpack", [&](const Yaml& item) { read_stack(item); });
        each(stacks, "onnxruntime_tensorrt", [&](const Yaml& item) {
            read_row(item, {"onnxruntime", "tensorrt"}, set_.tables.onnxruntime_tensorrt);
        });
        each(stacks, "cuda_driver", [&](const Yaml& item) {
            read_row(item, {"cuda", "driver"}, set_.tables.cuda_driver);
        });
        each(stacks, "end_of_life",
             [&](const Yaml& item) { read_row(item, {}, set_.tables.end_of_life); });
        each(stacks, "rules", [&](const Yaml& item) { read_rule(item); });
        for (std::size_t i = 0; i < set_.products.size(); ++i)
            guarded([&] { check_match(i); });
    }

private:
    void guarded(const std::function<void()>& work) {
        try {
            work();
        } catch (const Error& error) {
            if (!problems_)
                throw;
            problems_->push_back(error.what());
        }
    }

    void each(const Yaml& file, std::string_view key,
              const std::function<void(const Yaml&)>& work) {
        const Yaml* list = nullptr;
        guarded([&] { list = file.find(key); });
        if (!list)
            return;
        guarded([&] {
            for (const Yaml& item : list->items())
                guarded([&] { work(item); });
        });
    }

    static std::string date(const Yaml& map, std::string_view key) {
        const Yaml& value = map.at(key);
        if (!is_date(value.text()))
            value.fail("'" + value.text() + "' is no date", "write it as 2026-11-30");
        return value.text();
    }

    static std::string some_text(const Yaml& map, std::string_view key) {
        const Yaml& value = map.at(key);
        const std::string text = value.text();
        if (text.empty())
            value.fail("is empty", "write it, or leave the rule out");
        return text;
    }

    static Condition condition(const Yaml& item) {
        try {
            return parse_condition(item.text());
        } catch (const Error& error) {
            item.fail(error.message(), error.next());
        }
    }

    static std::vector<Condition> conditions(const Yaml& map, std::string_view key) {
        std::vector<Condition> result;
        if (const Yaml* list = map.find(key))
            for (const Yaml& item : list->items())
                result.push_back(condition(item));
        return result;
    }

    void read_source(const Yaml& item) {
        item.allow_keys({"key", "title", "product", "version", "date", "place"});
        Source source;
        source.key = some_text(item, "key");
        source.title = some_text(item, "title");
        source.product = item.text_or("product", "");
        source.version = item.text_or("version", "");
        source.date = item.has("date") ? date(item, "date") : "";
        source.place = item.text_or("place", "");
        if (set_.source(source.key)) {
            if (set_.source(source.key)->title != source.title)
                item.at("key").fail("a second source '" + source.key + "'", "give it another key");
            return;
        }
        set_.sources.push_back(std::move(source));
    }

    void read_product(const Yaml& item) {
        item.allow_keys({"name", "match", "axes"});
        Product product;
        product.name = some_text(item, "name");
        product.match = item.text_or("match", "");
        if (set_.product(product.name))
            item.at("name").fail("a second product '" + product.name + "'", "keep one of them");
        for (const Yaml& entry : item.at("axes").items()) {
            entry.allow_keys({"name", "same", "meaning"});
            Axis axis{some_text(entry, "name"), condition(entry.at("same")),
                      some_text(entry, "meaning")};
            if (!axis.same.right_is_fact)
                entry.at("same").fail("an axis compares two facts",
                                      "write for example 'built.gpu same-gpu target.gpu'");
            product.axes.push_back(std::move(axis));
        }
        set_.products.push_back(std::move(product));
    }

    void check_match(std::size_t index) const {
        const Product& product = set_.products[index];
        if (product.match.empty())
            return;
        const Rule* rule = set_.rule(product.match);
        if (!rule || rule->effect != Effect::match || rule->product != product.name)
            throw Error(ErrorKind::input,
                        "the product " + product.name + " names '" + product.match +
                            "', which is no rule of it with 'effect: match'",
                        "rules/engine-compatibility.yaml", "mend the name");
    }

    template <typename Enum>
    static Enum one_of(const Yaml& value, std::initializer_list<Enum> all) {
        std::string names;
        for (const Enum item : all) {
            if (value.text() == name_of(item))
                return item;
            names += (names.empty() ? "" : ", ") + std::string(name_of(item));
        }
        value.fail("'" + value.text() + "' is none of " + names, "use one of them");
    }

    void read_rule(const Yaml& item) {
        item.allow_keys({"id", "topic", "product", "group", "effect", "axis", "says", "needs",
                         "when", "price", "exclusions", "next", "sources", "certainty",
                         "review_by"});
        Rule rule;
        rule.where = item.where();
        rule.id = some_text(item, "id");
        rule.topic = some_text(item, "topic");
        rule.product = some_text(item, "product");
        rule.group = item.text_or("group", "");
        rule.effect = one_of(item.at("effect"), {Effect::match, Effect::allows, Effect::excludes,
                                                 Effect::duty, Effect::note});
        rule.axis = item.text_or("axis", "");
        rule.says = some_text(item, "says");
        rule.needs = conditions(item, "needs");
        rule.when = conditions(item, "when");
        rule.price = item.text_or("price", "");
        rule.exclusions = item.text_or("exclusions", "");
        rule.next = item.text_or("next", "");
        for (const Yaml& key : item.at("sources").items()) {
            if (!set_.source(key.text()))
                key.fail("no source '" + key.text() + "'", "add it under 'sources'");
            rule.sources.push_back(key.text());
        }
        rule.certainty = one_of(item.at("certainty"), {Certainty::stated, Certainty::stated_second,
                                                       Certainty::inferred, Certainty::not_found});
        if (rule.sources.empty() && rule.certainty != Certainty::not_found)
            item.at("sources").fail("a rule without a source",
                                    "name the document, or say 'certainty: not found'");
        if (!rule.sources.empty()) {
            rule.document_version = set_.source(rule.sources.front())->version;
            rule.document_date = set_.source(rule.sources.front())->date;
        }
        rule.collected = collected_;
        rule.review_by = item.has("review_by") ? date(item, "review_by") : review_by_;
        check_rule(item, rule);
        set_.rules.push_back(std::move(rule));
    }

    void check_rule(const Yaml& item, const Rule& rule) const {
        if (const Rule* other = set_.rule(rule.id))
            item.at("id").fail("a second rule '" + rule.id + "', the first is at " + other->where,
                               "give it another id");
        const bool decides = rule.effect == Effect::allows || rule.effect == Effect::excludes ||
                             rule.effect == Effect::match;
        const Product* product = set_.product(rule.product);
        if (rule.effect != Effect::note && !product)
            item.at("product").fail("no product '" + rule.product + "' has axes",
                                    "add it under 'products', or use 'effect: note'");
        if (decides && rule.certainty == Certainty::not_found)
            item.at("certainty").fail("what was not found cannot decide", "use 'effect: note'");
        if (rule.effect == Effect::allows && rule.axis.empty())
            item.at("effect").fail("a route needs the axis that it opens", "add 'axis'");
        if (rule.effect == Effect::allows && rule.needs.empty() && rule.when.empty())
            item.at("effect").fail("a route without conditions would allow everything",
                                   "add 'needs' or 'when'");
        if (!rule.axis.empty() && product && rule.axis != "product" &&
            std::none_of(product->axes.begin(), product->axes.end(),
                         [&](const Axis& axis) { return axis.name == rule.axis; }))
            item.at("axis").fail("the product " + rule.product + " has no axis '" + rule.axis + "'",
                                 "use one of its axes");
        if (rule.effect == Effect::excludes) {
            const bool speaks_of_engine =
                std::any_of(rule.when.begin(), rule.when.end(),
                            [](const Condition& condition) { return condition.about_built; });
            if (!speaks_of_engine)
                item.at("effect").fail("an exclusion that says nothing of the engine would speak "
                                       "of engines that nobody "
                                       "described",
                                       "add a condition on built.FACT");
        }
    }

    void read_gpu(const Yaml& item) {
        item.allow_keys({"name", "cc", "jetson", "has_variants", "source"});
        KnownGpu gpu;
        gpu.key = gpu_key(some_text(item, "name"));
        gpu.cc = some_text(item, "cc");
        if (!parse_version(gpu.cc))
            item.at("cc").fail("'" + gpu.cc + "' is no compute capability", "write it as 8.7");
        gpu.jetson = item.boolean_or("jetson", false);
        gpu.has_variants = item.boolean_or("has_variants", false);
        gpu.source = some_text(item, "source");
        if (!set_.source(gpu.source))
            item.at("source").fail("no source '" + gpu.source + "'", "add it under 'sources'");
        for (const KnownGpu& known : set_.tables.gpus)
            if (known.key == gpu.key)
                item.at("name").fail("a second GPU '" + gpu.key + "'", "keep one of them");
        set_.tables.gpus.push_back(std::move(gpu));
    }

    /// `versions`: the keys that hold versions.
    void read_row(const Yaml& item, std::initializer_list<std::string_view> versions,
                  std::vector<TableRow>& rows) const {
        TableRow row;
        for (const auto& [key, value] : item.members())
            row[key] = value.text();
        for (const std::string_view key : versions)
            if (!parse_version(item.at(key).text()))
                item.at(key).fail("'" + item.at(key).text() + "' is no version",
                                  "write numbers with points");
        if (!set_.source(item.at("source").text()))
            item.at("source").fail("no source '" + item.at("source").text() + "'",
                                   "add it under 'sources'");
        rows.push_back(std::move(row));
    }

    void read_stack(const Yaml& item) {
        item.allow_keys({"jetpack", "l4t", "kernel", "ubuntu", "cuda", "cudnn", "tensorrt",
                         "modules", "state", "note", "sources"});
        Stack stack;
        stack.jetpack = some_text(item, "jetpack");
        for (const Yaml& l4t : item.at("l4t").items()) {
            if (!parse_version(l4t.text()))
                l4t.fail("'" + l4t.text() + "' is no L4T release", "write it as r36.4.3");
            if (const Stack* other = set_.tables.stack_of_l4t(l4t.text()))
                l4t.fail("L4T " + l4t.text() + " is JetPack " + other->jetpack + " already",
                         "keep one of them");
            stack.l4t.push_back(l4t.text());
        }
        const auto version = [&](const char* key) {
            const std::string text = item.text_or(key, "");
            if (!text.empty() && !parse_version(text))
                item.at(key).fail("'" + text + "' is no version", "write numbers with points");
            return text;
        };
        stack.kernel = item.text_or("kernel", "");
        stack.ubuntu = item.text_or("ubuntu", "");
        stack.cuda = version("cuda");
        stack.cudnn = version("cudnn");
        stack.tensorrt = version("tensorrt");
        stack.modules = item.text_or("modules", "");
        stack.state = some_text(item, "state");
        stack.note = item.text_or("note", "");
        for (const Yaml& key : item.at("sources").items())
            if (!set_.source(key.text()))
                key.fail("no source '" + key.text() + "'", "add it under 'sources'");
        set_.tables.stacks.push_back(std::move(stack));
    }

    RuleSet& set_;
    std::vector<std::string>* problems_;
    std::string collected_, review_by_;
};

constexpr const char* rules_file = "engine-compatibility.yaml";
constexpr const char* stacks_file = "stacks.yaml";

}  // namespace

const Product* RuleSet::product(std::string_view name) const {
    for (const Product& item : products)
        if (item.name == name)
            return &item;
    return nullptr;
}

const Rule* RuleSet::rule(std::string_view id) const {
    for (const Rule& item : rules)
        if (item.id == id)
            return &item;
    return nullptr;
}

const Source* RuleSet::source(std::string_view key) const {
    for (const Source& item : sources)
        if (item.key == key)
            return &item;
    return nullptr;
}

RuleSet read_rule_set(const Yaml& rules, const Yaml& stacks, std::vector<std::string>* problems) {
    RuleSet set;
    Reader(set, problems).read(rules, stacks);
    return set;
}

RuleSet load_rules(const std::string& folder) {
    RuleSet set = read_rule_set(read_rules(rules_file, folder), read_rules(stacks_file, folder));
    set.described = describe_rules(folder);
    return set;
}

std::vector<std::string> check_rules(const std::string& folder) {
    std::vector<std::string> problems;
    // a file that is not there is no mistake in a file
    for (const char* name : {rules_file, stacks_file})
        if (!folder.empty() && !file_exists(folder + "/" + name))
            throw Error(ErrorKind::input, "no such file", folder + "/" + name,
                        "give a folder of rule files");
    const auto read = [&](const char* name) -> std::optional<Yaml> {
        try {
            return read_rules(name, folder);
        } catch (const Error& error) {
            problems.push_back(error.what());
            return std::nullopt;
        }
    };
    const auto rules = read(rules_file);
    const auto stacks = read(stacks_file);
    if (rules && stacks)
        read_rule_set(*rules, *stacks, &problems);
    return problems;
}

namespace {

/// The date of a document; where it shows none, that of the newest dated document of the same product that is not newer by version.
std::string date_of(const RuleSet& rules, const Source& source) {
    if (!source.date.empty() || source.product.empty())
        return source.date;
    const auto version = parse_version(source.version);
    std::string date;
    for (const Source& other : rules.sources) {
        const auto older = parse_version(other.version);
        if (other.product == source.product && !other.date.empty() && version && older &&
            at_least(exactly(*version), exactly(*older)) == Truth::yes)
            date = std::max(date, other.date);
    }
    return date;
}

}  // namespace

RuleSet as_of(const RuleSet& rules, const std::string& moment, std::string_view product) {
    RuleSet result = rules;
    const auto version = has_the_form_of_a_date(moment) ? std::nullopt : parse_version(moment);
    if (!version && !is_date(moment))
        throw Error(ErrorKind::usage, "'" + moment + "' is neither a date nor a version", "--as-of",
                    "write 2026-10-20 or 11.3.0");
    const auto is_later = [&](const std::string& key) {
        const Source* source = rules.source(key);
        if (!source)
            return false;
        if (!version)
            return date_of(rules, *source) > moment;
        const auto written = parse_version(source->version);
        return source->product == product && written &&
               newer(exactly(*written), exactly(*version)) == Truth::yes;
    };
    std::erase_if(result.rules, [&](const Rule& rule) {
        return !rule.sources.empty() &&
               std::all_of(rule.sources.begin(), rule.sources.end(), is_later);
    });
    return result;
}

bool is_overdue(const Rule& rule, std::string_view today) {
    return !today.empty() && rule.review_by < today;
}

Json rule_json(const RuleSet& rules, const Rule& rule, std::string_view today) {
    Json result = Json::object({{"id", rule.id},
                                {"topic", rule.topic},
                                {"product", rule.product},
                                {"effect", name_of(rule.effect)},
                                {"says", rule.says},
                                {"certainty", name_of(rule.certainty)},
                                {"collected", rule.collected},
                                {"review_by", rule.review_by},
                                {"overdue", is_overdue(rule, today)}});
    const auto text = [&](const char* key, const std::string& value) {
        result[key] = value.empty() ? Json() : Json(value);
    };
    text("group", rule.group);
    text("axis", rule.axis);
    text("price", rule.price);
    text("exclusions", rule.exclusions);
    text("next", rule.next);
    text("document_version", rule.document_version);
    text("document_date", rule.document_date);
    const auto list = [&](const char* key, const std::vector<Condition>& conditions) {
        result[key] = Json::array();
        for (const Condition& condition : conditions)
            result[key].push_back(condition.text);
    };
    list("needs", rule.needs);
    list("when", rule.when);
    result["sources"] = Json::array();
    for (const std::string& key : rule.sources) {
        Json source = Json::object({{"key", key}});
        if (const Source* found = rules.source(key)) {
            source["title"] = found->title;
            source["version"] = found->version.empty() ? Json() : Json(found->version);
            source["date"] = found->date.empty() ? Json() : Json(found->date);
            source["place"] = found->place.empty() ? Json() : Json(found->place);
        }
        result["sources"].push_back(std::move(source));
    }
    Json others = Json::array();
    if (!rule.group.empty())
        for (const Rule& other : rules.rules)
            if (other.group == rule.group && other.id != rule.id)
                others.push_back(other.id);
    result["same_group"] = std::move(others);
    return result;
}

}  // namespace requal::compat
