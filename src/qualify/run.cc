#include "qualify/run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/cancel.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/text.h"
#include "build/engine_build.h"
#include "data/inputs.h"
#include "evidence/report.h"
#include "graph/model.h"
#include "machine/host.h"
#include "measure/numerics/parity.h"
#include "measure/runnable.h"
#include "measure/timing/latency.h"
#include "qualify/record.h"
#include "qualify/run_folder.h"
#include "qualify/sides.h"
#include "tensor/npy.h"

namespace fs = std::filesystem;

namespace requal::qualify {

namespace {

std::string resolved(const std::string& folder, const std::string& name) {
    const fs::path path(name);
    return path.is_absolute() ? name : (fs::path(folder) / path).lexically_normal().string();
}

/// Errors that say something about the toolchain or the engine, and so belong into the record. All others end the run. Before the
/// runnable is loaded, bad input is ours (an option that the runner does not know); after it, it is about what the engine takes and gives.
bool is_finding(const Error& error, bool loaded) {
    return error.kind() == ErrorKind::toolchain || (loaded && error.kind() == ErrorKind::input);
}

std::string one_line(const Error& error) {
    return error.what();
}

/// The work of one run, step after step.
class Run {
public:
    explicit Run(const QualifyRequest& request)
        : request_(request), protocol_(read_protocol(request.protocol_path)) {}

    QualifyOutcome go();

private:
    void check_model();
    void open_inputs();
    void build_engine();
    void measure_parity();
    void measure_repeatability();
    void measure_latency();
    void write();

    template <typename Work>
    void step(const char* name, Work work);
    void decided(Decision decision);
    measure::Runnable engine_runnable() const;
    void add_file(const std::string& role, const std::string& name);
    bool engine_usable() const { return engine_.built && engine_.failure.empty(); }
    Decision decide_gate(const Gate& gate) const;
    OutputDifferences differences_of(const Gate& gate) const;

