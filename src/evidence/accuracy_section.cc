#include "evidence/accuracy_section.h"

#include <limits>
#include <vector>

#include "base/text.h"
#include "evidence/html.h"
#include "evidence/plot_accuracy.h"

namespace requal::evidence {

namespace {

constexpr std::size_t most_slices = 400;
constexpr double none = std::numeric_limits<double>::quiet_NaN();

double number_of(const Json& json, std::string_view key) {
    const Json& value = json.get(key);
    return value.is_number() ? value.as_number() : none;
}

std::string cell(double value, int digits = 4) {
    return value == value ? html_text(readable(value, digits)) : std::string("none");
}

std::string interval(const Json& metric, std::string_view low, std::string_view high) {
    const double from = number_of(metric, low), to = number_of(metric, high);
    return from == from && to == to
               ? html_text(readable(from, 3)) + " to " + html_text(readable(to, 3))
               : std::string("none");
}

std::string name_of(const Json& slice) {
    return slice.has("by") ? slice.at("by").as_string() + " " + slice.at("value").as_string()
                           : std::string("overall");
}

/// Of a slice only what the gates are mostly about: the rest is in the record.
bool in_table(const std::string& metric, bool overall) {
    static constexpr std::string_view of_slices[] = {"ap50_95", "ap50",   "ar100",
                                                     "top1",    "recall", "f1"};
    for (const std::string_view name : of_slices) {
        if (metric == name) {
            return true;
        }
    }
    return overall;
}

std::string row_of(const std::string& slice, const std::string& name, const Json& metric) {
    return "<tr><th scope=\"row\">" + html_text(slice) + "</th><td>" + html_text(name) +
           "</td><td>" + std::to_string(metric.at("n").as_integer()) + "</td><td>" +
           cell(number_of(metric, "reference")) + "</td><td>" +
           cell(number_of(metric, "candidate")) + "</td><td>" + cell(number_of(metric, "drop"), 3) +
           "</td><td>" + interval(metric, "ci_low", "ci_high") + "</td><td>" +
           cell(number_of(metric, "retention")) + "</td></tr>\n";
}

std::string table_of(const Json& part) {
    std::string html =
        "<table>\n<caption>Metrics of both sides on the same samples; the interval is that of the "
        "drop.</caption>\n<thead><tr><th scope=\"col\">Slice</th><th scope=\"col\">Metric</th>"
        "<th scope=\"col\">n</th><th scope=\"col\">Reference</th><th scope=\"col\">Candidate</th>"
        "<th scope=\"col\">Drop</th><th scope=\"col\">Interval</th>"
        "<th scope=\"col\">Retention</th></tr></thead>\n<tbody>\n";
    for (const auto& [name, metric] : part.at("overall").at("metrics").as_object()) {
        html += row_of("overall", name, metric);
    }
    std::size_t shown = 0;
    for (const Json& slice : part.at("slices").as_array()) {
        if (++shown > most_slices) {
            break;
        }
        for (const auto& [name, metric] : slice.at("metrics").as_object()) {
            if (in_table(name, false)) {
                html += row_of(name_of(slice), name, metric);
            }
        }
    }
    html += "</tbody>\n</table>\n";
    if (shown > most_slices) {
        html += "<p>Only the first " + std::to_string(most_slices) +
                " slices are shown; all are in the record.</p>\n";
    }
    return html;
}

std::string plot_of(const Json& part, std::size_t number) {
    IntervalPlot plot;
    plot.id = "accuracy-" + std::to_string(number);
    for (const Json& slice : part.at("slices").as_array()) {
        if (!slice.has("by") || slice.at("by").as_string() != "class" || plot.rows.size() >= 100) {
            continue;
        }
        const Json& metrics = slice.at("metrics");
        const char* name = metrics.has("ap50_95") ? "ap50_95" : "recall";
        if (!metrics.has(name)) {
            continue;
        }
        const Json& metric = metrics.at(name);
        plot.x_label = std::string("retention of ") + name;
        plot.rows.push_back({slice.at("value").as_string(), number_of(metric, "retention"),
                             number_of(metric, "retention_ci_low"),
                             number_of(metric, "retention_ci_high"),
                             "n = " + std::to_string(metric.at("n").as_integer())});
    }
    if (plot.rows.empty()) {
        return {};
    }
    plot.title = "Retention by class";
    plot.description = "One row a class: the retention as a dot, its interval as a line.";
    plot.markers.push_back({1, "", "marker"});
    return "<div class=\"figure\">\n<figure>\n" + svg_of(plot) + "</figure>\n</div>\n";
}

std::string flips_of(const Json& flips) {
    if (flips.is_null()) {
        return {};
    }
    const auto count = [&](const char* key) { return std::to_string(flips.at(key).as_integer()); };
    return "<p>Flips: " + count("gained") + " gained and " + count("lost") + " lost (net " +
           count("net") + "); " + count("gross") + " of " + count("decisions") +
           " decisions changed.</p>\n";
}

}  // namespace

std::string accuracy_html(const Json& accuracy) {
    if (accuracy.is_null()) {
        return {};
    }
    std::string html;
    std::size_t number = 0;
    for (const Json& part : accuracy.as_array()) {
        html += "<h3>Part " + html_text(part.at("part").as_string()) + "</h3>\n<p>" +
                std::to_string(part.at("samples").as_integer()) + " samples, " +
                html_text(part.at("task").as_string()) + ". Labels <code class=\"digest\">" +
                html_text(part.at("labels").as_string()) + "</code>.</p>\n";
        html += plot_of(part, ++number) + table_of(part) + flips_of(part.at("flips"));
        for (const Json& note : part.at("notes").as_array()) {
            html += "<p>Note: " + html_text(note.as_string()) + "</p>\n";
        }
    }
    return html;
}

}  // namespace requal::evidence
