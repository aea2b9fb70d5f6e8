// Inputs from a counter-based generator: docs/formats/random-inputs.md describes every step, so that others can make the same.
#include <cmath>
#include <cstring>
#include <limits>

#include "base/cancel.h"
#include "base/error.h"
#include "data/inputs.h"
#include "tensor/half.h"

namespace requal::data {

namespace {

__extension__ typedef unsigned __int128 Wide;

/// SplitMix64's step. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of
/// the public-domain reference by Sebastiano Vigna (splitmix64.c).
constexpr std::uint64_t golden = 0x9E3779B97F4A7C15U;

std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
}

/// FNV-1a, 64 bits.
std::uint64_t name_hash(std::string_view name) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    }
    return hash;
}

/// The words of one input of one sample: word i is output i + 1 of SplitMix64 started at `state`.
struct Words {
    std::uint64_t state;
    Words(std::uint64_t seed, std::string_view name, std::uint64_t sample)
        : state(mix(mix(mix(seed + golden) ^ name_hash(name)) + (sample + 1) * golden)) {}
    std::uint64_t operator[](std::uint64_t i) const { return mix(state + (i + 1) * golden); }
};

/// Elements between two looks for a signal.
constexpr std::size_t look_up = std::size_t{1} << 20U;

double unit_of(std::uint64_t word) {
    return static_cast<double>(word >> 11U) * 0x1p-53;
}

/// Uniform over [low, high) in the port's own type: rounded to nearest even, and to the next value below when that gives `high`.
template <typename Store, typename Round, typename Back>
void fill_floating(Tensor& tensor, const Words& words, double low, double high, Round round,
                   Back back) {
    const auto values = tensor.mutable_values<Store>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % look_up == 0) {
            throw_if_cancelled();
        }
        const double exact = low + unit_of(words[i]) * (high - low);
        Store value = round(exact);
        while (low < high && back(value) >= high) {
            if constexpr (std::is_floating_point_v<Store>) {
                value = std::nextafter(value, -std::numeric_limits<Store>::infinity());
            } else {
                // Half floats as bits: one step towards minus infinity.
                value = static_cast<Store>(value == 0               ? 0x8001U
                                           : (value & 0x8000U) != 0 ? value + 1U
                                                                    : value - 1U);
            }
        }
        values[i] = value;
    }
}

/// Uniform over low..high, both included, by Lemire's multiplication without rejection: the bias is below (high - low + 1) / 2^64.
template <typename Store>
void fill_whole(Tensor& tensor, const Words& words, Store low, Store high) {
    const std::uint64_t span =
        static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    const auto values = tensor.mutable_values<Store>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % look_up == 0) {
            throw_if_cancelled();
        }
        const std::uint64_t word = words[i];
        const std::uint64_t offset =
            span == 0 ? word : static_cast<std::uint64_t>((static_cast<Wide>(word) * span) >> 64U);
        values[i] = static_cast<Store>(static_cast<std::uint64_t>(low) + offset);
    }
}

template <typename Store>
Store bound_of(double value, const std::string& name) {
    // 2^63 and 2^64 as double are past the type; the largest double below them is within.
    const bool within = value >= static_cast<double>(std::numeric_limits<Store>::min()) &&
                        value < std::ldexp(1.0, std::numeric_limits<Store>::digits);
    if (!within || value != std::floor(value)) {
        throw Error(ErrorKind::usage,
                    "range of the integer input '" + name + "' must be whole numbers of its type",
                    "--range");
    }
    return static_cast<Store>(value);
}

template <typename Store>
void fill_whole_range(Tensor& tensor, const Words& words, const std::pair<double, double>& range,
                      const std::string& name) {
    fill_whole<Store>(tensor, words, bound_of<Store>(range.first, name),
                      bound_of<Store>(range.second, name));
}

