#include "evidence/report.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/text.h"
#include "evidence/accuracy_section.h"
#include "evidence/html.h"
#include "evidence/plot.h"
#include "evidence/style.h"

namespace requal::evidence {

namespace {

constexpr std::string_view absent = "not recorded";

const Json& member(const Json& json, std::string_view key) {
    static const Json none;
    return json.is_object() ? json.get(key) : none;
}

/// A value for people; names of what is missing are never left blank.
std::string shown(const Json& value) {
    switch (value.type()) {
    case Json::Type::string:
        return value.as_string().empty() ? std::string("(empty)") : html_text(value.as_string());
    case Json::Type::boolean:
        return value.as_boolean() ? "yes" : "no";
    case Json::Type::integer:
        return std::to_string(value.as_integer());
    case Json::Type::real:
        return html_text(readable(value.as_number()));
    case Json::Type::null:
        return std::string(absent);
    case Json::Type::array:
    case Json::Type::object:
        return "<code>" + html_text(write_json_compact(value)) + "</code>";
    }
    return std::string(absent);
}

/// A statistic, which may be null with its reason under `nonfinite`.
std::string number(const Json& object, std::string_view key) {
    const Json& value = member(object, key);
    if (value.is_null()) {
        const Json& reason = member(member(object, "nonfinite"), key);
        return reason.is_string() ? html_text(reason.as_string()) : std::string("none");
    }
    return shown(value);
}

/// What follows the last slash.
std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

double number_or(const Json& value, double fallback) {
    return value.is_number() ? value.as_number() : fallback;
}

std::string digest(const Json& value) {
    return value.is_string() ? "<code class=\"digest\">" + html_text(value.as_string()) + "</code>"
                             : std::string(absent);
}

/// What lies between two outputs that are nearly parallel shows in the difference from one only.
std::string cosine_drop(const Json& output) {
    const Json& cosine = member(output, "cosine");
    return cosine.is_number() ? html_text(readable(1 - cosine.as_number()))
                              : number(output, "cosine");
}

std::string section(const std::string& id, const std::string& title, const std::string& content) {
    return "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" + title + "</h2>\n" +
           content + "</section>\n";
}

using Row = std::vector<std::string>;

/// `cells` are HTML already; the first cell of a row is its heading.
std::string table(const std::string& caption, const Row& heads, const std::vector<Row>& rows) {
    std::string html = "<table>\n<caption>" + caption + "</caption>\n<thead><tr>";
    for (const std::string& head : heads) {
        html += "<th scope=\"col\">" + head + "</th>";
    }
    html += "</tr></thead>\n<tbody>\n";
    for (const Row& row : rows) {
        html += "<tr>";
        for (std::size_t i = 0; i < row.size(); ++i) {
            html += i == 0 ? "<th scope=\"row\">" + row[i] + "</th>" : "<td>" + row[i] + "</td>";
        }
        html += "</tr>\n";
    }
    return html + "</tbody>\n</table>\n";
}

std::string figure(const std::string& svg, const std::string& table_html) {
    return "<div class=\"figure\">\n<figure>\n" + svg + "</figure>\n" + table_html + "</div>\n";
}

std::string badge(const Json& verdict) {
    const std::string& word = verdict.as_string();
    switch (parse_verdict(word)) {
    case Verdict::pass:
        return "<span class=\"verdict pass\">\xe2\x9c\x93 pass</span>";
    case Verdict::fail:
        return "<span class=\"verdict fail\">\xe2\x9c\x97 fail</span>";
    case Verdict::undecidable:
        return "<span class=\"verdict undecidable\">? undecidable</span>";
    }
    return {};
}

std::string sentence_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::pass:
        return "Every gate of the protocol passed.";
    case Verdict::fail:
        return "At least one gate of the protocol failed.";
    case Verdict::undecidable:
        return "No gate failed, but at least one could not be decided. That is not a pass.";
    }
    return {};
}

std::string gates_section(const Json& record) {
    std::vector<Row> rows;
    for (const Json& gate : record.at("gates").as_array()) {
        rows.push_back({html_text(gate.at("id").as_string()),
                        html_text(member(member(gate, "criterion"), "text").is_string()
                                      ? gate.at("criterion").at("text").as_string()
                                      : write_json_compact(member(gate, "criterion"))),
                        shown(member(gate, "reason")), badge(gate.at("verdict"))});
    }
    return section("gates", "Gates",
                   table("Each criterion of the protocol, what was measured, and the verdict.",
                         {"Gate", "Criterion", "Measured", "Verdict"}, rows));
}

