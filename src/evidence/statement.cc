#include "evidence/statement.h"

#include <algorithm>
#include <array>

#include "base/document.h"
#include "base/error.h"
#include "base/text.h"
#include "evidence/schema_check.h"

namespace requal::evidence {

namespace {

constexpr std::size_t most_subjects = 10'000;
constexpr std::int64_t earliest_ns = 1'704'067'200LL * 1'000'000'000LL;  // 2024-01-01

[[noreturn]] void refuse(const std::string& what, const std::string& where) {
    throw Error(ErrorKind::input, what, where);
}

void check_text(const std::string& text, const char* what, std::size_t most) {
    const bool blank = std::all_of(text.begin(), text.end(), [](char c) { return c == ' '; });
    if (blank)
        throw Error(ErrorKind::usage, std::string("a signature needs the signer's ") + what, {},
                    "see 'requal evidence sign --help'");
    if (text.size() > most || !is_utf8(text) || printable(text) != text)
        refuse(std::string("not usable as ") + what +
                   ": control characters, not UTF-8, or longer than " + std::to_string(most) +
                   " bytes",
               printable(text.substr(0, 60)));
}

Json time_of(const Clock& clock) {
    if (clock.wall_ns() < earliest_ns)
        throw Error(ErrorKind::undecidable,
                    "the clock of this computer is not set: it says " + iso_time(clock.wall_ns()),
                    {}, "set it, then sign");
    Json time = time_stamp(clock);
    time["source"] = "system clock";
    return time;
}

void allow_only(const Json& object, std::initializer_list<std::string_view> keys,
                const std::string& source) {
    for (const auto& [key, value] : object.as_object()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            refuse("unknown key '" + key + "'", source);
    }
}

Json subjects_json(const std::vector<Subject>& subjects) {
    Json list = Json::array();
    for (const Subject& subject : subjects)
        list.push_back(
            Json::object({{"name", subject.name},
                          {"digest", Json::object({{"sha256", subject.digest.hex()}})}}));
    return list;
}

std::vector<Subject> subjects_from(const Json& list, const std::string& source) {
    std::vector<Subject> subjects;
    if (list.size() == 0 || list.size() > most_subjects)
        refuse(list.size() == 0 ? "no subject" : "too many subjects", source);
    for (const Json& entry : list.as_array()) {
        allow_only(entry, {"name", "digest"}, source);
        const Json& digests = entry.at("digest");
        allow_only(digests, {"sha256"}, source);
        const std::string& hex = digests.at("sha256").as_string();
        if (hex.size() != 64)
            refuse("a SHA-256 has 64 hex digits", source);
        subjects.push_back({entry.at("name").as_string(), parse_digest(hex)});
    }
    return subjects;
}

}  // namespace

bool Statement::names(const Digest& digest) const {
    return std::any_of(subjects.begin(), subjects.end(),
                       [&](const Subject& subject) { return subject.digest == digest; });
}

Statement approval(std::vector<Subject> subjects, const Signer& signer, const Clock& clock) {
    check_text(signer.name, "name", 200);
    check_text(signer.role, "role", 200);
    check_text(signer.reason, "reason", 2000);
    constexpr std::array<std::string_view, 3> meanings{"author", "reviewer", "approver"};
    if (std::find(meanings.begin(), meanings.end(), signer.meaning) == meanings.end())
        throw Error(ErrorKind::usage, "a signature means author, reviewer or approver",
                    printable(signer.meaning), "give --meaning");
    Statement statement;
    statement.subjects = std::move(subjects);
    statement.predicate_type = approval_predicate;
    statement.predicate =
        Json::object({{"signer", Json::object({{"name", signer.name}, {"role", signer.role}})},
                      {"meaning", signer.meaning},
                      {"reason", signer.reason},
                      {"time", time_of(clock)},
                      {"requal", program_version()}});
    return statement;
}

Statement measured_here(std::vector<Subject> subjects, const std::string& station,
                        const Clock& clock) {
    check_text(station, "name", 200);
    Statement statement;
    statement.subjects = std::move(subjects);
    statement.predicate_type = measured_predicate;
    statement.predicate = Json::object({{"station", Json::object({{"name", station}})},
                                        {"time", time_of(clock)},
                                        {"requal", program_version()}});
    return statement;
}

std::string write_statement(const Statement& statement) {
    return write_json_compact(Json::object({{"_type", statement_type},
                                            {"subject", subjects_json(statement.subjects)},
                                            {"predicateType", statement.predicate_type},
                                            {"predicate", statement.predicate}}));
}

Statement read_statement(std::string_view text, const std::string& source) {
    JsonLimits limits;
    limits.size_bytes = 4 << 20;
    limits.depth = 20;
    limits.values = 200'000;
    const Json json = parse_json(text, source, limits);
    allow_only(json, {"_type", "subject", "predicateType", "predicate"}, source);
    if (json.at("_type").as_string() != statement_type)
        refuse("not an in-toto Statement v1", source);
    Statement statement;
    statement.subjects = subjects_from(json.at("subject"), source);
    statement.predicate_type = json.at("predicateType").as_string();
    statement.predicate = json.at("predicate");
    const bool person = statement.predicate_type == approval_predicate;
    if (!person && statement.predicate_type != measured_predicate)
        refuse("a predicate of a type that is not known here: " +
                   printable(statement.predicate_type),
               source);
    require_as_schema_says(statement.predicate,
                           person ? "signature-approval-1" : "signature-measured-1", source);
    return statement;
}

Json digest_document(const std::vector<Subject>& subjects) {
    Json document = new_document("evidence-digest", 1);
    document["subject"] = subjects_json(subjects);
    return document;
}

std::vector<Subject> read_digest_document(std::string_view text, const std::string& source) {
    JsonLimits limits;
    limits.size_bytes = 4 << 20;
    limits.depth = 20;
    limits.values = 200'000;
    const Json json = parse_json(text, source, limits);
    require_schema(json, "evidence-digest", 1, source);
    allow_only(json, {"schema", "requal", "subject"}, source);
    return subjects_from(json.at("subject"), source);
}

}  // namespace requal::evidence
