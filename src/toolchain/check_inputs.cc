#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "toolchain/runner.h"

namespace requal::toolchain {

namespace {

std::string names_of(const std::vector<Port>& ports) {
    std::string text;
    for (const Port& port : ports) {
        text += (text.empty() ? "" : ", ") + port.name;
    }
    return text;
}

bool fits(const Shape& allowed, const Shape& given) {
    if (allowed.empty()) {
        return true;
    }
    return std::equal(
        allowed.begin(), allowed.end(), given.begin(), given.end(),
        [](std::int64_t port, std::int64_t tensor) { return port < 0 || port == tensor; });
}

}  // namespace

void check_inputs(const std::vector<Port>& ports, const NamedTensors& inputs) {
    for (const auto& [name, tensor] : inputs) {
        const auto port = std::find_if(ports.begin(), ports.end(),
                                       [&name = name](const Port& p) { return p.name == name; });
        if (port == ports.end()) {
            throw Error(ErrorKind::input, "there is no such input", "input " + name,
                        "its inputs are: " + names_of(ports));
        }
        if (tensor.type() != port->type) {
            throw Error(ErrorKind::input,
                        "it is " + std::string(name_of(tensor.type())) + ", needed is " +
                            std::string(name_of(port->type)),
                        "input " + name, "convert it first");
        }
        if (!fits(port->shape, tensor.shape())) {
            throw Error(ErrorKind::input,
                        "its shape is " + text_of(tensor.shape()) + ", needed is " +
                            text_of(port->shape),
                        "input " + name);
        }
    }
    for (const Port& port : ports) {
        if (find_tensor(inputs, port.name) == nullptr) {
            throw Error(ErrorKind::input, "it is missing", "input " + port.name,
                        "give it as " + std::string(name_of(port.type)) + " " +
                            text_of(port.shape));
        }
    }
}

void check_options(const Json& options, const std::vector<std::string>& known) {
    if (options.is_null()) {
        return;
    }
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    for (const auto& [name, value] : options.as_object()) {
        (void)value;
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            const std::string near = nearest(name, candidates);
            throw Error(ErrorKind::input, "this toolchain has no such option", "option " + name,
                        near.empty() ? "see its capabilities" : "did you mean " + near + "?");
        }
    }
}

}  // namespace requal::toolchain
