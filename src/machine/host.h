// What is cheap to know of this computer: enough to state under which conditions something was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace requal::machine {

/// {"architecture", "kernel", "os", "cpu": {"model", "cores", "isa": [..]}, "memory_bytes"}; nothing that names the one machine
/// (no host name, serial or address). What cannot be read is left out. `root`: another file system root, for tests.
Json host_facts(const std::string& root = {});

/// Conditions of a measurement: {"load_average_1min", "cpu_governor" (one word, or "mixed"), "cpu_frequency_min_mhz",
/// "cpu_frequency_max_mhz", "cores_allowed", "memory_available_bytes", "virtualised": bool, "turbo": bool,
/// "temperature_max_c"}. What cannot be read is left out and named in `unknown` with its reason.
Json measurement_conditions(std::vector<std::string>& unknown, const std::string& root = {});

/// Memory that a new process may use without swapping (MemAvailable, or less by the control group's limit); 0 when unknown.
std::uint64_t memory_available_bytes(const std::string& root = {});

}  // namespace requal::machine
