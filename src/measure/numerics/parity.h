// Outputs of two runnables on the same inputs, sample by sample, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/document.h"
#include "data/inputs.h"
#include "measure/numerics/difference.h"
#include "toolchain/client.h"

namespace requal::measure {

/// One side of a comparison: gives the outputs of sample after sample. Either runs a loaded runnable or reads saved outputs.
class OutputSource {
public:
    virtual ~OutputSource() = default;
    virtual NamedTensors outputs(std::uint64_t index, const NamedTensors& inputs) = 0;
    virtual Json describe() const = 0;            ///< toolchain, version, facts, or the saved file with digest
};

/// Saved outputs (`infer --save` folder, or golden npz) as a side.
std::unique_ptr<OutputSource> saved_outputs(const std::string& path);
bool is_saved_outputs(const std::string& path);

struct ParityOptions {
    Tolerance tolerance;                                  ///< for outputs not named below
    std::map<std::string, Tolerance> by_output;
    std::map<std::string, std::string> output_names;      ///< reference name -> candidate name (--map)
    bool parallel = false;                                ///< both sides at once
};

/// Opens a side when it is needed (sides run one after the other unless parallel) and lets go of it afterwards.
using OpenSide = std::function<std::unique_ptr<OutputSource>()>;

struct ParityResult {
    std::vector<std::pair<std::string, Difference>> outputs;   ///< in the reference's order
    Json reference;
    Json candidate;
    std::uint64_t samples = 0;
    Verdict verdict = Verdict::undecidable;
};

/// Runs the reference on all samples (outputs go to an unlinked spool file unless parallel), then the candidate, comparing on the fly.
/// Different output names, types, ranks or counts are Error(input) that names them.
ParityResult compare_outputs(const data::InputSource& inputs, const OpenSide& reference, const OpenSide& candidate,
                             const ParityOptions& options);

}  // namespace requal::measure
