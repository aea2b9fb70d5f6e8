// What the outputs of one runnable look like, over any number of samples.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "tensor/tensor.h"

namespace requal::measure {

/// Running summary, one entry an output in the order of the first sample.
class OutputSummary {
public:
    void add(const NamedTensors& outputs);
    /// [{"name", "type", "shape" (-1 where samples differ), "elements", "min", "max", "mean", "nan", "inf"}]; min, max and mean over
    /// finite elements, null for strings and complex numbers.
    Json to_json() const;
    std::uint64_t nonfinite() const;

private:
    struct Entry {
        std::string name;
        ElementType type = ElementType::float32;
        Shape shape;
        std::uint64_t elements = 0, finite = 0, nan = 0, inf = 0;
        double min = 0, max = 0, sum = 0;
    };
    std::vector<Entry> entries_;
};

}  // namespace requal::measure
