#include "measure/numerics/difference_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace requal::measure {

namespace {

constexpr std::size_t lanes = 4;

/// 10^(i - 20) for the borders of the histogram's bins.
// Written out, so that the compiler's exact decimal conversion gives them and not repeated multiplication.
constexpr std::array<double, Difference::histogram_bins> decades = {
    1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7,
    1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,  1e0,   1e1,   1e2,   1e3,   1e4,   1e5,  1e6,  1e7,
    1e8,   1e9,   1e10,  1e11,  1e12,  1e13,  1e14,  1e15,  1e16,  1e17,  1e18,  1e19};

/// Bin of a magnitude > 0: the decade is estimated from the binary exponent and put right with one look at the border.
std::size_t bin_of(double magnitude) {
    const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52U) - 1023;
    const int estimate = static_cast<int>(std::floor(exponent * 0.30102999566398120)) + 20;
    if (estimate < 0) {
        return 0;
    }
    auto bin = static_cast<std::size_t>(std::min(estimate, Difference::histogram_bins - 1));
    if (bin + 1 < decades.size() && magnitude >= decades[bin + 1]) {
        ++bin;
    }
    return bin;
}

bool all_finite(const double* values, std::size_t count) {
    bool finite = true;
    for (std::size_t i = 0; i < count; ++i) {
        finite &= std::fabs(values[i]) <= std::numeric_limits<double>::max();
    }
    return finite;
}

double larger(double left, double right) {
    return left < right ? right : left;
}

double sum_of(const std::array<double, lanes>& values) {
    return (values[0] + values[1]) + (values[2] + values[3]);
}

double max_of(const std::array<double, lanes>& values) {
    return larger(larger(values[0], values[1]), larger(values[2], values[3]));
}

}  // namespace

double histogram_border(int bin) {
    return decades.at(static_cast<std::size_t>(bin));
}

template <ToleranceRule rule>
void DifferenceKernel::sum_lanes(const double* a, const double* b, const double* d,
                                 std::size_t count) {
    const double atol = into_.tolerance_.atol;
    const double rtol = into_.tolerance_.rtol;
    std::array<double, lanes> max_abs{}, max_rel{}, sum_abs{}, squares{}, dot{}, norm_a{}, norm_b{},
        need_atol{}, need_rtol{};
    std::array<std::uint64_t, lanes> outside{}, exact{};
    const auto one = [&](std::size_t i, std::size_t lane) {
        const double magnitude = std::fabs(d[i]);
        const double scale = std::fabs(b[i]);
        max_abs[lane] = larger(max_abs[lane], magnitude);
        sum_abs[lane] += magnitude;
        squares[lane] += magnitude * magnitude;
        dot[lane] += a[i] * b[i];
        norm_a[lane] += a[i] * a[i];
        norm_b[lane] += b[i] * b[i];
        exact[lane] += magnitude == 0 ? 1 : 0;
        // 0 / 0 is NaN and loses every comparison below, as it should.
        const double relative = magnitude / scale;
        max_rel[lane] = larger(max_rel[lane], scale > 0 ? relative : 0);
        if constexpr (rule == ToleranceRule::sum) {
            outside[lane] += magnitude <= atol + rtol * scale ? 0 : 1;
            need_atol[lane] = larger(need_atol[lane], magnitude - rtol * scale);
            const double excess = (magnitude - atol) / scale;
            need_rtol[lane] = larger(need_rtol[lane], magnitude > atol ? excess : 0);
        } else {
            const bool within_relative = magnitude <= rtol * scale;
            const bool within_absolute = magnitude <= atol;
            outside[lane] += within_relative || within_absolute ? 0 : 1;
            need_atol[lane] = larger(need_atol[lane], within_relative ? 0 : magnitude);
            need_rtol[lane] = larger(need_rtol[lane], within_absolute ? 0 : relative);
        }
    };
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            one(i + lane, lane);
        }
    }
    for (std::size_t lane = 0; i < count; ++i, ++lane) {
        one(i, lane);
    }
    block_max_ = max_of(max_abs);
    into_.max_rel_ = larger(into_.max_rel_, max_of(max_rel));
    into_.sum_abs_ += sum_of(sum_abs);
    into_.sum_squares_ += sum_of(squares);
    into_.dot_ += sum_of(dot);
    into_.norm_a_ += sum_of(norm_a);
    into_.norm_b_ += sum_of(norm_b);
    into_.needed_atol_ = larger(into_.needed_atol_, max_of(need_atol));
    into_.needed_rtol_ = larger(into_.needed_rtol_, max_of(need_rtol));
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        into_.outside_ += outside[lane];
        into_.exact_ += exact[lane];
    }
}

