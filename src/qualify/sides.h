// The two sides of the parity run under watch: whose fault an error is, and which bytes came out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "measure/numerics/parity.h"
#include "measure/runnable.h"

namespace requal::qualify {

/// Digest of one tensor: type, shape and elements.
Digest digest_of_tensor(const Tensor& tensor);

/// Digests of the outputs of one sample, in the runtime's order.
using OutputDigests = std::vector<std::pair<std::string, Digest>>;
OutputDigests digests_of(const NamedTensors& outputs);
/// One digest over all of them.
Digest combined_digest(const OutputDigests& outputs);

/// What a watched side saw. Outlives the side.
struct Watch {
    bool opened = false;                 ///< runner started, runnable loaded
    bool broke = false;                  ///< an error came out of opening or running this side
    std::vector<OutputDigests> outputs;  ///< by sample
};

/// Opens `runnable` and notes errors and output digests in `watch`.
measure::OpenSide watched(const measure::Runnable& runnable, Watch& watch);

}  // namespace requal::qualify
