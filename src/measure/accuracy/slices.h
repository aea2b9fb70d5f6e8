// Which parts of a labelled set are asked about: classes, sizes, ranges of numbers, tags, and their crossings.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml.h"

namespace requal::measure {

/// One property. `class`, `size` (COCO's small, medium, large), `tags` (each tag), `tag=NAME`, or a number's ranges:
/// bounds 0, 10, 25 make [0, 10) and [10, 25]; only the last range holds its upper end.
struct SliceTerm {
    enum class Kind { category, size, tags, number };
    Kind kind = Kind::category;
    std::string name;  ///< of the number, or of the one tag; empty for all tags
    std::vector<double> bounds;

    std::string by() const;  ///< "class", "size", "tag", "distance_m"
};

/// A crossing of one or more terms.
using SliceSpec = std::vector<SliceTerm>;

/// "class", "size", "tags", "tag=night", "distance_m=0,10,25,60"; terms crossed with '*'. Error(usage) names `where`.
SliceSpec parse_slice(std::string_view text, const std::string& where);

/// The `slices` of a gates file: words as above, `distance_m: [0, 10, 25, 60]`, or `cross: [...]` of such.
std::vector<SliceSpec> read_slices(const Yaml& sequence);

/// What a slice is called: (by, value) of each term. Empty: everything.
using SliceName = std::vector<std::pair<std::string, std::string>>;
std::string by_of(const SliceName& name);     ///< "class*distance_m"; "" for everything
std::string value_of(const SliceName& name);  ///< "bolt*0..10"

/// "0..10".
std::string band_name(double low, double high);
/// Index of the range that holds `value`, -1 when none does.
int band_of(const std::vector<double>& bounds, double value);

}  // namespace requal::measure
