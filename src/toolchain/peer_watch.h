// A runner ends when nobody can hear its answers any more, even in the middle of a long run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace requal::toolchain {

/// A thread that waits for the reader of `answer_fd` to go away and then ends the process; it sleeps otherwise.
class PeerWatch {
public:
    explicit PeerWatch(int answer_fd);
    ~PeerWatch();
    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;

    /// Ends the process with a line on stderr once its resident memory passes `limit_bytes` (looked at 10 times a second):
    /// for remote runners, whose memory the client cannot see.
    void limit_memory(std::uint64_t limit_bytes);
    /// A folder that is removed when the process is ended here.
    void remove_at_end(const std::string& folder);
    /// Ends the process at once, as above: what the runtime holds goes back to the system and is not taken apart first.
    [[noreturn]] void end_process(int status);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace requal::toolchain
