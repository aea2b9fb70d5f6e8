#include "qualify/run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
#include "qualify/accuracy_step.h"
#include "qualify/fragment.h"
#include "qualify/record.h"
#include "qualify/run_folder.h"
#include "qualify/sides.h"
#include "store/batch.h"
#include "store/merge.h"
#include "store/steps.h"
#include "store/store.h"
#include "store/views.h"
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
        : request_(request), protocol_(read_protocol(request.protocol_path, request.rules)) {}

    QualifyOutcome go();
    QualifyOutcome go_on(const std::string& protocol_text);

private:
    void check_model();
    void open_inputs();
    void build_engine();
    void measure_parity();
    void measure_repeatability();
    void measure_latency();
    void measure_accuracy();
    void write();
    void begin_work();
    QualifyOutcome outcome_of_another() const;
    std::string identity() const;
    template <typename Work>
    void measured(const char* name, bool wanted, const std::vector<std::size_t>& kinds,
                  const std::function<Json()>& inputs, Work work);
    void announce(const std::vector<std::size_t>& kinds);
    void keep(const std::string& name, const Json& inputs, Step& done,
              const std::vector<std::size_t>& kinds, std::size_t files_before);
    bool restore(const std::string& name, const Json& inputs, Step& done);
    Json build_inputs() const;
    Json gates_of(const std::vector<std::size_t>& kinds) const;
    Json engine_inputs() const;

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
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<store::Work> work_;
    std::unique_ptr<RunFolder> folder_;
    std::vector<std::optional<Decision>> decisions_;  ///< by gate of the protocol
    std::vector<std::string> reused_;
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
    std::optional<LabelledData> data_;  ///< of the accuracy gates
    std::vector<MeasuredPart> accuracy_;
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
    if (!done.reused) {
        done.seconds = static_cast<double>(request_.clock->monotonic_ns() - begin) / 1e9;
    }
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

