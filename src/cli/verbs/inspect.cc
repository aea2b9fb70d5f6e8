// inspect: what an artefact is and what it records of itself.
// rooms: artifact store toolchain
#include "artifact/ask.h"
#include "artifact/recognise.h"
#include "cli/stored.h"
#include "cli/verb.h"
#include "toolchain/client.h"

namespace requal::cli {

namespace {

/// The runner protocol has no question for it yet: said, so that nobody takes silence for "valid".
artifact::Validity ask_validity(const std::string&) {
    if (!toolchain::find_runner_program("tensorrt-rtx"))
        return {Json(), "not asked: requal-runner-tensorrt-rtx is not installed here"};
    return {Json(), "not asked: requal-runner-tensorrt-rtx does not answer this question yet"};
}

Result run_inspect(const Arguments& arguments, const Common& common) {
    Result result;
    const std::string path = stored_path(arguments.text("FILE"), common);
    result.document = artifact::inspect_document(path, !arguments.flag("--no-digest"));
    if (!arguments.flag("--no-ask"))
        artifact::ask_programs(result.document, path, std::int64_t{20} * 1'000'000'000,
                               ask_validity);
    result.text = artifact::inspect_text(result.document);
    return result;
}

}  // namespace

std::vector<Verb> verbs_inspect() {
    Verb verb;
    verb.name = "inspect";
    verb.summary =
        "says what an artefact is and what it records of itself, and what it does not record";
    verb.description =
        "The kind is read from the bytes, never from the name. Only a few bytes are "
        "read unless the digest is wanted. What the "
        "artefact should tell but does not show is listed; nothing is guessed. Where "
        "trtexec is in PATH it is asked for a plan's version, and its answer stands "
        "apart, with its name.";
    verb.positionals = {
        {.name = "FILE", .kind = ValueKind::path, .help = "the artefact", .required = true}};
    verb.options = {{.name = "--no-digest",
                     .kind = ValueKind::flag,
                     .help = "do not read the whole file for its digest"},
                    {.name = "--no-ask",
                     .kind = ValueKind::flag,
                     .help = "do not ask programs on this machine that can tell more (trtexec)"}};
    verb.examples = {"requal inspect model.onnx", "requal inspect engine.plan --no-digest --json"};
    verb.run = run_inspect;
    return {verb};
}

}  // namespace requal::cli
