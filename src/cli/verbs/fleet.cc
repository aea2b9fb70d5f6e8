// fleet: many snapshots.
// rooms: station evidence
#include "station/fleet.h"

#include <iostream>

#include "base/clock.h"
#include "base/file.h"
#include "cli/verb.h"
#include "evidence/html.h"
#include "evidence/style.h"

namespace requal::cli {

namespace {

std::vector<std::string> lines_of_file(const std::string& path) {
    std::vector<std::string> lines;
    std::string text = read_file(path, std::uint64_t{64} << 20U);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (!line.empty() && line.front() != '#')
            lines.push_back(std::move(line));
        at = end + 1;
    }
    return lines;
}

std::string page(const Json& fleet) {
    using evidence::html_text;
    const auto cell = [](const Json& value) {
        return "<td>" +
               html_text(value.is_null()     ? "absent"
                         : value.is_string() ? value.as_string()
                                             : write_json_compact(value)) +
               "</td>";
    };
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
                       "charset=\"utf-8\">\n<title>Fleet</title>\n<style>\n" +
                       std::string(evidence::style_sheet()) +
                       "</style>\n</head>\n<body>\n<h1>Fleet</h1>\n<p>" +
                       std::to_string(fleet.at("stations").as_integer()) + " stations in " +
                       std::to_string(fleet.at("states").size()) + " states, verdict " +
                       html_text(fleet.at("verdict").as_string()) + ".</p>\n";
    for (const Json& state : fleet.at("states").as_array()) {
        html += "<h2>" + html_text(state.at("state_digest").as_string()) + "</h2>\n<p>" +
                (state.at("reference").as_boolean() ? std::string("Reference, ")
                                                    : std::string("Odd, ")) +
                std::to_string(state.at("count").as_integer()) + " stations:";
        for (const Json& name : state.at("stations").as_array())
            html += " " + html_text(name.as_string());
        html += "</p>\n";
        if (state.at("differences").size() == 0)
            continue;
        html += "<table>\n<thead><tr><th>Severity</th><th>Class</th><th>What</th><th>Reference</"
                "th><th>Here</th></tr></thead>\n<tbody>\n";
        for (const Json& item : state.at("differences").as_array())
            html += "<tr>" + cell(item.at("severity")) + cell(item.at("class")) +
                    cell(item.at("path")) + cell(item.at("before")) + cell(item.at("after")) +
                    "</tr>\n";
        html += "</tbody>\n</table>\n";
    }
    for (const char* key : {"overdue", "ahead", "silent", "refused"}) {
        if (fleet.at(key).size() == 0)
            continue;
        html += std::string("<h2>") + key + "</h2>\n<ul>\n";
        for (const Json& item : fleet.at(key).as_array())
            html += "<li>" +
                    html_text(item.is_string() ? item.as_string() : write_json_compact(item)) +
                    "</li>\n";
        html += "</ul>\n";
    }
    return html + "</body>\n</html>\n";
}

Result run_fleet(const Arguments& arguments, const Common& common) {
    station::FleetRequest request;
    const std::string folder = arguments.text("DIR");
    if (folder == "-") {
        for (std::string line; std::getline(std::cin, line) && request.files.size() < 100'000;)
            if (!line.empty())
                request.files.push_back(line);
    } else {
        request.files = station::snapshot_files(folder);
    }
    if (const auto names = arguments.optional_text("--stations"))
        request.expected = lines_of_file(*names);
    request.reference = arguments.optional_text("--reference").value_or("");
    if (arguments.given("--overdue")) {
        const double days = arguments.number("--overdue");
        if (!(days > 0 && days < 36500))
            throw Error(ErrorKind::usage, "no number of days", "--overdue", "give one above 0");
        request.overdue_ns = static_cast<std::int64_t>(days * 86400e9);
    }
    request.now_ns = system_clock().wall_ns();
    request.jobs = common.jobs;
    Result result;
    result.document = station::fleet_document(request);
    result.status = station::exit_status_of_fleet(result.document);
    result.text = station::fleet_text(result.document);
    if (const auto out = arguments.optional_text("--html"))
        write_file_atomically(*out, page(result.document));
    return result;
}

}  // namespace

std::vector<Verb> verbs_fleet() {
    Verb verb;
    verb.name = "fleet";
    verb.summary =
        "many snapshots: the distinct states, the odd ones out, the overdue and the silent";
    verb.description = "DIR holds one snapshot a station, NAME.json. States are equal when their "
                       "state digests are; the most frequent "
                       "one, or that of --reference, is what the others are compared with. Exit "
                       "status: 0 one state and nothing "
                       "overdue, silent or refused, else 1.";
    verb.positionals = {{.name = "DIR",
                         .kind = ValueKind::path,
                         .help = "folder of snapshots, or - for file names on standard input",
                         .required = true}};
    verb.options = {
        {.name = "--stations",
         .kind = ValueKind::path,
         .help = "names of all stations, one a line: those without a snapshot are silent",
         .value_name = "FILE"},
        {.name = "--overdue",
         .kind = ValueKind::number,
         .help = "a snapshot older than this is overdue",
         .value_name = "DAYS"},
        {.name = "--reference",
         .kind = ValueKind::path,
         .help = "snapshot of the state that all should have",
         .value_name = "FILE"},
        {.name = "--html",
         .kind = ValueKind::path,
         .help = "write a page without script, too",
         .value_name = "FILE"}};
    verb.examples = {"requal fleet snapshots/ --stations all.txt --overdue 7 --html fleet.html"};
    verb.run = run_fleet;
    return {verb};
}

}  // namespace requal::cli
