// compare: the outputs of two runnables on the same inputs.
// rooms: base tensor data measure toolchain machine store
#include <charconv>
#include <chrono>
#include <cmath>

#include "base/document.h"
#include "base/rules.h"
#include "base/text.h"
#include "cli/input_arguments.h"
#include "cli/run_options.h"
#include "cli/stored.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "measure/numerics/default_tolerance.h"
#include "measure/numerics/output_writer.h"
#include "measure/numerics/parity.h"
#include "measure/runnable.h"

namespace requal::cli {

namespace {

using measure::Difference;
using measure::Tolerance;

double bound(double value, std::string_view option) {
    if (value < 0) {
        throw Error(ErrorKind::usage, "a tolerance is a number from 0 up", std::string(option));
    }
    return value;
}

/// "OUTPUT:ATOL:RTOL"; the output's name may hold colons.
std::pair<std::string, Tolerance> output_tolerance(const std::string& text,
                                                   measure::ToleranceRule rule) {
    const std::size_t second = text.rfind(':');
    const std::size_t first =
        second == std::string::npos || second == 0 ? second : text.rfind(':', second - 1);
    const auto number = [&](std::size_t begin, std::size_t end) {
        double value = 0;
        const char* const last = text.data() + end;
        const auto [stop, error] = std::from_chars(text.data() + begin, last, value);
        if (error != std::errc{} || stop != last || !std::isfinite(value)) {
            throw Error(ErrorKind::usage, "'" + text + "' is not OUTPUT:ATOL:RTOL", "--tolerance",
                        "write for example logits:1e-3:1e-4");
        }
        return bound(value, "--tolerance");
    };
    if (first == std::string::npos || first == 0) {
        (void)number(0, 0);  // no number there: says how it is written
    }
    return {text.substr(0, first),
            {number(first + 1, second), number(second + 1, text.size()), rule, false}};
}

std::pair<std::string, std::string> name_pair(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        throw Error(ErrorKind::usage, "'" + text + "' is not REF=CAND", "--map",
                    "write for example --map logits=output_0");
    }
    return {text.substr(0, equals), text.substr(equals + 1)};
}

/// Which tolerance holds for an output, and who said so.
class ToleranceChoice {
public:
    ToleranceChoice(const Arguments& arguments, const std::string& rules_folder)
        : rules_folder_(rules_folder) {
        rule_ = measure::parse_tolerance_rule(arguments.text("--rule"));
        accept_nonfinite_ = arguments.flag("--equal-nan");
        given_ = arguments.given("--atol") || arguments.given("--rtol");
        if (arguments.given("--atol")) {
            common_.atol = bound(arguments.number("--atol"), "--atol");
        }
        if (arguments.given("--rtol")) {
            common_.rtol = bound(arguments.number("--rtol"), "--rtol");
        }
        common_.rule = rule_;
        common_.accept_nonfinite = accept_nonfinite_;
        for (const std::string& text : arguments.all("--tolerance")) {
            auto [name, tolerance] = output_tolerance(text, rule_);
            tolerance.accept_nonfinite = accept_nonfinite_;
            by_output_[name] = tolerance;
            sources_[name] = "--tolerance";
        }
    }

    void apply(measure::ParityOptions& options) {
        options.tolerance = common_;
        options.by_output = by_output_;
        options.default_tolerance = [this](std::string_view output, ElementType reference,
                                           ElementType candidate,
                                           const Json& description) -> std::optional<Tolerance> {
            if (given_) {
                sources_.emplace(output, "--atol, --rtol");
                return common_;
            }
            const measure::DefaultTolerances table(rules_folder_);
            measure::SourcedTolerance chosen = table.choose(reference, candidate, description);
            chosen.tolerance.rule = rule_;
            chosen.tolerance.accept_nonfinite = accept_nonfinite_;
            sources_.emplace(output, chosen.source);
            rules_used_ = true;
            return chosen.tolerance;
        };
    }

