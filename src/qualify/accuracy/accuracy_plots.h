// Plots of an evaluation as SVG files, and a gallery of the worst flips.
#pragma once

#include <string>
#include <vector>

#include "measure/accuracy/metric_table.h"
#include "qualify/accuracy/accuracy_gates.h"

namespace requal::qualify {

/// Writes into `folder` (made when it is not there; files of the same names are replaced) what the evaluation has data for: retention (or value) by class with
/// intervals, curves over the ranges of each number, the difference of confusions, score histograms, and the `gallery` worst flips of
/// detection with the boxes of both sides. `images`: folder of the pictures, empty: boxes alone. A picture that is missing, larger
/// than 8 MB or neither JPEG nor PNG is left out of its drawing. Returns the names of the files.
std::vector<std::string> write_accuracy_plots(const measure::Evaluation& evaluation,
                                              const AccuracyGates* gates, const std::string& images,
                                              const std::string& folder, std::size_t gallery);

}  // namespace requal::qualify
