// The record of one run: everything measured and decided, schema run/1 (docs/formats/run.md). Reports and later checks read it and
// nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/json.h"
#include "measure/timing/latency.h"
#include "qualify/gates.h"
#include "qualify/protocol.h"
#include "toolchain/client.h"

namespace requal::qualify {

/// One step of a run, in order.
struct Step {
    std::string
        name;  ///< "model", "inputs", "data", "build", "parity", "repeatability", "latency", "accuracy"
    std::string state;  ///< "done", "failed", "skipped"
    double seconds = 0;
    std::string message;  ///< why it failed or was skipped
    bool reused = false;  ///< done by an earlier call of this run that was interrupted
};

/// A file of the run folder, named in the record so that it can be checked.
struct FileOfRun {
    std::string
        role;  ///< "protocol", "engine", "engine-manifest", "latency-series", "predictions", "labels"
    std::string name;  ///< relative to the run folder
    std::string digest;
    std::uint64_t size_bytes = 0;
};

/// All of a run. Members that a run did not come to stay null or empty.
struct Record {
    std::string run;
    std::string command_line;
    Json started, ended;  ///< time_stamp()
    Verdict verdict = Verdict::undecidable;
    Json protocol;  ///< name, title, digest
    Json host,
        conditions;  ///< machine::host_facts(), machine::measurement_conditions() before the latency series
    Json conditions_after;
    std::vector<std::string> unknown;  ///< what could not be read, with the reason
    Json model, inputs, engine_manifest, reference, candidate;
    std::vector<Step> steps;
    std::vector<Decision> gates;
    Json outputs = Json::array();  ///< one entry an output with its error histogram
    Json samples = Json::array();  ///< {"name", "outputs_digest"}
    Json latency;                  ///< null when not measured
    Json accuracy;  ///< one entry a part of the labelled data; null when not measured
    std::vector<FileOfRun> files;
    std::vector<std::string> not_shown;  ///< what this run says nothing about
};

/// The document run/1.
Json to_json(const Record& record);

/// {"name", ..., "exact", "histogram": [{"decade": -7, "count": 12}, ...]}: decade d counts 10^d <= |a - b| < 10^(d+1);
/// decades without a count are left out.
Json output_entry(const std::string& name, const measure::Difference& difference);

/// LatencyStatistics::to_json() with boundary, warm-up, first run, load, and "histogram": {"low_ms", "width_ms", "counts": [..], "above"}:
/// equal bins from the least duration to the 99.5th percentile, and how many lie above.
Json latency_entry(const toolchain::TimingSeries& series,
                   const measure::LatencyStatistics& statistics);

/// What a run of this protocol cannot show, as sentences.
std::vector<std::string> limits_of(const Protocol& protocol, const Record& record);

}  // namespace requal::qualify