    std::string source_of(const std::string& output) const {
        const auto found = sources_.find(output);
        return found == sources_.end() ? std::string() : found->second;
    }
    bool rules_used() const { return rules_used_; }

private:
    std::string rules_folder_;
    measure::ToleranceRule rule_ = measure::ToleranceRule::sum;
    bool accept_nonfinite_ = false;
    bool given_ = false;
    bool rules_used_ = false;
    Tolerance common_;
    std::map<std::string, Tolerance> by_output_;
    std::map<std::string, std::string, std::less<>> sources_;
};

/// Both sides and the inputs, opened in the order that keeps memory low.
class Sides {
public:
    Sides(const Arguments& arguments, const Common& common)
        : parallel_(arguments.flag("--parallel")) {
        const std::string both = arguments.text("--on");
        const auto remote = [&](std::string_view option) {
            if (!both.empty() && arguments.given(option)) {
                throw Error(ErrorKind::usage, "--on is for both sides", std::string(option),
                            "leave one out");
            }
            return both.empty() ? arguments.text(option) : both;
        };
        reference_.emplace(
            measure::resolve_runnable(stored_runnable(arguments.text("REFERENCE"), common),
                                      remote("--on-ref")),
            side_options(arguments));
        candidate_.emplace(
            measure::resolve_runnable(stored_runnable(arguments.text("CANDIDATE"), common),
                                      remote("--on-cand")),
            side_options(arguments));
    }

    static measure::RunOptions side_options(const Arguments& arguments) {
        measure::RunOptions options = run_options(arguments);
        options.shares_cores = arguments.flag("--parallel");
        return options;
    }

    bool both_saved() const { return reference_->runnable().saved && candidate_->runnable().saved; }

    void open_inputs(const data::InputRequest& request) {
        if (both_saved()) {
            if (!request.empty()) {
                throw Error(ErrorKind::usage, "both sides are saved outputs, which take no inputs",
                            {}, "leave --inputs and --random out");
            }
            const auto side = measure::saved_outputs(reference_->runnable().spec.artefact);
            inputs_ = data::no_inputs(*side->size());
            return;
        }
        if (request.empty()) {
            throw Error(ErrorKind::usage, "no inputs are given", {},
                        "give --inputs PATH or --random N --seed S");
        }
        if (parallel_) {
            reference_->start_opening();
            candidate_->start_opening();
        } else {
            // The programs start at once; neither loads anything before its turn.
            reference_->start_program();
            candidate_->start_program();
        }
        // What a side wants decides the inputs: the reference's word, unless it is saved.
        measure::SideOpener& asked = reference_->runnable().saved ? *candidate_ : *reference_;
        opened_ = asked.open_running();
        inputs_ = data::open_inputs(request, measure::ports_of(opened_->loaded()));
    }

    const data::InputSource& inputs() const { return *inputs_; }

