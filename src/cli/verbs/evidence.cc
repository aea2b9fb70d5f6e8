// evidence: packages of a protocol's runs: exported, shown, verified. Signing: evidence_sign.cc.
// rooms: base store evidence qualify
#include <map>
#include <memory>
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/fitted_table.h"
#include "cli/outputs.h"
#include "cli/signing.h"
#include "cli/verb.h"
#include "evidence/export.h"
#include "evidence/verify.h"
#include "qualify/recompute.h"
#include "store/store.h"

namespace requal::cli {

namespace {

using evidence::Envelope;
using evidence::Subject;

store::StoreOptions reading() {
    store::StoreOptions options;
    options.lowers = store::lowers_from_environment();
    return options;
}

Result run_export(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, reading());
    evidence::ExportRequest request;
    request.name = arguments.text("WHAT");
    request.ledger = arguments.optional_text("--ledger").value_or("");
    request.output = output_of(arguments, true);
    request.engines = arguments.flag("--engines");
    request.models = arguments.all("--model");
    if (!request.ledger.empty() && !store::is_ledger_id(request.ledger))
        throw Error(ErrorKind::input, "no id of a ledger", printable(request.ledger),
                    "see 'requal ledger list'");
    if (arguments.given("--key")) {
        request.sign = [&](const std::vector<Subject>& subjects) {
            return std::vector<Envelope>{sign_as_told(arguments, subjects)};
        };
    } else if (is_person(arguments) || arguments.given("--machine")) {
        throw Error(ErrorKind::usage, "is required to sign", "--key", "name the key's file");
    }
    const evidence::ExportOutcome outcome = evidence::export_evidence(here, request);
    const auto digest_file = arguments.optional_text("--digest-file");
    if (digest_file)
        write_file_atomically(*digest_file,
                              write_json(evidence::digest_document(outcome.subjects)));
    Result result;
    result.document = new_document("evidence-export", 1);
    result.document["path"] = request.output;
    result.document["protocol"] = outcome.protocol;
    result.document["contents_digest"] = outcome.subjects.front().digest.text();
    result.document["size_bytes"] = outcome.size_bytes;
    result.document["envelopes"] = outcome.envelopes;
    result.document["digest_file"] = digest_file ? Json(*digest_file) : Json();
    Json runs = Json::array();
    std::vector<std::vector<std::string>> rows{{"run", "state", "verdict"}};
    for (const Json& run : outcome.contents.at("runs").as_array()) {
        const std::string verdict =
            run.at("verdict").is_string() ? run.at("verdict").as_string() : "-";
        runs.push_back(Json::object(
            {{"run", run.at("run")}, {"state", run.at("state")}, {"verdict", run.at("verdict")}}));
        rows.push_back({run.at("run").as_string(), run.at("state").as_string(), verdict});
    }
    Json missing = Json::array();
    std::string missing_text;
    for (const Json& content : outcome.contents.at("contents").as_array()) {
        if (content.at("included").as_boolean())
            continue;
        missing.push_back(content);
        missing_text += "without bytes: " + printable(content.at("name").as_string()) + " (" +
                        printable(content.at("why_not").as_string()) + ")\n";
    }
    result.document["runs"] = runs;
    result.document["without_bytes"] = missing;
    result.text = fitted_table(rows, output_columns(), {}) + missing_text +
                  "contents: " + outcome.subjects.front().digest.text() + "\n" +
                  (outcome.envelopes == 0 ? "not signed\n" : "") + printable(request.output) +
                  ": " + readable_bytes(outcome.size_bytes) + "\n";
    return result;
}

std::string lines_of(const char* word, const std::vector<evidence::Finding>& findings) {
    std::string text;
    for (const evidence::Finding& finding : findings)
        text +=
            std::string(word) + printable(finding.where) + ": " + printable(finding.what) + "\n";
    return text;
}

Result run_verify(const Arguments& arguments, const Common&) {
    evidence::VerifyOptions options;
    options.public_keys = arguments.all("--public-key");
    options.trust = arguments.optional_text("--trust").value_or("");
    options.envelopes = arguments.all("--signature");
    options.checkpoints = arguments.all("--checkpoint");
    options.allow_unsigned_protocol = arguments.flag("--allow-unsigned-protocol");
    options.recompute = qualify::recompute;
    const std::string path = arguments.text("PACKAGE");
    const evidence::VerifyResult verified = evidence::verify_evidence(path, options);
    Result result;
    result.status = exit_status_of(verified.verdict());
    result.document = verified.to_json(path);
    std::vector<std::vector<std::string>> rows{{"run", "state", "verdict", "protocol signed"}};
    for (const Json& run : verified.runs.as_array()) {
        const auto text = [&](const char* key) {
            return run.at(key).is_string() ? run.at(key).as_string() : std::string("-");
        };
        rows.push_back({text("run"), text("state"), text("verdict"), text("protocol_signed")});
    }
    if (rows.size() > 1)
        result.text += fitted_table(rows, output_columns(), {});
    for (const evidence::JudgedSignature& signature : verified.signatures)
        result.text += "signature on the " + signature.on + ": " + signature.status +
                       (signature.name.empty() ? "" : ", " + printable(signature.name)) +
                       (signature.role.empty() ? "" : " (" + printable(signature.role) + ")") +
                       (signature.meaning.empty() ? "" : ", " + printable(signature.meaning)) +
                       "\n";
    result.text += lines_of("wrong: ", verified.failures) +
                   lines_of("not decided: ", verified.undecided) +
                   lines_of("note: ", verified.notes);
    result.text += verified.verdict() == Verdict::pass          ? "valid\n"
                   : verified.verdict() == Verdict::undecidable ? "not decided\n"
                                                                : "not valid\n";
    return result;
}

Result run_show(const Arguments& arguments, const Common&) {
    const std::string path = arguments.text("PACKAGE");
    const evidence::PackageHead head = evidence::read_head_of(path);
    Result result;
    result.document = new_document("evidence-show", 1);
    result.document["path"] = path;
    result.document["contents_digest"] = head.contents_digest.text();
    result.document["contents"] = head.contents;
    Json signatures = Json::array();
    result.text = "protocol: " + printable(head.contents.at("protocol").as_string()) +
                  "\ncontents: " + head.contents_digest.text() + "\n";
    std::vector<std::vector<std::string>> runs{{"run", "state", "verdict"}};
    for (const Json& run : head.contents.at("runs").as_array())
        runs.push_back({run.at("run").as_string(), run.at("state").as_string(),
                        run.at("verdict").is_string() ? run.at("verdict").as_string() : "-"});
    result.text += fitted_table(runs, output_columns(), {});
    std::vector<std::vector<std::string>> files{{"file", "bytes", "digest"}};
    for (const Json& file : head.contents.at("contents").as_array())
        files.push_back({file.at("name").as_string(),
                         file.at("included").as_boolean()
                             ? std::to_string(file.at("size_bytes").as_integer())
                             : file.at("why_not").as_string(),
                         file.at("digest").as_string()});
    result.text += fitted_table(files, output_columns(), {});
    for (const std::string& text : head.envelopes) {
        const evidence::JudgedSignature signature = evidence::judge_signature(text, "evidence", {});
        Json entry = signature.to_json();
        entry["status"] = "not checked";
        entry["why"] = Json();
        signatures.push_back(std::move(entry));
        result.text += "signature, not checked: " + printable(signature.name) + ", " +
                       printable(signature.meaning) + "\n";
    }
    result.document["signatures"] = signatures;
    result.text += "nothing was checked: see 'requal evidence verify'\n";
    return result;
}

Result run_list(const Arguments&, const Common& common) {
    store::Store here(common.store, reading());
    struct Counts {
        std::uint64_t begun = 0, finished = 0, passed = 0;
        bool is_signed = false;
    };
    std::map<std::string, Counts> protocols;
    std::map<std::string, std::string> protocol_of;
    std::string torn;
    store::scan_ledger(
        here.layout().ledger(here.ledger_id()), {},
        [&](const store::Record& record) {
            const Json& body = record.body;
            if (record.type == "work-started" && body.get("kind") == Json("qualify")) {
                const std::string& key = body.at("key").as_string();
                protocol_of[body.at("work").as_string()] = key;
                ++protocols[key].begun;
            } else if (record.type == "work-finished" && body.get("state") == Json("finished")) {
                const auto found = protocol_of.find(body.at("work").as_string());
                if (found == protocol_of.end())
                    return;
                ++protocols[found->second].finished;
                if (body.at("result").get("verdict") == Json("pass"))
                    ++protocols[found->second].passed;
            } else if (record.type == "protocol-signed") {
                protocols[body.at("name").as_string()].is_signed = true;
            }
        },
        torn);
    Result result;
    result.document = new_document("evidence-list", 1);
    Json list = Json::array();
    std::vector<std::vector<std::string>> rows{
        {"protocol", "runs begun", "finished", "passed", "signed"}};
    for (const auto& [name, counts] : protocols) {
        list.push_back(Json::object({{"protocol", name},
                                     {"runs", counts.begun},
                                     {"finished", counts.finished},
                                     {"passed", counts.passed},
                                     {"signed", counts.is_signed}}));
        rows.push_back({name, std::to_string(counts.begun), std::to_string(counts.finished),
                        std::to_string(counts.passed), counts.is_signed ? "yes" : "no"});
    }
    result.document["protocols"] = list;
    result.text = rows.size() > 1 ? fitted_table(rows, output_columns(), {}) : "no run\n";
    return result;
}

Verb export_verb() {
    Verb verb = grouped_verb("evidence", "export",
                             "writes all runs of a protocol as one evidence package", run_export);
    verb.description = "Holds every run that was ever begun on the protocol in this ledger, "
                       "however it ended, with its files, and the ledger itself. Unsigned "
                       "packages of one state of the ledger are equal byte by byte.";
    verb.positionals = {
        {.name = "WHAT",
         .help = "a run's id, a protocol's name, or a protocol's file: all runs of that protocol",
         .required = true}};
    add_output(verb.options, "the tar file to write");
    verb.options.push_back({.name = "--engines",
                            .kind = ValueKind::flag,
                            .help = "with the bytes of engines, not only their digests"});
    verb.options.push_back({.name = "--model",
                            .kind = ValueKind::path,
                            .help = "a model whose bytes come along; it must be that of a run",
                            .value_name = "FILE",
                            .repeated = true});
    verb.options.push_back(
        {.name = "--digest-file",
         .kind = ValueKind::path,
         .help = "also writes what is to be signed, for 'evidence sign' elsewhere",
         .value_name = "FILE"});
    verb.options.push_back({.name = "--ledger",
                            .help = "id of a merged ledger; without it the store's own",
                            .value_name = "ID"});
    add_signing(verb.options, false);
    verb.examples = {"requal evidence export ocr-detector --key station.pem -o ocr-detector.tar"};
    return verb;
}

Verb verify_verb() {
    Verb verb = grouped_verb("evidence", "verify",
                             "checks an evidence package from its bytes alone", run_verify);
    verb.description =
        "Needs no store and no network: digests, the ledger's chain, the list of runs, schemas, "
        "signatures, the order of signing and measuring, and every verdict computed again from "
        "the values. Exit status 0 when all holds, 1 when something is wrong, 6 when something "
        "could not be checked; each is named.";
    verb.positionals = {package_argument};
    verb.options = {{.name = "--public-key",
                     .kind = ValueKind::path,
                     .help = "PEM of a key that must have signed",
                     .value_name = "FILE",
                     .repeated = true},
                    {.name = "--trust",
                     .kind = ValueKind::path,
                     .help = "policy (trust/1): whose keys may sign what, and what must be signed",
                     .value_name = "FILE"},
                    {.name = "--signature",
                     .kind = ValueKind::path,
                     .help = "a signature that is not in the package",
                     .value_name = "FILE",
                     .repeated = true},
                    {.name = "--checkpoint",
                     .kind = ValueKind::path,
                     .help = "of the ledger, kept elsewhere ('ledger checkpoint --out FILE')",
                     .value_name = "FILE",
                     .repeated = true},
                    {.name = "--allow-unsigned-protocol",
                     .kind = ValueKind::flag,
                     .help = "a protocol that was never signed is only noted"}};
    verb.examples = {"requal evidence verify ocr-detector.tar --public-key station.pub.pem",
                     "requal evidence verify ocr-detector.tar --trust trust.yaml --json"};
    return verb;
}

}  // namespace

std::vector<Verb> verbs_evidence() {
    Verb show = grouped_verb("evidence", "show",
                             "says what an evidence package holds, without judging", run_show);
    show.positionals = {package_argument};
    show.examples = {"requal evidence show ocr-detector.tar"};
    Verb list = grouped_verb("evidence", "list",
                             "lists the protocols of the ledger with their runs", run_list);
    list.examples = {"requal evidence list"};
    return {list, export_verb(), verify_verb(), show};
}

}  // namespace requal::cli
