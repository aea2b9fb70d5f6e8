// Cancellation: SIGINT, SIGTERM and SIGHUP set a flag that long work polls.
#pragma once

namespace requal {

/// Installs the handlers once. The second signal ends the process at once with status 5.
void install_cancellation();
/// True after the first signal (or request_cancellation()).
bool cancelled();
/// Throws Error(interrupted) when cancelled.
void throw_if_cancelled();
/// As if a signal had come; for tests, reset_cancellation() takes it back.
void request_cancellation();
void reset_cancellation();
/// A descriptor that becomes readable on cancellation, for poll(); -1 before install_cancellation().
int cancellation_fd();

}  // namespace requal
