#include "base/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/error.h"
#include "base/lasting_thread.h"
#include "base/process_drain.h"
#include "base/text.h"

extern char** environ;

namespace requal {
namespace {

struct Pipe {
    FileDescriptor read_end;
    FileDescriptor write_end;
};

Pipe make_pipe(std::string_view program) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw_errno(errno, "make a pipe to the program", program);
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// Path of `program`, looked up in PATH as execvp() does it, which may not be
/// called after a fork.
std::string find_program(const std::string& program) {
    if (program.find('/') != std::string::npos)
        return program;
    const char* from_environment = std::getenv("PATH");
    std::string_view rest =
        from_environment != nullptr ? from_environment : "/usr/local/bin:/usr/bin:/bin";
    while (true) {
        const std::size_t colon = rest.find(':');
        const std::string folder(rest.substr(0, colon));
        // An empty part would mean the working folder: never searched here.
        const std::string candidate = folder + "/" + program;
        if (!folder.empty() && file_exists(candidate) && ::access(candidate.c_str(), X_OK) == 0)
            return candidate;
        if (colon == std::string_view::npos)
            break;
        rest.remove_prefix(colon + 1);
    }
    throw Error(ErrorKind::missing, "the program is not installed here (not found in PATH)",
                program, "install it or give its path");
}

std::vector<std::string> joined_environment(const ChildOptions& options) {
    std::vector<std::string> result;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        const bool replaced = std::any_of(options.environment.begin(), options.environment.end(),
                                          [&](const auto& added) { return added.first == name; });
        if (!replaced)
            result.emplace_back(text);
    }
    for (const auto& [name, value] : options.environment)
        result.push_back(name + "=" + value);
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

void ignore_sigpipe() {
    struct sigaction present {};
    ::sigaction(SIGPIPE, nullptr, &present);
    if (present.sa_handler == SIG_DFL)
        std::signal(SIGPIPE, SIG_IGN);
}

/// A number in KiB from /proc/PID/status, in bytes; 0 when it is not there.
std::uint64_t memory_from_status(const std::string& status_path, std::string_view key) {
    try {
        const std::string status = read_file(status_path, 1 << 20);
        const std::size_t at = status.find("\n" + std::string(key) + ":");
        if (at == std::string::npos)
            return 0;
        return 1024 * std::strtoull(status.c_str() + at + key.size() + 2, nullptr, 10);
    } catch (const Error&) {
        return 0;
    }
}

std::int64_t now_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// What the child needs between fork and exec, where only async-signal-safe
/// calls are allowed.
struct Start {
    const char* program;
    char* const* arguments;
    char* const* environment;
    std::vector<std::pair<int, int>> fds;  ///< (descriptor here, number in the child)
    int above;                             ///< larger than every number in the child
    int failure_fd;
    pid_t parent;
    bool own_group;
};

[[noreturn]] void run_child(Start& start) {
    const auto give_up = [&] {
        const int error_number = errno;
        [[maybe_unused]] const ssize_t count =
            ::write(start.failure_fd, &error_number, sizeof error_number);
        ::_exit(127);
    };
    if (start.own_group)
        ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != start.parent)
        ::_exit(127);  // the parent ended before the line above

    // Handlers of ours must not run here; ignored signals stay ignored (nohup),
    // but for SIGPIPE, which we ignored ourselves.
    struct sigaction defaults {};
    defaults.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction present {};
        if (::sigaction(number, nullptr, &present) != 0)
            continue;
        if (present.sa_handler != SIG_IGN || number == SIGPIPE)
            ::sigaction(number, &defaults, nullptr);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);

    // First all of them out of the way, so that no number is overwritten before
    // it is copied.
    start.failure_fd = ::fcntl(start.failure_fd, F_DUPFD_CLOEXEC, start.above);
    if (start.failure_fd < 0)
        ::_exit(127);
    for (auto& [here, there] : start.fds) {
        here = ::fcntl(here, F_DUPFD_CLOEXEC, start.above);
        if (here < 0)
            give_up();
    }
    for (const auto& [here, there] : start.fds) {
        if (::dup2(here, there) < 0)
            give_up();
    }
    ::execve(start.program, start.arguments, start.environment);
    give_up();
    ::_exit(127);
}

