// Outputs of two runnables on the same inputs, sample by sample, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
    virtual Json
    describe() const = 0;  ///< toolchain, version, facts, or the saved file with digest
    /// Samples that it holds, for saved outputs; empty when it can run any number.
    virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
    /// Digest of the inputs that gave the saved outputs of a sample, where it was recorded.
    virtual std::optional<Digest> inputs_digest(std::uint64_t index) const {
        (void)index;
        return std::nullopt;
    }
};

/// Saved outputs (`infer --save` folder, or golden npz) as a side. A folder holds samples.json or is read in name order; a single
/// npz is one sample, or as many as a samples.json beside it lists (then every array has a leading axis of that length).
/// Where samples.json records the inputs' digests, other inputs are Error(input).
std::unique_ptr<OutputSource> saved_outputs(const std::string& path);
/// True for a folder and for a file whose bytes are those of an npz; Error(input) when it does not exist.
bool is_saved_outputs(const std::string& path);

struct ParityOptions {
    Tolerance tolerance;  ///< for outputs not named below
    std::map<std::string, Tolerance> by_output;
    std::map<std::string, std::string> output_names;  ///< reference name -> candidate name (--map)
    std::vector<std::string> only;  ///< outputs of the reference to compare; empty: all
    bool parallel = false;          ///< both sides at once
    /// Tolerance of an output that by_output does not name, when it depends on what is compared; `candidate` is the candidate's
    /// describe(). When empty, or when it gives nothing, `tolerance` holds.
    std::function<std::optional<Tolerance>(std::string_view output, ElementType reference,
                                           ElementType candidate_type, const Json& candidate)>
        default_tolerance;
    std::string progress_name = "compare";  ///< of the progress bar; empty: none
};

/// Opens a side when it is needed (sides run one after the other unless parallel) and lets go of it afterwards.
using OpenSide = std::function<std::unique_ptr<OutputSource>()>;

struct ParityResult {
    std::vector<std::pair<std::string, Difference>>
        outputs;  ///< in the reference's order, by the reference's names
    Json reference;
    Json candidate;
    std::uint64_t samples = 0;
    Verdict verdict = Verdict::undecidable;
};

/// Runs the reference on all samples (outputs go to an unlinked spool file in $TMPDIR unless parallel), then the candidate, comparing
/// on the fly; memory does not grow with the number of samples. Different output names, types, shapes or counts are Error(input) that
/// names them; unless `only` chooses some, both sides must have as many outputs.
ParityResult compare_outputs(const data::InputSource& inputs, const OpenSide& reference,
                             const OpenSide& candidate, const ParityOptions& options);

}  // namespace requal::measure
