// ledger: the chain of records, read, exported, merged.
// rooms: base store
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "store/merge.h"
#include "store/store.h"

namespace requal::cli {

namespace {

store::StoreOptions reading() {
    store::StoreOptions options;
    options.access = store::Access::read;
    return options;
}

std::string chosen_ledger(const Arguments& arguments, const store::Store& here) {
    const std::string id = arguments.optional_text("--ledger").value_or(here.ledger_id());
    if (!store::is_ledger_id(id))
        throw Error(ErrorKind::input, "no id of a ledger", id, "see 'requal ledger list'");
    return id;
}

Result run_list(const Arguments&, const Common& common) {
    store::Store here(common.store, reading());
    Result result;
    result.document = new_document("ledger-list", 1);
    Json ledgers = Json::array();
    std::vector<std::vector<std::string>> rows{{"ledger", "records", "bytes", "last record"}};
    for (const std::string& id : here.index().ledgers()) {
        const store::Head head = here.index().head(id);
        const bool own = id == here.ledger_id();
        ledgers.push_back(Json::object({{"ledger", id},
                                        {"own", own},
                                        {"records", head.seq},
                                        {"size_bytes", head.offset},
                                        {"digest", head.digest.text()},
                                        {"last", here.index().last_wall(id)}}));
        rows.push_back({id + (own ? " (own)" : ""), std::to_string(head.seq),
                        std::to_string(head.offset), here.index().last_wall(id).substr(0, 19)});
    }
    result.document["ledgers"] = ledgers;
    result.text = table_text(rows);
    return result;
}

Result run_show(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, reading());
    const std::string id = chosen_ledger(arguments, here);
    const std::string type = arguments.optional_text("--type").value_or("");
    const std::int64_t from = arguments.integer("--from");
    const std::int64_t limit = arguments.integer("--limit");
    Result result;
    result.document = new_document("ledger-show", 1);
    result.document["ledger"] = id;
    Json records = Json::array();
    std::vector<std::vector<std::string>> rows{{"seq", "time", "clock", "type", "body"}};
    for (const store::RecordPlace& place : here.index().records(id, type)) {
        if (from > 0 && place.seq < static_cast<std::uint64_t>(from))
            continue;
        if (limit > 0 && static_cast<std::int64_t>(rows.size()) > limit)
            break;
        const store::Record record =
            store::read_record(here.layout().ledger(id), place.offset, place.length);
        std::string body = write_json_compact(record.body);
        if (body.size() > 100)
            body = body.substr(0, 97) + "...";
        const auto text = [&](const char* key) {
            const Json& value = record.time.get(key);
            return value.is_string() ? value.as_string() : std::string();
        };
        rows.push_back({std::to_string(record.seq), text("wall").substr(0, 19),
                        text("clock") + (record.time.has("went_back") ? " (went back)" : ""),
                        record.type, body});
        if (common.json)
            records.push_back(Json::object({{"seq", record.seq},
                                            {"type", record.type},
                                            {"time", record.time},
                                            {"body", record.body},
                                            {"prev", record.prev}}));
    }
    result.document["records"] = records;
    result.text = table_text(rows);
    return result;
}

Result run_export(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, reading());
    const std::string id = chosen_ledger(arguments, here);
    const auto out = arguments.optional_text("--out");
    if (common.json && !out)
        throw Error(ErrorKind::usage, "records and a document cannot share standard output",
                    "--json", "give --out FILE");
    const std::uint64_t records = store::export_ledger(here, id, out.value_or(""));
    Result result;
    result.document = new_document("ledger-export", 1);
    result.document["ledger"] = id;
    result.document["records"] = records;
    result.document["path"] = out ? Json(*out) : Json();
    if (out)
        result.text =
            std::to_string(records) + " records of ledger " + id + " to " + printable(*out) + "\n";
    return result;
}

