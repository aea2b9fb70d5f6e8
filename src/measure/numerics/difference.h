// How far two tensors lie apart: one pass, constant memory, and the tolerance that judges it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "base/document.h"
#include "base/json.h"
#include "tensor/tensor.h"

namespace requal::measure {

/// Which rule passes an element. sum: |a - b| <= atol + rtol * |b| (numpy.isclose); either: |a - b| <= atol or
/// |a - b| <= rtol * |b| (Polygraphy). b is the reference.
enum class ToleranceRule { sum, either };
std::string_view name_of(ToleranceRule rule);
ToleranceRule parse_tolerance_rule(std::string_view word);

struct Tolerance {
    double atol = 0;
    double rtol = 0;
    ToleranceRule rule = ToleranceRule::sum;
    bool accept_nonfinite =
        false;  ///< NaN and Inf that both sides have at the same place do not fail (numpy's equal_nan)
};

/// Running difference of candidate (a) against reference (b) over any number of samples. Computed in float64; 64-bit
/// integers are subtracted exactly first. Strings lie 0 (equal) or 1 (not equal) apart and are outside when not equal.
/// Equal infinities of one sign and NaN against NaN count as equal for `outside`; any other pair that is not finite is outside.
/// Pairs that are not both finite are left out of max, mean, rmse, cosine, snr and histogram, and counted apart.
class Difference {
public:
    explicit Difference(Tolerance tolerance) : tolerance_(tolerance) {}

    /// Adds one sample. Error(input) when types are not comparable (floating with floating, integer or boolean with integer or
    /// boolean, string with string are; complex is not) or shapes differ.
    void add(const Tensor& reference, const Tensor& candidate);
    /// Adds what `other` saw, as if its samples came after those seen here.
    void merge(const Difference& other);

    double max_abs() const { return max_abs_; }
    double max_rel() const {
        return max_rel_;
    }  ///< |a-b|/|b|, elements with b = 0 left out unless a = 0 too
    double mean_abs() const;
    double rmse() const;
    double cosine() const;  ///< of all elements together; NaN when a side is all zero
    double snr_db() const;  ///< 10 log10(sum b^2 / sum (a-b)^2); +inf when equal
    std::uint64_t nan() const { return nan_; }  ///< in the candidate
    std::uint64_t inf() const { return inf_; }
    std::uint64_t reference_nan() const { return reference_nan_; }
    std::uint64_t reference_inf() const { return reference_inf_; }
    std::uint64_t outside() const { return outside_; }
    std::uint64_t count() const { return count_; }
    std::uint64_t samples() const { return samples_; }
    std::uint64_t nonfinite_pairs() const {
        return nonfinite_pairs_;
    }  ///< pairs that are not both finite
    /// Where the worst element is: the first pair that is not finite on both sides and not equal, else the first of the largest
    /// |a - b|. The index is flat within the sample.
    std::uint64_t worst_sample() const { return worst_sample_; }
    std::uint64_t worst_index() const { return worst_index_; }
    double worst_reference() const { return worst_reference_; }
    double worst_candidate() const { return worst_candidate_; }
    /// Rows (last axis, two elements or more, floating point, rank 2 or more) in which the first largest element stands elsewhere.
    std::uint64_t argmax_disagreements() const { return argmax_disagreements_; }
    std::uint64_t argmax_rows() const { return argmax_rows_; }
    /// Smallest atol that would have passed every finite pair at the given rtol and rule; and the smallest rtol at the given atol
    /// (infinity when a reference element is zero and atol does not reach).
    double needed_atol() const { return needed_atol_; }
    double needed_rtol() const { return needed_rtol_; }
    const Tolerance& tolerance() const { return tolerance_; }
    /// fail when an element is outside, or when NaN or Inf appear on either side (unless tolerance().accept_nonfinite); pass
    /// otherwise; undecidable when nothing was compared.
    Verdict verdict() const;
    /// Histogram of |a - b| by decade: bin i counts [10^(i-20), 10^(i-19)); bin 0 also what is smaller, the last bin also what is
    /// larger. Exact zeros are not in it: exact() counts them.
    const std::uint64_t* histogram() const { return histogram_; }
    static constexpr int histogram_bins = 40;
    std::uint64_t exact() const { return exact_; }

    /// The `outputs[]` entry of `compare`: name, max_abs, max_rel, mean_abs, rmse, cosine, nan, inf, outside, atol, rtol, rule, verdict, ...
    Json to_json(std::string_view name) const;

private:
    friend class DifferenceKernel;
    Tolerance tolerance_;
    double max_abs_ = 0, max_rel_ = 0, sum_abs_ = 0, sum_squares_ = 0;
    double dot_ = 0, norm_a_ = 0, norm_b_ = 0;
    double needed_atol_ = 0, needed_rtol_ = 0, worst_reference_ = 0, worst_candidate_ = 0;
    std::uint64_t nan_ = 0, inf_ = 0, reference_nan_ = 0, reference_inf_ = 0, outside_ = 0,
                  count_ = 0, samples_ = 0, exact_ = 0;
    std::uint64_t nonfinite_pairs_ = 0, worst_sample_ = 0, worst_index_ = 0,
                  argmax_disagreements_ = 0, argmax_rows_ = 0;
    bool worst_nonfinite_ = false;
    Shape worst_shape_;  ///< of the sample that holds the worst element
    std::uint64_t histogram_[histogram_bins] = {};
};

}  // namespace requal::measure
