#include "station/lock.h"

#include <algorithm>
#include <set>

#include "base/rules.h"
#include "base/text.h"
#include "base/yaml.h"
#include "station/snapshot.h"

namespace requal::station {

namespace {

/// A word for a shell.
std::string quoted(std::string_view text) {
    const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-_./+:=,@").find(c) != std::string_view::npos;
    });
    if (plain)
        return std::string(text);
    std::string result = "'";
    for (const char c : text)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

Json check(const char* id, const char* frozen, std::string says,
           const std::vector<std::string>& freeze = {}, const std::vector<std::string>& undo = {}) {
    return Json::object({{"id", id},
                         {"frozen", frozen},
                         {"says", std::move(says)},
                         {"freeze", text_array(freeze)},
                         {"undo", text_array(undo)}});
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + quoted(word);
    return text;
}

/// Why something of the snapshot is not known; empty: it is not among the unknown.
std::string unknown_reason(const Json& snapshot, const std::string& what) {
    for (const Json& item : snapshot.at("unknown").as_array())
        if (text_at(item, "what").starts_with(what))
            return text_at(item, "reason");
    return {};
}

Json check_holds(const LockRules& rules, const Json& snapshot) {
    if (!snapshot.has("packages_other"))
        return check("holds", "unknown",
                     "no package database was read: " + unknown_reason(snapshot, "packages"));
    std::vector<std::string> missing;
    std::size_t wanted = 0;
    for (const Json& package : snapshot.at("packages").as_array()) {
        const std::string name = text_at(package, "name");
        const std::string state = text_at(package, "state");
        const bool matters =
            std::find(rules.hold.begin(), rules.hold.end(), name) != rules.hold.end() ||
            std::any_of(rules.hold_prefixes.begin(), rules.hold_prefixes.end(),
                        [&](const std::string& begin) { return name.starts_with(begin); });
        if (!matters || state == "config-files" || state == "not-installed")
            continue;
        ++wanted;
        if (text_at(package, "want") != "hold")
            missing.push_back(name);
    }
    if (missing.empty())
        return check("holds", "yes",
                     std::to_string(wanted) +
                         " packages that matter are installed, and all are held");
    return check("holds", "no", "not held: " + joined(missing),
                 {"sudo apt-mark hold " + joined(missing)},
                 {"sudo apt-mark unhold " + joined(missing)});
}

Json check_sources(const LockRules& rules, const Json& snapshot) {
    const Json& apt = snapshot.get("apt");
    if (!apt.is_object() || !apt.get("sources").is_array())
        return check("sources", "unknown", "apt's sources were not read");
    std::set<std::string> files;
    for (const Json& source : apt.at("sources").as_array())
        for (const std::string& part : rules.sources)
            if (source.at("enabled").as_boolean() &&
                text_at(source, "entry").find(part) != std::string::npos)
                files.insert(text_at(source, "file"));
    if (files.empty()) {
        const std::string why = unknown_reason(snapshot, "apt.sources");
        return why.empty() ? check("sources", "yes", "no source of the vendor is enabled")
                           : check("sources", "unknown", "a file of sources was not read: " + why);
    }
    std::vector<std::string> freeze, undo;
    for (const std::string& file : files) {
        if (file.ends_with(".sources")) {
            freeze.push_back("sudo mv " + quoted(file) + " " + quoted(file + ".disabled"));
            undo.push_back("sudo mv " + quoted(file + ".disabled") + " " + quoted(file));
        } else {
            freeze.push_back("sudo sed -i 's/^deb /# deb /' " + quoted(file));
            undo.push_back("sudo sed -i 's/^# deb /deb /' " + quoted(file));
        }
    }
    return check("sources", "no",
                 "the vendor's source is enabled in " + joined({files.begin(), files.end()}),
                 freeze, undo);
}

Json check_upgrades(const Json& snapshot) {
    const Json& apt = snapshot.get("apt");
    if (!apt.is_object() || !apt.get("unattended_upgrades").is_boolean())
        return check("upgrades", "unknown", "whether apt upgrades by itself was not read");
    if (!apt.at("unattended_upgrades").as_boolean())
        return check("upgrades", "yes", "apt does not upgrade by itself");
    return check(
        "upgrades", "no", "apt upgrades by itself",
        {"sudo systemctl disable --now unattended-upgrades.service apt-daily-upgrade.timer"},
        {"sudo systemctl enable --now unattended-upgrades.service apt-daily-upgrade.timer"});
}

Json check_release(const Json& snapshot) {
    const Json& l4t = snapshot.at("l4t");
    if (!l4t.has("form"))
        return check("release", "yes", "this is no L4T: there is no release file to verify");
    if (text_at(l4t, "form") == "unknown")
        return check("release", "unknown", "the release file has a form that is not known");
    for (const Json& item : snapshot.at("disagreements").as_array())
        if (text_at(item, "what") == "release file and package")
            return check("release", "no", text_at(item, "message"));
    if (!l4t.has("checksums"))
        return check("release", "yes",
                     "r" + text_at(l4t, "release") + "." + text_at(l4t, "revision") +
                         "; its file lists no checksums" +
                         (text_at(l4t, "core_package").empty() ? "" : ", and the package agrees"));
    const Json& sums = l4t.at("checksums");
    if (sums.at("wrong").size() > 0)
        return check("release", "no",
                     "files differ from their checksums: " + write_json_compact(sums.at("wrong")));
    if (sums.at("unread").size() > 0)
        return check("release", "unknown",
                     "files could not be read: " + write_json_compact(sums.at("unread")));
    return check("release", "yes",
                 "all " + std::to_string(sums.at("listed").as_integer()) + " checksums hold");
}

Json check_against(const char* id, const char* key, const Json& snapshot, const Json& qualified) {
    if (qualified.is_null())
        return check(
            id, "unknown",
            std::string("nothing to compare with: give the qualified snapshot with --qualified"));
    const Json& now = snapshot.get(key);
    const Json& then = qualified.get(key);
    if (now.is_null() || then.is_null())
        return check(id, "unknown",
                     std::string("'") + key + "' is not in " +
                         (then.is_null() ? "the qualified snapshot" : "this snapshot"));
    return now == then ? check(id, "yes", std::string("equal to the qualified state"))
                       : check(id, "no",
                               std::string("differs from the qualified state: see 'requal diff'"));
}

}  // namespace

