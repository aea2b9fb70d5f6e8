// A scripted model: a small computation and the ways in which running it goes wrong. Documented in docs/scripted-runner.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "toolchain/runner.h"

namespace requal::scripted {

/// One step of the computation; its result has its name.
struct Layer {
    std::string name;
    std::string op;                   ///< affine, relu, sum, mix, add
    std::vector<std::string> inputs;  ///< names of model inputs or earlier layers
    float factor = 1;                 ///< affine: y = factor * x + offset
    float offset = 0;
    std::int64_t axis = 1;  ///< sum and mix; negative counts from the end
    std::int64_t seed = 1;  ///< mix
};

struct Output {
    std::string name;
    std::string from;  ///< a layer or input
    ElementType type = ElementType::float32;
};

/// One way in which a run goes wrong; see docs/scripted-runner.md for the kinds and their members.
struct Wrong {
    std::string kind;
    Json members;
    std::int64_t integer(std::string_view key, std::int64_t fallback) const;
    double number(std::string_view key, double fallback) const;
    std::string text(std::string_view key, const std::string& fallback) const;
};

struct Script {
    std::vector<toolchain::Port> inputs;
    std::vector<Output> outputs;
    std::vector<Layer> layers;
    std::vector<Wrong> wrongness;  ///< those of this artefact only (model or engine)
    double latency_ms = 0;
    bool is_engine = false;
    Json built_with;  ///< options of the build, of an engine
    Json model;       ///< the model's own text, for building

    const Wrong* find(std::string_view kind) const;
};

/// Reads a model (`*.scripted.json`), an engine built from one, or the model beside FILE (`FILE.scripted.json`).
/// Error(input) says what is wrong with it.
Script read_script(const std::string& path);

/// Bytes of the engine built from `script` with `options`.
std::string engine_bytes(const Script& script, const Json& options);

}  // namespace requal::scripted