std::string signal_name(int number) {
    switch (number) {
    case SIGHUP:
        return "SIGHUP";
    case SIGINT:
        return "SIGINT";
    case SIGQUIT:
        return "SIGQUIT";
    case SIGILL:
        return "SIGILL";
    case SIGTRAP:
        return "SIGTRAP";
    case SIGABRT:
        return "SIGABRT";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGKILL:
        return "SIGKILL";
    case SIGSEGV:
        return "SIGSEGV";
    case SIGPIPE:
        return "SIGPIPE";
    case SIGALRM:
        return "SIGALRM";
    case SIGTERM:
        return "SIGTERM";
    case SIGXCPU:
        return "SIGXCPU";
    case SIGXFSZ:
        return "SIGXFSZ";
    case SIGSYS:
        return "SIGSYS";
    default:
        return "signal " + std::to_string(number);
    }
}

}  // namespace

Child::Child(const ChildOptions& options) {
    if (options.command.empty())
        throw Error(ErrorKind::internal, "a child process without a command");
    ignore_sigpipe();
    const std::string program = find_program(options.command.front());
    std::vector<std::string> arguments = options.command;
    std::vector<std::string> environment = joined_environment(options);
    const std::vector<char*> argument_pointers = pointers(arguments);
    const std::vector<char*> environment_pointers = pointers(environment);

    Pipe to_child = make_pipe(program);
    Pipe from_child = make_pipe(program);
    Pipe errors;
    if (!options.inherit_stderr)
        errors = make_pipe(program);
    Pipe failure = make_pipe(program);

    Start start{program.c_str(),
                argument_pointers.data(),
                environment_pointers.data(),
                {},
                3,
                failure.write_end.get(),
                ::getpid(),
                options.new_process_group};
    start.fds = {{to_child.read_end.get(), 0}, {from_child.write_end.get(), 1}};
    if (!options.inherit_stderr)
        start.fds.emplace_back(errors.write_end.get(), 2);
    for (const auto& extra : options.extra_fds)
        start.fds.push_back(extra);
    for (const auto& [here, there] : start.fds)
        start.above = std::max(start.above, there + 1);

    // Before the fork: where the thread cannot be started, nothing is left
    // behind.
    if (!options.inherit_stderr)
        drain_ = std::make_unique<ErrorDrain>(std::move(errors.read_end));
    own_group_ = options.new_process_group;
    forked_bytes_ = memory_from_status("/proc/self/status", "VmRSS");

    pid_t pid = -1;
    int fork_error = 0;
    run_in_lasting_thread([&] {
        // A cancellation handler of ours must not run in the child and write into our
        // pipe.
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        pid = ::fork();
        fork_error = errno;
        if (pid == 0)
            run_child(start);
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    });
    if (pid < 0)
        throw_errno(fork_error, "start the program", program);
    pid_ = pid;
    if (own_group_)
        ::setpgid(pid, pid);  // also here: kill() may come before the child has got so far

    to_child.read_end.reset();
    from_child.write_end.reset();
    errors.write_end.reset();
    failure.write_end.reset();
    int error_number = 0;
    ssize_t count = 0;
    do {
        count = ::read(failure.read_end.get(), &error_number, sizeof error_number);
    } while (count < 0 && errno == EINTR);
    if (count == sizeof error_number) {
        reap(true);
        // ENOENT for a program that exists: its interpreter or loader does not.
        throw Error(ErrorKind::missing,
                    std::string("cannot start the program: ") + std::strerror(error_number),
                    program, "install it or give its path");
    }
    input_ = std::move(to_child.write_end);
    output_ = std::move(from_child.read_end);
}