void fill(Tensor& tensor, const Words& words, const std::string& name,
          const std::pair<double, double>* range) {
    const std::pair<double, double> whole =
        range != nullptr ? *range : std::pair<double, double>{0, 9};
    const std::pair<double, double> real =
        range != nullptr ? *range : std::pair<double, double>{0, 1};
    switch (tensor.type()) {
    case ElementType::float32:
        fill_floating<float>(
            tensor, words, real.first, real.second, [](double v) { return static_cast<float>(v); },
            [](float v) { return static_cast<double>(v); });
        return;
    case ElementType::float64:
        fill_floating<double>(
            tensor, words, real.first, real.second, [](double v) { return v; },
            [](double v) { return v; });
        return;
    case ElementType::float16:
        fill_floating<std::uint16_t>(
            tensor, words, real.first, real.second,
            [](double v) { return float_to_half(static_cast<float>(v)); },
            [](std::uint16_t v) { return static_cast<double>(half_to_float(v)); });
        return;
    case ElementType::bfloat16:
        fill_floating<std::uint16_t>(
            tensor, words, real.first, real.second,
            [](double v) { return float_to_bfloat16(static_cast<float>(v)); },
            [](std::uint16_t v) { return static_cast<double>(bfloat16_to_float(v)); });
        return;
    case ElementType::int8:
        fill_whole_range<std::int8_t>(tensor, words, whole, name);
        return;
    case ElementType::int16:
        fill_whole_range<std::int16_t>(tensor, words, whole, name);
        return;
    case ElementType::int32:
        fill_whole_range<std::int32_t>(tensor, words, whole, name);
        return;
    case ElementType::int64:
        fill_whole_range<std::int64_t>(tensor, words, whole, name);
        return;
    case ElementType::uint8:
        fill_whole_range<std::uint8_t>(tensor, words, whole, name);
        return;
    case ElementType::uint16:
        fill_whole_range<std::uint16_t>(tensor, words, whole, name);
        return;
    case ElementType::uint32:
        fill_whole_range<std::uint32_t>(tensor, words, whole, name);
        return;
    case ElementType::uint64:
        fill_whole_range<std::uint64_t>(tensor, words, whole, name);
        return;
    case ElementType::boolean:
        fill_whole<std::uint8_t>(tensor, words, 0, 1);
        return;
    case ElementType::string:
        for (std::size_t i = 0; i < tensor.strings().size(); ++i) {
            tensor.strings()[i] = std::to_string(
                static_cast<std::uint64_t>((static_cast<Wide>(words[i]) * 10U) >> 64U));
        }
        return;
    case ElementType::complex64:
    case ElementType::complex128:
        break;
    }
    throw Error(ErrorKind::input,
                "input '" + name + "' is " + std::string(name_of(tensor.type())) +
                    ", which has no generator",
                {}, "give inputs with --inputs");
}

class RandomInputs final : public InputSource {
public:
    RandomInputs(std::vector<InputPort> ports, std::uint64_t count, std::uint64_t seed,
                 std::map<std::string, std::pair<double, double>> ranges)
        : ports_(std::move(ports)), count_(count), seed_(seed), ranges_(std::move(ranges)) {}

    std::uint64_t size() const override { return count_; }

    NamedTensors sample(std::uint64_t index) const override {
        if (index >= count_) {
            throw Error(ErrorKind::internal,
                        "random sample " + std::to_string(index) + " of " + std::to_string(count_));
        }
        NamedTensors result;
        for (const InputPort& port : ports_) {
            constexpr std::uint64_t limit_bytes = std::uint64_t{8} << 30U;
            Tensor tensor(port.type, port.shape, limit_bytes);
            const auto range = ranges_.find(port.name);
            fill(tensor, Words(seed_, port.name, index), port.name,
                 range == ranges_.end() ? nullptr : &range->second);
            result.emplace_back(port.name, std::move(tensor));
        }
        return result;
    }

    std::string sample_name(std::uint64_t index) const override {
        return "random-" + std::to_string(seed_) + "-" + std::to_string(index);
    }

    Json describe() const override {
        Json result = Json::object();
        result["kind"] = "random";
        result["algorithm"] = "splitmix64-by-name/1";
        result["seed"] = seed_;
        result["samples"] = count_;
        Json shapes = Json::object();
        for (const InputPort& port : ports_) {
            Json shape = Json::array();
            for (const std::int64_t extent : port.shape) {
                shape.push_back(extent);
            }
            shapes[port.name] = std::move(shape);
        }
        result["shapes"] = std::move(shapes);
        if (!ranges_.empty()) {
            Json ranges = Json::object();
            for (const auto& [name, range] : ranges_) {
                ranges[name] = Json::array({range.first, range.second});
            }
            result["ranges"] = std::move(ranges);
        }
        return result;
    }

private:
    std::vector<InputPort> ports_;
    std::uint64_t count_;
    std::uint64_t seed_;
    std::map<std::string, std::pair<double, double>> ranges_;
};

std::string example_shape(const InputPort& port) {
    Shape shape = port.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        shape[axis] = shape[axis] >= 0 ? shape[axis] : axis == 0 ? 1 : 224;
    }
    return "--shape " + port.name + ":" + text_of(shape);
}

}  // namespace

std::unique_ptr<InputSource>
random_inputs(std::vector<InputPort> ports, std::uint64_t count, std::uint64_t seed,
              const std::map<std::string, Shape>& shapes,
              const std::map<std::string, std::pair<double, double>>& ranges) {
    ports = with_shapes(std::move(ports), shapes);
    for (const InputPort& port : ports) {
        for (const std::int64_t extent : port.shape) {
            if (extent < 0) {
                throw Error(ErrorKind::usage,
                            "input '" + port.name + "' has dynamic axes: " + text_of(port.shape),
                            {}, "fix them, for example " + example_shape(port));
            }
        }
    }
    for (const auto& [name, range] : ranges) {
        bool known = false;
        for (const InputPort& port : ports) {
            known = known || port.name == name;
        }
        if (!known) {
            throw Error(ErrorKind::usage, "the model has no input '" + name + "'", "--range");
        }
    }
    return std::make_unique<RandomInputs>(std::move(ports), count, seed, ranges);
}

}  // namespace requal::data
