// Child processes: started without a shell, with deadline and memory limit, never left behind.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"

namespace requal {

/// How a child is started. Its standard error is kept (the last 64 KiB) unless `inherit_stderr`.
struct ChildOptions {
    std::vector<std::string> command;                              ///< program (searched in PATH when it has no '/') and arguments
    std::vector<std::pair<std::string, std::string>> environment;  ///< added to the present one
    std::vector<std::pair<int, int>> extra_fds;                    ///< (descriptor here, number in the child)
    bool inherit_stderr = false;
    bool new_process_group = true;                                 ///< a Ctrl-C at the terminal does not reach it
};

/// A running child with pipes to its standard input and output. The destructor kills and reaps it.
class Child {
public:
    /// Error(missing) when the program cannot be started.
    explicit Child(const ChildOptions& options);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    int input_fd() const { return input_.get(); }    ///< write end of its standard input
    int output_fd() const { return output_.get(); }  ///< read end of its standard output
    int pid() const { return pid_; }
    void close_input() { input_.reset(); }

    void kill();                                     ///< SIGKILL to the process group
    /// Waits up to `timeout_ns` (negative: for ever). True when it has ended; then status_text() says how.
    bool wait(std::int64_t timeout_ns);
    bool ended() const { return ended_; }
    int exit_code() const { return exit_code_; }     ///< -1 when ended by a signal or running
    int signal_number() const { return signal_; }    ///< 0 when not ended by a signal
    std::string status_text() const;                 ///< "exit status 3", "killed by SIGSEGV"
    std::string stderr_tail();                       ///< what it wrote to standard error, last 64 KiB
    std::uint64_t resident_bytes() const;            ///< resident memory now, 0 when it cannot be read
    std::uint64_t peak_resident_bytes() const;       ///< VmHWM; after the end, the peak from wait4()

private:
    void collect(int wait_status, std::uint64_t peak_bytes);
    FileDescriptor input_;
    FileDescriptor output_;
    FileDescriptor error_file_;
    int pid_ = -1;
    bool ended_ = false;
    int exit_code_ = -1;
    int signal_ = 0;
    std::uint64_t peak_bytes_ = 0;
};

/// Folder of the running executable, and its own path.
std::string executable_path();
std::string executable_folder();

}  // namespace requal
