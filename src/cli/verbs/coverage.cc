// coverage: which requested targets the offered artefacts cover.
// rooms: compat evidence
#include "compat/coverage.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "compat/coverage_csv.h"
#include "evidence/coverage_page.h"

namespace requal::cli {

namespace {

std::string joined(const Json& list, const char* between = "; ") {
    std::string text;
    for (const Json& item : list.as_array())
        text += (text.empty() ? "" : between) + printable(item.as_string());
    return text;
}

std::string fact(const Json& facts, const char* key) {
    return facts.get(key).is_string() ? facts.get(key).as_string() : std::string();
}

std::string matrix_text(const Json& document) {
    std::map<std::pair<std::string, std::string>, std::string> cells;
    for (const Json& entry : document.at("targets").as_array())
        cells[{entry.at("id").as_string(), entry.at("offer").as_string()}] =
            entry.at("status").as_string();
    std::vector<std::vector<std::string>> rows = {
        {"target", "needed", "device", "runtime", "platform"}};
    for (const Json& offer : document.at("offers").as_array())
        rows.front().push_back(offer.at("id").as_string());
    for (const Json& target : document.at("requested").as_array()) {
        const Json& facts = target.at("facts");
        std::string device = fact(facts, "gpu");
        if (device.empty())
            device = fact(facts, "soc");
        std::string platform = fact(facts, "platform");
        if (!fact(facts, "l4t").empty())
            platform += " L4T " + fact(facts, "l4t");
        else if (!fact(facts, "jetpack").empty())
            platform += " JetPack " + fact(facts, "jetpack");
        rows.push_back({target.at("id").as_string(), target.at("needs").as_string(), device,
                        fact(facts, "product") + " " + fact(facts, "version"), platform});
        for (const Json& offer : document.at("offers").as_array())
            rows.back().push_back(
                cells.at({target.at("id").as_string(), offer.at("id").as_string()}));
    }
    return table_text(rows);
}

/// What the statuses mean, of those that occur.
std::string legend_text(const Json& document) {
    static const std::pair<const char*, const char*> meanings[] = {
        {"documented", "somebody who is named says that this artefact is for this target"},
        {"covered-by-route",
         "nobody says so, and a rule leads there; what is to be shown and the price stand below"},
        {"excluded", "a rule says that it does not run there"},
        {"unaddressed", "nobody spoke of it, which is not incompatible"},
        {"contradicted", "what is said of an artefact and its bytes disagree"}};
    std::string text;
    for (const auto& [status, meaning] : meanings)
        for (const Json& offer : document.at("offers").as_array())
            if (offer.at("counts").at(status).as_integer() > 0) {
                text += "  " + std::string(status) + ": " + meaning + "\n";
                break;
            }
    return text;
}

/// "operators unanswered, numerics evidence for 2 of 8 targets", of one offer.
std::string questions_text(const Json& document, const std::string& offer) {
    std::string text;
    for (const char* question : {"operators", "numerics", "shapes", "workload"}) {
        std::size_t targets = 0, answered = 0, of_another = 0;
        for (const Json& entry : document.at("targets").as_array()) {
            if (entry.at("offer").as_string() != offer)
                continue;
            const std::string& state = entry.at("questions").at(question).as_string();
            ++targets;
            answered += state == "evidence" ? 1 : 0;
            of_another += state == "evidence of another" ? 1 : 0;
        }
        text += (text.empty() ? "" : ", ") + std::string(question) + " ";
        text += answered == targets ? "evidence for all targets"
                : answered > 0      ? "evidence for " + std::to_string(answered) + " of " +
                                     std::to_string(targets) + " targets"
                : of_another > 0 ? "evidence of another only"
                                 : "unanswered";
    }
    return text;
}

/// The needed targets that no offer covers, 16 named at most.
std::string not_covered(const Json& document) {
    std::map<std::string, bool> covered;
    for (const Json& entry : document.at("targets").as_array()) {
        const std::string& status = entry.at("status").as_string();
        covered[entry.at("id").as_string()] |=
            status == "documented" || status == "covered-by-route";
    }
    std::string names;
    std::size_t count = 0, needed = 0;
    for (const Json& target : document.at("requested").as_array()) {
        if (target.at("needs").as_string() == "not")
            continue;
        ++needed;
        if (covered[target.at("id").as_string()])
            continue;
        if (++count <= 16)
            names += (count > 1 ? ", " : "") + printable(target.at("id").as_string());
    }
    if (count > 16)
        names += " and " + std::to_string(count - 16) + " more";
    return std::to_string(count) + " of " + std::to_string(needed) +
           " needed targets are covered by no offer: " + names;
}

std::string spaced(std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

std::string entries_text(const Json& document) {
    std::string text;
    for (const Json& entry : document.at("targets").as_array()) {
        const std::string status = entry.at("status").as_string();
        if (status == "unaddressed")
            continue;
        text += printable(entry.at("id").as_string()) + ", offer " +
                printable(entry.at("offer").as_string()) + ": " + status;
        if (entry.at("artefact").is_string())
            text += " (" + printable(entry.at("artefact").as_string()) + ")";
        if (entry.at("rules").size() > 0)
            text += " by " + joined(entry.at("rules"), ", ");
        text += "\n";
        for (const Json& why : entry.at("why").as_array())
            text += "  " + printable(why.as_string()) + "\n";
        for (const Json& condition : entry.at("conditions_met").as_array())
            text += "  met: " + printable(condition.as_string()) + "\n";
        for (const Json& condition : entry.at("conditions_to_show").as_array())
            text += "  to be shown: " + printable(condition.as_string()) + "\n";
        for (const Json& price : entry.at("price").as_array())
            text += "  price: " + printable(price.as_string()) + "\n";
        for (const Json& next : entry.at("next").as_array())
            text += "  next: " + printable(next.as_string()) + "\n";
    }
    return text;
}

std::string findings_text(const Json& document) {
    std::string text;
    for (const Json& finding : document.at("findings").as_array()) {
        text += "finding: " + finding.at("kind").as_string();
        if (finding.at("offer").is_string())
            text += ", offer " + printable(finding.at("offer").as_string());
        const Json& subjects = finding.at("subjects");
        text += ", " + printable(subjects.as_array().front().as_string());
        if (subjects.size() > 1)
            text += " and " + std::to_string(subjects.size() - 1) + " more";
        text += ": " + printable(finding.at("text").as_string()) + "\n";
    }
    return text;
}

std::string regeneration_text(const Json& document) {
    std::string text;
    for (const Json& offer : document.at("offers").as_array()) {
        const Json& state = offer.at("regeneration");
        text += "regeneration, offer " + printable(offer.at("id").as_string()) + ": ";
        if (!state.at("offered").as_boolean()) {
            text += "not offered\n";
            continue;
        }
        text += "responsibility: " + state.at("responsibility").as_string();
        if (state.at("party").is_string())
            text += " (" + printable(state.at("party").as_string()) + ")";
        text += "\n";
        std::map<std::string, std::string> by_state;
        for (const auto& [name, input] : state.at("inputs").as_object())
            by_state["inputs " + input.at("state").as_string()] +=
                (by_state["inputs " + input.at("state").as_string()].empty() ? "" : ", ") +
                spaced(name);
        for (const auto& [name, statement] : state.at("statements").as_object())
            by_state[statement.at("state").as_string()] +=
                (by_state[statement.at("state").as_string()].empty() ? "" : ", ") + spaced(name);
        for (const auto& [label, names] : by_state)
            text += "  " + label + ": " + names + "\n";
        text += "  targets confirmed: " +
                (state.at("confirms").size() > 0 ? joined(state.at("confirms"), ", ")
                                                 : std::string("none")) +
                "\n";
    }
    return text;
}

std::string transition_text(const Json& document) {
    const Json& move = document.at("transition");
    if (!move.is_object())
        return {};
    std::string text = "\ntransition from " + printable(move.at("from").as_string()) + " to " +
                       printable(move.at("to").as_string()) + ":\n";
    for (const Json& change : move.at("changes").as_array())
        text += "  " + change.at("what").as_string() + ": " +
                printable(change.at("before").as_string()) + " becomes " +
                printable(change.at("after").as_string()) + "\n";
    for (const Json& offer : move.at("offers").as_array()) {
        text += "  offer " + printable(offer.at("offer").as_string()) + ":\n";
        for (const Json& step : offer.at("steps").as_array())
            text += "    " + step.at("question").as_string() + " " +
                    printable(step.at("answer").as_string()) + "\n";
    }
    return text;
}

std::string coverage_text(const Json& document) {
    std::string text = matrix_text(document) + legend_text(document) + "\n" +
                       entries_text(document) + "\n" + findings_text(document) +
                       regeneration_text(document) + transition_text(document);
    text += "\nfour questions that no status answers:\n";
    for (const Json& offer : document.at("offers").as_array())
        text += "  offer " + printable(offer.at("id").as_string()) + ": " +
                questions_text(document, offer.at("id").as_string()) + "\n";
    for (const Json& offer : document.at("offers").as_array()) {
        text += "\nask the supplier of offer " + printable(offer.at("id").as_string()) + ":\n";
        for (const Json& question : offer.at("ask").as_array())
            text += "  - " + printable(question.as_string()) + "\n";
    }
    text += "\nThe number of artefacts does not follow from the number of targets. Acceptance is "
            "decided by " +
            (document.at("acceptance").at("owner").is_string()
                 ? printable(document.at("acceptance").at("owner").as_string())
                 : std::string("nobody who is named")) +
            ".\n";
    if (document.at("rules_overdue").size() > 0)
        text +=
            "rules past their review date: " + joined(document.at("rules_overdue"), ", ") + "\n";
    const std::string verdict = document.at("verdict").as_string();
    text += verdict == "pass" ? "all needed targets are covered\n"
            : verdict == "fail"
                ? not_covered(document) + "; of these, some are excluded or contradicted\n"
                : not_covered(document) + ", and nothing excludes them\n";
    return text;
}

Result run_coverage(const Arguments& arguments, const Common& common) {
    compat::RuleSet rules = compat::load_rules(common.rules);
    compat::CoverageOptions options;
    options.today = time_stamp(system_clock()).at("wall").as_string().substr(0, 10);
    if (const auto moment = arguments.optional_text("--as-of")) {
        options.as_of = *moment;
        rules = compat::as_of(rules, *moment);
        if (compat::is_date(*moment))
            options.today = *moment;
    }
    if (const auto move = arguments.optional_text("--transition")) {
        const std::size_t colon = move->find(':');
        if (colon == std::string::npos || colon == 0 || colon + 1 == move->size())
            throw Error(ErrorKind::usage, "'" + *move + "' does not name two targets",
                        "--transition", "write FROM:TO, such as T1:T7");
        options.transition = {{move->substr(0, colon), move->substr(colon + 1)}};
    }
    const compat::Request request = compat::read_request(arguments.text("REQUEST"), rules.tables);
    Result result;
    result.document = compat::coverage_document(rules, request, options);
    if (const auto path = arguments.optional_text("--csv"))
        write_file_atomically(*path, compat::coverage_csv(result.document));
    if (const auto path = arguments.optional_text("--html"))
        write_file_atomically(*path, evidence::coverage_page(result.document));
    result.text = coverage_text(result.document);
    result.status = exit_status_of(parse_verdict(result.document.at("verdict").as_string()));
    return result;
}

}  // namespace

std::vector<Verb> verbs_coverage() {
    Verb verb;
    verb.name = "coverage";
    verb.summary = "says which requested targets the offered artefacts cover";
    verb.description = "Each target and offer gets one status: documented, covered-by-route (by a "
                       "rule, with its conditions "
                       "and price), excluded (by a rule), unaddressed (nobody spoke of it), "
                       "contradicted (what is stated "
                       "and the bytes disagree). Promises and inputs for a later build change no "
                       "status. Exit status: 0 all "
                       "needed targets are covered by some offer, 1 one is excluded or "
                       "contradicted, 6 one is unaddressed.";
    verb.positionals = {{.name = "REQUEST",
                         .kind = ValueKind::path,
                         .help = "targets and offers, a coverage-request/1 in YAML",
                         .required = true}};
    verb.options = {{.name = "--transition",
                     .help = "also: what a move from one target to another has to settle",
                     .value_name = "FROM:TO"},
                    {.name = "--as-of",
                     .help = "by the rules as they were known then: a date, or a TensorRT version",
                     .value_name = "VERSION|DATE"},
                    {.name = "--csv",
                     .kind = ValueKind::path,
                     .help = "also write the entries as CSV",
                     .value_name = "FILE"},
                    {.name = "--html",
                     .kind = ValueKind::path,
                     .help = "also write the matrix as one HTML page",
                     .value_name = "FILE"}};
    verb.examples = {
        "requal coverage examples/coverage/ep-202.yaml",
        "requal coverage examples/coverage/ep-202.yaml --transition T1:T7 --html coverage.html"};
    verb.run = run_coverage;
    return {verb};
}

}  // namespace requal::cli
