#include "measure/accuracy/samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "measure/accuracy/parallel.h"

namespace requal::measure {

namespace {

struct Choice {
    std::string by, value;
    std::vector<std::uint8_t> keep;
};

[[noreturn]] void unknown(const char* what, const std::string& name,
                          const std::vector<std::string>& known) {
    const std::vector<std::string_view> words(known.begin(), known.end());
    const std::string near = nearest(name, words);
    throw Error(ErrorKind::input, std::string("no sample has the ") + what + " '" + name + "'",
                "slices", near.empty() ? "" : "did you mean '" + near + "'?");
}

std::vector<Choice> choices_of(const LabelledSamples& samples, const SliceTerm& term,
                               std::vector<std::string>& notes) {
    std::vector<Choice> choices;
    if (term.kind == SliceTerm::Kind::size) {
        throw Error(ErrorKind::input, "this task's samples have no size", "slices",
                    "sizes are for detection");
    }
    if (term.kind == SliceTerm::Kind::tags) {
        const std::vector<std::string> names =
            term.name.empty() ? samples.attributes.tags() : std::vector<std::string>{term.name};
        for (const std::string& name : names) {
            auto keep = samples.attributes.has_tag(name, samples.names.size());
            if (keep.empty()) {
                unknown("tag", name, samples.attributes.tags());
            }
            choices.push_back({"tag", name, std::move(keep)});
        }
        return choices;
    }
    const auto values = samples.attributes.values(term.name, samples.names.size());
    if (values.empty()) {
        unknown("number", term.name, samples.attributes.numbers());
    }
    std::uint64_t left_out = 0;
    for (std::size_t b = 0; b + 1 < term.bounds.size(); ++b) {
        Choice choice{term.name, band_name(term.bounds[b], term.bounds[b + 1]), {}};
        for (const double value : values) {
            choice.keep.push_back(band_of(term.bounds, value) == static_cast<int>(b) ? 1 : 0);
        }
        choices.push_back(std::move(choice));
    }
    for (const double value : values) {
        left_out += band_of(term.bounds, value) < 0 ? 1U : 0U;
    }
    if (left_out > 0) {
        notes.push_back(term.name + ": " + std::to_string(left_out) +
                        " samples have no value or lie outside of the ranges; they are in no "
                        "slice of it");
    }
    return choices;
}

}  // namespace

void add_tags(AttributeTable& table, std::string_view text, std::uint32_t owner,
              const std::string& where) {
    while (!text.empty()) {
        const std::size_t end = text.find(';');
        const std::string_view tag = text.substr(0, end);
        if (!tag.empty()) {
            table.add_tag(table.tag_name(tag, where), owner);
        }
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
}

void read_sample_attributes(const NpzReader& npz, const std::string& path,
                            LabelledSamples& samples) {
    AttributeTable& table = samples.attributes;
    for (const std::string& array : npz.names()) {
        if (array.rfind(attribute_prefix, 0) != 0) {
            continue;
        }
        const std::string name = array.substr(attribute_prefix.size());
        const Tensor tensor = npz.read(array);
        if (tensor.shape().size() != 1 || tensor.count() != samples.names.size()) {
            throw Error(ErrorKind::input,
                        "array '" + array + "' has shape " + text_of(tensor.shape()) +
                            " where one value for each of " + std::to_string(samples.names.size()) +
                            " samples is needed",
                        path, "give them in the order of the samples");
        }
        for (std::uint32_t i = 0; i < samples.names.size(); ++i) {
            if (tensor.type() == ElementType::string) {
                const std::string& text = tensor.strings()[i];
                add_tags(table, name == "tags" || text.empty() ? text : name + "=" + text, i, path);
            } else if (const double value = tensor.number_at(i); std::isfinite(value)) {
                table.add_number(table.number_name(name, path), i, value);
            }
        }
    }
}

std::vector<SampleGroup> sample_groups(const LabelledSamples& samples, const SliceSpec& spec,
                                       std::vector<std::string>& notes) {
    std::vector<std::uint32_t> all(samples.names.size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<SampleGroup> groups = {{{}, std::move(all)}};
    for (const SliceTerm& term : spec) {
        if (term.kind == SliceTerm::Kind::category) {
            continue;
        }
        const std::vector<Choice> choices = choices_of(samples, term, notes);
        std::vector<SampleGroup> finer;
        for (const SampleGroup& group : groups) {
            for (const Choice& choice : choices) {
                SampleGroup part;
                part.name = group.name;
                part.name.emplace_back(choice.by, choice.value);
                for (const std::uint32_t member : group.members) {
                    if (choice.keep[member] != 0) {
                        part.members.push_back(member);
                    }
                }
                finer.push_back(std::move(part));
            }
        }
        if (finer.size() > 20'000) {
            throw Error(ErrorKind::input, "more than 20000 slices", "slices",
                        "cross fewer properties");
        }
        groups = std::move(finer);
    }
    return groups;
}

bool has_class_term(const SliceSpec& spec) {
    return std::any_of(spec.begin(), spec.end(), [](const SliceTerm& term) {
        return term.kind == SliceTerm::Kind::category;
    });
}

SliceName with_class(const SliceSpec& spec, const SliceName& group, const std::string& category) {
    SliceName name;
    std::size_t next = 0;
    for (const SliceTerm& term : spec) {
        if (term.kind == SliceTerm::Kind::category) {
            name.emplace_back("class", category);
        } else {
            name.push_back(group[next++]);
        }
    }
    return name;
}

std::vector<MetricSeries> resample(std::size_t outputs, std::size_t samples,
                                   const BootstrapOptions& options, const WeighedScores& scores) {
    std::vector<MetricSeries> series(outputs);
    std::vector<double> out(outputs);
    scores(std::vector<std::uint32_t>(samples, 1), out);
    for (std::size_t o = 0; o < outputs; ++o) {
        series[o].value = out[o];
        series[o].replicates.resize(options.replicates);
    }
    parallel_for(options.replicates, options.threads, [&](std::size_t r) {
        std::vector<std::uint32_t> weights(samples);
        std::vector<double> own(outputs);
        draw_weights(options.seed, r, weights);
        scores(weights, own);
        for (std::size_t o = 0; o < outputs; ++o) {
            series[o].replicates[r] = own[o];
        }
    });
    return series;
}

}  // namespace requal::measure
