// OpenVINO blobs of the CPU plugin, as OpenVINO 2026.4.1 exports them: 8 bytes of magic, a 32-bit layout version, the 64-bit size of
// a text "meta=1.0;ov=2026.4.1;isa=...", and that text; all little-endian. Read from real files: nothing documents it, so another
// layout version is said to be unknown.
#include "artifact/recognise.h"

namespace requal::artifact {

namespace {

constexpr std::string_view magic = "RR_UPCVO";  // "OVCPU_RR" as a little-endian number
constexpr std::size_t text_offset = 20;
constexpr std::size_t text_limit = 65536;

std::optional<Recognised> recognise_blob(const ByteSource& source) {
    if (source.view(0, magic.size()) != magic)
        return std::nullopt;
    Recognised result;
    const auto layout = source.little_endian(8, 4);
    const auto size = source.little_endian(12, 8);
    if (!layout || !size) {
        result.problems.push_back("begins as an OpenVINO blob and is cut off at byte " +
                                  std::to_string(source.size()));
        return result;
    }
    result.kind = "openvino-blob";
    result.recorded["plugin"] = "CPU";
    result.recorded["layout"] = *layout;
    result.unknown = {"precision", "inputs", "outputs", "source_model"};
    if (*layout != 1) {
        result.problems.push_back("an unknown layout of the header");
        result.unknown.insert(result.unknown.begin(), "runtime_version");
        return result;
    }
    if (*size > text_limit || *size > source.size() - text_offset) {
        result.problems.push_back(
            "the text in the header has an impossible size: " + std::to_string(*size) + " bytes");
        result.unknown.insert(result.unknown.begin(), "runtime_version");
        return result;
    }
    const std::string bytes = source.read(text_offset, static_cast<std::size_t>(*size));
    for (std::string_view text = bytes; !text.empty();) {
        const std::string_view pair = text.substr(0, text.find(';'));
        text.remove_prefix(std::min(text.size(), pair.size() + 1));
        const std::size_t equal = pair.find('=');
        if (equal == std::string_view::npos)
            continue;
        const std::string_view key = pair.substr(0, equal);
        const std::string_view value = pair.substr(equal + 1);
        if (key == "ov")
            result.recorded["runtime_version"] = value;
        else if (key == "isa")
            result.recorded["isa"] = value;
        else if (key == "meta")
            result.recorded["meta"] = value;
    }
    for (const char* key : {"isa", "runtime_version"})
        if (!result.recorded.has(key))
            result.unknown.insert(result.unknown.begin(), key);
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_openvino_blob() {
    return {{"openvino-blob", recognise_blob}};
}

}  // namespace requal::artifact
