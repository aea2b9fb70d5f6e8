// A thread that lives as long as the process: the kernel ties a child's death signal (PR_SET_PDEATHSIG) to the thread that
// started it, not to the process.
#pragma once

#include <functional>

namespace requal {

/// Runs `work`, which does not throw, in the main thread when called there, else in one thread that never ends. Returns when it
/// is done.
void run_in_lasting_thread(const std::function<void()>& work);

}  // namespace requal
