// evidence: signatures made, added, carried; a package made again from a registry's folder.
// rooms: base store evidence
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cli/outputs.h"
#include "cli/signing.h"
#include "cli/verb.h"
#include "evidence/export.h"
#include "store/store.h"

namespace requal::cli {

namespace {

using evidence::Envelope;
using evidence::Subject;

constexpr std::uint64_t document_limit_bytes = std::uint64_t{8} << 20;

Json subjects_json(const std::vector<Subject>& subjects) {
    Json list = Json::array();
    for (const Subject& subject : subjects)
        list.push_back(Json::object({{"name", subject.name}, {"digest", subject.digest.text()}}));
    return list;
}

/// The name under which runs of a protocol stand in the ledger.
std::string protocol_name(const std::string& path) {
    return parse_yaml(read_file(path, document_limit_bytes), path).at("name").text();
}

Result run_sign(const Arguments& arguments, const Common& common) {
    const bool detached = arguments.given("--digest-file");
    const bool protocol = arguments.given("--protocol");
    const auto package = arguments.optional_text("PACKAGE");
    if (int{detached} + int{protocol} + int{package.has_value()} != 1)
        throw Error(ErrorKind::usage, "name what is to be signed: one thing", "PACKAGE",
                    "give the evidence package, --digest-file FILE or --protocol FILE");
    Result result;
    result.document = new_document("evidence-sign", 1);
    std::vector<Subject> subjects;
    std::string where;
    if (protocol) {
        const std::string path = arguments.text("--protocol");
        store::StoreOptions options;
        options.access = store::Access::create;
        store::Store here(common.store, options);
        const evidence::ProtocolSigned done = evidence::sign_protocol(
            here, protocol_name(path), path, {}, [&](const std::vector<Subject>& named) {
                subjects = named;
                return std::vector<Envelope>{sign_as_told(arguments, named)};
            });
        where = "record " + std::to_string(done.seq) + " of the ledger";
        result.document["record"] = done.seq;
        result.document["path"] = Json();
    } else {
        if (detached) {
            const std::string path = arguments.text("--digest-file");
            subjects = evidence::read_digest_document(read_file(path, document_limit_bytes), path);
        } else {
            const evidence::PackageHead head = evidence::read_head_of(*package);
            subjects = evidence::subjects_of(head.contents, head.contents_digest);
        }
        where = output_of(arguments, true);
        const Envelope envelope = sign_as_told(arguments, subjects);
        if (detached)
            write_file_atomically(where, evidence::write_envelope(envelope));
        else
            evidence::attach_envelopes(*package, {envelope}, where);
        result.document["record"] = Json();
        result.document["path"] = where;
    }
    result.document["subjects"] = subjects_json(subjects);
    for (const Subject& subject : subjects)
        result.text += subject.digest.text() + "  " + printable(subject.name) + "\n";
    result.text += "signed: " + printable(where) + "\n";
    return result;
}

Result run_attach(const Arguments& arguments, const Common&) {
    const std::string output = output_of(arguments, true);
    std::vector<Envelope> envelopes;
    for (const std::string& path : arguments.all("SIGNATURE"))
        envelopes.push_back(
            evidence::read_envelope(read_file(path, evidence::envelope_limit_bytes), path));
    evidence::attach_envelopes(arguments.text("PACKAGE"), envelopes, output);
    Result result;
    result.document = new_document("evidence-attach", 1);
    result.document["path"] = output;
    result.document["added"] = envelopes.size();
    result.text = std::to_string(envelopes.size()) + " added: " + printable(output) + "\n";
    return result;
}

Result run_pack(const Arguments& arguments, const Common&) {
    const std::string output = output_of(arguments, true);
    evidence::pack_layout(arguments.text("FOLDER"), output);
    Result result;
    result.document = new_document("evidence-pack", 1);
    result.document["path"] = output;
    result.document["size_bytes"] = file_size(output);
    result.text = printable(output) + ": " + readable_bytes(file_size(output)) + "\n";
    return result;
}

Verb sign_verb() {
    Verb verb = grouped_verb("evidence", "sign",
                             "signs an evidence package, a digest file or a protocol", run_sign);
    verb.description = "With --digest-file the signature is a file of its own, made on the "
                       "computer that holds the key: carry it back and add it with 'evidence "
                       "attach'. With --protocol the signature goes into the store's ledger: runs "
                       "that begin later have a protocol that was signed before.";
    verb.positionals = {{.name = "PACKAGE",
                         .kind = ValueKind::path,
                         .help = "an evidence package (tar); a signed copy is written"}};
    verb.options = {{.name = "--digest-file",
                     .kind = ValueKind::path,
                     .help = "what is to be signed, from 'evidence export --digest-file'",
                     .value_name = "FILE"},
                    {.name = "--protocol",
                     .kind = ValueKind::path,
                     .help = "a protocol's file",
                     .value_name = "FILE"}};
    add_output(verb.options, "the signed package, or the signature");
    add_signing(verb.options, true);
    verb.examples = {
        "requal evidence sign --digest-file p.digest.json --key doe.pem --name 'J. Doe' --role "
        "'validation owner' --meaning approver --reason 'release 4' -o doe.dsse.json"};
    return verb;
}

}  // namespace

std::vector<Verb> verbs_evidence_sign() {
    Verb attach =
        grouped_verb("evidence", "attach", "adds signatures to an evidence package", run_attach);
    attach.positionals = {package_argument,
                          {.name = "SIGNATURE",
                           .kind = ValueKind::path,
                           .help = "files of 'evidence sign --digest-file'",
                           .required = true,
                           .repeated = true}};
    add_output(attach.options, "the package with them");
    attach.examples = {"requal evidence attach p.tar doe.dsse.json -o p-signed.tar"};
    Verb pack = grouped_verb("evidence", "pack",
                             "makes the tar file again from an OCI image layout", run_pack);
    pack.description = "What went through a registry lies in a folder afterwards. The result is "
                       "the same file as before, byte by byte.";
    pack.positionals = {{.name = "FOLDER",
                         .kind = ValueKind::path,
                         .help = "a folder with index.json and blobs",
                         .required = true}};
    add_output(pack.options, "the tar file to write");
    pack.examples = {"requal evidence pack copied -o p.tar"};
    return {sign_verb(), attach, pack};
}

}  // namespace requal::cli
