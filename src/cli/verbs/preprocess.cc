// preprocess import: a preprocessing spec out of another program's file.
// rooms: base data
#include "base/digest.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/verb.h"
#include "data/preprocess_import.h"

namespace requal::cli {

namespace {

Result run_import(const Arguments& arguments, const Common&) {
    const std::string path = arguments.text("FILE");
    const std::string text = read_file(path, std::uint64_t{1} << 20);
    const data::ImportedSpec spec = data::import_preprocess(arguments.text("FROM"), text, path);
    Result result;
    Json& document = result.document;
    document = new_document("preprocess-import", 1);
    document["from"] = arguments.text("FROM");
    document["source"] = Json::object({{"path", path}, {"digest", digest_of(text).text()}});
    document["spec"] = spec.yaml;
    document["fields"] = Json::array();
    for (const data::ImportedField& field : spec.fields) {
        Json entry = Json::object({{"field", field.field},
                                   {"value", field.value},
                                   {"because", field.because},
                                   {"in_file", field.line > 0}});
        if (field.line > 0) {
            entry["line"] = field.line;
        }
        document["fields"].push_back(std::move(entry));
    }
    document["not_said"] = Json::array();
    for (const std::string& field : spec.not_said) {
        document["not_said"].push_back(field);
    }
    if (const auto out = arguments.optional_text("--out")) {
        if (file_exists(*out) && !arguments.flag("--force")) {
            throw Error(ErrorKind::usage, "exists already", *out, "give --force to replace it");
        }
        write_file_atomically(*out, spec.yaml);
        document["written"] = *out;
        result.text = "spec written to " + printable(*out) + "; not said by the file:";
        for (const std::string& field : spec.not_said) {
            result.text += " " + field;
        }
        result.text += "\n";
    } else {
        result.text = spec.yaml;
    }
    return result;
}

}  // namespace

std::vector<Verb> verbs_preprocess() {
    Verb verb;
    verb.group = "preprocess";
    verb.name = "import";
    verb.summary = "writes a preprocessing spec from another program's file";
    verb.description =
        "Each field of the spec names the line it comes from; what the file does not "
        "say is listed. Read the result before you trust it.";
    verb.positionals = {{.name = "FROM",
                         .help = "what wrote the file",
                         .required = true,
                         .choices = {"deepstream", "triton", "ultralytics"}},
                        {.name = "FILE",
                         .kind = ValueKind::path,
                         .help = "nvinfer configuration, config.pbtxt, args.yaml or metadata.yaml",
                         .required = true}};
    verb.options = {{.name = "--out",
                     .kind = ValueKind::path,
                     .help = "writes the spec here and not to stdout",
                     .value_name = "FILE"},
                    {.name = "--force",
                     .kind = ValueKind::flag,
                     .help = "replaces the file that is there already"}};
    verb.examples = {"requal preprocess import deepstream config_infer.txt --out preprocess.yaml"};
    verb.run = run_import;
    return {verb};
}

}  // namespace requal::cli
