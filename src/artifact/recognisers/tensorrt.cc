// TensorRT and TensorRT-RTX plans. Of their header only this is known: bytes 0..3 hold the tag (`ftrt` or `vtrt`), 4..7 are zero in
// the layout that was seen, 24..27 hold major, minor, patch and build (NVIDIA/TensorRT issue 3073; read from real files).
#include "artifact/recognise.h"

namespace requal::artifact {

namespace {

constexpr std::size_t header_bytes = 28;

std::optional<Recognised> recognise_plan(const ByteSource& source, std::string_view tag,
                                         std::string_view kind) {
    const std::string_view header = source.view(0, header_bytes);
    if (header.substr(0, tag.size()) != tag)
        return std::nullopt;
    Recognised result;
    if (header.size() < header_bytes) {
        result.problems.push_back("begins as a " + std::string(kind) + " and is cut off at byte " +
                                  std::to_string(header.size()) + ", inside its header");
        return result;
    }
    result.kind = kind;
    result.recorded["tag"] = tag;
    if (header.substr(4, 4) == std::string_view("\0\0\0\0", 4)) {
        std::string version;
        for (std::size_t at = 24; at < header_bytes; ++at)
            version += (version.empty() ? "" : ".") +
                       std::to_string(static_cast<unsigned char>(header[at]));
        result.recorded["runtime_version"] = version;
    } else {
        result.problems.push_back("bytes 4 to 7 are not zero: an unknown layout of the header");
        result.unknown.push_back("runtime_version");
    }
    if (source.size() == header_bytes)
        result.problems.push_back("nothing follows the header");
    result.unknown.insert(result.unknown.end(),
                          {"compute_capability", "precision", "inputs", "outputs", "source_model"});
    return result;
}

std::optional<Recognised> recognise_tensorrt(const ByteSource& source) {
    return recognise_plan(source, "ftrt", "tensorrt-plan");
}

std::optional<Recognised> recognise_tensorrt_rtx(const ByteSource& source) {
    return recognise_plan(source, "vtrt", "tensorrt-rtx-plan");
}

}  // namespace

std::vector<NamedRecogniser> recognisers_tensorrt() {
    return {{"tensorrt", recognise_tensorrt}, {"tensorrt-rtx", recognise_tensorrt_rtx}};
}

}  // namespace requal::artifact
