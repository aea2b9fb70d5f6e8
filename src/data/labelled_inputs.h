// A labelled npz as inputs: its rows, without the arrays that hold labels and names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/inputs.h"

namespace requal::data {

/// True for an npz with an array 'labels', and for a dataset spec (YAML); other files are no labelled arrays.
bool may_be_labelled_arrays(const std::string& path);

/// The samples of a part that comes from an npz, in the part's order. Each array besides `labels` and `names` is an input; its first axis counts
/// samples. A model whose input has as many axes as the array gets rows with a first axis of 1. Error(input) when the part is of
/// another format, or an array does not fit.
std::unique_ptr<InputSource> labelled_inputs(const DataPart& part, std::vector<InputPort> ports);

}  // namespace requal::data
