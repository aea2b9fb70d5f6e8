// Which inputs a person asked for, before it is known what the runnable wants.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/inputs.h"

namespace requal::data {

/// Either a path or a number of random samples; with shapes for dynamic axes and ranges for random values.
struct InputRequest {
    std::optional<std::string> path;                          ///< --inputs
    std::optional<std::uint64_t> random;                      ///< --random N
    std::uint64_t seed = 0;                                   ///< --seed
    std::map<std::string, Shape> shapes;                      ///< --shape
    std::map<std::string, std::pair<double, double>> ranges;  ///< --range
    bool empty() const { return !path && !random; }
};

/// Checks what can be checked before anything is loaded: one source, the path exists. Error(usage|input).
void check_request(const InputRequest& request);

/// The inputs for a runnable with these ports; Error(usage) when the request names no source.
std::unique_ptr<InputSource> open_inputs(const InputRequest& request, std::vector<InputPort> ports);

}  // namespace requal::data
