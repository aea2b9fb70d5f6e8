#include "measure/numerics/parity.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/cancel.h"
#include "base/error.h"
#include "base/progress.h"
#include "measure/numerics/spool.h"

namespace requal::measure {

namespace {

std::string names_of(const NamedTensors& tensors) {
    std::string text;
    for (const auto& item : tensors) {
        text += (text.empty() ? "" : ", ") + item.first;
    }
    return text.empty() ? "none" : text;
}

Error names_differ(const NamedTensors& reference, const NamedTensors& candidate) {
    return {ErrorKind::input,
            "outputs do not match: the reference has " + names_of(reference) +
                "; the candidate has " + names_of(candidate),
            {},
            "pair renamed outputs with --map REF=CAND, or choose outputs with --output NAME"};
}

/// Pairs the outputs of both sides and adds them up, sample after sample.
class Comparison {
public:
    explicit Comparison(const ParityOptions& options) : options_(options) {}

    void add(const NamedTensors& reference, const NamedTensors& candidate,
             const OutputSource& candidate_side, const std::string& sample_name) {
        if (outputs_.empty()) {
            pair_names(reference, candidate);
            const Json description =
                options_.default_tolerance ? candidate_side.describe() : Json::object();
            for (const auto& [name, partner] : pairs_) {
                outputs_.emplace_back(
                    name,
                    Difference(tolerance_of(name, find_tensor(reference, name)->type(),
                                            find_tensor(candidate, partner)->type(), description)));
            }
        }
        for (std::size_t i = 0; i < pairs_.size(); ++i) {
            const Tensor* left = find_tensor(reference, pairs_[i].first);
            const Tensor* right = find_tensor(candidate, pairs_[i].second);
            if (left == nullptr || right == nullptr) {
                throw names_differ(reference, candidate);
            }
            try {
                outputs_[i].second.add(*left, *right);
            } catch (const Error& error) {
                throw Error(error.kind(), error.message(),
                            "output '" + pairs_[i].first + "', sample '" + sample_name + "'",
                            error.next());
            }
        }
    }

    std::vector<std::pair<std::string, Difference>> take() { return std::move(outputs_); }

private:
    std::string partner_of(const std::string& name) const {
        const auto mapped = options_.output_names.find(name);
        return mapped == options_.output_names.end() ? name : mapped->second;
    }

    void pair_names(const NamedTensors& reference, const NamedTensors& candidate) {
        for (const auto& [name, partner] : options_.output_names) {
            if (find_tensor(reference, name) == nullptr ||
                find_tensor(candidate, partner) == nullptr) {
                throw Error(ErrorKind::input,
                            "no such pair of outputs: the reference has " + names_of(reference) +
                                "; the candidate has " + names_of(candidate),
                            "--map " + name + "=" + partner);
            }
        }
        for (const std::string& name : options_.only) {
            if (find_tensor(reference, name) == nullptr) {
                throw Error(ErrorKind::input, "the reference has no output '" + name + "'",
                            "--output", "its outputs are: " + names_of(reference));
            }
        }
        std::size_t chosen = 0;
        for (const auto& item : reference) {
            const bool wanted = options_.only.empty() ||
                                std::find(options_.only.begin(), options_.only.end(), item.first) !=
                                    options_.only.end();
            if (!wanted) {
                continue;
            }
            ++chosen;
            const std::string partner = partner_of(item.first);
            if (find_tensor(candidate, partner) == nullptr) {
                throw names_differ(reference, candidate);
            }
            pairs_.emplace_back(item.first, partner);
        }
        if (options_.only.empty() && chosen != candidate.size()) {
            throw names_differ(reference, candidate);
        }
        for (const auto& [name, tolerance] : options_.by_output) {
            if (std::none_of(pairs_.begin(), pairs_.end(),
                             [&n = name](const auto& pair) { return pair.first == n; })) {
                throw Error(ErrorKind::input, "no output '" + name + "' is compared", "--tolerance",
                            "outputs are: " + names_of(reference));
            }
        }
    }

    Tolerance tolerance_of(const std::string& name, ElementType reference, ElementType candidate,
                           const Json& description) const {
        const auto given = options_.by_output.find(name);
        if (given != options_.by_output.end()) {
            return given->second;
        }
        if (options_.default_tolerance) {
            const auto chosen = options_.default_tolerance(name, reference, candidate, description);
            if (chosen) {
                return *chosen;
            }
        }
        return options_.tolerance;
    }

    const ParityOptions& options_;
    std::vector<std::pair<std::string, std::string>> pairs_;
    std::vector<std::pair<std::string, Difference>> outputs_;
};

void require_size(const OutputSource& side, std::uint64_t samples, std::string_view which) {
    const std::optional<std::uint64_t> held = side.size();
    if (held && *held != samples) {
        throw Error(ErrorKind::input, "the " + std::string(which) + " holds " +
                                          std::to_string(*held) + " saved samples and there are " +
                                          std::to_string(samples) + " inputs");
    }
}

void require_equal_inputs(const OutputSource& reference, const OutputSource& candidate,
                          std::uint64_t index) {
    const std::optional<Digest> left = reference.inputs_digest(index);
    const std::optional<Digest> right = candidate.inputs_digest(index);
    if (left && right && *left != *right) {
        throw Error(ErrorKind::input,
                    "sample " + std::to_string(index) +
                        " of the two sides was saved for different inputs",
                    {}, "save both with the same inputs");
    }
}

/// Samples handed from the thread that runs the reference to the one that compares; a few at most wait.
class Hand {
public:
    void push(NamedTensors tensors) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_.size() < 2 || stopped_; });
        if (stopped_) {
            return;
        }
        waiting_.push_back(std::move(tensors));
        changed_.notify_all();
    }

    /// Rethrows what ended the producing thread.
    NamedTensors pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !waiting_.empty() || failure_; });
        if (waiting_.empty()) {
            std::rethrow_exception(failure_);
        }
        NamedTensors tensors = std::move(waiting_.front());
        waiting_.pop_front();
        changed_.notify_all();
        return tensors;
    }

    void fail(std::exception_ptr failure) {
        const std::lock_guard lock(mutex_);
        failure_ = std::move(failure);
        changed_.notify_all();
    }

    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }

    bool stopped() {
        const std::lock_guard lock(mutex_);
        return stopped_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<NamedTensors> waiting_;
    std::exception_ptr failure_;
    bool stopped_ = false;
};

