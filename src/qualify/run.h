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
    std::string command_line;  ///< for the record
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
};

/// Runs the protocol. What the candidate's toolchain refuses or breaks is a failed gate of a finished run; what the reference's
/// breaks leaves gates undecided; both are recorded. Bad input, a missing toolchain, a full disk and a signal are Errors: then the
/// store is as it was before.
QualifyOutcome qualify(const QualifyRequest& request);

}  // namespace requal::qualify
