#include "evidence/coverage_page.h"

#include <map>

#include "evidence/html.h"
#include "evidence/style.h"

namespace requal::evidence {

namespace {

std::string text_of(const Json& value) {
    if (value.is_string())
        return html_text(value.as_string());
    std::string text;
    if (value.is_array())
        for (const Json& item : value.as_array())
            text += (text.empty() ? "" : "; ") + text_of(item);
    return text;
}

/// A list with each item on a line of its own.
std::string lines_of(const Json& list) {
    std::string text;
    for (const Json& item : list.as_array())
        text += (text.empty() ? "" : "<br>") + text_of(item);
    return text;
}

/// Colour and word: the word alone tells it, too.
std::string badge(const std::string& status) {
    const char* style = status == "documented" || status == "covered-by-route" ? "pass"
                        : status == "unaddressed"                              ? "undecidable"
                                                                               : "fail";
    return std::string("<span class=\"verdict ") + style + "\">" + html_text(status) + "</span>";
}

std::string list_of(const Json& items) {
    std::string html = "<ul>\n";
    for (const Json& item : items.as_array())
        html += "<li>" + text_of(item) + "</li>\n";
    return html + "</ul>\n";
}

std::string facts_text(const Json& facts) {
    std::string text;
    for (const char* key :
         {"gpu", "soc", "product", "version", "os", "os_release", "arch", "l4t", "jetpack"})
        if (facts.has(key))
            text += (text.empty() ? "" : " · ") + text_of(facts.at(key));
    return text;
}

std::string matrix(const Json& document) {
    std::map<std::pair<std::string, std::string>, const Json*> cells;
    for (const Json& entry : document.at("targets").as_array())
        cells[{entry.at("id").as_string(), entry.at("offer").as_string()}] = &entry;
    std::string html = "<table>\n<caption>One status for each target and "
                       "offer.</caption>\n<thead><tr><th>Target</th><th>What it "
                       "is</th><th>Needed</th>";
    for (const Json& offer : document.at("offers").as_array())
        html += "<th>Offer " + text_of(offer.at("id")) + "</th>";
    html += "</tr></thead>\n<tbody>\n";
    for (const Json& target : document.at("requested").as_array()) {
        html += "<tr><th>" + text_of(target.at("id")) + "</th><td>" +
                facts_text(target.at("facts")) + "</td><td>" + text_of(target.at("needs")) +
                "</td>";
        for (const Json& offer : document.at("offers").as_array()) {
            const Json& entry =
                *cells.at({target.at("id").as_string(), offer.at("id").as_string()});
            html += "<td>" + badge(entry.at("status").as_string());
            if (entry.at("artefact").is_string())
                html += "<br>" + text_of(entry.at("artefact"));
            if (entry.at("rules").size() > 0)
                html += "<br><code>" + text_of(entry.at("rules")) + "</code>";
            html += "</td>";
        }
        html += "</tr>\n";
    }
    return html + "</tbody></table>\n";
}

std::string details(const Json& document) {
    std::string html =
        "<h2>Behind each "
        "status</h2>\n<table>\n<thead><tr><th>Target</th><th>Offer</th><th>Why</th><th>"
        "Conditions met</th><th>Still to be "
        "shown</th><th>Price</th><th>Next</th></tr></thead>\n<tbody>\n";
    for (const Json& entry : document.at("targets").as_array()) {
        html += "<tr><th>" + text_of(entry.at("id")) + "</th><td>" + text_of(entry.at("offer")) +
                "</td>";
        for (const char* key : {"why", "conditions_met", "conditions_to_show", "price", "next"})
            html += "<td>" + lines_of(entry.at(key)) + "</td>";
        html += "</tr>\n";
    }
    return html + "</tbody></table>\n";
}

/// In words; documents from before labels have the key alone.
std::string label_of(const std::string& key, const Json& entry) {
    return entry.get("label").is_string() ? text_of(entry.at("label")) : html_text(key);
}

/// What each status means, as a list below the matrix.
std::string legend() {
    return "<ul>\n"
           "<li>documented: somebody who is named says that this artefact is for this target</li>\n"
           "<li>covered-by-route: nobody says so, and a rule leads there; its conditions and price "
           "stand below</li>\n"
           "<li>excluded: a rule says that it does not run there</li>\n"
           "<li>unaddressed: nobody spoke of it, which is not incompatible</li>\n"
           "<li>contradicted: what is said of an artefact and its bytes disagree</li>\n</ul>\n";
}

/// The four questions stand apart from every status.
std::string questions(const Json& document) {
    std::string html = "<h2>Four questions that no status answers</h2>\n<table>\n<thead><tr><th>"
                       "Target</th><th>Offer</th><th>Operators</th><th>Numerics</th><th>Shapes</th>"
                       "<th>Workload</th></tr></thead>\n<tbody>\n";
    for (const Json& entry : document.at("targets").as_array()) {
        html += "<tr><th>" + text_of(entry.at("id")) + "</th><td>" + text_of(entry.at("offer")) +
                "</td>";
        for (const char* question : {"operators", "numerics", "shapes", "workload"})
            html += "<td>" + text_of(entry.at("questions").at(question)) + "</td>";
        html += "</tr>\n";
    }
    return html + "</tbody></table>\n";
}

std::string regeneration(const Json& offer) {
    const Json& state = offer.at("regeneration");
    std::string html = "<h3>Offer " + text_of(offer.at("id")) + "</h3>\n";
    if (!state.at("offered").as_boolean())
        return html + "<p>Regeneration is not offered.</p>\n";
    html += "<p>Responsibility: " + text_of(state.at("responsibility"));
    if (state.at("party").is_string())
        html += " (" + text_of(state.at("party")) + ")";
    html +=
        ". Targets confirmed: " +
        (state.at("confirms").size() > 0 ? text_of(state.at("confirms")) : std::string("none")) +
        ".</p>\n<table>\n<thead><tr><th>Input or statement</th><th>State</th><th>What is "
        "said</th></tr></thead>\n<tbody>\n";
    for (const auto& [name, input] : state.at("inputs").as_object())
        html += "<tr><th>" + label_of(name, input) + "</th><td>" + text_of(input.at("state")) +
                "</td><td>" + text_of(input.get("identity")) + "</td></tr>\n";
    for (const auto& [name, statement] : state.at("statements").as_object())
        html += "<tr><th>" + label_of(name, statement) + "</th><td>" +
                text_of(statement.at("state")) + "</td><td>" + text_of(statement.get("text")) +
                "</td></tr>\n";
    return html + "</tbody></table>\n";
}

std::string transition(const Json& document) {
    const Json& move = document.at("transition");
    if (!move.is_object())
        return {};
    std::string html = "<h2>Transition from " + text_of(move.at("from")) + " to " +
                       text_of(move.at("to")) +
                       "</h2>\n<table>\n<thead><tr><th>What "
                       "changes</th><th>Before</th><th>After</th></tr></thead>\n<tbody>\n";
    for (const Json& change : move.at("changes").as_array())
        html += "<tr><th>" + text_of(change.at("what")) + "</th><td>" +
                text_of(change.at("before")) + "</td><td>" + text_of(change.at("after")) +
                "</td></tr>\n";
    html += "</tbody></table>\n";
    for (const Json& offer : move.at("offers").as_array()) {
        html += "<h3>Offer " + text_of(offer.at("offer")) +
                "</h3>\n<table>\n<thead><tr><th>Question</th><th>Answer</th><th>Settled</th></tr></"
                "thead>\n<tbody>\n";
        for (const Json& step : offer.at("steps").as_array())
            html += "<tr><th>" + text_of(step.at("question")) + "</th><td>" +
                    text_of(step.at("answer")) + "</td><td>" +
                    (step.at("settled").as_boolean() ? "yes" : "no") + "</td></tr>\n";
        html += "</tbody></table>\n";
    }
    return html;
}

std::string rules(const Json& document) {
    std::string html = "<h2>Rules used</h2>\n<table>\n<thead><tr><th>Rule</th><th>What it "
                       "says</th><th>Sources</th><th>Certainty"
                       "</th><th>Review by</th></tr></thead>\n<tbody>\n";
    for (const Json& rule : document.at("rules_used").as_array()) {
        std::string sources;
        for (const Json& source : rule.at("sources").as_array()) {
            sources += (sources.empty() ? "" : "; ") + text_of(source.get("title"));
            for (const char* key : {"version", "date"})
                if (source.get(key).is_string())
                    sources += ", " + text_of(source.get(key));
        }
        html += "<tr><th><code>" + text_of(rule.at("id")) + "</code></th><td>" +
                text_of(rule.at("says")) + "</td><td>" + sources + "</td><td>" +
                text_of(rule.at("certainty")) + "</td><td>" + text_of(rule.at("review_by")) +
                (rule.at("overdue").as_boolean() ? " overdue" : "") + "</td></tr>\n";
    }
    return html + "</tbody></table>\n";
}

}  // namespace

std::string coverage_page(const Json& document) {
    const Json& request = document.at("request");
    std::string title = "Coverage";
    if (request.at("name").is_string() && !request.at("name").as_string().empty())
        title += " of " + text_of(request.at("name"));
    std::string html =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
        title + "</title>\n<style>\n" + std::string(style_sheet()) +
        "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n";
    html += "<p class=\"run\">Rules " + text_of(document.at("rule_set").get("digest")) + " (" +
            text_of(document.at("rule_set").get("origin")) + ")";
    if (document.at("as_of").is_string())
        html += ", as of " + text_of(document.at("as_of"));
    html += ".</p>\n" + matrix(document) + legend() + details(document) + questions(document) +
            "<h2>Findings</h2>\n";
    if (document.at("findings").size() == 0)
        html += "<p>None.</p>\n";
    else {
        html += "<table>\n<thead><tr><th>Kind</th><th>Offer</th><th>Concerns</th><th>Finding</th></"
                "tr></thead>\n<tbody>\n";
        for (const Json& finding : document.at("findings").as_array())
            html += "<tr><th>" + text_of(finding.at("kind")) + "</th><td>" +
                    text_of(finding.at("offer")) + "</td><td>" + text_of(finding.at("subjects")) +
                    "</td><td>" + text_of(finding.at("text")) + "</td></tr>\n";
        html += "</tbody></table>\n";
    }
    html += "<h2>Regeneration</h2>\n<p>Inputs and promises change no status.</p>\n";
    for (const Json& offer : document.at("offers").as_array())
        html += regeneration(offer);
    html += transition(document) + "<h2>Questions to the suppliers</h2>\n";
    for (const Json& offer : document.at("offers").as_array())
        html += "<h3>Offer " + text_of(offer.at("id")) + "</h3>\n" + list_of(offer.at("ask"));
    html += "<h2>Acceptance</h2>\n<p>Decided by " +
            (document.at("acceptance").at("owner").is_string()
                 ? text_of(document.at("acceptance").at("owner"))
                 : std::string("nobody who is named")) +
            ", not by this page.</p>\n";
    return html + rules(document) + "</body>\n</html>\n";
}

}  // namespace requal::evidence
