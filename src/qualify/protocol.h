// A protocol: acceptance criteria, model, inputs and sides, written before testing. Schema protocol/1
// (docs/formats/protocol.md). Read strictly: what is unknown, twice, missing or of the wrong type is refused by file and line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "measure/numerics/difference.h"
#include "qualify/accuracy/accuracy_gates.h"
#include "tensor/tensor.h"

namespace requal::qualify {

/// The model under test and the shapes at which it is qualified.
struct ModelRequest {
    std::string file;  ///< as written; relative to the protocol's folder
    Digest digest;
    std::map<std::string, Shape>
        shapes;  ///< input name -> fixed shape; every dynamic axis must be fixed here
};

/// One of the two things compared: a toolchain and its options.
struct SideRequest {
    std::string toolchain;
    Json options = Json::
        object();  ///< of the reference: when it is loaded; of the candidate: when it is built
    Json run_options = Json::object();  ///< of the candidate: when the engine is loaded
    std::string precision = "default";  ///< of the candidate: "default", "f32", "f16", "bf16"
};

/// Inputs of all measurements: a file or folder (`path`), or generated ones (`random_count` > 0).
struct InputRequest {
    std::string path;  ///< relative to the protocol's folder; empty for generated inputs
    std::optional<Digest> digest;  ///< of the file; only with a file
    std::uint64_t random_count = 0;
    std::uint64_t seed = 0;
    std::map<std::string, std::pair<double, double>>
        ranges;  ///< input name -> [low, high) of generated values
};

/// Outputs of the engine agree with the reference's.
struct ParityGate {
    std::string output;  ///< empty: every output that no other parity gate names
    measure::Tolerance tolerance;
    std::optional<double> max_cosine_drop;  ///< 1 - cosine similarity may not pass this
};

/// No NaN and no infinity in any output of the engine.
struct FiniteGate {};

/// The engine gives the same bytes again: `runs` runs of every sample, one of them in another process.
struct RepeatabilityGate {
    std::uint64_t runs = 5;
};

/// A percentile of the latency, with its confidence interval, lies below a limit.
struct LatencyGate {
    std::string percentile;  ///< "p50", "p90", "p99"
    double quantile = 0;     ///< 0.5, 0.9, 0.99
    double limit_ms = 0;
    std::uint64_t runs = 0;    ///< counted runs, at least
    std::uint64_t warmup = 0;  ///< runs before them that are not counted, at least
};

/// Task quality on a part of the labelled data, both sides on the same samples: one limit, or those of a preset.
struct AccuracyCriterion {
    std::vector<AccuracyGate> gates;  ///< all on one part
};

/// Labelled data, and how pictures become inputs and outputs predictions. Names are relative to the protocol's folder.
struct LabelledDataRequest {
    struct Part {
        std::string name;
        Digest labels;               ///< of the label file
        std::optional<Digest> list;  ///< of the part's list file
    };
    std::string dataset;  ///< dataset/1
    std::string preprocess, decoder;
    Digest preprocess_digest, decoder_digest;
    std::vector<Part> parts;
    double score_threshold = 0;  ///< from which a box is a decision, for flips
    measure::BootstrapOptions intervals;
};

/// One criterion of the protocol.
struct Gate {
    std::string id;  ///< [a-z0-9][a-z0-9-]*, unique in the protocol
    std::variant<ParityGate, FiniteGate, RepeatabilityGate, LatencyGate, AccuracyCriterion>
        criterion;
};
std::string_view
kind_of(const Gate& gate);  ///< "parity", "finite", "repeatability", "latency", "accuracy"
/// The criterion in one line for people: "p99 latency <= 60 ms over 1000 runs".
std::string criterion_text(const Gate& gate);
/// The criterion for the record: {"kind", ...as in the protocol}.
Json to_json(const Gate& gate);

struct Protocol {
    std::string path;    ///< of the file it was read from
    std::string folder;  ///< of that file; relative names are resolved in it
    Digest digest;       ///< of the file's bytes
    std::string name;    ///< [a-z0-9][a-z0-9-]*
    std::string title;   ///< one line for people, may be empty
    ModelRequest model;
    SideRequest reference;
    SideRequest candidate;
    InputRequest inputs;
    std::optional<LabelledDataRequest> data;  ///< always with gates of kind accuracy
    AccuracyGates accuracy;  ///< parts and slices of `data`, and the accuracy gates of all gates
    std::vector<Gate> gates;
};

/// Reads FILE. Error(input) whose `where` is FILE:LINE. `rules_folder` as for read_rules(): presets of accuracy gates come from there.
Protocol read_protocol(const std::string& path, const std::string& rules_folder = {});
/// The same from text; `path` names it in messages and its folder resolves relative names.
Protocol parse_protocol(std::string_view text, const std::string& path,
                        const std::string& rules_folder = {});

/// Fewest samples with which the two-sided 95 % interval of `quantile` has both its bounds: the least n with
/// max(q, 1 - q)^n <= 0.025 (the interval of measure/timing/latency.h). With fewer a latency gate can never be decided.
std::uint64_t fewest_runs(double quantile);

}  // namespace requal::qualify
