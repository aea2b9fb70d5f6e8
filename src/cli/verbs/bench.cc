// bench: latency and throughput of one runnable under stated conditions.
// rooms: base tensor data measure toolchain machine store
#include <chrono>
#include <cstring>
#include <numeric>

#include "base/document.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/input_arguments.h"
#include "cli/outputs.h"
#include "cli/run_options.h"
#include "cli/stored.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "machine/host.h"
#include "measure/runnable.h"
#include "measure/timing/latency.h"
#include "tensor/npy.h"

namespace requal::cli {

namespace {

constexpr double ns_to_ms = 1e-6;

std::int64_t not_negative(const Arguments& arguments, std::string_view name) {
    const std::int64_t value = arguments.integer(name);
    if (value < 0) {
        throw Error(ErrorKind::usage, "a number from 0 up", std::string(name));
    }
    return value;
}

double not_negative_number(const Arguments& arguments, std::string_view name) {
    const double value = arguments.given(name) ? arguments.number(name) : 0;
    if (value < 0 || value > 1e9) {
        throw Error(ErrorKind::usage, "a number from 0 up", std::string(name));
    }
    return value;
}

toolchain::TimingRequest timing_request(const Arguments& arguments) {
    toolchain::TimingRequest request;
    request.warmup_runs = static_cast<std::uint64_t>(not_negative(arguments, "--warmup"));
    request.duration_ns =
        static_cast<std::int64_t>(not_negative_number(arguments, "--duration-s") * 1e9);
    request.pause_ns =
        static_cast<std::int64_t>(not_negative_number(arguments, "--pause-ms") * 1e6);
    const bool by_duration = request.duration_ns > 0 && !arguments.given("--runs");
    request.runs = by_duration ? 0 : static_cast<std::uint64_t>(not_negative(arguments, "--runs"));
    if (request.runs == 0 && request.duration_ns == 0) {
        throw Error(ErrorKind::usage, "no runs", "--runs",
                    "give a number from 1 up, or --duration-s");
    }
    return request;
}

/// The deadline's verdict: p99's interval must lie on one side of it.
Verdict judge_deadline(const std::optional<measure::Percentile>& p99, double deadline_ms) {
    if (!p99) {
        return Verdict::undecidable;
    }
    if (p99->ci_high_ms && *p99->ci_high_ms <= deadline_ms) {
        return Verdict::pass;
    }
    if (p99->ci_low_ms && *p99->ci_low_ms > deadline_ms) {
        return Verdict::fail;
    }
    return Verdict::undecidable;
}

void add_deadline(Json& document, const measure::LatencyStatistics& statistics,
                  double deadline_ms) {
    const auto p99 = statistics.percentile(0.99);
    const auto headroom = [&](const std::optional<double>& value) {
        return value ? Json(1 - *value / deadline_ms) : Json();
    };
    document["deadline_ms"] = deadline_ms;
    document["headroom"] = p99 ? headroom(p99->value_ms) : Json();
    document["headroom_ci_low"] = p99 ? headroom(p99->ci_high_ms) : Json();
    document["headroom_ci_high"] = p99 ? headroom(p99->ci_low_ms) : Json();
    document["verdict"] = name_of(judge_deadline(p99, deadline_ms));
}

Json save_series(const std::string& path, const std::vector<std::int64_t>& durations_ns) {
    Tensor series(ElementType::int64, {static_cast<std::int64_t>(durations_ns.size())});
    std::memcpy(series.mutable_bytes().data(), durations_ns.data(),
                durations_ns.size() * sizeof(std::int64_t));
    const std::string bytes = write_npy(series);
    write_file_atomically(path, bytes);
    return Json::object({{"path", path}, {"digest", digest_of(bytes).text()}});
}

std::string ms_text(const Json& value) {
    return value.is_null() ? "-" : readable(value.as_number(), 4);
}

std::string report_text(const Json& document) {
    std::vector<std::vector<std::string>> rows = {{"", "ms", "95 % interval"}};
    for (const std::string name : {"p50", "p90", "p99"}) {
        rows.push_back({name, ms_text(document.get(name + "_ms")),
                        ms_text(document.get(name + "_ci_low_ms")) + " to " +
                            ms_text(document.get(name + "_ci_high_ms"))});
    }
    rows.push_back({"mean", ms_text(document.get("mean_ms")), ""});
    rows.push_back({"load", ms_text(document.get("load_ms")), ""});
    rows.push_back({"first run", ms_text(document.get("first_run_ms")), ""});
    std::string text = table_text(rows);
    text += std::to_string(document.at("samples").as_integer()) + " runs after " +
            std::to_string(document.at("warmup_runs").as_integer()) + " to warm up; " +
            readable(document.at("throughput_per_s").as_number(), 4) +
            " inferences/s; boundary: " + document.at("boundary").as_string() + "\n";
    for (const Json& line : document.at("unknown").as_array()) {
        text += "unknown: " + printable(line.as_string()) + "\n";
    }
    if (document.has("verdict")) {
        text += "headroom at p99: " +
                (document.at("headroom").is_null()
                     ? std::string("-")
                     : readable(100 * document.at("headroom").as_number(), 3) + " %") +
                " of " + readable(document.at("deadline_ms").as_number(), 4) +
                " ms\nverdict: " + document.at("verdict").as_string() + "\n";
    }
    return text;
}

Result run_bench(const Arguments& arguments, const Common& common) {
    const auto started = std::chrono::steady_clock::now();
    data::InputRequest inputs_wanted = input_request(arguments);
    if (inputs_wanted.empty()) {
        inputs_wanted.random = 1;  // what is timed hardly depends on the values
        data::check_request(inputs_wanted);
    }
    const toolchain::TimingRequest request = timing_request(arguments);
    const double deadline_ms = not_negative_number(arguments, "--deadline-ms");
    if (arguments.given("--deadline-ms") && deadline_ms <= 0) {
        throw Error(ErrorKind::usage, "a number above 0", "--deadline-ms");
    }
    const std::string remote = arguments.text("--on");
    const measure::RunOptions options = run_options(arguments);
    measure::SideOpener opener(
        measure::resolve_runnable(stored_runnable(arguments.text("RUNNABLE"), common), remote),
        options);
    if (const auto path = arguments.optional_text("--series")) {
        refuse_to_replace(*path, opener.runnable().spec.artefact, "--series");
        refuse_to_replace(*path, arguments.optional_text("--inputs").value_or(""), "--series");
    }
    const std::unique_ptr<measure::RunningSide> side = opener.open_running();
    const auto inputs = data::open_inputs(inputs_wanted, measure::ports_of(side->loaded()));

    std::vector<std::string> unknown;
    Json before = remote.empty() ? machine::measurement_conditions(unknown) : Json::object();
    const toolchain::TimingSeries series = side->loaded().time(inputs->sample(0), request);
    std::vector<std::string> ignored;
    Json after = remote.empty() ? machine::measurement_conditions(ignored) : Json::object();
    if (!remote.empty()) {
        unknown.emplace_back("conditions: those of another machine are not read");
    }
    const measure::LatencyStatistics statistics(series.durations_ns);

    Result result;
    Json& document = result.document;
    document = new_document("bench", 1);
    document["boundary"] = "engine";
    const Json numbers = statistics.to_json();
    for (const auto& [key, value] : numbers.as_object()) {
        document[key] = value;
    }
    for (const std::string& line : unknown) {
        document["unknown"].push_back(line);
    }
    document["unknown"].push_back("power_w: no source is read");
    document["warmup_runs"] = series.warmup_runs;
    document["load_ms"] = static_cast<double>(series.load_ns) * ns_to_ms;
    document["first_run_ms"] = static_cast<double>(series.first_run_ns) * ns_to_ms;
    document["timer_overhead_ns"] = series.timer_overhead_ns;
    const double total_s =
        1e-9 * static_cast<double>(std::accumulate(series.durations_ns.begin(),
                                                   series.durations_ns.end(), std::int64_t{0}));
    document["throughput_per_s"] =
        total_s > 0 ? static_cast<double>(series.durations_ns.size()) / total_s : 0.0;
    const Json& facts = side->loaded().facts();
    for (const std::string_view key : {"threads", "timing_boundary"}) {
        if (facts.is_object() && !facts.get(key).is_null()) {
            before[key] = facts.get(key);
        }
    }
    document["conditions"] = std::move(before);
    document["conditions_after"] = std::move(after);
    if (remote.empty()) {
        document["host"] = machine::host_facts();
    }
    document["runnable"] = side->describe();
    document["inputs"] = inputs->describe();
    if (deadline_ms > 0) {
        add_deadline(document, statistics, deadline_ms);
        result.status = exit_status_of(parse_verdict(document.at("verdict").as_string()));
    }
    if (const auto path = arguments.optional_text("--series")) {
        document["series"] = save_series(*path, series.durations_ns);
    }
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - started;
    document["elapsed_ms"] = elapsed.count();
    result.text = report_text(document);
    return result;
}

}  // namespace

std::vector<Verb> verbs_bench() {
    Verb verb;
    verb.name = "bench";
    verb.summary = "measures latency and throughput of a runnable";
    verb.description =
        "The loop runs inside the runner. Boundary engine: from the call that runs one inference "
        "to its return. Percentiles carry "
        "distribution-free 95 % intervals; one that the samples cannot bear is not printed. With "
        "--deadline-ms the verdict is pass when the "
        "interval of p99 lies within the deadline, fail when it lies beyond, else undecidable.";
    verb.positionals = {
        {.name = "RUNNABLE", .help = "ARTEFACT[@TOOLCHAIN[?key=value&...]]", .required = true}};
    verb.options = input_arguments();
    const std::vector<Argument> own = {
        {.name = "--runs",
         .kind = ValueKind::integer,
         .help = "runs that count",
         .value_name = "N",
         .fallback = "100"},
        {.name = "--duration-s",
         .kind = ValueKind::number,
         .help = "runs for so long, instead of or besides --runs",
         .value_name = "S"},
        {.name = "--warmup",
         .kind = ValueKind::integer,
         .help = "runs before those that count",
         .value_name = "N",
         .fallback = "10"},
        {.name = "--pause-ms",
         .kind = ValueKind::number,
         .help = "idle time between runs",
         .value_name = "MS"},
        {.name = "--deadline-ms",
         .kind = ValueKind::number,
         .help = "gives a verdict: p99 must lie within",
         .value_name = "MS"},
        {.name = "--series",
         .kind = ValueKind::path,
         .help = "saves the durations in nanoseconds, in order",
         .value_name = "FILE.npy"},
        {.name = "--on", .help = "runs on another machine", .value_name = "ssh://USER@HOST"},
        timeout_argument(),
    };
    verb.options.insert(verb.options.end(), own.begin(), own.end());
    verb.examples = {"requal bench engine.blob@openvino:cpu --runs 1000 --deadline-ms 33.3"};
    verb.run = run_bench;
    return {verb};
}

}  // namespace requal::cli