    std::unique_ptr<measure::OutputSource> take(bool reference) {
        measure::SideOpener& side = reference ? *reference_ : *candidate_;
        const bool is_open = opened_ && reference != reference_->runnable().saved;
        return is_open ? std::move(opened_) : side.open();
    }

private:
    bool parallel_;
    std::optional<measure::SideOpener> reference_;
    std::optional<measure::SideOpener> candidate_;
    std::unique_ptr<measure::RunningSide> opened_;
    std::unique_ptr<data::InputSource> inputs_;
};

std::string tolerance_text(const Tolerance& tolerance) {
    const std::string atol = shortest(tolerance.atol);
    const std::string rtol = shortest(tolerance.rtol);
    return tolerance.rule == measure::ToleranceRule::sum ? atol + " + " + rtol + "·|ref|"
                                                         : atol + " or " + rtol + "·|ref|";
}

/// Rounded up to three digits, so that the number that is shown passes.
std::string rounded_up(double value) {
    if (!(value > 0) || !std::isfinite(value)) {
        return shortest(value);
    }
    const double scale = std::pow(10.0, std::floor(std::log10(value)) - 2);
    return readable(std::ceil(value / scale + 1e-9) * scale, 3);
}

std::string place_of(const Json& worst) {
    std::string text;
    for (const Json& index : worst.at("index").as_array()) {
        text += (text.empty() ? "" : ",") + std::to_string(index.as_integer());
    }
    return "[" + text + "]";
}

std::string notes_for(const Json& entry, const std::string& name, const Difference& difference) {
    std::string text;
    const std::uint64_t bad = difference.nan() + difference.inf();
    const std::uint64_t bad_reference = difference.reference_nan() + difference.reference_inf();
    if (bad + bad_reference > 0) {
        text += "  " + name + ": not finite: candidate " + std::to_string(difference.nan()) +
                " NaN and " + std::to_string(difference.inf()) + " Inf, reference " +
                std::to_string(difference.reference_nan()) + " NaN and " +
                std::to_string(difference.reference_inf()) + " Inf\n";
    }
    if (entry.has("worst")) {
        const Json& worst = entry.at("worst");
        text += "  " + name + ": worst at " + place_of(worst) + " of sample " +
                worst.at("sample_name").as_string() + ": reference " +
                readable(difference.worst_reference(), 6) + ", candidate " +
                readable(difference.worst_candidate(), 6) + "\n";
        if (difference.needed_atol() > 0) {
            text += "  " + name + ": smallest passing atol at rtol " +
                    shortest(difference.tolerance().rtol) + ": " +
                    rounded_up(difference.needed_atol()) + "; smallest passing rtol at atol " +
                    shortest(difference.tolerance().atol) + ": " +
                    rounded_up(difference.needed_rtol()) + "\n";
        }
    }
    return text;
}

std::string report_text(const measure::ParityResult& result, const Json& document) {
    std::vector<std::vector<std::string>> rows = {
        {"output", "max abs", "mean abs", "rmse", "cosine", "outside", "tolerance", "verdict"}};
    std::string notes;
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        const auto& [name, difference] = result.outputs[i];
        rows.push_back(
            {name, readable(difference.max_abs(), 3), readable(difference.mean_abs(), 3),
             readable(difference.rmse(), 3), readable(difference.cosine(), 9),
             std::to_string(difference.outside()) + "/" + std::to_string(difference.count()),
             tolerance_text(difference.tolerance()), std::string(name_of(difference.verdict()))});
        notes += notes_for(document.at("outputs").as_array()[i], printable(name), difference);
    }
    std::string sources;
    for (const Json& entry : document.at("outputs").as_array()) {
        const std::string line =
            "tolerance from " + printable(entry.at("tolerance_source").as_string()) + "\n";
        if (sources.find(line) == std::string::npos) {
            sources += line;
        }
    }
    return table_text(rows) + notes + sources + "verdict: " + std::string(name_of(result.verdict)) +
           " (" + std::to_string(result.samples) +
           (result.samples == 1 ? " sample)\n" : " samples)\n");
}

Result run_compare(const Arguments& arguments, const Common& common) {
    const auto started = std::chrono::steady_clock::now();
    const data::InputRequest request = input_request(arguments);
    ToleranceChoice tolerance(arguments, common.rules);
    measure::ParityOptions options;
    tolerance.apply(options);
    options.parallel = arguments.flag("--parallel");
    options.only = arguments.all("--output");
    for (const std::string& text : arguments.all("--map")) {
        options.output_names.insert(name_pair(text));
    }
    Sides sides(arguments, common);
    std::optional<measure::OutputWriter> saved_reference, saved_candidate;
    if (const auto folder = arguments.optional_text("--save")) {
        saved_reference.emplace(*folder + "/reference", arguments.flag("--force"));
        saved_candidate.emplace(*folder + "/candidate", arguments.flag("--force"));
    }
    sides.open_inputs(request);
    const auto opener = [&](bool reference,
                            std::optional<measure::OutputWriter>& writer) -> measure::OpenSide {
        return [&sides, &writer, reference]() -> std::unique_ptr<measure::OutputSource> {
            auto side = sides.take(reference);
            if (!writer) {
                return side;
            }
            return std::make_unique<measure::SavingSide>(std::move(side), *writer, sides.inputs());
        };
    };
    const measure::ParityResult parity = measure::compare_outputs(
        sides.inputs(), opener(true, saved_reference), opener(false, saved_candidate), options);

    Result result;
    result.status = exit_status_of(parity.verdict);
    Json& document = result.document;
    document = new_document("compare", 1);
    document["verdict"] = name_of(parity.verdict);
    document["samples"] = parity.samples;
    document["parallel"] = options.parallel;
    document["reference"] = parity.reference;
    document["candidate"] = parity.candidate;
    document["inputs"] = sides.inputs().describe();
    document["outputs"] = Json::array();
    for (const auto& [name, difference] : parity.outputs) {
        Json entry = difference.to_json(name);
        entry["tolerance_source"] = tolerance.source_of(name);
        if (entry.has("worst")) {
            entry["worst"]["sample_name"] = sides.inputs().sample_name(difference.worst_sample());
        }
        const auto mapped = options.output_names.find(name);
        if (mapped != options.output_names.end()) {
            entry["candidate_name"] = mapped->second;
        }
        document["outputs"].push_back(std::move(entry));
    }
    if (tolerance.rules_used()) {
        document["rules"] = describe_rules(common.rules);
    }
    if (saved_reference) {
        document["saved"] = Json::object(
            {{"reference",
              saved_reference->commit(parity.reference, document.at("inputs")).at("path")},
             {"candidate",
              saved_candidate->commit(parity.candidate, document.at("inputs")).at("path")}});
    }
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - started;
    document["elapsed_ms"] = elapsed.count();
    result.text = report_text(parity, document);
    return result;
}

}  // namespace

