#include "evidence/verify.h"

#include "base/text.h"
#include "evidence/verification.h"

namespace requal::evidence {

VerifyResult Verification::go() {
    result_.size_bytes = file_size(path_);
    if (guarded("the tar file", [&] { scan(); }) &&
        guarded("the list of contents", [&] { read_contents(); })) {
        guarded("the order of files", [&] { compare_repacked(); });
        guarded("the ledger", [&] { check_ledger(); });
        check_runs();
        guarded("signatures", [&] { check_signatures(); });
        guarded("signatures on the protocol", [&] { check_protocol_signatures(); });
        guarded("checkpoints", [&] { check_checkpoints(); });
    }
    if (more_failures_ > 0)
        note(std::to_string(more_failures_) + " more failures are not listed", path_);
    return std::move(result_);
}

Verdict VerifyResult::verdict() const {
    if (!failures.empty())
        return Verdict::fail;
    return undecided.empty() ? Verdict::pass : Verdict::undecidable;
}

Json VerifyResult::to_json(const std::string& path) const {
    const auto list = [](const std::vector<Finding>& findings) {
        Json json = Json::array();
        for (const Finding& finding : findings)
            json.push_back(Json::object({{"what", finding.what}, {"where", finding.where}}));
        return json;
    };
    Json document = new_document("evidence-verify", 1);
    document["path"] = path;
    document["valid"] = verdict() == Verdict::pass;
    document["verdict"] = name_of(verdict());
    document["protocol"] = protocol.empty() ? Json() : Json(protocol);
    document["contents_digest"] = contents_digest.empty() ? Json() : Json(contents_digest);
    document["ledger"] = ledger;
    document["runs"] = runs;
    document["signatures"] = Json::array();
    for (const JudgedSignature& signature : signatures)
        document["signatures"].push_back(signature.to_json());
    document["failures"] = list(failures);
    document["undecided"] = list(undecided);
    document["notes"] = list(notes);
    document["size_bytes"] = size_bytes;
    document["blobs"] = blobs;
    return document;
}

VerifyResult verify_evidence(const std::string& path, const VerifyOptions& options) {
    // Files of the user that are missing or unreadable are bad input, not a failure of the package.
    if (!file_exists(path))
        throw Error(ErrorKind::input, "there is no such file", printable(path),
                    "name the tar file that 'requal evidence export' wrote");
    try {
        return Verification(path, options).go();
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(ErrorKind::input, error.code().message(), path);
    }
}

}  // namespace requal::evidence
