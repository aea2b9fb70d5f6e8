#include "station/impact.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/document.h"
#include "base/error.h"
#include "base/rules.h"
#include "base/text.h"
#include "base/yaml.h"
#include "compat/facts.h"
#include "compat/rule_set.h"
#include "station/diff.h"
#include "station/snapshot.h"

namespace requal::station {

namespace {

std::string lower(std::string_view text) {
    std::string result;
    for (const char c : text)
        result += c == '-' || c == '_'
                      ? ' '
                      : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
}

std::vector<std::string> texts_of(const Yaml& list) {
    std::vector<std::string> result;
    for (const Yaml& item : list.items())
        result.push_back(item.text());
    return result;
}

ImpactRow read_row(const Yaml& item, const ImpactRules& rules,
                   const std::set<std::string>& sources) {
    item.allow_keys(
        {"id", "says", "why", "classes", "words", "invalidates", "rerun", "level", "source"});
    ImpactRow row;
    row.id = item.at("id").text();
    row.says = item.at("says").text();
    row.why = item.at("why").text();
    row.level = item.at("level").text();
    row.source = item.at("source").text();
    row.classes = texts_of(item.at("classes"));
    row.words = texts_of(item.at("words"));
    row.invalidates = texts_of(item.at("invalidates"));
    row.rerun = texts_of(item.at("rerun"));
    if (row.level != "requalification" && row.level != "re-verification" && row.level != "nothing")
        item.at("level").fail("unknown level '" + row.level + "'",
                              "give requalification, re-verification or nothing");
    if (!sources.contains(row.source))
        item.at("source").fail("no source '" + row.source + "'", "add it to sources");
    for (const Yaml& step : item.at("rerun").items())
        if (std::none_of(rules.steps.begin(), rules.steps.end(),
                         [&](const auto& known) { return known.first == step.text(); }))
            step.fail("no step '" + step.text() + "'", "add it to steps");
    for (const Yaml& name : item.at("classes").items()) {
        const auto& known = difference_classes();
        if (std::none_of(known.begin(), known.end(),
                         [&](const DifferenceClass& one) { return one.name == name.text(); }))
            name.fail("no class of differences '" + name.text() + "'", "see docs/formats/diff.md");
        if (rules.row_of_class(name.text()))
            name.fail("the class '" + name.text() + "' has a row already", "leave one out");
    }
    for (const Yaml& words : item.at("words").items())
        if (rules.row_of_words(words.text()))
            words.fail("'" + words.text() + "' has a row already", "leave one out");
    return row;
}

/// Which rows apply, and because of what.
struct Applied {
    std::map<std::string, std::vector<std::string>> because;  ///< by id of the row
    std::vector<std::string> undecided;
};

void apply_diff(const ImpactRules& rules, const Json& diff, Applied& applied) {
    require_schema(diff, "diff", 1, "the difference");
    for (const Json& item : diff.at("differences").as_array()) {
        const std::string name = item.at("class").as_string();
        const std::string path = item.at("path").as_string();
        if (const ImpactRow* row = rules.row_of_class(name))
            applied.because[row->id].push_back(path);
        else
            applied.undecided.push_back(name + ": " + path);
    }
}

std::string release_of(const Json& snapshot) {
    const Json& l4t = snapshot.get("l4t");
    const std::string release = text_at(l4t, "release");
    return release.empty() ? std::string() : "r" + release + "." + text_at(l4t, "revision");
}

std::string major_of(std::string_view l4t) {
    const std::size_t begin = l4t.find_first_of("0123456789");
    return begin == std::string_view::npos
               ? std::string()
               : std::string(l4t.substr(begin, l4t.find('.', begin) - begin));
}

std::string runtime_of(const Json& snapshot) {
    std::set<std::string> versions;
    for (const Json& library : snapshot.at("libraries").as_array())
        if (text_at(library, "soname").starts_with("libnvinfer.so") &&
            !text_at(library, "version").empty())
            versions.insert(text_at(library, "version"));
    return versions.size() == 1 ? *versions.begin() : std::string();
}

/// One plan for each distinct pair of release and TensorRT among the deployed stations.
Json migrations(const ImpactRequest& request, const compat::Stack& target,
                const std::string& to_l4t) {
    std::map<std::pair<std::string, std::string>, std::int64_t> starts;
    std::map<std::pair<std::string, std::string>, std::set<std::string>> models;
    for (const Json& snapshot : request.deployed) {
        const std::pair<std::string, std::string> key{release_of(snapshot), runtime_of(snapshot)};
        ++starts[key];
        models[key].insert(text_at(snapshot.at("device"), "model"));
    }
    Json list = Json::array();
    for (const auto& [key, count] : starts) {
        const auto& [release, runtime] = key;
        std::vector<std::string> steps;
        if (release.empty())
            steps.push_back("its L4T release is not known: find it out first");
        else if (major_of(release) == major_of(to_l4t))
            steps.push_back("upgrade through apt from " + release +
                            ", and rebuild out-of-tree modules");
        else
            steps.push_back("reflash: from " + release +
                            " there is no way in place, and none back");
        steps.push_back("check that the target takes this device: it lists " + target.modules);
        if (runtime.empty())
            steps.push_back("its TensorRT version is not known: plan to rebuild the engine");
        else if (!target.tensorrt.empty() && runtime.starts_with(target.tensorrt))
            steps.push_back("TensorRT stays " + runtime +
                            ": redeploy the qualified engine, do not rebuild it");
        else
            steps.push_back(
                "TensorRT " + runtime + " becomes " +
                (target.tensorrt.empty() ? "a version that is not known" : target.tensorrt) +
                ": rebuild the engine on the target, calibrate INT8 again");
        steps.push_back(major_of(release) == major_of(to_l4t)
                            ? "output agreement, timing and thermals under the qualified power mode"
                            : "the whole protocol, with thermals and power");
        steps.push_back("freeze it again: 'requal lock', then a fresh snapshot");
        std::string from = release.empty() ? "unknown release" : release;
        from += runtime.empty() ? "" : ", TensorRT " + runtime;
        for (const std::string& model : models[key])
            from += model.empty() ? "" : ", " + model;
        list.push_back(Json::object(
            {{"from", from}, {"count", count}, {"to", to_l4t}, {"steps", text_array(steps)}}));
    }
    return list;
}

}  // namespace

const ImpactRow* ImpactRules::row_of_class(const std::string& name) const {
    for (const ImpactRow& row : rows)
        if (std::find(row.classes.begin(), row.classes.end(), name) != row.classes.end())
            return &row;
    return nullptr;
}

const ImpactRow* ImpactRules::row_of_words(const std::string& words) const {
    const std::string wanted = lower(words);
    for (const ImpactRow& row : rows) {
        if (lower(row.id) == wanted)
            return &row;
        for (const std::string& known : row.words)
            if (lower(known) == wanted)
                return &row;
    }
    return nullptr;
}

ImpactRules read_impact_rules(const Yaml& yaml) {
    yaml.allow_keys(
        {"topic", "collected", "review_by", "sources", "steps", "changes", "end_of_life"});
    ImpactRules rules;
    std::set<std::string> sources;
    for (const Yaml& item : yaml.at("sources").items()) {
        item.allow_keys({"key", "title", "date"});
        sources.insert(item.at("key").text());
    }
    for (const Yaml& item : yaml.at("steps").items()) {
        item.allow_keys({"step", "says"});
        rules.steps.emplace_back(item.at("step").text(), item.at("says").text());
    }
    for (const Yaml& item : yaml.at("changes").items())
        rules.rows.push_back(read_row(item, rules, sources));
    for (const Yaml& item : yaml.at("end_of_life").items()) {
        item.allow_keys({"l4t", "name", "state", "date", "end_of_life", "source"});
        rules.end_of_life.push_back({item.at("l4t").text(), item.at("name").text(),
                                     item.at("state").text(), item.at("date").text(),
                                     item.text_or("end_of_life", ""), item.at("source").text()});
    }
    return rules;
}

ImpactRules load_impact_rules(const std::string& folder) {
    ImpactRules rules = read_impact_rules(read_rules("change-impact.yaml", folder));
    rules.described = describe_rules(folder);
    return rules;
}

Json impact_document(const ImpactRules& rules, const ImpactRequest& request) {
    Applied applied;
    std::set<std::string> branches;
    for (const Json& diff : request.diffs) {
        apply_diff(rules, diff, applied);
        for (const char* side : {"before", "after"})
            branches.insert(major_of(text_at(diff.at(side), "l4t")));
    }
    for (const std::string& words : request.changes) {
        const ImpactRow* row = rules.row_of_words(words);
        if (!row) {
            std::vector<std::string_view> known;
            for (const ImpactRow& one : rules.rows) {
                known.push_back(one.id);
                known.insert(known.end(), one.words.begin(), one.words.end());
            }
            const std::string near = nearest(lower(words), known);
            std::string ids;
            for (const ImpactRow& one : rules.rows)
                ids += (ids.empty() ? "" : ", ") + one.id;
            throw Error(ErrorKind::usage, "no such change '" + words + "'", "--change",
                        near.empty() ? "known are " + ids : "did you mean '" + near + "'?");
        }
        applied.because[row->id].push_back("--change " + words);
    }
    Json document = new_document("impact", 1);
    if (!request.to.empty()) {
        const compat::Tables tables = compat::load_rules(request.rules).tables;
        const compat::Stack* target = tables.stack_of_l4t(request.to);
        std::string to = request.to;
        if (!target) {
            const auto stacks = tables.stacks_of_jetpack(request.to);
            for (const compat::Stack* stack : stacks)
                if (!stack->l4t.empty()) {
                    target = stack;
                    to = stack->l4t.back();
                }
        }
        if (!target)
            throw Error(ErrorKind::usage,
                        "no such L4T release or JetPack version '" + request.to + "'", "--to",
                        "give one of rules/stacks.yaml, such as r36.4.3 or 7.2");
        if (!to.starts_with('r'))
            to.insert(0, "r");
        document["migrations"] = migrations(request, *target, to);
        branches.insert(major_of(to));
        for (const Json& snapshot : request.deployed) {
            const std::string major = major_of(release_of(snapshot));
            branches.insert(major);
            const bool other = major != major_of(to);
            const ImpactRow* row =
                rules.row_of_class(other ? "jetpack-major" : "l4t-point-release");
            if (row)
                applied.because[row->id].push_back(
                    (release_of(snapshot).empty() ? "unknown release" : release_of(snapshot)) +
                    " to " + to);
        }
    }
    Json changes = Json::array();
    std::vector<std::string> invalidates;
    std::map<std::string, std::vector<std::string>> why;
    std::string level = "nothing";
    for (const ImpactRow& row : rules.rows) {
        const auto found = applied.because.find(row.id);
        if (found == applied.because.end())
            continue;
        std::vector<std::string> because = found->second;
        std::sort(because.begin(), because.end());
        because.erase(std::unique(because.begin(), because.end()), because.end());
        changes.push_back(Json::object({{"change", row.id},
                                        {"says", row.says},
                                        {"why", row.why},
                                        {"because", text_array(because)},
                                        {"source", row.source}}));
        for (const std::string& item : row.invalidates)
            if (std::find(invalidates.begin(), invalidates.end(), item) == invalidates.end())
                invalidates.push_back(item);
        for (const std::string& step : row.rerun)
            why[step].push_back(row.id);
        if (row.level == "requalification" ||
            (row.level == "re-verification" && level == "nothing"))
            level = row.level;
    }
    if (!applied.undecided.empty() && level != "requalification")
        level = "unknown";
    Json rerun = Json::array();
    for (const auto& [step, says] : rules.steps)
        if (why.contains(step))
            rerun.push_back(
                Json::object({{"step", step}, {"says", says}, {"why", text_array(why[step])}}));
    Json ends = Json::array();
    for (const EndOfLife& end : rules.end_of_life)
        if (branches.contains(end.l4t)) {
            Json item = Json::object({{"name", end.name},
                                      {"l4t", "r" + end.l4t},
                                      {"state", end.state},
                                      {"date", end.date},
                                      {"source", end.source}});
            if (!end.end_of_life.empty())
                item["end_of_life"] = end.end_of_life;
            ends.push_back(std::move(item));
        }
    document["level"] = level;
    document["changes"] = std::move(changes);
    document["invalidates"] = text_array(invalidates);
    document["rerun"] = std::move(rerun);
    document["undecided"] = text_array(applied.undecided);
    document["end_of_life"] = std::move(ends);
    document["rules"] = rules.described;
    return document;
}

std::string impact_text(const Json& impact) {
    std::string text = "level: " + impact.at("level").as_string() + "\n";
    for (const Json& item : impact.at("changes").as_array()) {
        text += "change: " + printable(item.at("says").as_string()) + "\n  " +
                printable(item.at("why").as_string()) + "\n";
        const auto& because = item.at("because").as_array();
        for (std::size_t i = 0; i < because.size() && i < 5; ++i)
            text += "  because of " + printable(because[i].as_string()) + "\n";
        if (because.size() > 5)
            text += "  and of " + std::to_string(because.size() - 5) + " more\n";
    }
    for (const Json& item : impact.at("invalidates").as_array())
        text += "no longer holds: " + printable(item.as_string()) + "\n";
    int number = 0;
    for (const Json& item : impact.at("rerun").as_array())
        text += std::to_string(++number) + ". " + item.at("step").as_string() + ": " +
                printable(item.at("says").as_string()) + "\n";
    for (const Json& item : impact.at("undecided").as_array())
        text += "effect not known: " + printable(item.as_string()) + "\n";
    if (impact.get("migrations").is_array())
        for (const Json& item : impact.at("migrations").as_array()) {
            text += "migration of " + std::to_string(item.at("count").as_integer()) + " from " +
                    printable(item.at("from").as_string()) + " to " +
                    printable(item.at("to").as_string()) + "\n";
            for (const Json& step : item.at("steps").as_array())
                text += "  " + printable(step.as_string()) + "\n";
        }
    for (const Json& item : impact.at("end_of_life").as_array())
        text += item.at("name").as_string() + " (" + item.at("l4t").as_string() +
                "): " + printable(item.at("state").as_string()) +
                (item.has("end_of_life")
                     ? ", end of life " + printable(item.at("end_of_life").as_string())
                     : "") +
                " (known on " + item.at("date").as_string() + ")\n";
    return text;
}

}  // namespace requal::station
