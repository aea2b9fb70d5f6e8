// Files that a verb writes where the user says.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace requal::cli {

/// Error(usage) when `output`, the value of `option`, is the very file `input` by whatever name: a result never replaces what it
/// was made from.
inline void refuse_to_replace(const std::string& output, const std::string& input,
                              const std::string& option) {
    std::error_code ignored;
    if (!input.empty() && std::filesystem::equivalent(output, input, ignored)) {
        throw Error(ErrorKind::usage, "'" + printable(output) + "' is what the work reads", option,
                    "choose another name");
    }
}

}  // namespace requal::cli
