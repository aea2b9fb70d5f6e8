// run: the runs of a store: listed, shown, compared.
// rooms: base store qualify
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/fitted_table.h"
#include "cli/verb.h"
#include "qualify/run_folder.h"
#include "store/merge.h"
#include "store/store.h"

namespace requal::cli {

namespace {

using store::Reference;

std::string text_at(const Json& json, std::string_view key) {
    if (!json.is_object() || !json.get(key).is_string())
        return {};
    return json.get(key).as_string();
}

std::string milliseconds(const Json& json, std::string_view key) {
    if (!json.is_object() || !json.get(key).is_number())
        return "-";
    return readable(json.get(key).as_number());
}

std::vector<Argument> filters() {
    return {{.name = "--protocol",
             .help = "only runs of the protocol of this name",
             .value_name = "NAME"},
            {.name = "--verdict",
             .help = "only runs that ended so",
             .choices = {"pass", "fail", "undecidable"}},
            {.name = "--toolchain", .help = "only runs on this toolchain", .value_name = "NAME"},
            {.name = "--since",
             .help = "only runs from this time on: 2026-11-30 or 2026-11-30T18:00",
             .value_name = "TIME"},
            {.name = "--until", .help = "only runs before this time", .value_name = "TIME"},
            {.name = "--last",
             .kind = ValueKind::integer,
             .help = "only the newest N; 0 for all",
             .value_name = "N",
             .fallback = "0"}};
}

void check_time(const Arguments& arguments, std::string_view name) {
    const std::string text = arguments.optional_text(name).value_or("2000");
    const std::string form = "dddd-dd-ddTdd:dd:dd.ddddddZ";
    bool good = text.size() >= 4 && text.size() <= form.size();
    for (std::size_t i = 0; good && i < text.size(); ++i)
        good = form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
    // the parts that are given must be those of a day
    const auto part = [&](std::size_t begin, int fallback) {
        return begin + 2 <= text.size() ? (text[begin] - '0') * 10 + (text[begin + 1] - '0')
                                        : fallback;
    };
    good =
        good && std::chrono::year_month_day(std::chrono::year((part(0, 0) * 100) + part(2, 0)),
                                            std::chrono::month(static_cast<unsigned>(part(5, 1))),
                                            std::chrono::day(static_cast<unsigned>(part(8, 1))))
                    .ok();
    good = good && part(11, 0) < 24 && part(14, 0) < 60 && part(17, 0) < 61;
    if (!good)
        throw Error(ErrorKind::usage, "no time: '" + text + "'", std::string(name),
                    "write 2026-11-30 or 2026-11-30T18:00 (UTC)");
}

/// Runs that pass the filters, in the order in which they were recorded.
std::vector<Reference> chosen_runs(const Arguments& arguments, store::Store& here) {
    check_time(arguments, "--since");
    check_time(arguments, "--until");
    const std::int64_t last = arguments.integer("--last");
    if (last < 0)
        throw Error(ErrorKind::usage, "out of range: " + std::to_string(last), "--last",
                    "give 0 for all, or a count");
    store::ReferenceFilter filter;
    filter.kind = "run";
    std::vector<Reference> chosen;
    for (Reference& run : here.references(filter)) {
        const auto differs = [&](std::string_view option, const char* key) {
            const auto wanted = arguments.optional_text(option);
            return wanted && text_at(run.summary, key) != *wanted;
        };
        const std::string started = text_at(run.summary, "started");
        if (differs("--protocol", "protocol") || differs("--verdict", "verdict") ||
            differs("--toolchain", "toolchain"))
            continue;
        if (started < arguments.optional_text("--since").value_or("") ||
            (arguments.given("--until") && started >= *arguments.optional_text("--until")))
            continue;
        chosen.push_back(std::move(run));
    }
    if (last > 0 && chosen.size() > static_cast<std::size_t>(last))
        chosen.erase(chosen.begin(), chosen.end() - static_cast<std::ptrdiff_t>(last));
    return chosen;
}

store::StoreOptions reading() {
    store::StoreOptions options;
    options.lowers = store::lowers_from_environment();
    return options;
}

Result run_list(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, reading());
    Result result;
    result.document = new_document("run-list", 1);
    Json runs = Json::array();
    std::vector<std::vector<std::string>> rows{
        {"run", "verdict", "protocol", "toolchain", "p50 ms", "p99 ms", "not passed", "ledger"}};
    for (const Reference& run : chosen_runs(arguments, here)) {
        std::string failed;
        if (run.summary.is_object() && run.summary.get("not_passed").is_array()) {
            for (const Json& gate : run.summary.get("not_passed").as_array())
                failed += (failed.empty() ? "" : " ") + (gate.is_string() ? gate.as_string() : "?");
        }
        rows.push_back({run.name, text_at(run.summary, "verdict"), text_at(run.summary, "protocol"),
                        text_at(run.summary, "toolchain"), milliseconds(run.summary, "p50_ms"),
                        milliseconds(run.summary, "p99_ms"), failed, run.ledger.substr(0, 8)});
        Json entry = run.summary.is_object() ? run.summary : Json::object();
        entry["run"] = run.name;
        entry["record"] = run.digest.text();
        entry["ledger"] = run.ledger;
        entry["present"] = run.present;
        runs.push_back(std::move(entry));
    }
    Json open = Json::array();
    std::string open_text;
    for (const store::WorkEntry& work : here.index().works("open")) {
        if (work.kind != "qualify" ||
            (arguments.given("--protocol") && work.key != *arguments.optional_text("--protocol")))
            continue;
        const std::size_t steps = here.index().steps(work.id).size();
        open.push_back(
            Json::object({{"run", work.id}, {"protocol", work.key}, {"steps_finished", steps}}));
        open_text += "not finished: " + printable(work.id) + ", protocol " + printable(work.key) +
                     ", " + std::to_string(steps) +
                     " steps done; 'requal qualify' goes on with it\n";
    }
    result.document["runs"] = runs;
    result.document["unfinished"] = open;
    // Left out first: the ledger, p99, toolchain, protocol, p50, then which gates did not pass.
    result.text = rows.size() > 1 ? fitted_table(rows, output_columns(), {7, 5, 3, 2, 4, 6})
                                  : std::string("no run\n");
    result.text += open_text;
    return result;
}

/// The record of a run of the store, checked against its digest, or of a folder.
Json record_of(const std::string& store_path, const std::string& name,
               std::unique_ptr<store::Store>& here) {
    if (file_exists(store_path + "/format")) {
        if (!here)
            here = std::make_unique<store::Store>(store_path, reading());
        store::ReferenceFilter filter;
        filter.name = name;
        filter.kind = "run";
        const auto found = here->references(filter);
        if (!found.empty())
            return parse_json(here->read_blob(found.front().digest, std::uint64_t{1} << 30),
                              "the record of run " + name);
    }
    const std::string path = qualify::find_run(store_path, name) + "/record.json";
    Json record = parse_json(read_file(path), path);
    require_schema(record, "run", 1, path);
    return record;
}

Result run_show(const Arguments& arguments, const Common& common) {
    std::unique_ptr<store::Store> here;
    const Json record = record_of(common.store, arguments.text("RUN"), here);
    Result result;
    result.document = record;
    const Json summary = store::run_summary(record);
    result.text = "run: " + printable(record.at("run").as_string()) +
                  "\nverdict: " + printable(text_at(record, "verdict")) +
                  "\nprotocol: " + printable(text_at(summary, "protocol")) +
                  "\nstarted: " + printable(text_at(summary, "started")) +
                  "\ntoolchain: " + printable(text_at(summary, "toolchain")) + "\n";
    std::vector<std::vector<std::string>> rows{{"gate", "verdict", "reason"}};
    for (const Json& gate : record.at("gates").as_array())
        rows.push_back({gate.at("id").as_string(), gate.at("verdict").as_string(),
                        gate.at("reason").as_string()});
    result.text += fitted_table(rows, output_columns(), {});
    std::vector<std::vector<std::string>> steps{{"step", "state", "seconds", "message"}};
    for (const Json& step : record.at("steps").as_array())
        steps.push_back({step.at("name").as_string(), step.at("state").as_string(),
                         readable(step.at("seconds").as_number()), step.at("message").as_string()});
    result.text += fitted_table(steps, output_columns(), {});
    return result;
}

/// What can be compared between two runs, in order: name and value.
std::vector<std::pair<std::string, std::string>> facts_of(const Json& record) {
    const Json summary = store::run_summary(record);
    const auto digest = [](const std::string& text) {
        return text.size() > 19 ? text.substr(7, 12) : text;
    };
    std::vector<std::pair<std::string, std::string>> facts{
        {"verdict", text_at(record, "verdict")},
        {"protocol", digest(text_at(summary, "protocol_digest"))},
        {"model", digest(text_at(summary, "model_digest"))},
        {"toolchain", text_at(summary, "toolchain")}};
    for (const Json& file : record.at("files").as_array()) {
        if (text_at(file, "role") == "engine")
            facts.emplace_back("engine", digest(text_at(file, "digest")));
    }
    for (const Json& gate : record.at("gates").as_array())
        facts.emplace_back("gate " + gate.at("id").as_string(), gate.at("verdict").as_string());
    for (const Json& output : record.at("outputs").as_array()) {
        facts.emplace_back("max_abs " + text_at(output, "name"), milliseconds(output, "max_abs"));
        facts.emplace_back("outside " + text_at(output, "name"), milliseconds(output, "outside"));
    }
    std::string outputs;
    for (const Json& sample : record.at("samples").as_array())
        outputs += text_at(sample, "outputs_digest");
    facts.emplace_back("outputs", outputs.empty() ? "-" : digest_of(outputs).hex().substr(0, 12));
    for (const char* key : {"p50_ms", "p90_ms", "p99_ms"})
        facts.emplace_back(key, milliseconds(record.get("latency"), key));
    return facts;
}

Result run_compare(const Arguments& arguments, const Common& common) {
    std::unique_ptr<store::Store> here;
    std::vector<std::string> names = arguments.all("RUN");
    if (names.empty()) {
        here = std::make_unique<store::Store>(common.store, reading());
        for (const Reference& run : chosen_runs(arguments, *here))
            names.push_back(run.name);
    }
    if (names.size() < 2)
        throw Error(ErrorKind::usage, std::to_string(names.size()) + " runs to compare", "RUN",
                    "name two or more, or choose them by --protocol, --last, …");
    std::vector<std::vector<std::pair<std::string, std::string>>> columns;
    for (const std::string& name : names)
        columns.push_back(facts_of(record_of(common.store, name, here)));
    std::vector<std::string> keys;
    std::set<std::string> seen;
    for (const auto& column : columns) {
        for (const auto& [key, value] : column) {
            if (seen.insert(key).second)
                keys.push_back(key);
        }
    }
    Result result;
    result.document = new_document("run-compare", 1);
    result.document["runs"] = Json::array();
    for (const std::string& name : names)
        result.document["runs"].push_back(name);
    Json differences = Json::array(), facts = Json::array();
    std::vector<std::vector<std::string>> rows;
    for (const std::string& key : keys) {
        std::vector<std::string> row{key};
        Json values = Json::array();
        bool equal = true;
        for (const auto& column : columns) {
            const auto found = std::find_if(column.begin(), column.end(),
                                            [&](const auto& fact) { return fact.first == key; });
            const std::string value = found == column.end() ? "-" : found->second;
            equal = equal && (row.size() == 1 || row[1] == value);
            row.push_back(value);
            values.push_back(found == column.end() ? Json() : Json(value));
        }
        facts.push_back(Json::object({{"name", key}, {"values", values}, {"equal", equal}}));
        if (!equal)
            differences.push_back(key);
        row.front() = (equal ? "  " : "* ") + key;
        rows.push_back(std::move(row));
    }
    result.document["facts"] = facts;
    result.document["differences"] = differences;
    // As many runs side by side as the terminal takes, then the next ones below.
    const std::size_t width = output_columns();
    std::size_t begin = 0;
    while (begin < names.size()) {
        std::vector<std::vector<std::string>> block;
        std::size_t end = begin;
        while (end < names.size()) {
            std::vector<std::vector<std::string>> wider;
            std::vector<std::string> heading{"  run"};
            for (std::size_t i = begin; i <= end; ++i)
                heading.push_back(names[i]);
            wider.push_back(std::move(heading));
            for (const auto& row : rows) {
                std::vector<std::string> cells{row[0]};
                for (std::size_t i = begin; i <= end; ++i)
                    cells.push_back(row[i + 1]);
                wider.push_back(std::move(cells));
            }
            if (width > 0 && !block.empty() && table_width(wider) > width)
                break;
            block = std::move(wider);
            ++end;
        }
        result.text += (begin == 0 ? "" : "\n") + fitted_table(block, width, {});
        begin = end;
    }
    return result;
}

}  // namespace

std::vector<Verb> verbs_run() {
    Verb list = grouped_verb(
        "run", "list", "lists the runs of the store, and those that are not finished", run_list);
    list.options = filters();
    list.examples = {"requal run list --verdict fail --last 20"};
    Verb show = grouped_verb("run", "show", "shows one run; with --json its record", run_show);
    show.positionals = {{.name = "RUN",
                         .help = "id of a run in the store, or the folder of a run",
                         .required = true}};
    show.examples = {"requal run show 20261130T181136Z-1a2b3c4d"};
    Verb compare = grouped_verb("run", "compare", "compares runs: what is equal, what differs (*)",
                                run_compare);
    compare.description = "Names runs, or chooses them by filters. Exit status 0 whatever differs.";
    compare.positionals = {
        {.name = "RUN", .help = "ids of runs, or folders of runs", .repeated = true}};
    compare.options = filters();
    compare.examples = {"requal run compare --protocol ocr-detector --last 5"};
    return {list, show, compare};
}

}  // namespace requal::cli
