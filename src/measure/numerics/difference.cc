#include "measure/numerics/difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "measure/numerics/difference_kernel.h"
#include "tensor/half.h"

namespace requal::measure {

namespace {

using Block = std::array<double, DifferenceKernel::block>;
__extension__ typedef __int128 Int128;

enum class Family { floating, whole, text, none };

Family family_of(ElementType type) {
    if (is_floating(type)) {
        return Family::floating;
    }
    if (is_integer(type) || type == ElementType::boolean) {
        return Family::whole;
    }
    return type == ElementType::string ? Family::text : Family::none;
}

bool is_64_bit(ElementType type) {
    return type == ElementType::int64 || type == ElementType::uint64;
}

template <typename T>
T element_at(const Tensor& tensor, std::uint64_t index) {
    T value;
    std::memcpy(&value, tensor.bytes().data() + index * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
void convert_block(const Tensor& tensor, std::uint64_t first, std::size_t count, double* target) {
    const std::byte* source = tensor.bytes().data() + first * sizeof(T);
    for (std::size_t i = 0; i < count; ++i) {
        T value;
        std::memcpy(&value, source + i * sizeof(T), sizeof(T));
        target[i] = static_cast<double>(value);
    }
}

template <typename Convert>
void convert_half_block(const Tensor& tensor, std::uint64_t first, std::size_t count,
                        double* target, Convert convert) {
    for (std::size_t i = 0; i < count; ++i) {
        target[i] = static_cast<double>(convert(element_at<std::uint16_t>(tensor, first + i)));
    }
}

void to_double(const Tensor& tensor, std::uint64_t first, std::size_t count, double* target) {
    switch (tensor.type()) {
    case ElementType::float32:
        convert_block<float>(tensor, first, count, target);
        return;
    case ElementType::float64:
        convert_block<double>(tensor, first, count, target);
        return;
    case ElementType::float16:
        convert_half_block(tensor, first, count, target, half_to_float);
        return;
    case ElementType::bfloat16:
        convert_half_block(tensor, first, count, target, bfloat16_to_float);
        return;
    case ElementType::int8:
        convert_block<std::int8_t>(tensor, first, count, target);
        return;
    case ElementType::int16:
        convert_block<std::int16_t>(tensor, first, count, target);
        return;
    case ElementType::int32:
        convert_block<std::int32_t>(tensor, first, count, target);
        return;
    case ElementType::int64:
        convert_block<std::int64_t>(tensor, first, count, target);
        return;
    case ElementType::uint8:
        convert_block<std::uint8_t>(tensor, first, count, target);
        return;
    case ElementType::uint16:
        convert_block<std::uint16_t>(tensor, first, count, target);
        return;
    case ElementType::uint32:
        convert_block<std::uint32_t>(tensor, first, count, target);
        return;
    case ElementType::uint64:
        convert_block<std::uint64_t>(tensor, first, count, target);
        return;
    case ElementType::boolean:
        for (std::size_t i = 0; i < count; ++i) {
            target[i] = tensor.bytes()[first + i] == std::byte{0} ? 0 : 1;
        }
        return;
    case ElementType::string:
    case ElementType::complex64:
    case ElementType::complex128:
        break;
    }
    throw Error(ErrorKind::internal,
                "elements of type " + std::string(name_of(tensor.type())) + " are not numbers");
}

Int128 whole_at(const Tensor& tensor, std::uint64_t index) {
    switch (tensor.type()) {
    case ElementType::int64:
        return element_at<std::int64_t>(tensor, index);
    case ElementType::uint64:
        return element_at<std::uint64_t>(tensor, index);
    default: {
        double value = 0;  // exact: every other whole type has at most 32 bits
        to_double(tensor, index, 1, &value);
        return static_cast<std::int64_t>(value);
    }
    }
}

/// Index of the first largest element; NaN is never the largest.
std::size_t argmax_of(const double* values, std::size_t count) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i) {
        if (values[i] > values[best] || (std::isnan(values[best]) && !std::isnan(values[i]))) {
            best = i;
        }
    }
    return best;
}

struct ArgmaxCount {
    std::uint64_t rows = 0;
    std::uint64_t disagreements = 0;
};

ArgmaxCount compare_argmax(const Tensor& reference, const Tensor& candidate) {
    ArgmaxCount result;
    const Shape& shape = reference.shape();
    if (shape.size() < 2 || shape.back() < 2 || reference.count() == 0) {
        return result;
    }
    const auto length = static_cast<std::size_t>(shape.back());
    result.rows = reference.count() / length;
    const bool same_type = reference.type() == candidate.type();
    const std::size_t row_bytes = length * size_of(reference.type());
    std::vector<double> left(length), right(length);
    for (std::uint64_t row = 0; row < result.rows; ++row) {
        if (same_type && std::memcmp(reference.bytes().data() + row * row_bytes,
                                     candidate.bytes().data() + row * row_bytes, row_bytes) == 0) {
            continue;
        }
        to_double(reference, row * length, length, left.data());
        to_double(candidate, row * length, length, right.data());
        result.disagreements +=
            argmax_of(left.data(), length) != argmax_of(right.data(), length) ? 1 : 0;
    }
    return result;
}

Json index_json(std::uint64_t flat, const Shape& shape) {
    std::vector<std::uint64_t> index(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        const auto extent = static_cast<std::uint64_t>(shape[axis]);
        index[axis] = extent == 0 ? 0 : flat % extent;
        flat = extent == 0 ? 0 : flat / extent;
    }
    Json result = Json::array();
    for (const std::uint64_t value : index) {
        result.push_back(value);
    }
    return result;
}

}  // namespace

std::string_view name_of(ToleranceRule rule) {
    return rule == ToleranceRule::sum ? "sum" : "either";
}

ToleranceRule parse_tolerance_rule(std::string_view word) {
    if (word == "sum") {
        return ToleranceRule::sum;
    }
    if (word == "either") {
        return ToleranceRule::either;
    }
    throw Error(ErrorKind::usage, "unknown tolerance rule '" + std::string(word) + "'", {},
                "use sum or either");
}

void Difference::add(const Tensor& reference, const Tensor& candidate) {
    const Family family = family_of(reference.type());
    if (family != family_of(candidate.type()) || family == Family::none) {
        throw Error(ErrorKind::input, "type " + std::string(requal::name_of(candidate.type())) +
                                          " cannot be compared with the reference's " +
                                          std::string(requal::name_of(reference.type())));
    }
    if (reference.shape() != candidate.shape()) {
        throw Error(ErrorKind::input, "shape " + text_of(candidate.shape()) +
                                          " is not the reference's " + text_of(reference.shape()));
    }
    DifferenceKernel kernel(*this);
    const std::uint64_t count = reference.count();
    if (family == Family::text) {
        for (std::uint64_t i = 0; i < count; ++i) {
            kernel.add_equality(i, reference.strings()[i] == candidate.strings()[i]);
        }
    } else {
        const bool exact_whole = is_64_bit(reference.type()) || is_64_bit(candidate.type());
        Block a, b, d;
        for (std::uint64_t first = 0; first < count; first += DifferenceKernel::block) {
            const auto length = static_cast<std::size_t>(
                std::min<std::uint64_t>(DifferenceKernel::block, count - first));
            to_double(candidate, first, length, a.data());
            to_double(reference, first, length, b.data());
            if (exact_whole) {
                for (std::size_t i = 0; i < length; ++i) {
                    d[i] = static_cast<double>(whole_at(candidate, first + i) -
                                               whole_at(reference, first + i));
                }
            } else {
                for (std::size_t i = 0; i < length; ++i) {
                    d[i] = a[i] - b[i];
                }
            }
            kernel.add(a.data(), b.data(), d.data(), length, first);
        }
        if (family == Family::floating) {
            const ArgmaxCount argmax = compare_argmax(reference, candidate);
            argmax_rows_ += argmax.rows;
            argmax_disagreements_ += argmax.disagreements;
        }
    }
    if (worst_sample_ == samples_) {
        worst_shape_ = reference.shape();
    }
    count_ += count;
    ++samples_;
}

void Difference::merge(const Difference& other) {
    const bool other_is_worse =
        worst_nonfinite_ ? false
                         : other.worst_nonfinite_ || other.max_abs_ > max_abs_ || samples_ == 0;
    if (other_is_worse) {
        worst_nonfinite_ = other.worst_nonfinite_;
        worst_sample_ = samples_ + other.worst_sample_;
        worst_index_ = other.worst_index_;
        worst_shape_ = other.worst_shape_;
        worst_reference_ = other.worst_reference_;
        worst_candidate_ = other.worst_candidate_;
    }
    max_abs_ = std::max(max_abs_, other.max_abs_);
    max_rel_ = std::max(max_rel_, other.max_rel_);
    needed_atol_ = std::max(needed_atol_, other.needed_atol_);
    needed_rtol_ = std::max(needed_rtol_, other.needed_rtol_);
    sum_abs_ += other.sum_abs_;
    sum_squares_ += other.sum_squares_;
    dot_ += other.dot_;
    norm_a_ += other.norm_a_;
    norm_b_ += other.norm_b_;
    nan_ += other.nan_;
    inf_ += other.inf_;
    reference_nan_ += other.reference_nan_;
    reference_inf_ += other.reference_inf_;
    nonfinite_pairs_ += other.nonfinite_pairs_;
    outside_ += other.outside_;
    count_ += other.count_;
    samples_ += other.samples_;
    exact_ += other.exact_;
    argmax_rows_ += other.argmax_rows_;
    argmax_disagreements_ += other.argmax_disagreements_;
    for (int i = 0; i < histogram_bins; ++i) {
        histogram_[i] += other.histogram_[i];
    }
}

double Difference::mean_abs() const {
    const std::uint64_t finite = count_ - nonfinite_pairs_;
    return finite == 0 ? 0 : sum_abs_ / static_cast<double>(finite);
}

double Difference::rmse() const {
    const std::uint64_t finite = count_ - nonfinite_pairs_;
    return finite == 0 ? 0 : std::sqrt(sum_squares_ / static_cast<double>(finite));
}

double Difference::cosine() const {
    // Square roots first: the product of the sums could overflow.
    const double scale = std::sqrt(norm_a_) * std::sqrt(norm_b_);
    return scale > 0 ? std::clamp(dot_ / scale, -1.0, 1.0)
                     : std::numeric_limits<double>::quiet_NaN();
}

double Difference::snr_db() const {
    return sum_squares_ > 0 ? 10 * std::log10(norm_b_ / sum_squares_)
                            : std::numeric_limits<double>::infinity();
}

Verdict Difference::verdict() const {
    if (count_ == 0) {
        return Verdict::undecidable;
    }
    if (outside_ > 0) {
        return Verdict::fail;
    }
    const bool nonfinite = nonfinite_pairs_ > 0;
    return nonfinite && !tolerance_.accept_nonfinite ? Verdict::fail : Verdict::pass;
}

Json Difference::to_json(std::string_view name) const {
    Json result = Json::object();
    result["name"] = name;
    result.set_number("max_abs", max_abs_);
    result.set_number("max_rel", max_rel_);
    result.set_number("mean_abs", mean_abs());
    result.set_number("rmse", rmse());
    result.set_number("cosine", cosine());
    result.set_number("snr_db", snr_db());
    result["nan"] = nan_;
    result["inf"] = inf_;
    result["reference_nan"] = reference_nan_;
    result["reference_inf"] = reference_inf_;
    result["nonfinite_pairs"] = nonfinite_pairs_;
    result["outside"] = outside_;
    result["elements"] = count_;
    result["exact"] = exact_;
    result["samples"] = samples_;
    result["argmax_disagreements"] = argmax_disagreements_;
    result["argmax_rows"] = argmax_rows_;
    result["atol"] = tolerance_.atol;
    result["rtol"] = tolerance_.rtol;
    result["rule"] = name_of(tolerance_.rule);
    result["accept_nonfinite"] = tolerance_.accept_nonfinite;
    result.set_number("needed_atol", needed_atol_);
    result.set_number("needed_rtol", needed_rtol_);
    if (max_abs_ > 0 || worst_nonfinite_) {
        Json worst = Json::object();
        worst["sample"] = worst_sample_;
        worst["index"] = index_json(worst_index_, worst_shape_);
        worst.set_number("reference", worst_reference_);
        worst.set_number("candidate", worst_candidate_);
        result["worst"] = std::move(worst);
    }
    Json histogram = Json::array();
    for (int i = 0; i < histogram_bins; ++i) {
        if (histogram_[i] > 0) {
            Json bin = Json::object();
            bin["from"] = histogram_border(i);
            bin["count"] = histogram_[i];
            histogram.push_back(std::move(bin));
        }
    }
    result["histogram"] = std::move(histogram);
    result["verdict"] = requal::name_of(verdict());
    return result;
}

}  // namespace requal::measure
