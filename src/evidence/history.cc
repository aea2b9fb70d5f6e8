#include "evidence/history.h"

#include <algorithm>

#include "base/error.h"

namespace requal::evidence {

namespace {

std::string text_at(const Json& json, std::string_view key) {
    if (!json.is_object() || !json.get(key).is_string())
        return {};
    return json.get(key).as_string();
}

std::map<std::string, Digest> digests_at(const Json& json, std::string_view key) {
    std::map<std::string, Digest> digests;
    if (!json.is_object() || !json.get(key).is_object())
        return digests;
    for (const auto& [name, digest] : json.get(key).as_object())
        digests.emplace(name, parse_digest(digest.as_string()));
    return digests;
}

Json names_json(const std::map<std::string, Digest>& digests) {
    Json json = Json::object();
    for (const auto& [name, digest] : digests)
        json[name] = digest.text();
    return json;
}

// So that a hostile ledger cannot take all memory; a real one is far below.
constexpr std::size_t most_entries = 200'000;

/// Takes in record after record.
class Reader {
public:
    Reader(History& history, const std::string& protocol)
        : history_(history), protocol_(protocol) {}

    void take(const store::Record& record) {
        const Json& body = record.body;
        if (entries_ > most_entries)
            throw Error(ErrorKind::storage,
                        "more than 200000 runs, steps and files of one protocol");
        history_.last_wall = text_at(record.time, "wall");
        history_.last_clock = text_at(record.time, "clock");
        if (record.type == "ledger-started") {
            history_.ledger = text_at(body, "ledger");
        } else if (record.type == "work-started") {
            start(record);
        } else if (record.type == "step-started" || record.type == "step-finished") {
            step(record);
        } else if (record.type == "work-finished") {
            finish(record);
        } else if (record.type == "put") {
            put(body);
        } else if (record.type == "gc") {
            for (const Json& entry : body.at("removed").as_array()) {
                if (history_.removed.size() <
                    most_entries)  // further ones are only said less exactly
                    history_.removed.emplace(parse_digest(entry.at("digest").as_string()),
                                             record.seq);
            }
        } else if (record.type == protocol_signed_record && text_at(body, "name") == protocol_) {
            ProtocolSigning signing;
            signing.seq = record.seq;
            signing.protocol = text_at(body, "protocol");
            signing.files = digests_at(body, "files");
            for (const Json& envelope : body.at("envelopes").as_array())
                signing.envelopes.push_back(parse_digest(envelope.as_string()));
            entries_ += 1 + signing.files.size() + signing.envelopes.size();
            history_.signings.push_back(std::move(signing));
        }
    }

private:
    RunHistory* find(const std::string& run) {
        const auto found = places_.find(run);
        return found == places_.end() ? nullptr : &history_.runs[found->second];
    }

