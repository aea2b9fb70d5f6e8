// The inner loops of Difference: blocks of pairs in float64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "measure/numerics/difference.h"

namespace requal::measure {

/// Adds blocks of pairs to a Difference. Lanes are summed in one fixed order, so that equal data give equal numbers.
class DifferenceKernel {
public:
    static constexpr std::size_t block = 1024;

    explicit DifferenceKernel(Difference& into) : into_(into) {}

    /// Adds `count` <= block pairs: candidate `a`, reference `b`, `d` = a - b (already exact for integers). `first` is the flat
    /// index of the first pair within the sample.
    void add(const double* a, const double* b, const double* d, std::size_t count,
             std::uint64_t first);
    /// Adds `count` pairs that can only be equal or not.
    void add_equality(std::uint64_t index, bool equal);

private:
    void add_finite(const double* a, const double* b, const double* d, std::size_t count,
                    const std::uint64_t* index);
    template <ToleranceRule rule>
    void sum_lanes(const double* a, const double* b, const double* d, std::size_t count);
    void add_with_nonfinite(const double* a, const double* b, const double* d, std::size_t count,
                            std::uint64_t first);
    void note_worst(std::uint64_t index, double a, double b);

    Difference& into_;
    double block_max_ = 0;  ///< largest |d| of the block that sum_lanes() saw last
};

/// Lower border of a bin of Difference::histogram(), 10^(bin - 20).
double histogram_border(int bin);

}  // namespace requal::measure
