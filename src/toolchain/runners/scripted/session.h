// A scripted model that is loaded, and the settings it runs with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "toolchain/runners/scripted/compute.h"
#include "toolchain/runners/scripted/script.h"

namespace requal::scripted {

/// What the options of a load or build come to; those of its build count for an engine.
struct Settings {
    Precision requested = Precision::f32;
    Precision executed = Precision::f32;
    std::string reported;  ///< precision that the facts claim
    std::int64_t threads = 1;
    bool all_outputs = false;
};

const std::vector<std::string>& known_options();
/// Error(input) that names the option.
Settings settings_of(const Script& script, const Json& options);
Json facts_of(const Settings& settings);

std::unique_ptr<toolchain::Session> make_session(Script script, Settings settings);

}  // namespace requal::scripted
