// Programs on this machine that can tell more of an artefact than its bytes. Their answers are theirs: each stands with who gave it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"

namespace requal::artifact {

/// What a runtime says of an engine's validity on this machine: `answer` is an object, or null with the reason.
struct Validity {
    Json answer;
    std::string why_not;
};
/// Asks the runtime of TensorRT-RTX, by its runner, for its verdict on the engine at `path`. This room starts no runner.
using AskValidity = std::function<Validity(const std::string& path)>;

/// Adds to the document inspect/1 of `path` what programs in PATH answer, under `asked[]`: {program, question, answer{} or null,
/// why_not}. TensorRT plans: `trtexec --getPlanVersionOnly` (releases from 9.1; it reads the header and does not load the plan). An
/// answer that contradicts the bytes is listed under `contradictions[]` and `problems[]`. TensorRT-RTX plans: `validity` is asked where it is given, and an entry says
/// so where nothing was asked. A program that is not there is not mentioned otherwise; one that fails, or has not
/// answered after `deadline_ns`, is, and is killed. Throws nothing for what a program does.
void ask_programs(Json& document, const std::string& path,
                  std::int64_t deadline_ns = std::int64_t{20} * 1'000'000'000,
                  const AskValidity& validity = {});

}  // namespace requal::artifact
