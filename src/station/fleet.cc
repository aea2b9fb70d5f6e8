#include "station/fleet.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "station/baseline.h"
#include "station/diff.h"
#include "station/snapshot.h"

namespace requal::station {

namespace {

constexpr std::size_t most_stations = 100'000;

struct Station {
    std::string name, file, state, taken, refused;
    Json snapshot;
};

std::string name_of_file(const std::string& path) {
    std::string name = path.substr(path.rfind('/') + 1);
    if (name.ends_with(".json"))
        name.resize(name.size() - 5);
    return printable(name);
}

void read_station(Station& station) {
    station.name = name_of_file(station.file);
    try {
        station.snapshot = read_snapshot_or_baseline(
            read_file(station.file, std::uint64_t{64} << 20U), station.file);
        station.state = station.snapshot.at("state_digest").as_string();
        station.taken = text_at(station.snapshot.get("taken"), "wall");
    } catch (const Error& error) {
        station.refused = error.message();
    }
}

/// Read side by side; afterwards one snapshot of each state is kept, the others' documents are dropped by their reader.
std::vector<Station> read_stations(const FleetRequest& request) {
    std::vector<Station> stations(request.files.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < stations.size(); i = next++) {
            stations[i].file = request.files[i];
            read_station(stations[i]);
        }
    };
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t count = std::min(
        request.jobs > 0 ? static_cast<std::size_t>(request.jobs) : cores, stations.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < count; ++i)
        threads.emplace_back(work);
    work();
    for (std::thread& thread : threads)
        thread.join();
    return stations;
}

/// "2026-11-30T18:00:00.123456Z" in seconds since 1970; nullopt for another form.
std::optional<std::int64_t> seconds_of(const std::string& text) {
    if (text.size() < 20 || text[10] != 'T' || text.back() != 'Z')
        return std::nullopt;
    const auto part = [&](std::size_t at, std::size_t size) {
        return parse_integer(text.substr(at, size)).value_or(-1);
    };
    const std::int64_t year = part(0, 4), month = part(5, 2), day = part(8, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31)
        return std::nullopt;
    // days since 1970-01-01 in the proleptic Gregorian calendar, years beginning in March
    const std::int64_t y = month <= 2 ? year - 1 : year;
    const std::int64_t era = y / 400, of_era = y % 400;
    const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const std::int64_t days =
        era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return days * 86400 + part(11, 2) * 3600 + part(14, 2) * 60 + part(17, 2);
}

Json short_facts(const Json& snapshot) {
    Json facts = Json::object();
    const Json& l4t = snapshot.get("l4t");
    if (!text_at(l4t, "release").empty())
        facts["l4t"] = "r" + text_at(l4t, "release") + "." + text_at(l4t, "revision");
    if (const std::string model = text_at(snapshot.get("device"), "model"); !model.empty())
        facts["device"] = model;
    for (const Json& library : snapshot.at("libraries").as_array())
        if (text_at(library, "soname").starts_with("libnvinfer.so") &&
            !text_at(library, "version").empty())
            facts["tensorrt"] = text_at(library, "version");
    return facts;
}

}  // namespace

std::vector<std::string> snapshot_files(const std::string& folder) {
    std::error_code error;
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
        if (entry->path().extension() == ".json")
            files.push_back(entry->path().string());
    if (error)
        throw_errno(error.value(), "read folder", folder);
    std::sort(files.begin(), files.end());
    return files;
}