NamedTensors owned_copy(NamedTensors tensors) {
    for (auto& item : tensors) {
        item.second.mutable_bytes();  // a runner's outputs are valid until its next call only
    }
    return tensors;
}

/// The thread of the reference; stopped and joined whatever happens to the comparing side.
class ReferenceThread {
public:
    ReferenceThread(const data::InputSource& inputs, const OpenSide& open, Json& description)
        : thread_([this, &inputs, &open, &description] { run(inputs, open, description); }) {}
    ~ReferenceThread() {
        hand_.stop();
        join();
    }
    NamedTensors next() { return hand_.pop(); }
    void join() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    void finish() {
        join();
        if (late_failure_) {
            std::rethrow_exception(late_failure_);
        }
    }

private:
    void run(const data::InputSource& inputs, const OpenSide& open, Json& description) {
        try {
            const std::unique_ptr<OutputSource> side = open();
            require_size(*side, inputs.size(), "reference");
            for (std::uint64_t i = 0; i < inputs.size() && !hand_.stopped(); ++i) {
                hand_.push(owned_copy(side->outputs(i, inputs.sample(i))));
            }
            description = side->describe();
        } catch (...) {
            late_failure_ = std::current_exception();
            hand_.fail(std::current_exception());
        }
    }

    Hand hand_;
    std::exception_ptr late_failure_;
    std::thread thread_;
};

class Steps {
public:
    Steps(const std::string& name, std::uint64_t total) {
        if (!name.empty()) {
            progress_ = std::make_unique<Progress>(name, total);
        }
    }
    void advance() {
        throw_if_cancelled();
        if (progress_) {
            progress_->advance();
        }
    }

private:
    std::unique_ptr<Progress> progress_;
};

void finish(ParityResult& result, Comparison& comparison) {
    result.outputs = comparison.take();
    result.verdict = result.outputs.empty() ? Verdict::undecidable : Verdict::pass;
    for (const auto& item : result.outputs) {
        result.verdict = combine(result.verdict, item.second.verdict());
    }
}

ParityResult compare_together(const data::InputSource& inputs, const OpenSide& reference,
                              const OpenSide& candidate, const ParityOptions& options) {
    ParityResult result;
    Comparison comparison(options);
    Steps steps(options.progress_name, inputs.size());
    ReferenceThread thread(inputs, reference, result.reference);
    const std::unique_ptr<OutputSource> side = candidate();
    require_size(*side, inputs.size(), "candidate");
    for (; result.samples < inputs.size(); ++result.samples) {
        const NamedTensors outputs = side->outputs(result.samples, inputs.sample(result.samples));
        comparison.add(thread.next(), outputs, *side, inputs.sample_name(result.samples));
        steps.advance();
    }
    thread.finish();
    result.candidate = side->describe();
    finish(result, comparison);
    return result;
}

ParityResult compare_in_turn(const data::InputSource& inputs, const OpenSide& open_reference,
                             const OpenSide& open_candidate, const ParityOptions& options) {
    ParityResult result;
    Comparison comparison(options);
    std::unique_ptr<OutputSource> reference = open_reference();
    require_size(*reference, inputs.size(), "reference");
    const bool reference_saved = reference->size().has_value();
    Steps steps(options.progress_name, reference_saved ? inputs.size() : 2 * inputs.size());
    std::optional<Spool> spool;
    if (!reference_saved) {
        spool.emplace();
        for (std::uint64_t i = 0; i < inputs.size(); ++i) {
            spool->write(reference->outputs(i, inputs.sample(i)));
            steps.advance();
        }
        spool->rewind();
        result.reference = reference->describe();
        reference.reset();  // its runner ends before the candidate is loaded
    }
    const std::unique_ptr<OutputSource> candidate = open_candidate();
    require_size(*candidate, inputs.size(), "candidate");
    for (; result.samples < inputs.size(); ++result.samples) {
        const NamedTensors sample = inputs.sample(result.samples);
        const NamedTensors outputs = candidate->outputs(result.samples, sample);
        if (reference) {
            require_equal_inputs(*reference, *candidate, result.samples);
        }
        comparison.add(reference ? reference->outputs(result.samples, sample) : spool->read(),
                       outputs, *candidate, inputs.sample_name(result.samples));
        steps.advance();
    }
    if (reference) {
        result.reference = reference->describe();
    }
    result.candidate = candidate->describe();
    finish(result, comparison);
    return result;
}

}  // namespace

ParityResult compare_outputs(const data::InputSource& inputs, const OpenSide& reference,
                             const OpenSide& candidate, const ParityOptions& options) {
    return options.parallel ? compare_together(inputs, reference, candidate, options)
                            : compare_in_turn(inputs, reference, candidate, options);
}

}  // namespace requal::measure
