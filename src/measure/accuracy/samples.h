// Labelled samples of tasks that decide about whole samples or pixels, their slices, and resampling over them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/accuracy/labelled_boxes.h"
#include "measure/accuracy/metric_table.h"
#include "measure/accuracy/slices.h"
#include "measure/accuracy/weights.h"
#include "tensor/npy.h"

namespace requal::measure {

struct LabelledSamples {
    std::vector<std::string> names;
    AttributeTable attributes;
};

/// Arrays `attributes/NAME` of an .npz, one value a sample: numbers, or texts (tags NAME=TEXT; of `attributes/tags` the tags themselves,
/// split at ';'). Error(input) for another length.
void read_sample_attributes(const NpzReader& npz, const std::string& path,
                            LabelledSamples& samples);
inline constexpr std::string_view attribute_prefix = "attributes/";
/// Adds tags split at ';'.
void add_tags(AttributeTable& table, std::string_view text, std::uint32_t owner,
              const std::string& where);

/// One slice without its class term: which samples, and the names of its other terms by place in the spec.
struct SampleGroup {
    SliceName name;
    std::vector<std::uint32_t> members;
};

/// Groups of a spec; terms `class` are left out (the task makes them). `size` is Error(input): samples have none.
std::vector<SampleGroup> sample_groups(const LabelledSamples& samples, const SliceSpec& spec,
                                       std::vector<std::string>& notes);
bool has_class_term(const SliceSpec& spec);
/// The group's name with the class put where the spec has it.
SliceName with_class(const SliceSpec& spec, const SliceName& group, const std::string& category);

/// Fills one value an output from how often each sample counts.
using WeighedScores =
    std::function<void(std::span<const std::uint32_t> weights, std::span<double> out)>;

/// Values of all outputs on the whole set and on each replicate. `samples`: number of samples that are drawn from.
std::vector<MetricSeries> resample(std::size_t outputs, std::size_t samples,
                                   const BootstrapOptions& options, const WeighedScores& scores);

}  // namespace requal::measure
