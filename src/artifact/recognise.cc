#include "artifact/recognise.h"

#include <utility>

namespace requal::artifact {

std::vector<std::string> Recognised::problems() const {
    std::vector<std::string> all = damage;
    all.insert(all.end(), oddities.begin(), oddities.end());
    return all;
}

Recognised recognise(const ByteSource& source) {
    std::optional<Recognised> damaged;
    for (const NamedRecogniser& recogniser : all_recognisers()) {
        std::optional<Recognised> found = recogniser.recognise(source);
        if (found && found->kind != "unknown")
            return std::move(*found);
        if (found && !damaged)
            damaged = std::move(found);
    }
    Recognised result = damaged ? std::move(*damaged) : Recognised();
    result.unknown.insert(result.unknown.begin(), "kind");
    return result;
}

std::optional<Recognised> recognise_inside(const ByteSource& source) {
    for (const NamedRecogniser& recogniser : all_recognisers()) {
        if (!recogniser.inside)
            continue;
        std::optional<Recognised> found = recogniser.recognise(source);
        if (found && found->kind != "unknown")
            return found;
    }
    return std::nullopt;
}

void verify_checksum(const ByteSource& source, Recognised& found) {
    for (const NamedRecogniser& recogniser : all_recognisers())
        if (recogniser.verify != nullptr && recogniser.name == found.kind &&
            found.wrapper.is_null())
            recogniser.verify(source, found);
}

std::string_view role_of_kind(std::string_view kind) {
    static constexpr std::pair<std::string_view, std::string_view> roles[] = {
        {"onnx", "model"},
        {"ort", "model"},
        {"tflite", "model"},
        {"openvino-ir", "model"},
        {"torchscript", "model"},
        {"ort-ep-context", "engine"},
        {"tensorrt-plan", "engine"},
        {"tensorrt-rtx-plan", "engine"},
        {"openvino-blob", "engine"},
        {"qnn-context", "engine"},
        {"hailo-hef", "engine"},
        {"torch-checkpoint", "checkpoint"},
        {"safetensors", "checkpoint"},
        {"calibration-cache", "build input"},
        {"timing-cache", "build input"},
        {"npz", "data"},
    };
    for (const auto& [name, role] : roles)
        if (name == kind)
            return role;
    return "";
}

bool is_no_engine(std::string_view kind) {
    const std::string_view role = role_of_kind(kind);
    return !role.empty() && role != "engine";
}

}  // namespace requal::artifact