std::vector<std::pair<int, std::uint64_t>> decades_of(const Json& output) {
    std::vector<std::pair<int, std::uint64_t>> decades;
    const Json& histogram = member(output, "histogram");
    if (!histogram.is_array()) {
        return decades;
    }
    for (const Json& bin : histogram.as_array()) {
        const std::int64_t decade = bin.at("decade").as_integer();
        const std::int64_t count = bin.at("count").as_integer();
        if (decade < -400 || decade > 400 || count < 0) {
            throw Error(ErrorKind::input, "a histogram bin is out of range", "outputs[].histogram");
        }
        decades.emplace_back(static_cast<int>(decade), static_cast<std::uint64_t>(count));
    }
    std::sort(decades.begin(), decades.end());
    return decades;
}

std::string parity_section(const Json& record) {
    const auto& outputs = record.at("outputs").as_array();
    if (outputs.empty()) {
        return section("parity", "Outputs of engine and reference",
                       "<p>Nothing was compared in this run.</p>\n");
    }
    std::vector<Row> rows;
    for (const Json& output : outputs) {
        rows.push_back({html_text(output.at("name").as_string()), number(output, "elements"),
                        number(output, "outside"), number(output, "max_abs"),
                        number(output, "mean_abs"), number(output, "rmse"),
                        number(output, "max_rel"), cosine_drop(output),
                        number(output, "nan") + " / " + number(output, "inf")});
    }
    std::string html = table("Engine against reference over all samples. Computed in float64; the "
                             "reference is the divisor of the "
                             "relative difference.",
                             {"Output", "Elements", "Outside", "Largest", "Mean", "RMS",
                              "Largest relative", "1 - cosine", "NaN / Inf"},
                             rows);
    int index = 0;
    for (const Json& output : outputs) {
        const std::string name = output.at("name").as_string();
        DecadePlot plot;
        plot.id = "error-" + std::to_string(index++);
        plot.title = "Differences of output " + name + " by decade";
        plot.x_label = "|engine - reference|";
        plot.zeros = static_cast<std::uint64_t>(std::max<std::int64_t>(
            0, member(output, "exact").is_null() ? 0 : output.at("exact").as_integer()));
        plot.decades = decades_of(output);
        const double atol = number_or(member(output, "atol"), 0);
        if (atol > 0) {
            plot.markers.push_back({atol, "atol " + readable(atol), "limit"});
        }
        plot.description = "Number of elements by the size of their difference; " +
                           std::to_string(plot.zeros) +
                           " are equal. The table beside it has the numbers.";
        std::vector<Row> bins;
        bins.push_back({"equal", std::to_string(plot.zeros)});
        for (const auto& [decade, count] : plot.decades) {
            bins.push_back({decade_text(decade), std::to_string(count)});
        }
        html += "<h3>Output " + html_text(name) + "</h3>\n" +
                figure(svg_of(plot),
                       table("Differences by decade.", {"|engine - reference|", "Elements"}, bins));
    }
    return section("parity", "Outputs of engine and reference", html);
}

std::string latency_section(const Json& record) {
    const Json& latency = member(record, "latency");
    if (latency.is_null()) {
        return section("latency", "Latency", "<p>No latency was measured in this run.</p>\n");
    }
    HistogramPlot plot;
    plot.id = "latency-plot";
    plot.title = "Distribution of the latency";
    plot.x_label = "latency in ms";
    const Json& histogram = latency.at("histogram");
    plot.low = number_or(member(histogram, "low_ms"), 0);
    plot.width = number_or(member(histogram, "width_ms"), 0);
    if (member(histogram, "counts").is_array()) {
        for (const Json& count : histogram.at("counts").as_array()) {
            plot.counts.push_back(
                static_cast<std::uint64_t>(std::max<std::int64_t>(0, count.as_integer())));
        }
    }
    if (member(histogram, "above").is_integer()) {
        plot.above = static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, histogram.at("above").as_integer()));
    }
    std::vector<Row> rows;
    for (const std::string key : {"p50", "p90", "p99"}) {
        const Json& value = member(latency, key + "_ms");
        if (!value.is_number()) {
            rows.push_back({key, "not borne by the samples", "", ""});
            continue;
        }
        if (key != "p90") {
            plot.markers.push_back({value.as_number(), key, "marker"});
        }
        rows.push_back({key, shown(value) + " ms", number(latency, key + "_ci_low_ms"),
                        number(latency, key + "_ci_high_ms")});
    }
    for (const Json& gate : record.at("gates").as_array()) {
        const Json& limit = member(member(gate, "criterion"), "limit_ms");
        if (limit.is_number()) {
            plot.markers.push_back({limit.as_number(),
                                    shown(member(gate.at("criterion"), "percentile")) + " limit " +
                                        readable(limit.as_number()) + " ms",
                                    "limit"});
        }
    }
    rows.push_back({"mean", number(latency, "mean_ms") + " ms", "", ""});
    rows.push_back({"least", number(latency, "min_ms") + " ms", "", ""});
    rows.push_back({"most", number(latency, "max_ms") + " ms", "", ""});
    rows.push_back({"runs counted", number(latency, "samples"), "", ""});
    rows.push_back({"runs before (warm-up)", number(latency, "warmup_runs"), "", ""});
    rows.push_back({"first run", number(latency, "first_run_ms") + " ms", "", ""});
    rows.push_back({"loading", number(latency, "load_ms") + " ms", "", ""});
    plot.description = "Number of runs by their latency, with the median, the 99th percentile and "
                       "the limits of the protocol as "
                       "vertical lines. The table beside it has the numbers.";
    std::string html = "<p>Boundary: " + shown(member(latency, "boundary_text")) + ".</p>\n";
    html +=
        figure(svg_of(plot),
               table("Percentiles by nearest rank, with distribution-free 95 % intervals in ms.",
                     {"", "Value", "From", "To"}, rows));
    return section("latency", "Latency", html);
}

