// What a call throws, for tests.
#pragma once

#include <gtest/gtest.h>

#include "base/error.h"

namespace requal {

/// The Error that `call` throws; a test failure, and an Error of kind `internal`, when it throws none.
template <class Call>
Error error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no error was thrown";
    return Error(ErrorKind::internal, "no error was thrown");
}

}  // namespace requal
