#include "base/error.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace requal {
namespace {

std::string one_line(const std::string& message, const std::string& where,
                     const std::string& next) {
    std::string line;
    if (!where.empty()) {
        line += printable(where);
        line += ": ";
    }
    line += printable(message);
    if (!next.empty()) {
        line += "; ";
        line += printable(next);
    }
    return line;
}

}  // namespace

std::string_view name_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::usage:
        return "usage";
    case ErrorKind::input:
        return "input";
    case ErrorKind::missing:
        return "missing";
    case ErrorKind::storage:
        return "storage";
    case ErrorKind::toolchain:
        return "toolchain";
    case ErrorKind::interrupted:
        return "interrupted";
    case ErrorKind::undecidable:
        return "undecidable";
    case ErrorKind::internal:
        return "internal";
    }
    return "internal";
}

ExitStatus exit_status_of(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::usage:
        return ExitStatus::bad_input;
    case ErrorKind::input:
        return ExitStatus::bad_input;
    case ErrorKind::missing:
        return ExitStatus::missing;
    case ErrorKind::storage:
        return ExitStatus::storage;
    case ErrorKind::toolchain:
        return ExitStatus::failed;
    case ErrorKind::interrupted:
        return ExitStatus::interrupted;
    case ErrorKind::undecidable:
        return ExitStatus::undecidable;
    case ErrorKind::internal:
        return ExitStatus::storage;
    }
    return ExitStatus::storage;
}

Error::Error(ErrorKind kind, std::string message, std::string where, std::string next)
    : std::runtime_error(one_line(message, where, next)), kind_(kind), message_(std::move(message)),
      where_(std::move(where)), next_(std::move(next)) {}

void throw_errno(int error_number, std::string_view operation, std::string_view path) {
    ErrorKind kind = ErrorKind::storage;
    std::string next;
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
        kind = ErrorKind::input;
        next = "check the path";
        break;
    case ENOSPC:
    case EDQUOT:
        next = "free some space and run it again";
        break;
    case EACCES:
    case EPERM:
        next = "check the permissions";
        break;
    case EMFILE:
    case ENFILE:
        next = "raise the limit of open files (ulimit -n)";
        break;
    default:
        break;
    }
    // std::generic_category() and not strerror(), which is not safe with threads.
    throw Error(kind,
                "cannot " + std::string(operation) + ": " +
                    std::generic_category().message(error_number),
                std::string(path), next);
}

}  // namespace requal