void DifferenceKernel::note_worst(std::uint64_t index, double a, double b) {
    into_.worst_sample_ = into_.samples_;
    into_.worst_index_ = index;
    into_.worst_candidate_ = a;
    into_.worst_reference_ = b;
}

void DifferenceKernel::add_finite(const double* a, const double* b, const double* d,
                                  std::size_t count, const std::uint64_t* index) {
    if (count == 0) {
        return;
    }
    if (into_.tolerance_.rule == ToleranceRule::sum) {
        sum_lanes<ToleranceRule::sum>(a, b, d, count);
    } else {
        sum_lanes<ToleranceRule::either>(a, b, d, count);
    }
    if (block_max_ == 0) {
        return;
    }
    if (block_max_ > into_.max_abs_) {
        into_.max_abs_ = block_max_;
        if (!into_.worst_nonfinite_) {
            const auto at = static_cast<std::size_t>(
                std::find_if(d, d + count,
                             [&](double value) { return std::fabs(value) == block_max_; }) -
                d);
            note_worst(index[at], a[at], b[at]);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (d[i] != 0) {
            ++into_.histogram_[bin_of(std::fabs(d[i]))];
        }
    }
}

void DifferenceKernel::add_with_nonfinite(const double* a, const double* b, const double* d,
                                          std::size_t count, std::uint64_t first) {
    std::array<double, block> finite_a{}, finite_b{}, finite_d{};
    std::array<std::uint64_t, block> index{};
    std::size_t finite = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (std::isfinite(a[i]) && std::isfinite(b[i])) {
            finite_a[finite] = a[i];
            finite_b[finite] = b[i];
            finite_d[finite] = d[i];
            index[finite++] = first + i;
            continue;
        }
        ++into_.nonfinite_pairs_;
        into_.nan_ += std::isnan(a[i]) ? 1 : 0;
        into_.inf_ += std::isinf(a[i]) ? 1 : 0;
        into_.reference_nan_ += std::isnan(b[i]) ? 1 : 0;
        into_.reference_inf_ += std::isinf(b[i]) ? 1 : 0;
        const bool equal = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        if (equal) {
            ++into_.exact_;
            continue;
        }
        ++into_.outside_;
        if (!into_.worst_nonfinite_) {
            into_.worst_nonfinite_ = true;
            note_worst(first + i, a[i], b[i]);
        }
    }
    add_finite(finite_a.data(), finite_b.data(), finite_d.data(), finite, index.data());
}

void DifferenceKernel::add(const double* a, const double* b, const double* d, std::size_t count,
                           std::uint64_t first) {
    if (!all_finite(a, count) || !all_finite(b, count)) {
        add_with_nonfinite(a, b, d, count, first);
        return;
    }
    std::array<std::uint64_t, block> index;
    for (std::size_t i = 0; i < count; ++i) {
        index[i] = first + i;
    }
    add_finite(a, b, d, count, index.data());
}

void DifferenceKernel::add_equality(std::uint64_t index, bool equal) {
    if (equal) {
        ++into_.exact_;
        return;
    }
    ++into_.outside_;
    into_.sum_abs_ += 1;
    into_.sum_squares_ += 1;
    if (into_.max_abs_ < 1) {
        into_.max_abs_ = 1;
        note_worst(index, 0, 0);
    }
}

}  // namespace requal::measure
