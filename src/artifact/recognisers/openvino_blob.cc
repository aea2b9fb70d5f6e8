// OpenVINO blobs: what export_model writes and what stands in a cache_dir. Three forms:
//   CPU plugin, read from exports of OpenVINO 2026.4.1: 8 bytes of magic, a 32-bit layout version, the 64-bit size of a text
//     "meta=1.0;ov=2026.4.1;isa=...", and that text; all little-endian. Nothing documents it: another layout version is unknown.
//   a file of a cache_dir: an XML element <compiled_blob ie_version= file_info= runtime_info=>, a line end, the blob. Source:
//     src/inference/src/compilation_context.cpp of openvinotoolkit/openvino; read from a file of 2026.4.1.
//   NPU plugin: an ELF file, then metadata that begins with a 32-bit version (major in the upper half) and, for major 2, three 16-bit
//     numbers of the OpenVINO version; the 64-bit size of the ELF file and OVNPU end it. Source:
//     src/plugins/intel_npu/src/plugin/include/metadata.hpp there. No such file was at hand.
#include <algorithm>

#include "artifact/recognise.h"
#include "artifact/xml_scan.h"
#include "base/text.h"

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
        result.damage.push_back("begins as an OpenVINO blob and is cut off at byte " +
                                std::to_string(source.size()));
        return result;
    }
    result.kind = "openvino-blob";
    result.recorded["plugin"] = "CPU";
    result.recorded["layout"] = *layout;
    result.unknown = {"precision", "inputs", "outputs", "source_model"};
    if (*layout != 1) {
        result.oddities.push_back("an unknown layout of the header");
        result.unknown.insert(result.unknown.begin(), "runtime_version");
        return result;
    }
    if (*size > text_limit || *size > source.size() - text_offset) {
        result.damage.push_back(
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
            result.recorded["runtime_version"] = printable(value);
        else if (key == "isa")
            result.recorded["isa"] = printable(value);
        else if (key == "meta")
            result.recorded["meta"] = printable(value);
    }
    for (const char* key : {"isa", "runtime_version"})
        if (!result.recorded.has(key))
            result.unknown.insert(result.unknown.begin(), key);
    return result;
}

std::optional<Recognised> recognise_npu(const ByteSource& source) {
    constexpr std::string_view end_mark = "OVNPU";
    constexpr std::uint64_t tail_bytes = 13;
    if (source.size() < tail_bytes + 14 ||
        source.view(0, 4) != "\x7f"
                             "ELF" ||
        source.view(source.size() - end_mark.size(), end_mark.size()) != end_mark)
        return std::nullopt;
    const std::uint64_t blob = source.little_endian(source.size() - tail_bytes, 8).value_or(0);
    if (blob < 4 || blob > source.size() - tail_bytes - 10)
        return std::nullopt;
    const std::uint64_t version = source.little_endian(blob, 4).value_or(0);
    Recognised result;
    result.kind = "openvino-blob";
    result.recorded["plugin"] = "NPU";
    result.recorded["layout"] =
        std::to_string(version >> 16) + "." + std::to_string(version & 0xFFFF);
    if (version >> 16 == 2) {
        std::string text;
        for (const std::uint64_t at : {4U, 6U, 8U})
            text += (text.empty() ? "" : ".") +
                    std::to_string(source.little_endian(blob + at, 2).value_or(0));
        result.recorded["runtime_version"] = text;
    } else {
        result.oddities.push_back("an unknown layout of the metadata");
        result.unknown.push_back("runtime_version");
    }
    result.unknown.insert(result.unknown.end(), {"device", "driver_version", "precision", "inputs",
                                                 "outputs", "source_model"});
    return result;
}

constexpr std::uint64_t header_limit = std::uint64_t{1} << 20;

std::optional<Recognised> recognise_cached(const ByteSource& source) {
    if (source.view(0, 5) != "<?xml" && source.view(0, 14) != "<compiled_blob")
        return std::nullopt;
    XmlTag tag;
    try {
        const ByteSource header = source.part(0, header_limit);
        XmlScanner scanner(header);
        if (!scanner.next(tag) || tag.name != "compiled_blob" || tag.kind != XmlTag::Kind::empty)
            return std::nullopt;
    } catch (const MalformedXml&) {
        return std::nullopt;
    }
    Recognised result;
    // the blob follows the line end; writers may pad the header
    std::uint64_t at = tag.end;
    while (at < source.size() && at < tag.end + 65536 && source.view(at, 1) != "\n")
        ++at;
    const ByteSource inner = source.part(at + 1);
    std::optional<Recognised> blob = recognise_blob(inner);
    if (!blob)
        blob = recognise_npu(inner);
    if (blob && blob->kind != "unknown") {
        result = std::move(*blob);
    } else {
        result.unknown = {"plugin", "runtime_version", "device",      "precision",
                          "inputs", "outputs",         "source_model"};
        if (inner.size() == 0)
            result.damage.push_back("nothing follows the header");
    }
    result.kind = "openvino-blob";
    result.wrapper = Json::object({{"kind", "openvino-cache"}, {"blob_offset", Json(at + 1)}});
    for (const auto& [key, value] : tag.attributes)
        if (result.wrapper.size() < 50)
            result.wrapper[is_utf8(key) ? key : printable(key)] =
                is_utf8(value) ? value : printable(value);
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_openvino_blob() {
    return {{"openvino-blob", recognise_blob, true},
            {"openvino-npu", recognise_npu, true},
            {"openvino-cache", recognise_cached}};
}

}  // namespace requal::artifact
