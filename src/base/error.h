// The one exception type of Requal. Its kind decides the exit status of the process.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace requal {

/// Exit statuses of every verb (documented in docs/exit-statuses.md).
enum class ExitStatus : int {
    passed = 0,       ///< done and passed
    failed = 1,       ///< done and the answer is no: out of tolerance, drifted, refused
    bad_input = 2,    ///< wrong usage or bad input
    missing = 3,      ///< a toolchain, library or device that the work needs is missing here
    storage = 4,      ///< I/O or store failure: disk full, permission, corruption found
    interrupted = 5,  ///< interrupted; run it again to resume
    undecidable = 6,  ///< could not be decided
};

/// What went wrong; maps one to one to an exit status other than `passed`.
enum class ErrorKind {
    usage,        ///< wrong command line                                    -> 2
    input,        ///< a file or value given by the user is wrong            -> 2
    missing,      ///< toolchain, library, device or program not here        -> 3
    storage,      ///< reading or writing failed, or damage was found        -> 4
    toolchain,    ///< a runner refused, crashed, hung or broke the protocol -> 1
    interrupted,  ///< stopped by a signal                                   -> 5
    undecidable,  ///< no verdict can be given                               -> 6
    internal,     ///< a bug in Requal                                       -> 4
};

/// Stable word for `kind`, as written into error documents (`usage`, `input`, ...).
std::string_view name_of(ErrorKind kind);

/// Exit status that a process ends with when an error of `kind` reaches main().
ExitStatus exit_status_of(ErrorKind kind);

/// An error for a person: what is wrong, where, and what to do next.
/// `what()` is the single line "WHERE: MESSAGE; NEXT" with the empty parts left out; control
/// characters in the parts are escaped so that hostile names cannot drive a terminal.
class Error : public std::runtime_error {
public:
    /// `where`: file, file:line, tensor or option, may be empty. `next`: an advice, may be empty.
    Error(ErrorKind kind, std::string message, std::string where = {}, std::string next = {});

    ErrorKind kind() const { return kind_; }
    const std::string& message() const { return message_; }
    const std::string& where() const { return where_; }
    const std::string& next() const { return next_; }

private:
    ErrorKind kind_;
    std::string message_;
    std::string where_;
    std::string next_;
};

/// An I/O error from errno: message says the operation and strerror. ENOENT, ENOTDIR, EISDIR, ELOOP and
/// ENAMETOOLONG of a file that the user named are `input`; everything else is `storage`.
[[noreturn]] void throw_errno(int error_number, std::string_view operation, std::string_view path);

}  // namespace requal
