// One runner process and the requests to it: started, watched while it works, and explained when it fails.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/process.h"
#include "toolchain/client.h"
#include "toolchain/frame.h"

namespace requal::toolchain {

class Conversation {
public:
    /// Starts the runner and greets it. Errors as those of Runner's constructor.
    explicit Conversation(const RunnerOptions& options);
    ~Conversation();  ///< asks it to stop, then kills it
    Conversation(const Conversation&) = delete;
    Conversation& operator=(const Conversation&) = delete;

    /// One request, one answer. An error answer is thrown as the Error that it describes. Anything else than an answer ends the
    /// runner: Error(toolchain) that says what happened while `doing` ("loading model.onnx"), with its last words;
    /// cancellation is Error(interrupted).
    Message call(Message request, std::int64_t timeout_ns, const std::string& doing);
    /// Ends the runner because of what it answered: always throws.
    [[noreturn]] void give_up(const Error& cause, const std::string& doing);

    const Json& capabilities() const { return capabilities_; }
    bool remote() const { return !options_.remote.empty(); }
    const RunnerOptions& options() const { return options_; }
    SharedRegion* input_region() const { return in_.get(); }
    const std::shared_ptr<SharedRegion>& output_region() const { return out_; }
    Child& child() { return *child_; }
    const Child& child() const { return *child_; }

private:
    void start();
    void greet();
    void watch() const;
    std::string last_words();
    [[noreturn]] void refuse_version(std::int64_t theirs);

    RunnerOptions options_;
    std::string runner_name_;  ///< "onnxruntime"
    std::string title_;        ///< "runner onnxruntime", "runner onnxruntime on host"
    std::string program_;
    std::shared_ptr<SharedRegion> in_;
    std::shared_ptr<SharedRegion> out_;
    std::unique_ptr<Child> child_;
    std::unique_ptr<FrameChannel> channel_;
    Json capabilities_;
    std::int64_t last_id_ = 0;
    std::string why_ended_;  ///< empty while it can be talked to
};

}  // namespace requal::toolchain
