// Resumable work: steps with inputs by digest and outputs by digest, started and finished as records of the ledger. A repeated
// call continues where the last one ended; a step whose inputs changed is done again, and so is what depends on its outputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/batch.h"
#include "store/store.h"

namespace requal::store {

struct WorkRequest {
    std::string kind;  ///< "qualify"
    std::string key;   ///< what makes two calls calls of the same work: the protocol's name, say
    std::string
        identity;  ///< digest of what must be equal for a call to continue the work under the same id
    std::string id;               ///< of new work, if there is none to continue; unique
    Json facts = Json::object();  ///< for the record
    bool wait = true;  ///< when another process is at it: wait for its end, or Error(undecidable)
};

/// What a step left.
struct StepResult {
    Json facts = Json::object();          ///< small, in the ledger
    std::map<std::string, Digest> blobs;  ///< by name
};

/// One piece of work, locked for this process until the object ends. A killed process frees it at once.
///
///     Work work(store, request);
///     if (auto other = work.done_by_another()) return it;
///     if (auto earlier = work.find("build", inputs)) …
///     else { work.start("build", inputs); …; work.finish_step("build", inputs, facts, blobs, batch); }
///     work.finish(result, batch);
class Work {
public:
    Work(Store& store, WorkRequest request);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    const std::string& id() const { return id_; }
    bool resumed() const {
        return resumed_;
    }  ///< it, or work of other identity whose steps it may use, was begun before
    /// What the other process that we waited for finished with: members of its finish().
    const std::optional<Json>& done_by_another() const { return done_by_another_; }

    /// The result of a finished step with these inputs whose blobs are all here and whole. A step that work of another identity
    /// finished is noted as this work's, too.
    std::optional<StepResult> find(const std::string& step, const Json& inputs);
    void start_step(const std::string& step, const Json& inputs);
    /// Before results are written: from here on they may use the space that is held back for them.
    void make_room() { reserve_.look(); }
    /// One group of records: the batch's items and that the step is finished.
    void finish_step(const std::string& step, const Json& inputs, const StepResult& result,
                     Batch& batch);
    /// Ends the work together with the batch's items.
    void finish(const Json& result, Batch& batch);
    /// Ends it without a result: it will not be continued.
    void abandon(const std::string& why);

private:
    void record_finished_step(const std::string& step, const std::string& inputs,
                              const StepResult& result, const std::string& from, Batch& batch);

    Store& store_;
    WorkRequest request_;
    ReserveUse reserve_;
    std::string lock_path_;
    FileDescriptor lock_;
    std::string id_;
    std::string earlier_;  ///< id of the work of other identity that this one goes on from
    bool resumed_ = false;
    std::optional<Json> done_by_another_;
};

/// Digest of a step's inputs, as it stands in the ledger.
std::string inputs_digest(const Json& inputs);

}  // namespace requal::store
