// Checks and identity of single samples, and the small texts that name shapes and ranges.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "data/inputs.h"

namespace requal::data {

namespace {

std::string list_of(const std::vector<InputPort>& ports) {
    std::string text;
    for (const InputPort& port : ports) {
        text += (text.empty() ? "" : ", ") + port.name;
    }
    return text.empty() ? "none" : text;
}

void update_number(Hasher& hasher, std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(value >> (8 * i));
    }
    hasher.update(bytes);
}

void update_text(Hasher& hasher, std::string_view text) {
    update_number(hasher, text.size());
    hasher.update(text);
}

double parse_bound(std::string_view text, std::string_view whole, std::string_view option) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
        throw Error(ErrorKind::usage, "'" + std::string(whole) + "' is not NAME:LOW:HIGH",
                    std::string(option), "write for example image:0:255");
    }
    return value;
}

}  // namespace

void check_sample(const NamedTensors& sample, const std::vector<InputPort>& ports,
                  const std::string& source) {
    for (const auto& [name, tensor] : sample) {
        const auto port = std::find_if(ports.begin(), ports.end(),
                                       [&n = name](const InputPort& p) { return p.name == n; });
        if (port == ports.end()) {
            throw Error(ErrorKind::input, "array '" + name + "' is no input of the model", source,
                        "its inputs are: " + list_of(ports));
        }
        const std::string where = source + ", array '" + name + "'";
        if (tensor.type() != port->type) {
            throw Error(ErrorKind::input,
                        "type " + std::string(name_of(tensor.type())) + " where the model wants " +
                            std::string(name_of(port->type)),
                        where, "convert the array");
        }
        bool fits = tensor.shape().size() == port->shape.size();
        for (std::size_t axis = 0; fits && axis < port->shape.size(); ++axis) {
            fits = port->shape[axis] < 0 || port->shape[axis] == tensor.shape()[axis];
        }
        if (!fits) {
            throw Error(ErrorKind::input,
                        "shape " + text_of(tensor.shape()) + " where the model wants " +
                            text_of(port->shape),
                        where);
        }
    }
    for (const InputPort& port : ports) {
        const auto matches = std::count_if(sample.begin(), sample.end(), [&](const auto& item) {
            return item.first == port.name;
        });
        if (matches == 0) {
            throw Error(ErrorKind::input, "no array for the model's input '" + port.name + "'",
                        source, "arrays carry the names of the inputs: " + list_of(ports));
        }
        if (matches > 1) {
            throw Error(ErrorKind::input, "two arrays for the model's input '" + port.name + "'",
                        source);
        }
    }
}

Digest digest_of_sample(const NamedTensors& sample) {
    std::vector<const std::pair<std::string, Tensor>*> order;
    for (const auto& item : sample) {
        order.push_back(&item);
    }
    std::sort(order.begin(), order.end(),
              [](const auto* left, const auto* right) { return left->first < right->first; });
    Hasher hasher;
    for (const auto* item : order) {
        const Tensor& tensor = item->second;
        update_text(hasher, item->first);
        update_text(hasher, name_of(tensor.type()));
        update_number(hasher, tensor.shape().size());
        for (const std::int64_t extent : tensor.shape()) {
            update_number(hasher, static_cast<std::uint64_t>(extent));
        }
        if (tensor.type() == ElementType::string) {
            for (const std::string& text : tensor.strings()) {
                update_text(hasher, text);
            }
        } else {
            hasher.update(tensor.bytes());
        }
    }
    return hasher.finish();
}

std::vector<InputPort> with_shapes(std::vector<InputPort> ports,
                                   const std::map<std::string, Shape>& shapes) {
    for (const auto& [name, shape] : shapes) {
        const auto port = std::find_if(ports.begin(), ports.end(),
                                       [&n = name](const InputPort& p) { return p.name == n; });
        if (port == ports.end()) {
            throw Error(ErrorKind::usage, "the model has no input '" + name + "'", "--shape",
                        "its inputs are: " + list_of(ports));
        }
        bool fits = shape.size() == port->shape.size();
        for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
            fits = shape[axis] >= 0 && (port->shape[axis] < 0 || port->shape[axis] == shape[axis]);
        }
        if (!fits) {
            throw Error(ErrorKind::usage,
                        "shape " + text_of(shape) + " does not fit input '" + name +
                            "', which is " + text_of(port->shape),
                        "--shape");
        }
        port->shape = shape;
    }
    return ports;
}

std::pair<std::string, Shape> parse_named_shape(std::string_view text, std::string_view option) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
        throw Error(ErrorKind::usage, "'" + std::string(text) + "' is not NAME:SHAPE",
                    std::string(option), "write for example image:1x3x320x320");
    }
    try {
        return {std::string(text.substr(0, colon)), parse_shape(text.substr(colon + 1))};
    } catch (const Error& error) {
        throw Error(ErrorKind::usage, error.message(), std::string(option),
                    "write for example image:1x3x320x320");
    }
}

std::pair<std::string, std::pair<double, double>> parse_named_range(std::string_view text,
                                                                    std::string_view option) {
    const std::size_t second = text.rfind(':');
    const std::size_t first = second == std::string_view::npos || second == 0
                                  ? std::string_view::npos
                                  : text.rfind(':', second - 1);
    if (first == std::string_view::npos || first == 0) {
        throw Error(ErrorKind::usage, "'" + std::string(text) + "' is not NAME:LOW:HIGH",
                    std::string(option), "write for example image:0:255");
    }
    const double low = parse_bound(text.substr(first + 1, second - first - 1), text, option);
    const double high = parse_bound(text.substr(second + 1), text, option);
    if (low > high) {
        throw Error(ErrorKind::usage,
                    "the low end of '" + std::string(text) + "' is above its high end",
                    std::string(option));
    }
    return {std::string(text.substr(0, first)), {low, high}};
}

}  // namespace requal::data
