// Signing on the command line: the arguments that say who signs. For the verbs of evidence.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "cli/verb.h"
#include "evidence/dsse.h"
#include "evidence/statement.h"

namespace requal::cli {

inline std::string host_name() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
        return "unnamed station";
    return name;
}

inline bool is_person(const Arguments& arguments) {
    return arguments.given("--name") || arguments.given("--role") || arguments.given("--meaning") ||
           arguments.given("--reason");
}

/// Signs as the arguments say: a person with --name, --role, --meaning and --reason, else a machine.
inline evidence::Envelope sign_as_told(const Arguments& arguments,
                                       const std::vector<evidence::Subject>& subjects) {
    const evidence::PrivateKey key = evidence::PrivateKey::open(
        arguments.text("--key"), arguments.optional_text("--passphrase-file").value_or(""));
    if (is_person(arguments)) {
        if (arguments.given("--machine"))
            throw Error(ErrorKind::usage, "a machine's key can only say 'measured here'",
                        "--machine", "leave out --name, --role, --meaning and --reason");
        evidence::Signer signer;
        signer.name = arguments.optional_text("--name").value_or("");
        signer.role = arguments.optional_text("--role").value_or("");
        signer.meaning = arguments.optional_text("--meaning").value_or("");
        signer.reason = arguments.optional_text("--reason").value_or("");
        return evidence::sign_payload(
            evidence::write_statement(evidence::approval(subjects, signer, system_clock())), key);
    }
    const std::string station = arguments.optional_text("--machine").value_or(host_name());
    return evidence::sign_payload(
        evidence::write_statement(evidence::measured_here(subjects, station, system_clock())), key);
}

inline void add_signing(std::vector<Argument>& options, bool key_required) {
    options.push_back({.name = "--key",
                       .kind = ValueKind::path,
                       .help = "private key: PEM (Ed25519 or ECDSA P-256), or pkcs11:… where "
                               "OpenSSL has that provider",
                       .value_name = "KEY",
                       .required = key_required});
    options.push_back({.name = "--passphrase-file",
                       .kind = ValueKind::path,
                       .help = "its first line opens an encrypted key",
                       .value_name = "FILE"});
    options.push_back({.name = "--name",
                       .help = "who signs; with role, meaning and reason",
                       .value_name = "NAME"});
    options.push_back({.name = "--role", .help = "in which role", .value_name = "ROLE"});
    options.push_back({.name = "--meaning",
                       .help = "as what",
                       .value_name = "M",
                       .choices = {"author", "reviewer", "approver"}});
    options.push_back({.name = "--reason", .help = "why", .value_name = "TEXT"});
    options.push_back({.name = "--machine",
                       .help = "the station whose key says 'measured here'; without --name and "
                               "--machine this computer's name",
                       .value_name = "STATION"});
}

inline const Argument package_argument{.name = "PACKAGE",
                                       .kind = ValueKind::path,
                                       .help = "an evidence package (tar)",
                                       .required = true};

}  // namespace requal::cli
