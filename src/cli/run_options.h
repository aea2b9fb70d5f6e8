// How sides are run, from the command line: the same for every verb that runs a runnable.
#pragma once

#include "cli/input_arguments.h"
#include "measure/runnable.h"

namespace requal::cli {

/// How sides are run, as --timeout says: it holds for the start of the program, too, where it is given.
inline measure::RunOptions run_options(const Arguments& arguments) {
    measure::RunOptions options;
    options.answer_timeout_ns = timeout_ns(arguments);
    if (arguments.given("--timeout")) {
        options.start_timeout_ns = options.answer_timeout_ns;
    }
    return options;
}

}  // namespace requal::cli