Json fleet_document(const FleetRequest& request) {
    if (request.files.size() > most_stations)
        throw Error(ErrorKind::input, "more than " + std::to_string(most_stations) + " files", "",
                    "give fewer at a time");
    std::vector<Station> stations = read_stations(request);
    Json refused = Json::array(), overdue = Json::array(), ahead = Json::array(),
         silent = Json::array();
    std::map<std::string, std::vector<const Station*>> states;
    std::map<std::string, const Station*> names;
    for (const Station& station : stations) {
        if (!station.refused.empty()) {
            refused.push_back(
                Json::object({{"station", station.name}, {"reason", station.refused}}));
            continue;
        }
        if (!names.emplace(station.name, &station).second) {
            refused.push_back(
                Json::object({{"station", station.name},
                              {"reason", "a second snapshot of this name: " + station.file}}));
            continue;
        }
        states[station.state].push_back(&station);
        const auto taken = seconds_of(station.taken);
        const std::int64_t now = request.now_ns / 1'000'000'000;
        if (!taken) {
            overdue.push_back(
                Json::object({{"station", station.name}, {"taken", Json()}, {"age_days", Json()}}));
        } else if (*taken > now + 600) {
            ahead.push_back(Json::object({{"station", station.name}, {"taken", station.taken}}));
        } else if (request.overdue_ns > 0 && now - *taken > request.overdue_ns / 1'000'000'000) {
            Json item = Json::object({{"station", station.name}, {"taken", station.taken}});
            const std::int64_t tenths = (now - *taken) * 10 / 86400;
            item["age_days"] = static_cast<double>(tenths) / 10;
            overdue.push_back(std::move(item));
        }
    }
    if (states.empty())
        throw Error(ErrorKind::input, "no snapshot",
                    request.files.empty() ? "" : request.files.front(),
                    "give files that 'requal snapshot -o' wrote");
    for (const std::string& name : request.expected)
        if (!names.contains(name))
            silent.push_back(name);

    Station reference;
    if (!request.reference.empty()) {
        reference.file = request.reference;
        read_station(reference);
        if (!reference.refused.empty())
            throw Error(ErrorKind::input, reference.refused, request.reference,
                        "give a snapshot of the state that is wanted");
    } else {
        const auto most =
            std::max_element(states.begin(), states.end(), [](const auto& left, const auto& right) {
                return left.second.size() < right.second.size();
            });
        reference = *most->second.front();
    }
    std::vector<std::pair<std::string, std::vector<const Station*>>> order(states.begin(),
                                                                           states.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& left, const auto& right) {
        return left.second.size() > right.second.size();
    });
    Json list = Json::array();
    for (const auto& [state, members] : order) {
        Json item = Json::object({{"state_digest", state},
                                  {"count", static_cast<std::int64_t>(members.size())},
                                  {"reference", state == reference.state},
                                  {"facts", short_facts(members.front()->snapshot)}});
        Json names_of_state = Json::array();
        for (const Station* station : members)
            names_of_state.push_back(station->name);
        item["stations"] = std::move(names_of_state);
        // units differ without being in another state: that is no difference here
        Json differences = Json::array();
        if (state != reference.state) {
            Json other = members.front()->snapshot;
            other.as_object().erase("unit");
            Json wanted = reference.snapshot;
            wanted.as_object().erase("unit");
            differences = snapshot_differences(wanted, other);
        }
        item["differences"] = std::move(differences);
        list.push_back(std::move(item));
    }
    const bool alike = list.size() == 1 && list.as_array()[0].at("reference").as_boolean();
    const bool clean = alike && refused.size() == 0 && overdue.size() == 0 && silent.size() == 0 &&
                       ahead.size() == 0;
    Json document = new_document("fleet", 1);
    document["verdict"] = name_of(clean ? Verdict::pass : Verdict::fail);
    document["stations"] = static_cast<std::int64_t>(names.size());
    document["reference"] = Json::object(
        {{"state_digest", reference.state},
         {"from", request.reference.empty() ? "the most frequent state" : request.reference}});
    document["states"] = std::move(list);
    document["refused"] = std::move(refused);
    document["overdue"] = std::move(overdue);
    document["ahead"] = std::move(ahead);
    document["silent"] = std::move(silent);
    return document;
}

ExitStatus exit_status_of_fleet(const Json& fleet) {
    return exit_status_of(parse_verdict(fleet.at("verdict").as_string()));
}

std::string fleet_text(const Json& fleet) {
    std::string text = std::to_string(fleet.at("stations").as_integer()) +
                       (fleet.at("stations").as_integer() == 1 ? " station in " : " stations in ") +
                       std::to_string(fleet.at("states").size()) +
                       (fleet.at("states").size() == 1 ? " state\n" : " states\n");
    for (const Json& state : fleet.at("states").as_array()) {
        text += state.at("state_digest").as_string().substr(0, 19) + "  " +
                std::to_string(state.at("count").as_integer()) +
                (state.at("reference").as_boolean() ? "  reference" : "  odd");
        for (const char* key : {"device", "l4t", "tensorrt"})
            if (const std::string value = text_at(state.at("facts"), key); !value.empty())
                text += "  " + printable(value);
        text += "\n";
        if (state.at("reference").as_boolean())
            continue;
        const auto& names = state.at("stations").as_array();
        text += "  stations:";
        for (std::size_t i = 0; i < names.size() && i < 8; ++i)
            text += " " + printable(names[i].as_string());
        text += names.size() > 8 ? " and " + std::to_string(names.size() - 8) + " more\n" : "\n";
        const auto& differences = state.at("differences").as_array();
        for (std::size_t i = 0; i < differences.size() && i < 8; ++i)
            text += "  " + differences[i].at("severity").as_string() + "  " +
                    differences[i].at("class").as_string() + "  " +
                    printable(differences[i].at("path").as_string()) + "\n";
        if (differences.size() > 8)
            text += "  and " + std::to_string(differences.size() - 8) + " more differences\n";
    }
    const auto list = [&](const char* key, const char* detail) {
        for (const Json& item : fleet.at(key).as_array())
            text += std::string(key) + ": " +
                    printable(item.is_string() ? item.as_string() : text_at(item, "station")) +
                    (item.is_object() && !text_at(item, detail).empty()
                         ? ": " + printable(text_at(item, detail))
                         : "") +
                    "\n";
    };
    list("overdue", "taken");
    list("ahead", "taken");
    list("silent", "");
    list("refused", "reason");
    return text;
}

}  // namespace requal::station