    const QualifyRequest& request_;
    Protocol protocol_;
    Record record_;
    std::unique_ptr<RunFolder> folder_;
    std::string model_path_;
    std::vector<data::InputPort> ports_;
    std::map<std::string, Shape> dynamic_shapes_;  ///< of the inputs that have dynamic axes
    std::unique_ptr<data::InputSource> inputs_;
    EngineOutcome engine_;
    std::string engine_path_;
    std::string engine_digest_;
    std::string reference_failure_;  ///< why the reference could not be run
    std::optional<measure::ParityResult> parity_;
    Watch candidate_watch_;
    std::optional<Repeatability> repeatability_;
    std::optional<measure::LatencyStatistics> latency_;
};

template <typename Work>
void Run::step(const char* name, Work work) {
    throw_if_cancelled();
    if (request_.on_step) {
        request_.on_step(name);
    }
    const std::int64_t begin = request_.clock->monotonic_ns();
    Step done{name, "done", 0, {}};
    try {
        work(done);
    } catch (const Error& error) {
        // A signal also ends the runners' pipes; what they then say is not their fault.
        throw_if_cancelled();
        throw;
    }
    throw_if_cancelled();
    done.seconds = static_cast<double>(request_.clock->monotonic_ns() - begin) / 1e9;
    record_.steps.push_back(std::move(done));
}

void Run::decided(Decision decision) {
    if (request_.on_gate) {
        request_.on_gate(decision);
    }
    record_.gates.push_back(std::move(decision));
}

void Run::check_model() {
    model_path_ = request_.model_path.empty() ? resolved(protocol_.folder, protocol_.model.file)
                                              : request_.model_path;
    if (!file_exists(model_path_)) {
        throw Error(ErrorKind::input, "the model that the protocol names is not there", model_path_,
                    "put it there or name it with --model FILE");
    }
    const graph::Model model = graph::Model::load(model_path_);
    if (model.digest() != protocol_.model.digest) {
        throw Error(ErrorKind::input,
                    "the model's digest is " + model.digest().text() +
                        ", the protocol is written for " + protocol_.model.digest.text(),
                    model_path_, "use the model that the protocol names");
    }
    for (const graph::ValueInfo& input : model.summary().inputs) {
        const auto fixed = protocol_.model.shapes.find(input.name);
        Shape shape;
        for (const graph::Dimension& dimension : input.dimensions) {
            shape.push_back(dimension.value);
        }
        const bool dynamic =
            !input.has_shape ||
            std::any_of(shape.begin(), shape.end(), [](std::int64_t value) { return value < 0; });
        if (fixed != protocol_.model.shapes.end()) {
            shape = fixed->second;
            if (dynamic) {
                dynamic_shapes_.emplace(input.name, shape);
            }
        } else if (dynamic) {
            throw Error(ErrorKind::input,
                        "input '" + input.name +
                            "' has dynamic axes that the protocol does not fix",
                        protocol_.path, "write its shape under model.shapes");
        }
        ports_.push_back({input.name, input.type, std::move(shape)});
    }
    const graph::Summary summary = model.summary_at(protocol_.model.shapes);
    Json inputs = Json::array();
    for (const data::InputPort& port : ports_) {
        inputs.push_back(Json::object(
            {{"name", port.name}, {"type", name_of(port.type)}, {"shape", text_of(port.shape)}}));
    }
    Json opsets = Json::object();
    for (const auto& [domain, version] : summary.opsets) {
        opsets[domain.empty() ? "ai.onnx" : domain] = version;
    }
    record_.model = Json::object({{"file", fs::path(model_path_).filename().string()},
                                  {"digest", model.digest().text()},
                                  {"size_bytes", file_size(model_path_)},
                                  {"ir_version", summary.ir_version},
                                  {"opsets", opsets},
                                  {"producer", summary.producer},
                                  {"nodes", summary.nodes.size()},
                                  {"parameters", summary.parameters},
                                  {"macs", summary.macs},
                                  {"inputs", inputs}});
    for (const Gate& gate : protocol_.gates) {
        const auto* parity = std::get_if<ParityGate>(&gate.criterion);
        if (parity == nullptr || parity->output.empty()) {
            continue;
        }
        const bool known = std::any_of(
            summary.outputs.begin(), summary.outputs.end(),
            [&](const graph::ValueInfo& output) { return output.name == parity->output; });
        if (!known) {
            throw Error(ErrorKind::input,
                        "gate '" + gate.id + "' names output '" + parity->output +
                            "', which the model does not have",
                        protocol_.path, "name an output of the model");
        }
    }
    // An output that no gate judges would pass in silence.
    for (const graph::ValueInfo& output : summary.outputs) {
        const bool judged =
            std::any_of(protocol_.gates.begin(), protocol_.gates.end(), [&](const Gate& gate) {
                const auto* parity = std::get_if<ParityGate>(&gate.criterion);
                return parity != nullptr &&
                       (parity->output.empty() || parity->output == output.name);
            });
        if (!judged) {
            throw Error(ErrorKind::input, "no parity gate judges output '" + output.name + "'",
                        protocol_.path, "add a parity gate for it, or one without 'output'");
        }
    }
}

void Run::open_inputs() {
    const InputRequest& request = protocol_.inputs;
    if (request.random_count > 0) {
        inputs_ = data::random_inputs(ports_, request.random_count, request.seed,
                                      protocol_.model.shapes, request.ranges);
    } else {
        const std::string path = resolved(protocol_.folder, request.path);
        inputs_ = data::inputs_from_path(path, ports_, protocol_.model.shapes);
        const std::string digest = measure::digest_in_background(path).get().text();
        if (request.digest && request.digest->text() != digest) {
            throw Error(ErrorKind::input,
                        "the inputs' digest is " + digest + ", the protocol is written for " +
                            request.digest->text(),
                        path, "use the inputs that the protocol names");
        }
        record_.inputs["digest"] = digest;
    }
    if (inputs_->size() == 0) {
        throw Error(ErrorKind::input, "the inputs hold no sample", protocol_.path,
                    "give at least one");
    }
    const Json described = inputs_->describe();
    for (const auto& [key, value] : described.as_object()) {
        record_.inputs[key] = value;
    }
    record_.inputs["samples"] = inputs_->size();
}

void Run::build_engine() {
    build::BuildRequest build;
    build.model_path = model_path_;
    build.toolchain = protocol_.candidate.toolchain;
    build.output_path = folder_->path() + "/" + protocol_.name + ".engine";
    build.shapes = dynamic_shapes_;
    build.precision = protocol_.candidate.precision;
    build.options = protocol_.candidate.options;
    engine_.precision_requested = protocol_.candidate.precision;
    const build::BuildResult result = build::build_engine(build);
    engine_.built = true;
    engine_.precision_executed = result.precision_executed;
    engine_path_ = build.output_path;
    engine_digest_ = digest_of_file(engine_path_).text();
    record_.engine_manifest = result.manifest;
    add_file("engine", fs::path(engine_path_).filename().string());
    add_file("engine-manifest", fs::path(result.manifest_path).filename().string());
}

measure::Runnable Run::engine_runnable() const {
    // A flipped bit in an engine may load without an error, so the digest is looked at before every load.
    if (digest_of_file(engine_path_).text() != engine_digest_) {
        throw Error(ErrorKind::toolchain, "the engine file changed after it was built",
                    fs::path(engine_path_).filename().string(),
                    "find out what writes to the store");
    }
    toolchain::RunnableSpec spec;
    spec.artefact = engine_path_;
    spec.toolchain = protocol_.candidate.toolchain;
    spec.options = protocol_.candidate.run_options;
    spec.text = fs::path(engine_path_).filename().string() + "@" + spec.toolchain;
    return measure::resolve_runnable(std::move(spec));
}

void Run::measure_parity() {
    toolchain::RunnableSpec spec;
    spec.artefact = model_path_;
    spec.toolchain = protocol_.reference.toolchain;
    spec.options = protocol_.reference.options;
    spec.text = fs::path(model_path_).filename().string() + "@" + spec.toolchain;
    Watch reference_watch;
    measure::ParityOptions options;
    options.progress_name = "parity";
    for (const Gate& gate : protocol_.gates) {
        if (const auto* parity = std::get_if<ParityGate>(&gate.criterion)) {
            if (parity->output.empty()) {
                options.tolerance = parity->tolerance;
            } else {
                options.by_output[parity->output] = parity->tolerance;
            }
        }
    }
    const measure::OpenSide reference =
        watched(measure::resolve_runnable(std::move(spec)), reference_watch);
    const measure::OpenSide candidate = watched(engine_runnable(), candidate_watch_);
    try {
        parity_ = measure::compare_outputs(*inputs_, reference, candidate, options);
    } catch (const Error& error) {
        const bool loaded =
            reference_watch.opened && (candidate_watch_.opened || !candidate_watch_.broke);
        if (!is_finding(error, loaded)) {
            throw;
        }
        if (reference_watch.broke) {
            reference_failure_ = "the reference could not be run: " + one_line(error);
        } else {
            engine_.failure = one_line(error);
        }
        throw Error(ErrorKind::toolchain, error.message(), error.where(), error.next());
    }
    engine_.ran = true;
    record_.reference = parity_->reference;
    record_.candidate = parity_->candidate;
    // Where the engine was while the folder was out of sight helps nobody; it is a file of this run.
    record_.candidate["artefact"]["path"] = fs::path(engine_path_).filename().string();
    for (const auto& [name, difference] : parity_->outputs) {
        record_.outputs.push_back(output_entry(name, difference));
    }
    for (std::uint64_t i = 0; i < inputs_->size(); ++i) {
        Json sample = Json::object({{"name", inputs_->sample_name(i)}});
        if (i < candidate_watch_.outputs.size()) {
            sample["outputs_digest"] = combined_digest(candidate_watch_.outputs[i]).text();
        }
        record_.samples.push_back(std::move(sample));
    }
}

void Run::measure_repeatability() {
    std::uint64_t runs = 0;
    for (const Gate& gate : protocol_.gates) {
        if (const auto* repeat = std::get_if<RepeatabilityGate>(&gate.criterion)) {
            runs = std::max(runs, repeat->runs);
        }
    }
    const auto side = measure::SideOpener(engine_runnable()).open_running();
    Repeatability seen;
    seen.samples = inputs_->size();
    const auto note = [&seen](const std::string& text) {
        if (seen.first_difference.empty()) {
            seen.first_difference = text;
        }
    };
    const auto differing_output = [](const OutputDigests& one, const OutputDigests& other) {
        for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
            if (one[i] != other[i]) {
                return one[i].first;
            }
        }
        return std::string(one.size() == other.size() ? "" : "(another number of outputs)");
    };
    std::vector<OutputDigests> first(inputs_->size());
    // Runs go around all samples, so that each run of a sample follows runs of others.
    for (std::uint64_t run = 0; run < runs; ++run) {
        for (std::uint64_t i = 0; i < inputs_->size(); ++i) {
            throw_if_cancelled();
            const OutputDigests digests = digests_of(side->outputs(i, inputs_->sample(i)));
            if (run == 0) {
                first[i] = digests;
                if (i < candidate_watch_.outputs.size() && !candidate_watch_.outputs[i].empty()) {
                    ++seen.other_process_compared;
                    if (digests != candidate_watch_.outputs[i]) {
                        ++seen.other_process_differing;
                        note("output " + differing_output(candidate_watch_.outputs[i], digests) +
                             " of sample " + inputs_->sample_name(i) + ", in another process");
                    }
                }
            } else if (digests != first[i]) {
                ++seen.differing_runs;
                note("output " + differing_output(first[i], digests) + " of sample " +
                     inputs_->sample_name(i) + ", run " + std::to_string(run + 1));
            }
        }
        ++seen.runs;
    }
    repeatability_ = seen;
    engine_.ran = true;
}

void Run::measure_latency() {
    toolchain::TimingRequest timing;
    timing.warmup_runs = 0;
    timing.runs = 0;
    for (const Gate& gate : protocol_.gates) {
        if (const auto* latency = std::get_if<LatencyGate>(&gate.criterion)) {
            timing.runs = std::max(timing.runs, latency->runs);
            timing.warmup_runs = std::max(timing.warmup_runs, latency->warmup);
        }
    }
    const auto side = measure::SideOpener(engine_runnable()).open_running();
    record_.conditions = machine::measurement_conditions(record_.unknown);
    const toolchain::TimingSeries series = side->loaded().time(inputs_->sample(0), timing);
    engine_.ran = true;
    std::vector<std::string> unknown_after;
    record_.conditions_after = machine::measurement_conditions(unknown_after);
    latency_.emplace(series.durations_ns);
    record_.latency = latency_entry(series, *latency_);
    record_.latency["sample"] = inputs_->sample_name(0);
    Tensor durations(ElementType::int64, {static_cast<std::int64_t>(series.durations_ns.size())});
    std::copy(series.durations_ns.begin(), series.durations_ns.end(),
              durations.mutable_values<std::int64_t>().begin());
    write_npy_file(folder_->path() + "/latency_ns.npy", durations);
    add_file("latency-series", "latency_ns.npy");
}

OutputDifferences Run::differences_of(const Gate& gate) const {
    const auto& criterion = std::get<ParityGate>(gate.criterion);
    OutputDifferences chosen;
    for (const auto& output : parity_->outputs) {
        const bool named_elsewhere =
            criterion.output.empty() &&
            std::any_of(protocol_.gates.begin(), protocol_.gates.end(), [&](const Gate& other) {
                const auto* parity = std::get_if<ParityGate>(&other.criterion);
                return parity != nullptr && parity->output == output.first;
            });
        if (!named_elsewhere && (criterion.output.empty() || criterion.output == output.first)) {
            chosen.push_back(output);
        }
    }
    return chosen;
}

Decision Run::decide_gate(const Gate& gate) const {
    const bool parity_kind = std::holds_alternative<ParityGate>(gate.criterion) ||
                             std::holds_alternative<FiniteGate>(gate.criterion);
    if (parity_kind && parity_) {
        return std::holds_alternative<ParityGate>(gate.criterion)
                   ? decide_parity(gate, differences_of(gate))
                   : decide_finite(gate, parity_->outputs);
    }
    if (std::holds_alternative<RepeatabilityGate>(gate.criterion) && repeatability_) {
        return decide_repeatability(gate, *repeatability_);
    }
    if (std::holds_alternative<LatencyGate>(gate.criterion) && latency_) {
        return decide_latency(gate, *latency_);
    }
    if (parity_kind && !reference_failure_.empty()) {
        return not_measured(gate, reference_failure_);
    }
    return not_measured(gate, "not measured, because the engine did not build, load and run");
}

void Run::add_file(const std::string& role, const std::string& name) {
    const std::string path = folder_->path() + "/" + name;
    record_.files.push_back({role, name, digest_of_file(path).text(), file_size(path)});
}

void Run::write() {
    // Another process may have replaced the model while we measured; then the run is about two models.
    if (graph::Model::load(model_path_).digest() != protocol_.model.digest) {
        throw Error(ErrorKind::undecidable, "the model changed during the run", model_path_,
                    "run it again");
    }
    record_.verdict = combined(record_.gates);
    record_.not_shown = limits_of(protocol_, record_);
    record_.ended = time_stamp(*request_.clock);
    const Json document = to_json(record_);
    write_file_atomically(folder_->path() + "/record.json", write_json(document));
    write_file_atomically(folder_->path() + "/report.html", evidence::render_report(document));
    throw_if_cancelled();
    folder_->commit();
}

QualifyOutcome Run::go() {
    record_.started = time_stamp(*request_.clock);
    record_.command_line = request_.command_line;
    record_.protocol = Json::object({{"name", protocol_.name},
                                     {"title", protocol_.title},
                                     {"digest", protocol_.digest.text()}});
    record_.host = machine::host_facts();
    step("model", [&](Step&) { check_model(); });
    step("inputs", [&](Step&) { open_inputs(); });
    folder_ = std::make_unique<RunFolder>(request_.store, *request_.clock);
    record_.run = folder_->id();
    const std::string protocol_text = read_file(protocol_.path);
    if (digest_of(protocol_text) != protocol_.digest) {
        throw Error(ErrorKind::undecidable, "the protocol changed while it was read",
                    protocol_.path, "run it again");
    }
    write_file_atomically(folder_->path() + "/protocol.yaml", protocol_text);
    add_file("protocol", "protocol.yaml");

    step("build", [&](Step& done) {
        try {
            build_engine();
        } catch (const Error& error) {
            if (!is_finding(error, false)) {
                throw;
            }
            engine_.failure = "the engine does not build: " + one_line(error);
            done.state = "failed";
            done.message = one_line(error);
        }
    });
    const auto measured = [&](const char* name, bool wanted, auto work) {
        step(name, [&](Step& done) {
            if (!wanted || !engine_usable()) {
                done.state = "skipped";
                done.message =
                    wanted ? "the engine did not build, load and run" : "no gate asks for it";
                return;
            }
            try {
                work();
            } catch (const Error& error) {
                if (!is_finding(error, false)) {
                    throw;
                }
                if (reference_failure_.empty() && engine_.failure.empty()) {
                    engine_.failure = one_line(error);
                }
                done.state = "failed";
                done.message = one_line(error);
            }
        });
    };
    const auto has = [&](std::size_t kind) {
        return std::any_of(protocol_.gates.begin(), protocol_.gates.end(),
                           [kind](const Gate& gate) { return gate.criterion.index() == kind; });
    };
    std::vector<std::optional<Decision>> decisions(protocol_.gates.size());
    // A gate is announced as soon as its measurement is there; the record keeps the protocol's order.
    const auto announce = [&](auto wanted) {
        for (std::size_t i = 0; i < protocol_.gates.size(); ++i) {
            if (!decisions[i] && wanted(protocol_.gates[i].criterion.index())) {
                decisions[i] = decide_gate(protocol_.gates[i]);
                if (request_.on_gate) {
                    request_.on_gate(*decisions[i]);
                }
            }
        }
    };
    measured("parity", true, [&] { measure_parity(); });
    announce([](std::size_t kind) { return kind <= 1; });
    measured("repeatability", has(2), [&] { measure_repeatability(); });
    announce([](std::size_t kind) { return kind == 2; });
    measured("latency", has(3), [&] { measure_latency(); });
    announce([](std::size_t kind) { return kind == 3; });
    // Whether the engine runs is known only after all that runs it.
    decided(decide_engine(engine_));
    for (auto& decision : decisions) {
        record_.gates.push_back(std::move(*decision));
    }
    write();

    QualifyOutcome outcome;
    outcome.run = record_.run;
    outcome.folder = folder_->final_path();
    outcome.record = outcome.folder + "/record.json";
    outcome.report = outcome.folder + "/report.html";
    outcome.verdict = record_.verdict;
    outcome.gates = record_.gates;
    return outcome;
}

}  // namespace

QualifyOutcome qualify(const QualifyRequest& request) {
    return Run(request).go();
}

}  // namespace requal::qualify