void Run::measure_accuracy() {
    toolchain::RunnableSpec spec;
    spec.artefact = model_path_;
    spec.toolchain = protocol_.reference.toolchain;
    spec.options = protocol_.reference.options;
    spec.text = fs::path(model_path_).filename().string() + "@" + spec.toolchain;
    bool loaded = false;
    try {
        const auto side =
            measure::SideOpener(measure::resolve_runnable(std::move(spec))).open_running();
        loaded = true;
        predict_parts(*data_, *side, folder_->path(), "reference");
    } catch (const Error& error) {
        throw_if_cancelled();
        if (is_finding(error, loaded)) {
            reference_failure_ = "the reference could not be run: " + one_line(error);
        }
        throw;
    }
    const auto side = measure::SideOpener(engine_runnable()).open_running();
    predict_parts(*data_, *side, folder_->path(), "candidate");
    engine_.ran = true;
    accuracy_ = evaluate_parts(protocol_, *data_, folder_->path());
    record_.accuracy = Json::array();
    for (const MeasuredPart& part : accuracy_) {
        record_.accuracy.push_back(part.document);
        for (const std::string& name : part.files) {
            add_file("predictions", name);
        }
        if (!part.labels.empty()) {
            add_file("labels", part.labels);
        }
    }
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
    const bool accuracy_kind = std::holds_alternative<AccuracyCriterion>(gate.criterion);
    if (accuracy_kind && !accuracy_.empty()) {
        return decide_accuracy_gate(gate, *data_, accuracy_);
    }
    if ((parity_kind || accuracy_kind) && !reference_failure_.empty()) {
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
    work_->make_room();
    const Json document = to_json(record_);
    write_file_atomically(folder_->path() + "/record.json", write_json(document));
    write_file_atomically(folder_->path() + "/report.html", evidence::render_report(document));
    throw_if_cancelled();
    // The run exists from the moment its reference and the end of its work are in the ledger; its folder only shows the blobs.
    store::Batch batch(*store_);
    batch.essential();
    store::ItemInfo info;
    for (const auto& entry : fs::directory_iterator(folder_->path())) {
        const std::string name = entry.path().filename().string();
        if (entry.is_regular_file()) {
            info.files.emplace(name, batch.adopt_file(entry.path().string()).digest);
        }
    }
    const Digest record_digest = info.files.at("record.json");
    info.name = record_.run;
    info.kind = "run";
    info.summary = store::run_summary(document);
    batch.add_reference(record_digest, info);
    work_->finish(
        Json::object({{"verdict", name_of(record_.verdict)}, {"record", record_digest.text()}}),
        batch);
    folder_->commit();
}

// What makes a call a call of the same run. Gates are in the protocol; where the model lies does not matter, its digest is there.
std::string Run::identity() const {
    return digest_of(protocol_.digest.text() + "\n" + std::string(program_version_with_commit()) +
                     "\n" + write_json_compact(record_.inputs))
        .text();
}

void Run::begin_work() {
    store::StoreOptions options;
    options.access = store::Access::create;
    options.clock = request_.clock;
    store_ = std::make_unique<store::Store>(request_.store, options);
    store::WorkRequest work;
    work.kind = "qualify";
    work.key = protocol_.name;
    work.identity = identity();
    work.id = new_run_id(*request_.clock);
    work.facts = Json::object(
        {{"protocol", protocol_.digest.text()}, {"model", protocol_.model.digest.text()}});
    work.wait = request_.wait;
    work_ = std::make_unique<store::Work>(*store_, work);
    record_.run = work_->id();
}

Json Run::gates_of(const std::vector<std::size_t>& kinds) const {
    Json gates = Json::array();
    for (const Gate& gate : protocol_.gates) {
        if (std::find(kinds.begin(), kinds.end(), gate.criterion.index()) != kinds.end()) {
            gates.push_back(to_json(gate));
        }
    }
    return gates;
}

Json Run::build_inputs() const {
    const Json& options = protocol_.candidate.options;
    Json shapes = Json::object();
    for (const auto& [name, shape] : dynamic_shapes_) {
        shapes[name] = text_of(shape);
    }
    return Json::object({{"model", protocol_.model.digest.text()},
                         {"name", protocol_.name},
                         {"toolchain", protocol_.candidate.toolchain},
                         {"precision", protocol_.candidate.precision},
                         {"options", options},
                         {"shapes", shapes},
                         {"host", record_.host},
                         {"requal", program_version_with_commit()}});
}

/// What every measurement of the engine depends on.
Json Run::engine_inputs() const {
    const Json& options = protocol_.candidate.run_options;
    return Json::object({{"engine", engine_digest_},
                         {"toolchain", protocol_.candidate.toolchain},
                         {"run_options", options},
                         {"inputs", record_.inputs},
                         {"host", record_.host},
                         {"requal", program_version_with_commit()}});
}

void Run::announce(const std::vector<std::size_t>& kinds) {
    for (std::size_t i = 0; i < protocol_.gates.size(); ++i) {
        const std::size_t kind = protocol_.gates[i].criterion.index();
        if (!decisions_[i] && std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
            decisions_[i] = decide_gate(protocol_.gates[i]);
            if (request_.on_gate) {
                request_.on_gate(*decisions_[i]);
            }
        }
    }
}

/// Into the store: what the step left, its files, and that it is finished.
void Run::keep(const std::string& name, const Json& inputs, Step& done,
               const std::vector<std::size_t>& kinds, std::size_t files_before) {
    Fragment fragment;
    fragment.step = done;
    fragment.engine = engine_;
    fragment.reference_failure = reference_failure_;
    const auto add = [&](const char* key, const Json& value) {
        if (!value.is_null()) {
            fragment.record[key] = value;
        }
    };
    if (name == "build") {
        add("engine_manifest", record_.engine_manifest);
    } else if (name == "parity") {
        add("reference", record_.reference);
        add("candidate", record_.candidate);
        add("outputs", record_.outputs);
        add("samples", record_.samples);
        fragment.outputs = candidate_watch_.outputs;
    } else if (name == "accuracy") {
        add("accuracy", record_.accuracy);
    } else if (name == "latency") {
        add("conditions", record_.conditions);
        add("conditions_after", record_.conditions_after);
        add("latency", record_.latency);
        Json unknown = Json::array();
        for (const std::string& text : record_.unknown) {
            unknown.push_back(text);
        }
        add("unknown", unknown);
    }
    for (std::size_t i = 0; i < protocol_.gates.size(); ++i) {
        if (decisions_[i] && std::find(kinds.begin(), kinds.end(),
                                       protocol_.gates[i].criterion.index()) != kinds.end()) {
            fragment.decisions.push_back(*decisions_[i]);
        }
    }
    fragment.files.assign(record_.files.begin() + static_cast<std::ptrdiff_t>(files_before),
                          record_.files.end());
    store::Batch batch(*store_);
    batch.essential();
    store::StepResult result;
    result.facts = Json::object({{"state", done.state}});
    for (const FileOfRun& file : fragment.files) {
        result.blobs.emplace(file.name, batch.adopt_file(folder_->path() + "/" + file.name).digest);
    }
    result.blobs.emplace("(result)", batch.add_bytes(write_json(to_json(fragment))).digest);
    work_->finish_step(name, inputs, result, batch);
}

/// True when an earlier call of this run finished the step on the same inputs: all that it left is taken over.
bool Run::restore(const std::string& name, const Json& inputs, Step& done) {
    const auto found = work_->find(name, inputs);
    if (!found) {
        return false;
    }
    const Fragment fragment = fragment_from(
        parse_json(store_->read_blob(found->blobs.at("(result)")), "the result of step " + name));
    for (const FileOfRun& file : fragment.files) {
        const std::string target = folder_->path() + "/" + file.name;
        if (::link(store_->blob_path(parse_digest(file.digest)).c_str(), target.c_str()) != 0) {
            store::fail(errno, "link a file of the run to", target);
        }
        record_.files.push_back(file);
    }
    done = fragment.step;
    const std::string requested = engine_.precision_requested;
    const bool ran = engine_.ran || fragment.engine.ran;
    const std::string failure = engine_.failure.empty() ? fragment.engine.failure : engine_.failure;
    const std::string executed = fragment.engine.precision_executed;
    engine_ = fragment.engine;
    engine_.precision_requested = requested;
    engine_.precision_executed = executed;
    engine_.ran = ran;
    engine_.failure = failure;
    if (reference_failure_.empty()) {
        reference_failure_ = fragment.reference_failure;
    }
    const auto take = [&](const char* key, Json& target) {
        if (fragment.record.has(key)) {
            target = fragment.record.at(key);
        }
    };
    take("engine_manifest", record_.engine_manifest);
    take("reference", record_.reference);
    take("candidate", record_.candidate);
    take("outputs", record_.outputs);
    take("samples", record_.samples);
    take("conditions", record_.conditions);
    take("conditions_after", record_.conditions_after);
    take("latency", record_.latency);
    take("accuracy", record_.accuracy);
    if (fragment.record.has("unknown")) {
        record_.unknown.clear();
        for (const Json& text : fragment.record.at("unknown").as_array()) {
            record_.unknown.push_back(text.as_string());
        }
    }
    if (name == "parity") {
        candidate_watch_.outputs = fragment.outputs;
    }
    for (const Decision& decision : fragment.decisions) {
        for (std::size_t i = 0; i < protocol_.gates.size(); ++i) {
            if (protocol_.gates[i].id == decision.id && !decisions_[i]) {
                decisions_[i] = decision;
                if (request_.on_gate) {
                    request_.on_gate(decision);
                }
            }
        }
    }
    reused_.push_back(name);
    return true;
}

template <typename Work>
void Run::measured(const char* name, bool wanted, const std::vector<std::size_t>& kinds,
                   const std::function<Json()>& inputs, Work work) {
    step(name, [&](Step& done) {
        if (!wanted || !engine_usable()) {
            done.state = "skipped";
            done.message =
                wanted ? "the engine did not build, load and run" : "no gate asks for it";
            announce(kinds);
            return;
        }
        const Json depends_on = inputs();
        if (restore(name, depends_on, done)) {
            return;
        }
        work_->start_step(name, depends_on);
        const std::int64_t begin = request_.clock->monotonic_ns();
        const std::size_t files_before = record_.files.size();
        try {
            work();
        } catch (const Error& error) {
            throw_if_cancelled();  // a signal also ends the runners' pipes
            if (!is_finding(error, false)) {
                throw;
            }
            if (reference_failure_.empty() && engine_.failure.empty()) {
                engine_.failure = one_line(error);
            }
            done.state = "failed";
            done.message = one_line(error);
        }
        throw_if_cancelled();
        announce(kinds);
        done.seconds = static_cast<double>(request_.clock->monotonic_ns() - begin) / 1e9;
        keep(name, depends_on, done, kinds, files_before);
    });
}

/// Another process finished this run while we waited for it: its outcome is ours.
QualifyOutcome Run::outcome_of_another() const {
    const Json& result = *work_->done_by_another();
    const Json document =
        parse_json(store_->read_blob(parse_digest(result.at("record").as_string())),
                   "the record of run " + work_->id());
    QualifyOutcome outcome;
    outcome.run = work_->id();
    outcome.folder = store_->layout().runs() + "/" + outcome.run;
    if (const auto reference = store_->index().find(outcome.run)) {
        store::make_view(*store_, *reference);
    }
    outcome.record = outcome.folder + "/record.json";
    outcome.report = outcome.folder + "/report.html";
    outcome.verdict = parse_verdict(document.at("verdict").as_string());
    outcome.by_another = true;
    outcome.gates = decisions_from(document.at("gates"));
    for (const Decision& decision : outcome.gates) {
        if (request_.on_gate) {
            request_.on_gate(decision);
        }
    }
    return outcome;
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
    if (protocol_.data) {
        step("data", [&](Step&) { data_ = read_labelled_data(protocol_, ports_); });
    }
    const std::string protocol_text = read_file(protocol_.path);
    if (digest_of(protocol_text) != protocol_.digest) {
        throw Error(ErrorKind::undecidable, "the protocol changed while it was read",
                    protocol_.path, "run it again");
    }
    begin_work();
    if (work_->done_by_another()) {
        return outcome_of_another();
    }
    try {
        return go_on(protocol_text);
    } catch (const Error& error) {
        // Another call with the same input would end the same way; it must not find half a run to go on with.
        if (error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage ||
            error.kind() == ErrorKind::missing) {
            work_->abandon(one_line(error));
        }
        throw;
    }
}

QualifyOutcome Run::go_on(const std::string& protocol_text) {
    folder_ = std::make_unique<RunFolder>(request_.store, record_.run);
    write_file_atomically(folder_->path() + "/protocol.yaml", protocol_text);
    add_file("protocol", "protocol.yaml");
    decisions_.resize(protocol_.gates.size());
    engine_.precision_requested = protocol_.candidate.precision;

    step("build", [&](Step& done) {
        const Json depends_on = build_inputs();
        if (restore("build", depends_on, done)) {
            for (const FileOfRun& file : record_.files) {
                if (file.role == "engine") {
                    engine_path_ = folder_->path() + "/" + file.name;
                    engine_digest_ = file.digest;
                }
            }
            return;
        }
        work_->start_step("build", depends_on);
        const std::int64_t begin = request_.clock->monotonic_ns();
        const std::size_t files_before = record_.files.size();
        try {
            build_engine();
        } catch (const Error& error) {
            throw_if_cancelled();
            if (!is_finding(error, false)) {
                throw;
            }
            engine_.failure = "the engine does not build: " + one_line(error);
            done.state = "failed";
            done.message = one_line(error);
        }
        throw_if_cancelled();
        done.seconds = static_cast<double>(request_.clock->monotonic_ns() - begin) / 1e9;
        keep("build", depends_on, done, {}, files_before);
    });
    const auto has = [&](std::size_t kind) {
        return std::any_of(protocol_.gates.begin(), protocol_.gates.end(),
                           [kind](const Gate& gate) { return gate.criterion.index() == kind; });
    };
    // Each step's inputs are all that its outcome depends on: what is equal was measured already, what differs is measured again.
    measured(
        "parity", true, {0, 1},
        [&] {
            Json inputs = engine_inputs();
            const Json& options = protocol_.reference.options;
            inputs["model"] = protocol_.model.digest.text();
            inputs["reference"] =
                Json::object({{"toolchain", protocol_.reference.toolchain}, {"options", options}});
            inputs["gates"] = gates_of({0, 1});
            return inputs;
        },
        [&] { measure_parity(); });
    measured(
        "repeatability", has(2), {2},
        [&] {
            Json inputs = engine_inputs();
            inputs["gates"] = gates_of({2});
            Json outputs = Json::array();
            for (const OutputDigests& sample : candidate_watch_.outputs) {
                outputs.push_back(combined_digest(sample).text());
            }
            inputs["outputs"] = outputs;
            return inputs;
        },
        [&] { measure_repeatability(); });
    measured(
        "latency", has(3), {3},
        [&] {
            Json inputs = engine_inputs();
            inputs["gates"] = gates_of({3});
            return inputs;
        },
        [&] { measure_latency(); });
    if (has(4)) {
        measured(
            "accuracy", true, {4},
            [&] {
                Json inputs = engine_inputs();
                const Json& options = protocol_.reference.options;
                inputs["model"] = protocol_.model.digest.text();
                inputs["reference"] = Json::object(
                    {{"toolchain", protocol_.reference.toolchain}, {"options", options}});
                inputs["gates"] = gates_of({4});
                inputs["data"] = data_->describe();
                return inputs;
            },
            [&] { measure_accuracy(); });
    }
    // Whether the engine runs is known only after all that runs it.
    decided(decide_engine(engine_));
    for (auto& decision : decisions_) {
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
    outcome.reused = reused_;
    return outcome;
}

}  // namespace

QualifyOutcome qualify(const QualifyRequest& request) {
    return Run(request).go();
}

}  // namespace requal::qualify
