// Tolerances that hold when none is given: those of rules/tolerances.yaml, by precision.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "measure/numerics/difference.h"
#include "tensor/type.h"

namespace requal::measure {

/// A tolerance and where it comes from: "rules/tolerances.yaml: float32 (SOURCE, DATE)".
struct SourcedTolerance {
    Tolerance tolerance;
    std::string source;
};

/// The table, read once from the embedded rules or from `folder` (--rules).
class DefaultTolerances {
public:
    explicit DefaultTolerances(const std::string& folder = {});

    /// For an output whose elements have these types on the two sides, with a candidate that describes itself so
    /// (`facts.precision.executed` "f16" or "bf16" asks for that precision's row although its outputs are float32). The coarsest of
    /// the three decides; integers, booleans and strings are compared exactly.
    SourcedTolerance choose(ElementType reference, ElementType candidate,
                            const Json& candidate_description) const;

private:
    std::map<std::string, SourcedTolerance, std::less<>> rows_;
};

}  // namespace requal::measure
