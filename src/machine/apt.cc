// apt: sources enabled and disabled, and whether it upgrades by itself.
#include <algorithm>

#include "base/text.h"
#include "machine/dpkg.h"

namespace requal::machine {

namespace {

/// An address without user and password.
std::string without_secrets(std::string_view entry) {
    std::string text;
    for (const std::string_view word : words_of(entry)) {
        std::string shown(word);
        const std::size_t scheme = shown.find("://");
        const std::size_t slash =
            scheme == std::string::npos ? std::string::npos : shown.find('/', scheme + 3);
        const std::size_t at = shown.substr(0, slash).rfind('@');
        if (scheme != std::string::npos && at != std::string::npos && at > scheme)
            shown.erase(scheme + 3, at + 1 - (scheme + 3));
        text += (text.empty() ? "" : " ") + shown;
    }
    return text;
}

void add_source(Json& list, const std::string& file, bool enabled, std::string entry) {
    list.push_back(
        Json::object({{"file", file}, {"enabled", enabled}, {"entry", std::move(entry)}}));
}

/// "deb URI SUITE COMPONENTS"; a commented one is a disabled one.
void one_line_style(std::string_view text, const std::string& file, Json& list) {
    for (std::string_view line : lines_of(text)) {
        line = trimmed(line);
        bool enabled = true;
        while (line.starts_with('#')) {
            enabled = false;
            line = trimmed(line.substr(1));
        }
        line = trimmed(line.substr(0, line.find('#')));
        if ((line.starts_with("deb ") || line.starts_with("deb-src ")) &&
            line.find("://") != std::string_view::npos)
            add_source(list, file, enabled, without_secrets(line));
    }
}

/// Stanzas of Types, URIs, Suites, Components, Enabled.
void stanza_style(std::string_view text, const std::string& file, Json& list) {
    std::string types, uris, suites, components, enabled;
    std::string* last = nullptr;
    const auto end = [&] {
        if (!uris.empty())
            add_source(list, file, enabled != "no" && enabled != "false" && enabled != "0",
                       without_secrets(types + " " + uris + " " + suites + " " + components));
        types = uris = suites = components = enabled = {};
        last = nullptr;
    };
    for (const std::string_view line : lines_of(text)) {
        if (trimmed(line).empty()) {
            end();
            continue;
        }
        if (line.front() == '#')
            continue;
        if (line.front() == ' ' || line.front() == '\t') {
            if (last)
                *last += " " + std::string(trimmed(line));
            continue;
        }
        const std::size_t colon = line.find(':');
        const std::string_view key = line.substr(0, colon);
        last = key == "Types"        ? &types
               : key == "URIs"       ? &uris
               : key == "Suites"     ? &suites
               : key == "Components" ? &components
               : key == "Enabled"    ? &enabled
                                     : nullptr;
        if (last && colon != std::string_view::npos)
            *last = trimmed(line.substr(colon + 1));
    }
    end();
}

}  // namespace

Json probe_apt(const Root& root, Unknown& unknown) {
    Json apt = Json::object();
    if (!root.exists("/etc/apt"))
        return apt;
    Json sources = Json::array();
    std::vector<std::string> files = {"/etc/apt/sources.list"};
    const RootFolder parts = root.folder("/etc/apt/sources.list.d");
    unknown.note(parts, "apt.sources");
    for (const std::string& name : parts.names)
        if (name.ends_with(".list") || name.ends_with(".sources"))
            files.push_back("/etc/apt/sources.list.d/" + name);
    for (const std::string& file : files) {
        const RootText text = root.text(file);
        if (!unknown.note(text, "apt.sources[" + printable(file) + "]"))
            continue;
        if (file.ends_with(".sources"))
            stanza_style(text.bytes, file, sources);
        else
            one_line_style(text.bytes, file, sources);
    }
    apt["sources"] = std::move(sources);
    // the last setting wins, in the order in which apt reads its files
    bool upgrades = false, known = true;
    const RootFolder settings = root.folder("/etc/apt/apt.conf.d");
    known = settings.presence != Presence::unreadable;
    unknown.note(settings, "apt.unattended_upgrades");
    std::vector<std::string> names;
    for (const std::string& name : settings.names)
        names.push_back("/etc/apt/apt.conf.d/" + name);
    names.push_back("/etc/apt/apt.conf");
    for (const std::string& name : names) {
        const RootText text = root.text(name);
        if (text.presence == Presence::unreadable) {
            unknown.add("apt.unattended_upgrades", name + ": " + text.reason);
            known = false;
        }
        for (std::string_view line : lines_of(text.bytes)) {
            line = trimmed(line);
            constexpr std::string_view key = "APT::Periodic::Unattended-Upgrade";
            if (!line.starts_with(key))
                continue;
            const std::string_view value = trimmed(line.substr(key.size()));
            const std::size_t digit = value.find_first_of("0123456789");
            upgrades = digit != std::string_view::npos && value[digit] != '0';
        }
    }
    if (known)
        apt["unattended_upgrades"] = upgrades;
    return apt;
}

}  // namespace requal::machine
