#include "toolchain/runners/support/inputs.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.h"

namespace requal::toolchain {
namespace {

constexpr std::size_t alignment = 64;

/// True when `shape` fits `port`: equal rank and equal fixed dimensions.
bool fits(const Shape& shape, const Port& port) {
    if (shape.size() != port.shape.size())
        return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (port.shape[axis] >= 0 && shape[axis] != port.shape[axis])
            return false;
    }
    return true;
}

std::string names_of(const std::vector<Port>& ports) {
    std::string result;
    for (const auto& port : ports)
        result += (result.empty() ? "" : ", ") + port.name;
    return result.empty() ? "none" : result;
}

}  // namespace

std::vector<const Tensor*> match_inputs(const std::vector<Port>& ports,
                                        const NamedTensors& inputs) {
    check_inputs(ports, inputs);
    std::vector<const Tensor*> result(ports.size(), nullptr);
    for (const auto& [name, tensor] : inputs) {
        const auto port =
            std::find_if(ports.begin(), ports.end(),
                         [&name = name](const Port& item) { return item.name == name; });
        auto& slot = result[static_cast<std::size_t>(port - ports.begin())];
        if (slot)
            throw Error(ErrorKind::input, "given twice", "input " + name);
        const auto count = element_count(tensor.shape());
        const bool complete = tensor.type() == ElementType::string
                                  ? tensor.strings().size() == count
                                  : tensor.bytes().size() == count * size_of(tensor.type());
        if (!complete)
            throw Error(ErrorKind::input, "holds less or more than its shape says",
                        "input " + name);
        slot = &tensor;
    }
    return result;
}

void fix_shapes(std::vector<Port>& ports, const std::map<std::string, Shape>& shapes,
                std::string_view prefix) {
    for (const auto& entry : shapes) {
        // no structured binding: clang up to 15 does not let a lambda capture one
        const std::string& name = entry.first;
        const Shape& shape = entry.second;
        const auto where = "option " + std::string(prefix) + name;
        const auto port = std::find_if(ports.begin(), ports.end(),
                                       [&](const Port& item) { return item.name == name; });
        if (port == ports.end())
            throw Error(ErrorKind::input, "the model has no such input", where,
                        "its inputs are: " + names_of(ports));
        if (!fits(shape, *port))
            throw Error(ErrorKind::input,
                        text_of(shape) + " does not fit the input's " + text_of(port->shape),
                        where);
        port->shape = shape;
    }
}

bool all_static(const std::vector<Port>& ports) {
    return std::all_of(ports.begin(), ports.end(), [](const Port& port) {
        return std::all_of(port.shape.begin(), port.shape.end(),
                           [](std::int64_t size) { return size >= 0; });
    });
}

NamedTensors zero_inputs(const std::vector<Port>& ports) {
    NamedTensors result;
    for (const auto& port : ports) {
        Tensor tensor(port.type, port.shape, std::uint64_t{1} << 30);
        if (port.type == ElementType::string)
            tensor.strings().resize(element_count(port.shape));
        result.emplace_back(port.name, std::move(tensor));
    }
    return result;
}

Tensor aligned(const Tensor& tensor) {
    const auto bytes = tensor.bytes();
    if (tensor.type() == ElementType::string ||
        reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment == 0)
        return tensor;
    const auto size = std::max<std::size_t>(bytes.size(), 1);
    auto* raw = static_cast<std::byte*>(::operator new (size, std::align_val_t{alignment}));
    std::shared_ptr<const void> owner(
        raw, [](std::byte* memory) { ::operator delete (memory, std::align_val_t{alignment}); });
    if (!bytes.empty())
        std::memcpy(raw, bytes.data(), bytes.size());
    return Tensor(tensor.type(), tensor.shape(), {raw, bytes.size()}, std::move(owner));
}

}  // namespace requal::toolchain
