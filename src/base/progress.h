// Progress with time left, on a terminal; and events as JSON Lines for programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"

namespace requal {

/// Where logs, progress and events of this process go. Set once by the command line before work begins.
struct Output {
    bool quiet = false;
    bool verbose = false;
    bool progress = true;  ///< bars only where stderr is a terminal
    int events_fd = -1;    ///< JSON Lines of progress and gates, -1: none
};
void set_output(const Output& output);
const Output& output();

/// One line to stderr unless --quiet. log_detail(): only with --verbose. Text is escaped for the terminal.
void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_detail(std::string_view text);

/// One event line: {"event": NAME, ...members}; nothing when no events descriptor is set.
void emit_event(std::string_view name, Json members = Json::object());

/// A piece of work of known size: shows "NAME 12/500 2 % 1 min left", redrawn at most 10 times a second,
/// removed at the end; emits events `progress` at most once a second. Not thread-safe.
class Progress {
public:
    Progress(std::string_view name, std::uint64_t total);
    ~Progress();
    void advance(std::uint64_t steps = 1);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace requal