std::vector<Verb> verbs_compare() {
    Verb verb;
    verb.name = "compare";
    verb.summary = "compares the outputs of two runnables on the same inputs";
    verb.description = "A runnable is ARTEFACT[@TOOLCHAIN[?key=value&...]], or saved outputs (a "
                       "folder of infer --save, or an .npz file). The sides run one "
                       "after the other, so that memory is that of the larger one, unless "
                       "--parallel is given. An element passes when |a - b| <= atol + "
                       "rtol * |b| (rule sum, b the reference), or when either bound alone holds "
                       "(rule either, as Polygraphy judges). NaN and Inf fail.";
    verb.positionals = {
        {.name = "REFERENCE", .help = "the runnable that is trusted", .required = true},
        {.name = "CANDIDATE", .help = "the runnable that is judged", .required = true}};
    verb.options = input_arguments();
    const std::vector<Argument> own = {
        {.name = "--atol",
         .kind = ValueKind::number,
         .help = "absolute tolerance; 0 when only --rtol is given",
         .value_name = "X"},
        {.name = "--rtol",
         .kind = ValueKind::number,
         .help = "relative tolerance; 0 when only --atol is given",
         .value_name = "X"},
        {.name = "--rule",
         .help = "how the two bounds are combined",
         .value_name = "RULE",
         .fallback = "sum",
         .choices = {"sum", "either"}},
        {.name = "--tolerance",
         .help = "tolerance of one output",
         .value_name = "OUTPUT:ATOL:RTOL",
         .repeated = true},
        {.name = "--equal-nan",
         .kind = ValueKind::flag,
         .help = "NaN and Inf that both sides have at the same place do not fail"},
        {.name = "--map",
         .help = "pairs outputs of different names",
         .value_name = "REF=CAND",
         .repeated = true},
        {.name = "--output",
         .help = "compares only this output of the reference",
         .value_name = "NAME",
         .repeated = true},
        {.name = "--parallel",
         .kind = ValueKind::flag,
         .help = "runs both sides at once; needs the memory of both"},
        {.name = "--on",
         .help = "runs both sides on another machine",
         .value_name = "ssh://USER@HOST"},
        {.name = "--on-ref",
         .help = "runs the reference on another machine",
         .value_name = "ssh://USER@HOST"},
        {.name = "--on-cand",
         .help = "runs the candidate on another machine",
         .value_name = "ssh://USER@HOST"},
        {.name = "--save",
         .kind = ValueKind::path,
         .help = "saves the outputs of both sides in this folder",
         .value_name = "DIR"},
        {.name = "--force",
         .kind = ValueKind::flag,
         .help = "replaces saved outputs that are there already"},
        timeout_argument(),
    };
    verb.options.insert(verb.options.end(), own.begin(), own.end());
    verb.examples = {
        "requal compare model.onnx@onnxruntime:cpu model.onnx@openvino:cpu --random 4 --seed 1",
        "requal compare golden.npz engine.blob@openvino:cpu --inputs samples/ --atol 1e-4 --rtol "
        "1e-4"};
    verb.run = run_compare;
    return {verb};
}

}  // namespace requal::cli
