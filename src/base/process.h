// Child processes: started without a shell, with deadline and memory limit, never left behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"

namespace requal {

/// How a child is started. Its standard error is kept (the last 64 KiB) unless `inherit_stderr`.
struct ChildOptions {
    std::vector<std::string> command =
        {};  ///< program (searched in PATH when it has no '/') and arguments
    std::vector<std::pair<std::string, std::string>> environment =
        {};                                           ///< added to the present one
    std::vector<std::pair<int, int>> extra_fds = {};  ///< (descriptor here, number in the child)
    bool inherit_stderr = false;
    bool new_process_group = true;  ///< a Ctrl-C at the terminal does not reach it
};

/// A running child with pipes to its standard input and output. The destructor kills and reaps it, and what it left behind
/// in its process group. The kernel kills it when the thread that started it ends: that thread must outlive it.
/// From the first Child on SIGPIPE is ignored in this process unless it had a handler: writing to a child that has ended
/// gives EPIPE.
class Child {
public:
    /// Error(missing) when the program cannot be started, Error(storage) when pipes or processes have run out.
    explicit Child(const ChildOptions& options);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    int input_fd() const { return input_.get(); }    ///< write end of its standard input
    int output_fd() const { return output_.get(); }  ///< read end of its standard output
    int pid() const { return pid_; }
    void close_input() { input_.reset(); }

    void kill();  ///< SIGKILL to the process group
    /// Waits up to `timeout_ns` (negative: for ever). True when it has ended; then status_text() says how.
    bool wait(std::int64_t timeout_ns);
    bool ended() const { return ended_; }
    int exit_code() const { return exit_code_; }   ///< -1 when ended by a signal or running
    int signal_number() const { return signal_; }  ///< 0 when not ended by a signal
    std::string status_text() const;               ///< "exit status 3", "killed by SIGSEGV"
    std::string stderr_tail();                     ///< what it wrote to standard error, last 64 KiB
    std::uint64_t resident_bytes() const;  ///< resident memory now, 0 when it cannot be read
    /// VmHWM; after the end, the peak from wait4(), or where that only shows the memory of this process at the fork,
    /// the last VmHWM that was seen.
    std::uint64_t peak_resident_bytes() const;

private:
    class ErrorDrain;
    bool reap(bool block);
    FileDescriptor input_;
    FileDescriptor output_;
    std::unique_ptr<ErrorDrain>
        drain_;  ///< reads standard error, so that a child that floods it does not stop
    int pid_ = -1;
    bool own_group_ = false;
    std::uint64_t forked_bytes_ = 0;  ///< resident memory of this process at the fork
    std::uint64_t seen_peak_bytes_ = 0;
    bool ended_ = false;
    int exit_code_ = -1;
    int signal_ = 0;
    std::uint64_t peak_bytes_ = 0;
};

/// Folder of the running executable, and its own path.
std::string executable_path();
std::string executable_folder();

}  // namespace requal