std::string made_from_section(const Json& record) {
    const Json& model = member(record, "model");
    const Json& manifest = member(record, "engine_manifest");
    const Json& toolchain = member(manifest, "toolchain");
    std::vector<Row> rows;
    rows.push_back({"Protocol", shown(member(member(record, "protocol"), "name")),
                    digest(member(member(record, "protocol"), "digest"))});
    rows.push_back({"Model", shown(member(model, "file")), digest(member(model, "digest"))});
    rows.push_back({"Inputs",
                    shown(member(member(record, "inputs"), "samples")) + " samples (" +
                        shown(member(member(record, "inputs"), "kind")) + ")",
                    member(member(record, "inputs"), "digest").is_string()
                        ? digest(member(member(record, "inputs"), "digest"))
                        : "generated, seed " + shown(member(member(record, "inputs"), "seed"))});
    rows.push_back({"Engine", shown(member(member(manifest, "engine"), "name")),
                    digest(member(member(manifest, "engine"), "digest"))});
    std::string html =
        table("What the engine was built from. Digests are SHA-256 of the files' bytes.",
              {"", "Name", "Digest"}, rows);

    std::vector<Row> how;
    how.push_back({"Built by", shown(member(toolchain, "name")) + ", version " +
                                   shown(member(toolchain, "version"))});
    how.push_back({"Options asked for", shown(member(member(manifest, "options"), "requested"))});
    how.push_back({"Options in effect", shown(member(member(manifest, "options"), "effective"))});
    how.push_back({"Shapes", shown(member(manifest, "shapes"))});
    const Json& precision = member(manifest, "precision");
    how.push_back({"Precision", "requested " + shown(member(precision, "requested")) +
                                    ", executed " + shown(member(precision, "executed")) + " (" +
                                    shown(member(precision, "learned_by")) + ")"});
    const Json& reference = member(record, "reference");
    how.push_back({"Reference", shown(member(reference, "toolchain")) + ", version " +
                                    shown(member(reference, "version"))});
    how.push_back({"Model's operators", "opsets " + shown(member(model, "opsets")) + ", " +
                                            shown(member(model, "nodes")) + " nodes, " +
                                            shown(member(model, "parameters")) + " parameters"});
    html += table("How it was built and run.", {"", "Value"}, how);

    std::vector<Row> libraries;
    if (member(manifest, "libraries").is_array()) {
        for (const Json& library : manifest.at("libraries").as_array()) {
            const std::string name =
                member(library, "soname").is_string() ? library.at("soname").as_string()
                : member(library, "path").is_string() ? file_name(library.at("path").as_string())
                                                      : std::string(absent);
            libraries.push_back({html_text(name), digest(member(library, "digest"))});
        }
    }
    if (!libraries.empty()) {
        html += table("Libraries that the build loaded.", {"Library", "Digest"}, libraries);
    }
    std::vector<Row> files;
    for (const Json& file : record.at("files").as_array()) {
        files.push_back({shown(member(file, "role")), shown(member(file, "name")),
                         shown(member(file, "size_bytes")), digest(member(file, "digest"))});
    }
    html += table("Files of this run, in its folder.", {"Role", "File", "Bytes", "Digest"}, files);
    return section("made-from", "What was built from what", html);
}