    void start(const store::Record& record) {
        if (text_at(record.body, "kind") != "qualify")
            return;
        const std::string key = text_at(record.body, "key");
        if (key != protocol_) {
            if (history_.other_protocols.size() < 10'000 || history_.other_protocols.contains(key))
                ++history_.other_protocols[key];
            return;
        }
        RunHistory run;
        run.run = text_at(record.body, "work");
        run.protocol = text_at(record.body.get("facts"), "protocol");
        run.continues = text_at(record.body, "continues");
        run.state = "unfinished";
        run.started = record.seq;
        // A second start of the same id would hide the first.
        if (!places_.emplace(run.run, history_.runs.size()).second)
            throw Error(ErrorKind::storage, "run " + run.run + " is begun twice in the ledger");
        history_.runs.push_back(std::move(run));
        ++entries_;
    }

    void step(const store::Record& record) {
        RunHistory* run = find(text_at(record.body, "work"));
        if (run == nullptr)
            return;
        StepOfRun step;
        step.name = text_at(record.body, "step");
        step.seq = record.seq;
        step.state = record.type == "step-started" ? "started" : "finished";
        if (record.type == "step-finished")
            step.blobs = digests_at(record.body.get("outputs"), "blobs");
        if (!run->first_measured)
            run->first_measured = record.seq;
        entries_ += 1 + step.blobs.size();
        run->steps.push_back(std::move(step));
    }

    void finish(const store::Record& record) {
        RunHistory* run = find(text_at(record.body, "work"));
        if (run == nullptr)
            return;
        if (run->ended)
            throw Error(ErrorKind::storage, "run " + run->run + " ends twice in the ledger");
        run->ended = record.seq;
        run->state = text_at(record.body, "state");
        run->why = text_at(record.body, "why");
        const Json& result = record.body.get("result");
        if (run->state == "finished") {
            run->verdict = text_at(result, "verdict");
            run->record = parse_digest(text_at(result, "record"));
        }
    }

    void put(const Json& body) {
        for (const Json& item : body.at("items").as_array()) {
            if (text_at(item, "kind") != "run")
                continue;
            if (RunHistory* run = find(text_at(item, "name"))) {
                run->files = digests_at(item, "files");
                entries_ += run->files.size();
            }
        }
    }

    History& history_;
    const std::string& protocol_;
    std::map<std::string, std::size_t> places_;
    std::size_t entries_ = 0;
};

}  // namespace

History read_history(const std::string& path, const std::string& protocol_name,
                     std::uint64_t offset, std::optional<std::uint64_t> size_bytes,
                     const std::vector<std::uint64_t>& seqs) {
    History history;
    Reader reader(history, protocol_name);
    std::string torn;
    store::Head from;
    from.offset = offset;
    std::uint64_t last = 0;
    history.end = store::scan_ledger(
        path, from,
        [&](const store::Record& record) {
            // `prev` of a record is the digest of the one before it.
            if (record.seq > 0 && std::find(seqs.begin(), seqs.end(), record.seq - 1) != seqs.end())
                history.asked[record.seq - 1] = "sha256:" + record.prev;
            last = record.seq;
            reader.take(record);
        },
        torn, size_bytes ? offset + *size_bytes : UINT64_MAX);
    if (history.end.seq > 0)
        history.asked[last] = history.end.digest.text();
    history.end.offset -= offset;
    if (size_bytes && (!torn.empty() || history.end.offset != *size_bytes))
        throw Error(ErrorKind::storage,
                    "the ledger is damaged: " + (torn.empty() ? "it is cut off" : torn), path);
    return history;
}

Json runs_json(const History& history) {
    Json list = Json::array();
    for (const RunHistory& run : history.runs) {
        Json steps = Json::array();
        for (const StepOfRun& step : run.steps)
            steps.push_back(Json::object({{"step", step.name},
                                          {"state", step.state},
                                          {"seq", step.seq},
                                          {"files", names_json(step.blobs)}}));
        list.push_back(
            Json::object({{"run", run.run},
                          {"protocol", run.protocol},
                          {"state", run.state},
                          {"why", run.why.empty() ? Json() : Json(run.why)},
                          {"continues", run.continues.empty() ? Json() : Json(run.continues)},
                          {"verdict", run.verdict.empty() ? Json() : Json(run.verdict)},
                          {"record", run.record ? Json(run.record->text()) : Json()},
                          {"started", run.started},
                          {"ended", run.ended ? Json(*run.ended) : Json()},
                          {"files", names_json(run.files)},
                          {"steps", steps}}));
    }
    return list;
}

Json signings_json(const History& history) {
    Json list = Json::array();
    for (const ProtocolSigning& signing : history.signings) {
        Json envelopes = Json::array();
        for (const Digest& digest : signing.envelopes)
            envelopes.push_back(digest.text());
        list.push_back(Json::object({{"seq", signing.seq},
                                     {"protocol", signing.protocol},
                                     {"files", names_json(signing.files)},
                                     {"envelopes", envelopes}}));
    }
    return list;
}

std::map<Digest, std::string> blobs_of(const History& history) {
    std::map<Digest, std::string> blobs;
    for (const RunHistory& run : history.runs) {
        if (run.record)
            blobs.emplace(*run.record, run.run + "/record.json");
        for (const auto& [name, digest] : run.files)
            blobs.emplace(digest, run.run + "/" + name);
        for (const StepOfRun& step : run.steps) {
            for (const auto& [name, digest] : step.blobs)
                blobs.emplace(digest, run.run + "/" + step.name + "/" + name);
        }
    }
    for (const ProtocolSigning& signing : history.signings) {
        for (const Digest& digest : signing.envelopes)
            blobs.emplace(digest, "protocol/" + std::to_string(signing.seq) + ".dsse.json");
        for (const auto& [name, digest] : signing.files)
            blobs.emplace(digest, "protocol/" + name);
    }
    return blobs;
}

}  // namespace requal::evidence
