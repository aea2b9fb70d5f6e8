// data check: counts of a labelled data set, and everything odd about it.
// rooms: base data
#include <algorithm>
#include <thread>

#include "base/document.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "data/data_check.h"

namespace requal::cli {

namespace {

std::string counts_text(const Json& counts) {
    std::string text;
    for (const auto& [name, count] : counts.as_object()) {
        text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count.as_integer());
    }
    return text.empty() ? "-" : text;
}

std::string crossed_text(const Json& part) {
    std::string text;
    for (const auto& [attribute, classes] : part.at("by_class_and_band").as_object()) {
        std::vector<std::vector<std::string>> rows = {{attribute}};
        for (const auto& [band, count] : part.at("by_band").at(attribute).as_object()) {
            rows[0].push_back(band);
        }
        for (const auto& [name, bands] : classes.as_object()) {
            std::vector<std::string> row = {name};
            for (std::size_t i = 1; i < rows[0].size(); ++i) {
                row.push_back(bands.has(rows[0][i])
                                  ? std::to_string(bands.at(rows[0][i]).as_integer())
                                  : "0");
            }
            rows.push_back(std::move(row));
        }
        text += table_text(rows);
    }
    return text;
}

std::string text_of_check(const Json& document) {
    std::string text;
    for (const Json& part : document.at("parts").as_array()) {
        text += "part " + printable(part.at("name").as_string()) + ": " +
                std::to_string(part.at("samples").as_integer()) + " samples, ";
        if (part.at("listed_only").as_boolean()) {
            text += "known by their digests\n";
            continue;
        }
        text += std::to_string(part.at("objects").as_integer()) + " objects" +
                (part.has("within") ? "; some of part " + printable(part.at("within").as_string())
                                    : std::string()) +
                "\n";
        std::vector<std::vector<std::string>> rows = {
            {"  class", counts_text(part.at("by_class"))}};
        if (part.at("objects").as_integer() > 0) {
            rows.push_back({"  size", counts_text(part.at("by_size"))});
        }
        if (part.at("by_tag").size() > 0) {
            rows.push_back({"  tag of objects", counts_text(part.at("by_tag"))});
        }
        if (part.at("samples_by_tag").size() > 0) {
            rows.push_back({"  tag of samples", counts_text(part.at("samples_by_tag"))});
        }
        text += table_text(rows) + crossed_text(part);
    }
    for (const Json& finding : document.at("findings").as_array()) {
        text +=
            printable(finding.at("severity").as_string() + ": " + finding.at("where").as_string() +
                      ": " + finding.at("message").as_string()) +
            "\n";
    }
    const std::int64_t kept = static_cast<std::int64_t>(document.at("findings").size());
    const std::int64_t all =
        document.at("errors").as_integer() + document.at("warnings").as_integer();
    if (all > kept) {
        text += "and " + std::to_string(all - kept) + " more of the same kinds\n";
    }
    return text + std::to_string(document.at("errors").as_integer()) + " errors, " +
           std::to_string(document.at("warnings").as_integer()) + " warnings\n";
}

Result run_data_check(const Arguments& arguments, const Common& common) {
    data::DataCheckOptions options;
    options.pictures = !arguments.flag("--labels-only");
    const std::int64_t bits = arguments.integer("--near");
    if (bits < -1 || bits > 256) {
        throw Error(ErrorKind::usage, "must lie between 0 and 256 bits, or be -1", "--near",
                    "10 finds copies that were encoded again");
    }
    options.near_bits = static_cast<int>(bits);
    options.threads = common.jobs > 0 ? static_cast<unsigned>(common.jobs)
                                      : std::max(1U, std::thread::hardware_concurrency());
    Result result;
    result.document =
        data::check_data(data::read_dataset_spec(arguments.text("DATASET"),
                                                 arguments.optional_text("--images").value_or("")),
                         options);
    result.text = text_of_check(result.document);
    result.status = result.document.at("verdict").as_string() == "pass" ? ExitStatus::passed
                                                                        : ExitStatus::failed;
    return result;
}

}  // namespace

std::vector<Verb> verbs_data() {
    Verb verb;
    verb.group = "data";
    verb.name = "check";
    verb.summary = "counts a labelled data set by class, size, band and tag, and finds what is odd";
    verb.description =
        "DATASET is a dataset spec (YAML), COCO JSON, an npz, a CSV list or a folder "
        "with one folder a class. Exit status 1 when something is wrong: labels or "
        "pictures that cannot be used, or the same picture in two parts.";
    verb.positionals = {{.name = "DATASET",
                         .kind = ValueKind::path,
                         .help = "dataset spec, COCO JSON, npz, CSV list or folder",
                         .required = true}};
    verb.options = {
        {.name = "--images",
         .kind = ValueKind::path,
         .help = "folder of the pictures of a COCO or CSV file; else they lie beside it",
         .value_name = "DIR"},
        {.name = "--labels-only",
         .kind = ValueKind::flag,
         .help = "does not open the pictures; finds no overlap"},
        {.name = "--near",
         .kind = ValueKind::integer,
         .help = "pictures look alike when at most so many of 256 bits differ; -1: do not look",
         .value_name = "BITS",
         .fallback = "10"},
    };
    verb.examples = {"requal data check examples/parts-inspection/dataset.yaml"};
    verb.run = run_data_check;
    return {verb};
}

}  // namespace requal::cli