void flatten(const Json& json, const std::string& prefix, std::vector<Row>& rows,
             const Json& after) {
    for (const auto& [key, value] : json.as_object()) {
        const std::string name = prefix.empty() ? key : prefix + "." + key;
        const Json& later = member(after, key);
        if (value.is_object()) {
            flatten(value, name, rows, later);
        } else {
            rows.push_back(
                {html_text(name), shown(value), later.is_null() ? std::string("") : shown(later)});
        }
    }
}

std::string conditions_section(const Json& record) {
    std::string html;
    std::vector<Row> rows;
    if (member(record, "conditions").is_object()) {
        flatten(record.at("conditions"), "", rows, member(record, "conditions_after"));
        html += table("Conditions of the latency measurement, as read before and after it.",
                      {"", "Before", "After"}, rows);
    } else {
        html += "<p>No conditions were recorded, because no latency was measured.</p>\n";
    }
    std::vector<Row> host;
    if (member(record, "host").is_object()) {
        flatten(record.at("host"), "", host, Json());
        for (Row& row : host) {
            row.pop_back();
        }
        html += table("The machine.", {"", "Value"}, host);
    }
    const Json& unknown = member(record, "unknown");
    if (unknown.is_array() && unknown.size() > 0) {
        html += "<h3>What could not be read</h3>\n<ul>\n";
        for (const Json& item : unknown.as_array()) {
            html += "<li>" + shown(item) + "</li>\n";
        }
        html += "</ul>\n";
    }
    return section("conditions", "Conditions", html);
}

std::string steps_section(const Json& record) {
    std::vector<Row> rows;
    for (const Json& step : record.at("steps").as_array()) {
        const Json& message = member(step, "message");
        rows.push_back({shown(member(step, "name")), shown(member(step, "state")),
                        html_text(readable_seconds(number_or(member(step, "seconds"), 0))),
                        message.is_string() && !message.as_string().empty()
                            ? html_text(message.as_string())
                            : ""});
    }
    std::string html = table("Steps in their order.", {"Step", "State", "Time", "Note"}, rows);
    html += "<p>Started " + shown(member(member(record, "started"), "wall")) + ", ended " +
            shown(member(member(record, "ended"), "wall")) + " (clock " +
            shown(member(member(record, "started"), "clock")) + ").</p>\n<p>Command: <code>" +
            shown(member(record, "command_line")) + "</code></p>\n";
    return section("steps", "Course of the run", html);
}

std::string limits_section(const Json& record) {
    std::string html = "<ul>\n";
    for (const Json& item : record.at("not_shown").as_array()) {
        html += "<li>" + shown(item) + "</li>\n";
    }
    return section("not-shown", "What this does not show", html + "</ul>\n");
}

}  // namespace

std::string render_report(const Json& record) {
    require_schema(record, "run", 1, "record");
    const Verdict verdict = parse_verdict(record.at("verdict").as_string());
    const Json& protocol = record.at("protocol");
    const Json& title_json = member(protocol, "title");
    const std::string title = title_json.is_string() && !title_json.as_string().empty()
                                  ? html_text(title_json.as_string())
                                  : html_text(protocol.at("name").as_string());
    const std::string run = html_text(record.at("run").as_string());
    std::string html =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        // Nothing may be loaded or run, whatever a name in the record contains.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
        title + ": " + std::string(name_of(verdict)) + "</title>\n<style>\n" +
        std::string(style_sheet()) +
        "</style>\n</head>\n<body>\n<header>\n<p class=\"kind\">Qualification report</p>\n<h1>" +
        title + "</h1>\n<p class=\"result\">" + badge(record.at("verdict")) + " <span>" +
        sentence_of(verdict) + "</span></p>\n<p class=\"run\">Run <code>" + run +
        "</code>, protocol <code>" + html_text(protocol.at("name").as_string()) +
        "</code></p>\n</header>\n<main>\n";
    html += gates_section(record);
    html += parity_section(record);
    if (const Json& accuracy = member(record, "accuracy"); !accuracy.is_null()) {
        html += section("accuracy", "Task quality", accuracy_html(accuracy));
    }
    html += latency_section(record);
    html += made_from_section(record);
    html += conditions_section(record);
    html += limits_section(record);
    html += steps_section(record);
    html += "</main>\n<footer><p>Made by Requal " + shown(member(record, "requal")) +
            " from record.json of the run and from nothing else.</p></footer>\n</body>\n</html>\n";
    return html;
}

}  // namespace requal::evidence
