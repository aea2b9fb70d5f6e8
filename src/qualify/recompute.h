// The verdicts of a record judged again from the values that it and its files hold, for evidence packages.
#pragma once

#include <vector>

#include "base/json.h"
#include "evidence/verify.h"

namespace requal::qualify {

/// Every gate of the record (run/1) and every gate of the protocol that `file("protocol.yaml")` gives. Latency is computed from the
/// series in latency_ns.npy; the other kinds from the numbers in the gate's value and the record. A kind that is not known here, and a protocol
/// that cannot be read here, is "not recomputed". Error(input) for a record that is none.
std::vector<evidence::RecomputedGate> recompute(const Json& record,
                                                const evidence::FileOfRunReader& file);

}  // namespace requal::qualify
