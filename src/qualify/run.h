// One qualification from protocol to verdict: model, inputs, build, runs, measurements, gates, record, report.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/document.h"
#include "qualify/gates.h"
#include "qualify/protocol.h"

namespace requal::qualify {

struct QualifyRequest {
    std::string protocol_path;
    std::string model_path;  ///< the model's file here; empty: as the protocol names it
    std::string store;
    std::string rules;         ///< folder of the rule set, empty: the embedded one
    std::string command_line;  ///< for the record
    bool wait =
        true;  ///< when another process is at this run: wait for its end, or Error(undecidable)
    const Clock* clock = &system_clock();
    std::function<void(std::string_view step)> on_step = {};     ///< before each step
    std::function<void(const Decision& decision)> on_gate = {};  ///< as each gate is decided
};

struct QualifyOutcome {
    std::string run;
    std::string folder;  ///< <store>/runs/<run>
    std::string record;  ///< path of record.json
    std::string report;  ///< path of report.html
    Verdict verdict = Verdict::undecidable;
    std::vector<Decision>
        gates;  ///< the engine gate first, then those of the protocol in its order
    std::vector<std::string> reused;  ///< steps that an earlier, interrupted call had finished
    bool by_another = false;          ///< another process ran it while this one waited
};

/// Runs the protocol, or goes on with a run of it that was interrupted: steps that are finished, on inputs that are still the same,
/// are not done again. What the candidate's toolchain refuses or breaks is a failed gate of a finished run; what the reference's
/// breaks leaves gates undecided; both are recorded. Bad input, a missing toolchain, a full disk and a signal are Errors: then
/// there is no run, and the ledger says at most that one was begun.
QualifyOutcome qualify(const QualifyRequest& request);

}  // namespace requal::qualify
