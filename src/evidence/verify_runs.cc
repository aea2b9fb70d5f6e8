#include "base/text.h"
#include "evidence/schema_check.h"
#include "evidence/verification.h"

namespace requal::evidence {

namespace {

constexpr std::uint64_t run_file_limit_bytes = std::uint64_t{24} << 20;

}  // namespace

void Verification::check_ledger() {
    const Json& said = contents_.at("ledger");
    result_.ledger = said;
    const TarEntry& entry = entry_of(parse_digest(said.at("file").as_string()), "the ledger");
    // The tar file holds the ledger as it is, so it is read where it lies.
    history_ = read_history(real_path(), result_.protocol, entry.offset, entry.size_bytes,
                            wanted_records());
    if (history_.ledger != text_at(said, "ledger"))
        fail("it is the ledger " + history_.ledger + ", the list of contents says " +
                 text_at(said, "ledger"),
             "the ledger");
    if (history_.end.digest.text() != text_at(said, "digest") ||
        static_cast<std::int64_t>(history_.end.seq) != said.at("records").as_integer())
        fail("it does not end where the list of contents says", "the ledger");
    if (runs_json(history_) != contents_.at("runs"))
        fail("the ledger has other runs of this protocol than the list says", "runs");
    if (signings_json(history_) != contents_.at("protocol_signed"))
        fail("the ledger has other signatures on the protocol than the list says",
             "protocol_signed");
    std::map<Digest, std::string> named = blobs_of(history_);
    for (const auto& [digest, name] : named) {
        const auto listed = listed_.find(digest);
        if (listed == listed_.end()) {
            fail("the ledger names it, the list of contents does not", name);
        } else if (!listed->second.included) {
            missing_[digest] = listed->second.why_not;
            if (listed->second.why_not == "by digest only")
                note("by digest only: its bytes are not in the package", name);
            else
                undecided("its bytes are not in the package: " + printable(listed->second.why_not),
                          name);
        }
    }
    for (const auto& [digest, content] : listed_) {
        if (!named.contains(digest) && content.name != "ledger.jsonl" &&
            !content.name.starts_with("model/"))
            fail("no run names it", content.name);
    }
    have_history_ = true;
    for (const auto& [name, runs] : history_.other_protocols)
        note("the ledger also holds " + std::to_string(runs) + " runs of protocol '" +
                 printable(name) + "', which are not in this package",
             "the ledger");
}

std::vector<std::uint64_t> Verification::wanted_records() {
    std::vector<std::uint64_t> seqs;
    for (const auto& [file, checkpoint] : checkpoints_) {
        const Json& seq = checkpoint.get("seq");
        if (seq.is_integer() && seq.as_integer() >= 0)
            seqs.push_back(static_cast<std::uint64_t>(seq.as_integer()));
    }
    // One after the other: a hostile package could hold many large ones.
    const auto look_into = [&](const std::string& text) {
        for (const auto& [subject, seq] : ledger_subjects(judge_signature(text, {}, {}))) {
            if (std::find(seqs.begin(), seqs.end(), seq) == seqs.end())
                seqs.push_back(seq);
        }
    };
    for (const std::string& text : outside_)
        look_into(text);
    std::size_t left = most_envelopes;
    for (const auto& entry : contents_.at("protocol_signed").as_array()) {
        for (const Json& envelope : entry.at("envelopes").as_array()) {
            if (left-- == 0)
                throw Error(ErrorKind::input, "too many signatures on the protocol");
            if (const auto text = content(parse_digest(envelope.as_string())))
                look_into(*text);
        }
    }
    for (const BlobOfPackage& envelope : envelopes_) {
        if (const auto text = content(envelope.digest))
            look_into(*text);
    }
    if (seqs.size() > most_envelopes)
        throw Error(ErrorKind::input, "the signatures name too many records of the ledger");
    return seqs;
}

std::vector<std::pair<Subject, std::uint64_t>>
Verification::ledger_subjects(const JudgedSignature& signature) {
    std::vector<std::pair<Subject, std::uint64_t>> found;
    for (const Subject& subject : signature.statement.subjects) {
        if (!subject.name.starts_with("ledger:"))
            continue;
        const std::size_t colon = subject.name.rfind(':');
        const auto seq = parse_integer(subject.name.substr(colon + 1));
        if (seq && *seq >= 0)
            found.emplace_back(subject, static_cast<std::uint64_t>(*seq));
    }
    return found;
}

void Verification::check_runs() {
    if (!have_history_)
        return;
    for (const RunHistory& run : history_.runs) {
        Json entry = Json::object({{"run", run.run},
                                   {"state", run.state},
                                   {"protocol", run.protocol},
                                   {"verdict", run.verdict.empty() ? Json() : Json(run.verdict)},
                                   {"protocol_signed", Json()},
                                   {"gates", Json::array()}});
        if (run.record)
            guarded("run " + run.run, [&] { check_record(run, entry); });
        result_.runs.push_back(std::move(entry));
    }
    if (history_.runs.empty())
        fail("the ledger holds no run of this protocol", "runs");
}

void Verification::check_record(const RunHistory& run, Json& entry) {
    const std::string where = "run " + run.run;
    if (missing_.contains(*run.record)) {
        undecided("its record is not in the package, so nothing of it was computed again", where);
        return;
    }
    const Json record =
        parse_json(tar_->content(entry_of(*run.record, "the record"), record_limit_bytes),
                   "record.json", document_limits());
    check_document(record, "record.json of " + where);
    if (text_at(record, "run") != run.run)
        fail("its record is that of run " + printable(text_at(record, "run")), where);
    if (text_at(record, "verdict") != run.verdict)
        fail("its record says " + printable(text_at(record, "verdict")) + ", the ledger says " +
                 run.verdict,
             where);
    if (text_at(record.get("protocol"), "digest") != run.protocol)
        fail("its record names another protocol than the ledger", where);
    const auto protocol = run.files.find("protocol.yaml");
    if (protocol == run.files.end() || protocol->second.text() != run.protocol)
        fail("its protocol is not the one that the ledger says it was begun with", where);
    for (const Json& file : record.at("files").as_array()) {
        const std::string& name = file.at("name").as_string();
        const auto found = run.files.find(name);
        if (found == run.files.end() || found->second.text() != text_at(file, "digest"))
            fail("its record and the ledger differ about file " + printable(name), where);
    }
    for (const auto& [name, digest] : run.files) {
        if (!name.ends_with(".manifest.json"))
            continue;
        if (const auto text = content(digest, record_limit_bytes))
            check_document(parse_json(*text, name, document_limits()), name + " of " + where);
    }
    recompute(run, record, entry);
}

void Verification::check_document(const Json& document, const std::string& where) {
    std::string name = text_at(document, "schema");
    std::replace(name.begin(), name.end(), '/', '-');
    if (!has_schema(name)) {
        undecided("a document of a form that this program does not know: " + printable(name),
                  where);
        return;
    }
    for (const std::string& problem : schema_problems(document, name))
        fail("not as its schema says: " + problem, where);
}

void Verification::recompute(const RunHistory& run, const Json& record, Json& entry) {
    const std::string where = "run " + run.run;
    if (!options_.recompute) {
        undecided("the verdicts were not computed again", where);
        return;
    }
    const auto file = [&](const std::string& name) -> std::optional<std::string> {
        const auto found = run.files.find(name);
        if (found == run.files.end())
            return std::nullopt;
        return content(found->second, run_file_limit_bytes);
    };
    Json gates = Json::array();
    Verdict verdict = Verdict::pass;
    for (const Json& gate : record.at("gates").as_array())
        verdict = combine(verdict, parse_verdict(gate.at("verdict").as_string()));
    if (record.at("gates").size() == 0)
        verdict = Verdict::undecidable;
    if (name_of(verdict) != text_at(record, "verdict"))
        fail("its gates together say " + std::string(name_of(verdict)) + ", its record says " +
                 printable(text_at(record, "verdict")),
             where);
    for (const RecomputedGate& gate : options_.recompute(record, file)) {
        gates.push_back(Json::object({{"gate", gate.gate},
                                      {"kind", gate.kind},
                                      {"recomputed", gate.status},
                                      {"why", gate.why.empty() ? Json() : Json(gate.why)}}));
        const std::string at = where + ", gate " + printable(gate.gate);
        if (gate.status == "differs")
            fail(gate.why, at);
        else if (gate.status != "same")
            undecided("not recomputed: " + gate.why, at);
    }
    entry["gates"] = std::move(gates);
}

void Verification::check_checkpoints() {
    if (!have_history_)
        return;
    for (const auto& [file, checkpoint] : checkpoints_) {
        require_schema(checkpoint, "ledger-checkpoint", 1, file);
        if (checkpoint.at("ledger").as_string() != history_.ledger) {
            fail("it is a checkpoint of another ledger", file);
            continue;
        }
        const auto seq = static_cast<std::uint64_t>(checkpoint.at("seq").as_integer());
        const auto found = history_.asked.find(seq);
        if (found == history_.asked.end())
            fail("the ledger in the package ends before this checkpoint: records were left out",
                 file);
        else if (found->second != checkpoint.at("digest").as_string())
            fail("the ledger in the package is not the one of this checkpoint: records before "
                 "it were changed",
                 file);
    }
}

}  // namespace requal::evidence
