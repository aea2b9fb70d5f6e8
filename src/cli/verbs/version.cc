// version: what this program is made of.
#include <openssl/crypto.h>
#include <sqlite3.h>

#include "base/document.h"
#include "cli/verb.h"
#include "cli/versions.h"

namespace requal::cli {

namespace {

Json libraries() {
    Json found = Json::object();
    // asked at run time: shared libraries change under an installed program
    found["openssl"] = OpenSSL_version(OPENSSL_VERSION);
    found["sqlite"] = sqlite3_libversion();
    // known since the build
    for (const BuiltWith& library : built_with)
        found[library.name] = library.version;
    return found;
}

Result run_version(const Arguments&, const Common&) {
    Result result;
    std::string version(program_version());
    std::string full(program_version_with_commit());
    result.document = new_document("version", 1);
    result.document["version"] = version;
    std::size_t plus = full.find("+g");
    result.document["commit"] = plus == std::string::npos ? Json() : Json(full.substr(plus + 2));
    result.document["compiler"] = compiler;
    result.document["build_type"] = build_type;
    result.document["architecture"] = architecture;
    result.document["libraries"] = libraries();

    result.text = "requal " + full + "\n";
    result.text +=
        "compiler: " + std::string(compiler) + ", " + build_type + ", " + architecture + "\n";
    for (const auto& [name, value] : result.document.at("libraries").as_object())
        result.text += name + ": " + value.as_string() + "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_version() {
    Verb verb;
    verb.name = "version";
    verb.summary = "says which version this is and what it is made of";
    verb.examples = {"requal version --json", "requal --version"};
    verb.run = run_version;
    return {verb};
}

}  // namespace requal::cli
