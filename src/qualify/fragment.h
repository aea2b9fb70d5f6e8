// What a finished step left, as a document: a later call of the same run reads it instead of doing the step again.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "qualify/gates.h"
#include "qualify/record.h"
#include "qualify/sides.h"

namespace requal::qualify {

/// A step of a run with all that the steps after it, the gates and the record need of it.
struct Fragment {
    Step step;
    EngineOutcome engine;                ///< as it stands after the step
    std::string reference_failure;       ///< why the reference could not be run
    Json record = Json::object();        ///< members of the record that the step gave
    std::vector<Decision> decisions;     ///< gates that were decided by it
    std::vector<OutputDigests> outputs;  ///< of the engine, by sample (parity only)
    std::vector<FileOfRun> files;  ///< of the run folder; their bytes are blobs of the same names
};

/// {"schema": "step-result/1", ...}.
Json to_json(const Fragment& fragment);
/// Error(input) for what to_json() did not write.
Fragment fragment_from(const Json& json);
/// Decisions from a record's `gates`. Error(input).
std::vector<Decision> decisions_from(const Json& gates);

}  // namespace requal::qualify