LockRules load_lock_rules(const std::string& folder) {
    const Yaml yaml = read_rules("lock.yaml", folder);
    yaml.allow_keys(
        {"topic", "collected", "review_by", "sources", "hold", "hold_prefixes", "disable_sources"});
    LockRules rules;
    const auto read = [&](const char* key, const char* member, std::vector<std::string>& list) {
        for (const Yaml& item : yaml.at(key).items()) {
            item.allow_keys({member, "source"});
            list.push_back(item.at(member).text());
            if (list.back().empty())
                item.fail("empty", "name something");
        }
    };
    read("hold", "package", rules.hold);
    read("hold_prefixes", "begins", rules.hold_prefixes);
    read("disable_sources", "contains", rules.sources);
    rules.described = describe_rules(folder);
    return rules;
}

Json lock_document(const LockRules& rules, const Json& snapshot, const Json& qualified) {
    Json document = new_document("lock", 1);
    Json checks = Json::array({check_holds(rules, snapshot), check_sources(rules, snapshot),
                               check_upgrades(snapshot), check_release(snapshot),
                               check_against("engine", "engines", snapshot, qualified),
                               check_against("boot", "boot", snapshot, qualified)});
    Verdict verdict = Verdict::pass;
    for (const Json& item : checks.as_array()) {
        const std::string frozen = item.at("frozen").as_string();
        verdict = combine(verdict, frozen == "yes"  ? Verdict::pass
                                   : frozen == "no" ? Verdict::fail
                                                    : Verdict::undecidable);
    }
    document["checks"] = std::move(checks);
    document["verdict"] = name_of(verdict);
    document["state_digest"] = snapshot.at("state_digest");
    document["rules"] = rules.described;
    return document;
}

std::string lock_text(const Json& lock) {
    std::string text;
    for (const Json& item : lock.at("checks").as_array()) {
        std::string frozen = item.at("frozen").as_string(), id = item.at("id").as_string();
        frozen = frozen == "yes" ? "frozen" : frozen == "no" ? "open" : "unknown";
        frozen.resize(9, ' ');
        id.resize(10, ' ');
        text += frozen + id + printable(item.at("says").as_string()) + "\n";
        for (const Json& command : item.at("freeze").as_array())
            text += "    to freeze: " + printable(command.as_string()) + "\n";
        for (const Json& command : item.at("undo").as_array())
            text += "    its undo:  " + printable(command.as_string()) + "\n";
    }
    const std::string verdict = lock.at("verdict").as_string();
    return text + (verdict == "pass"   ? "the state is frozen\n"
                   : verdict == "fail" ? "the state is not frozen\n"
                                       : "not known to be frozen\n");
}

}  // namespace requal::station