Child::~Child() {
    if (pid_ > 0 && !ended_) {
        kill();
        reap(true);
    }
}

void Child::kill() {
    if (pid_ <= 0 || ended_)
        return;
    ::kill(own_group_ ? -pid_ : pid_, SIGKILL);
}

bool Child::reap(bool block) {
    if (ended_)
        return true;
    siginfo_t info{};
    int result = 0;
    // WNOWAIT: as long as the dead child is not collected its number is not given
    // to another process (group).
    do {
        result = ::waitid(P_PID, static_cast<id_t>(pid_), &info,
                          WEXITED | WNOWAIT | (block ? 0 : WNOHANG));
    } while (result < 0 && errno == EINTR);
    if (result == 0 && info.si_pid == 0)
        return false;
    if (own_group_)
        ::kill(-pid_, SIGKILL);
    int status = 0;
    rusage usage{};
    pid_t collected = 0;
    do {
        collected = ::wait4(pid_, &status, 0, &usage);
    } while (collected < 0 && errno == EINTR);
    ended_ = true;
    if (collected == pid_) {
        if (WIFEXITED(status))
            exit_code_ = WEXITSTATUS(status);
        if (WIFSIGNALED(status))
            signal_ = WTERMSIG(status);
        const auto peak = 1024 * static_cast<std::uint64_t>(std::max(0L, usage.ru_maxrss));
        // The kernel counts the copy of this process between fork and exec as the
        // child's.
        const bool is_ours = peak <= forked_bytes_ + forked_bytes_ / 16;
        peak_bytes_ =
            is_ours && seen_peak_bytes_ > 0 ? seen_peak_bytes_ : std::max(peak, seen_peak_bytes_);
    }
    if (drain_)
        drain_->finish();
    return true;
}

bool Child::wait(std::int64_t timeout_ns) {
    if (timeout_ns < 0)
        return reap(true);
    const std::int64_t deadline =
        now_ns() + std::min<std::int64_t>(timeout_ns, std::int64_t{1} << 61);
    constexpr std::int64_t longest_pause_ns = 5'000'000;
    std::int64_t pause_ns = 50'000;
    while (!reap(false)) {
        const std::int64_t left = deadline - now_ns();
        if (left <= 0)
            return false;
        const std::int64_t pause = std::min(left, pause_ns);
        const timespec time{static_cast<time_t>(pause / 1'000'000'000),
                            static_cast<long>(pause % 1'000'000'000)};
        ::nanosleep(&time, nullptr);
        pause_ns = std::min(2 * pause_ns, longest_pause_ns);
        if (pause_ns == longest_pause_ns)
            seen_peak_bytes_ = std::max(seen_peak_bytes_, peak_resident_bytes());
    }
    return true;
}

std::string Child::status_text() const {
    if (!ended_)
        return "running";
    if (signal_ != 0)
        return "killed by " + signal_name(signal_);
    if (exit_code_ < 0)
        return "ended in an unknown way";
    return "exit status " + std::to_string(exit_code_);
}

std::string Child::stderr_tail() {
    return drain_ ? drain_->tail() : std::string();
}

std::uint64_t Child::resident_bytes() const {
    if (ended_)
        return 0;
    return memory_from_status("/proc/" + std::to_string(pid_) + "/status", "VmRSS");
}

std::uint64_t Child::peak_resident_bytes() const {
    if (ended_)
        return peak_bytes_;
    return std::max(seen_peak_bytes_,
                    memory_from_status("/proc/" + std::to_string(pid_) + "/status", "VmHWM"));
}

std::string executable_path() {
    std::string path(4096, '\0');
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    if (length <= 0)
        throw_errno(errno, "find this program", "/proc/self/exe");
    path.resize(static_cast<std::size_t>(length));
    return path;
}

std::string executable_folder() {
    const std::string path = executable_path();
    return path.substr(0, std::max<std::size_t>(1, path.find_last_of('/')));
}

}  // namespace requal