Result run_merge(const Arguments& arguments, const Common& common) {
    store::StoreOptions options;
    options.access = store::Access::write;
    store::Store here(common.store, options);
    const store::MergeReport report = store::merge(here, arguments.text("SOURCE"));
    Result result;
    result.document = new_document("ledger-merge", 1);
    Json ledgers = Json::array();
    for (const store::MergedLedger& ledger : report.ledgers) {
        ledgers.push_back(Json::object(
            {{"ledger", ledger.ledger}, {"records", ledger.records}, {"added", ledger.added}}));
        result.text += "ledger " + ledger.ledger + ": " + std::to_string(ledger.added) + " of " +
                       std::to_string(ledger.records) + " records are new\n";
    }
    result.document["ledgers"] = ledgers;
    result.document["blobs"] = report.blobs;
    result.text += std::to_string(report.blobs) + " blobs brought along\n";
    return result;
}

Result run_checkpoint(const Arguments& arguments, const Common& common) {
    store::Store here(common.store, reading());
    const std::string id = chosen_ledger(arguments, here);
    const store::Head head = here.index().head(id);
    if (head.seq == 0)
        throw Error(ErrorKind::input, "the store has no such ledger, or it holds no record", id,
                    "see 'requal ledger list'");
    Result result;
    result.document = new_document("ledger-checkpoint", 1);
    result.document["ledger"] = id;
    result.document["seq"] = head.seq - 1;
    result.document["digest"] = head.digest.text();
    const auto out = arguments.optional_text("--out");
    if (out)
        write_file_atomically(*out, write_json(result.document));
    result.text = "ledger " + id + ", record " + std::to_string(head.seq - 1) + ", " +
                  head.digest.text() + "\n";
    return result;
}

}  // namespace

std::vector<Verb> verbs_ledger() {
    const Argument ledger{.name = "--ledger",
                          .help = "id of a ledger; without it the store's own",
                          .value_name = "ID"};
    Verb list = grouped_verb("ledger", "list", "lists the ledgers of the store", run_list);
    Verb show = grouped_verb("ledger", "show", "shows records", run_show);
    show.options = {ledger,
                    {.name = "--type", .help = "only records of this type", .value_name = "TYPE"},
                    {.name = "--from",
                     .kind = ValueKind::integer,
                     .help = "first record",
                     .value_name = "SEQ",
                     .fallback = "0"},
                    {.name = "--limit",
                     .kind = ValueKind::integer,
                     .help = "at most so many; 0 for all",
                     .value_name = "N",
                     .fallback = "0"}};
    show.examples = {"requal ledger show --type gc"};
    Verb export_verb =
        grouped_verb("ledger", "export", "writes a ledger as JSON Lines, byte by byte", run_export);
    export_verb.options = {ledger,
                           {.name = "--out",
                            .kind = ValueKind::path,
                            .help = "the file; without it standard output",
                            .value_name = "FILE"}};
    export_verb.examples = {"requal ledger export --out ledger.jsonl"};
    Verb merge =
        grouped_verb("ledger", "merge",
                     "takes in the ledgers of another store, or one exported ledger", run_merge);
    merge.description = "Each ledger stays a chain of its own: nothing is renumbered, and a record "
                        "of type checkpoint in the own ledger says up to "
                        "where the other one was seen. From a store's folder its blobs come along.";
    merge.positionals = {{.name = "SOURCE",
                          .kind = ValueKind::path,
                          .help = "a store's folder, or JSON Lines of one ledger",
                          .required = true}};
    merge.examples = {"requal ledger merge /mnt/station-7/.requal"};
    Verb checkpoint =
        grouped_verb("ledger", "checkpoint", "says where a ledger stands now, to be kept elsewhere",
                     run_checkpoint);
    checkpoint.description =
        "Whoever can write to the store can also shorten its ledger and everything that remembers "
        "its length. A checkpoint that "
        "is kept elsewhere shows that: 'requal store check --checkpoint FILE'.";
    checkpoint.options = {ledger,
                          {.name = "--out",
                           .kind = ValueKind::path,
                           .help = "the file to write the document to",
                           .value_name = "FILE"}};
    checkpoint.examples = {"requal ledger checkpoint --out monday.json"};
    return {list, show, export_verb, merge, checkpoint};
}

}  // namespace requal::cli
