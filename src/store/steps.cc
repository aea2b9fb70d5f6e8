#include "store/steps.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "store/views.h"

namespace requal::store {

namespace {

Json digests_json(const std::map<std::string, Digest>& blobs) {
    Json json = Json::object();
    for (const auto& [name, digest] : blobs)
        json[name] = digest.text();
    return json;
}

StepResult result_of(const Json& outputs) {
    StepResult result;
    result.facts = outputs.at("facts");
    for (const auto& [name, digest] : outputs.at("blobs").as_object())
        result.blobs.emplace(name, parse_digest(digest.as_string()));
    return result;
}

/// A process that was killed after its run had ended in the ledger left no folder of it; the lock of the work keeps others away.
void make_view_of_killed(Store& store, const std::string& id) {
    const auto run = store.index().find(id);
    if (run && run->kind == "run" && run->ledger == store.ledger_id() && !run->files.empty() &&
        status_of(store.layout().runs() + "/" + id).kind == Kind::absent)
        make_view(store, *run);
}

/// Held before it may be used; where there is no room for it work is tried all the same.
const Layout& with_reserve(Store& store) {
    try {
        hold_reserve(store.layout(), store.quota().held_bytes());
    } catch (const Error& error) {
        log_detail(error.what());
    }
    return store.layout();
}

}  // namespace

std::string inputs_digest(const Json& inputs) {
    return digest_of(write_json_compact(inputs)).text();
}

Work::Work(Store& store, WorkRequest request)
    : store_(store), request_(std::move(request)), reserve_(with_reserve(store)) {
    check_word(request_.kind, "a kind of work");
    const Layout& layout = store.layout();
    make_folder(layout.tmp());
    remove_left_overs(layout.tmp());
    const std::string place = layout.tmp() + "/work-" +
                              digest_of(request_.kind + "\n" + request_.key).hex().substr(0, 24);
    lock_path_ = place + ".lock";

    const auto present = store.index().last_work(request_.kind, request_.key);
    const std::string seen_open = present && present->state == "open" ? present->id : std::string();
    const std::uint64_t seen_seq = present ? present->seq + 1 : 0;
    bool waited = false;
    auto pause = std::chrono::milliseconds(2);
    while (true) {
        lock_ = take_passing_lock(lock_path_);
        if (lock_)
            break;
        if (!request_.wait)
            throw Error(ErrorKind::undecidable,
                        "another process is at this " + request_.kind +
                            (seen_open.empty() ? "" : ", run " + seen_open),
                        request_.key, "leave out --no-wait to wait for its result");
        if (!std::exchange(waited, true))
            log_info("another process is at this " + request_.kind + "; waiting for its result");
        throw_if_cancelled();
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::milliseconds(100));
    }
    try {
        // The other one may have written just before it let go: read with the write lock held, not what was seen before.
        Writing(store).finish();
        const auto last = store.index().last_work(request_.kind, request_.key);
        if (last && last->state == "finished")
            make_view_of_killed(store, last->id);
        if (waited && last && last->state == "finished" &&
            (last->id == seen_open || last->seq >= seen_seq) &&
            last->body.at("identity") == Json(request_.identity)) {
            id_ = last->id;
            done_by_another_ = last->result.get("result");
            return;
        }
        std::vector<NewRecord> records;
        if (last && last->state == "open") {
            resumed_ = true;
            if (last->body.at("identity") == Json(request_.identity)) {
                id_ = last->id;
                if (last->body.has("continues"))
                    earlier_ = last->body.at("continues").as_string();
                return;
            }
            earlier_ = last->id;
            records.push_back(
                {"work-finished", Json::object({{"work", last->id},
                                                {"kind", request_.kind},
                                                {"state", "abandoned"},
                                                {"why", "it was begun with other inputs; " +
                                                            request_.id + " goes on from it"}})});
        }
        id_ = request_.id;
        Json body = Json::object({{"work", id_},
                                  {"kind", request_.kind},
                                  {"key", request_.key},
                                  {"identity", request_.identity},
                                  {"facts", request_.facts}});
        if (!earlier_.empty())
            body["continues"] = earlier_;
        records.push_back({"work-started", std::move(body)});
        store.append(records);
    } catch (...) {
        ::unlink(lock_path_.c_str());
        throw;
    }
}

Work::~Work() {
    ::unlink(lock_path_.c_str());
}

std::optional<StepResult> Work::find(const std::string& step, const Json& inputs) {
    if (!resumed_)
        return std::nullopt;
    const std::string wanted = inputs_digest(inputs);
    for (const std::string& work : {id_, earlier_}) {
        if (work.empty())
            continue;
        for (const StepEntry& entry : store_.index().steps(work)) {
            if (entry.name != step || entry.inputs != wanted)
                continue;
            StepResult result = result_of(entry.outputs);
            const bool whole =
                std::all_of(result.blobs.begin(), result.blobs.end(), [&](const auto& blob) {
                    const auto path = store_.find_blob(blob.second);
                    return path && digest_of_file(*path) == blob.second;
                });
            if (!whole)
                continue;
            if (work != id_) {
                Batch batch(store_);
                record_finished_step(step, wanted, result, work, batch);
            }
            return result;
        }
    }
    return std::nullopt;
}

void Work::start_step(const std::string& step, const Json& inputs) {
    store_.append(
        {{"step-started",
          Json::object({{"work", id_}, {"step", step}, {"inputs", inputs_digest(inputs)}})}});
}

void Work::record_finished_step(const std::string& step, const std::string& inputs,
                                const StepResult& result, const std::string& from, Batch& batch) {
    Json body = Json::object({{"work", id_},
                              {"step", step},
                              {"inputs", inputs},
                              {"outputs", Json::object({{"facts", result.facts},
                                                        {"blobs", digests_json(result.blobs)}})}});
    if (!from.empty())
        body["from"] = from;
    make_room();
    batch.essential();
    batch.commit({{"step-finished", std::move(body)}});
}

void Work::finish_step(const std::string& step, const Json& inputs, const StepResult& result,
                       Batch& batch) {
    record_finished_step(step, inputs_digest(inputs), result, {}, batch);
}

void Work::finish(const Json& result, Batch& batch) {
    make_room();
    batch.essential();
    batch.commit({{"work-finished", Json::object({{"work", id_},
                                                  {"kind", request_.kind},
                                                  {"state", "finished"},
                                                  {"result", result}})}});
}

void Work::abandon(const std::string& why) {
    store_.append(
        {{"work-finished",
          Json::object(
              {{"work", id_}, {"kind", request_.kind}, {"state", "abandoned"}, {"why", why}})}});
}

}  // namespace requal::store
