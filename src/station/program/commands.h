// The verbs snapshot and diff of requal-station: the words of its command line to a document, a text and an exit status.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace requal::station {

struct Answer {
    Json document;
    std::string text;
    ExitStatus status = ExitStatus::passed;
};

/// `words` behind the verb, without --json. Error(usage) for unknown and missing ones.
Answer snapshot_command(const std::vector<std::string>& words);
Answer diff_command(const std::vector<std::string>& words);

}  // namespace requal::station
