#include "qualify/record.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace requal::qualify {

namespace {

constexpr double ns_per_ms = 1e6;
constexpr std::size_t latency_bins = 40;

Json histogram_of(const std::vector<std::int64_t>& sorted) {
    Json histogram = Json::object();
    if (sorted.empty()) {
        return histogram;
    }
    const double low = static_cast<double>(sorted.front()) / ns_per_ms;
    const std::size_t rank = std::min(sorted.size() - 1, sorted.size() * 995 / 1000);
    const double high = static_cast<double>(sorted[rank]) / ns_per_ms;
    const std::size_t bins = high > low ? latency_bins : 1;
    const double width = high > low ? (high - low) / static_cast<double>(bins) : 0;
    std::vector<std::uint64_t> counts(bins, 0);
    std::uint64_t above = 0;
    for (const std::int64_t duration : sorted) {
        const double value = static_cast<double>(duration) / ns_per_ms;
        if (value > high) {
            ++above;
            continue;
        }
        const auto bin = width > 0 ? static_cast<std::size_t>((value - low) / width) : 0;
        ++counts[std::min(bin, bins - 1)];
    }
    Json list = Json::array();
    for (const std::uint64_t count : counts) {
        list.push_back(count);
    }
    return Json::object({{"low_ms", low}, {"width_ms", width}, {"counts", list}, {"above", above}});
}

}  // namespace

Json to_json(const Record& record) {
    Json json = new_document("run", 1);
    json["run"] = record.run;
    json["verdict"] = name_of(record.verdict);
    json["command_line"] = record.command_line;
    json["started"] = record.started;
    json["ended"] = record.ended;
    json["protocol"] = record.protocol;
    json["host"] = record.host;
    json["conditions"] = record.conditions;
    json["conditions_after"] = record.conditions_after;
    json["unknown"] = text_array(record.unknown);
    json["model"] = record.model;
    json["inputs"] = record.inputs;
    json["engine_manifest"] = record.engine_manifest;
    json["reference"] = record.reference;
    json["candidate"] = record.candidate;
    json["outputs"] = record.outputs;
    json["samples"] = record.samples;
    json["latency"] = record.latency;
    json["accuracy"] = record.accuracy;
    json["not_shown"] = text_array(record.not_shown);
    Json steps = Json::array();
    for (const Step& step : record.steps) {
        Json entry = Json::object({{"name", step.name},
                                   {"state", step.state},
                                   {"seconds", step.seconds},
                                   {"message", step.message}});
        if (step.reused) {
            entry["reused"] = true;
        }
        steps.push_back(std::move(entry));
    }
    json["steps"] = steps;
    Json gates = Json::array();
    for (const Decision& decision : record.gates) {
        gates.push_back(decision.to_json());
    }
    json["gates"] = gates;
    Json files = Json::array();
    for (const FileOfRun& file : record.files) {
        files.push_back(Json::object({{"role", file.role},
                                      {"name", file.name},
                                      {"digest", file.digest},
                                      {"size_bytes", file.size_bytes}}));
    }
    json["files"] = files;
    return json;
}

Json output_entry(const std::string& name, const measure::Difference& difference) {
    Json entry = difference.to_json(name);
    entry["exact"] = difference.exact();
    entry["elements"] = difference.count();
    Json histogram = Json::array();
    for (int bin = 0; bin < measure::Difference::histogram_bins; ++bin) {
        if (difference.histogram()[bin] > 0) {
            histogram.push_back(
                Json::object({{"decade", bin - 20}, {"count", difference.histogram()[bin]}}));
        }
    }
    entry["histogram"] = histogram;
    return entry;
}

Json latency_entry(const toolchain::TimingSeries& series,
                   const measure::LatencyStatistics& statistics) {
    Json json = statistics.to_json();
    json["boundary"] = "engine";
    json["boundary_text"] =
        "one call of the runtime inside its own process, from prepared inputs in memory to outputs "
        "in memory; "
        "without loading, pre-processing, decoding and any transfer to another process";
    json["warmup_runs"] = series.warmup_runs;
    json["first_run_ms"] = static_cast<double>(series.first_run_ns) / ns_per_ms;
    json["load_ms"] = static_cast<double>(series.load_ns) / ns_per_ms;
    json["timer_overhead_ms"] = static_cast<double>(series.timer_overhead_ns) / ns_per_ms;
    json["histogram"] = histogram_of(statistics.sorted_ns());
    return json;
}

std::vector<std::string> limits_of(const Protocol& protocol, const Record& record) {
    std::vector<std::string> limits;
    limits.emplace_back("Hop 1 (checkpoint to ONNX) was not checked: agreement with the ONNX model "
                        "says nothing about the "
                        "checkpoint that it was exported from.");
    if (record.accuracy.is_null()) {
        limits.emplace_back(
            "Task quality was not measured: outputs within tolerance are not accuracy "
            "on labelled data.");
    } else {
        limits.emplace_back("Task quality was measured on the named parts of the labelled data; "
                            "it says nothing about scenes that they do not hold.");
    }
    limits.push_back("Outputs were compared on " + std::to_string(record.samples.size()) +
                     (record.samples.size() == 1 ? " sample" : " samples") +
                     " at the shapes named here, and on no other.");
    if (protocol.inputs.random_count > 0) {
        limits.emplace_back("The inputs were generated numbers, not data from the application.");
    }
    const bool timed = !record.latency.is_null();
    if (timed) {
        limits.emplace_back(
            "Latency is that of the named boundary, on one machine, under the conditions recorded: "
            "it is not the cycle "
            "time of an application, nor a sustained load, nor another unit of the same device.");
        limits.emplace_back(
            "Requal set neither clocks nor power mode; it recorded what it could read of them.");
    } else {
        limits.emplace_back("No latency was measured.");
    }
    limits.emplace_back("Protocol and record are not signed.");
    return limits;
}

}  // namespace requal::qualify
