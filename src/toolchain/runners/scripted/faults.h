// The faults that are no arithmetic: crashes, hangs, floods, delays.
#pragma once

#include <cstdint>

#include "toolchain/runners/scripted/script.h"

namespace requal::scripted {

/// The descriptor that the client reads, kept from before serve() took it: for faults that break the protocol itself.
void remember_protocol_descriptor();

[[noreturn]] void crash();
[[noreturn]] void hang();
/// `what`: "frame" announces a frame of petabytes, "garbage" writes text into the protocol, "torn" half a frame and ends,
/// "stderr" never stops writing to stderr, "stdout" prints on stdout (harmless: the protocol does not live there).
void flood(const std::string& what);
void sleep_ms(double duration_ms);

/// What the environment variable REQUAL_SCRIPTED_START asks for before the first answer: "version" (another protocol version),
/// "crash", "hang", "garbage", "frame", "torn", "stderr". Returns when it asks for nothing.
void fault_at_start();

}  // namespace requal::scripted
