// TensorRT and TensorRT-RTX plans. Of their header this is known: bytes 0..3 hold the tag (`ftrt` or `vtrt`), 4..7 are zero in the
// one layout that is described, 24..27 hold major, minor, patch and build. Sources: printPlanVersion in
// samples/common/sampleEngines.cpp of NVIDIA/TensorRT (v9.1 to v11.1) for `ftrt`; a plan that TensorRT-RTX 1.7.1.116 built for
// `vtrt`, which also has the plan's size in bytes 16..23.
//
// Ultralytics writes a 4-byte little-endian size and a JSON document before the plan (ultralytics/engine/exporter.py).
#include "artifact/recognise.h"
#include "base/error.h"

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
        result.damage.push_back("begins as a " + std::string(kind) + " and is cut off at byte " +
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
        result.oddities.push_back("bytes 4 to 7 are not zero: an unknown layout of the header");
        result.unknown.push_back("runtime_version");
    }
    const std::uint64_t said = source.little_endian(16, 8).value_or(0);
    if (tag == "vtrt" && said > source.size())
        result.oddities.push_back("bytes 16 to 23 are " + std::to_string(said) + ", " +
                                  std::to_string(source.size()) +
                                  " bytes are there: in plans that were seen both are equal, so "
                                  "this one seems cut off");
    if (source.size() == header_bytes)
        result.damage.push_back("nothing follows the header");
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

constexpr std::uint64_t metadata_limit = std::uint64_t{1} << 20;

// Only where a plan follows: a size and a brace alone are no proof.
std::optional<Recognised> recognise_wrapped(const ByteSource& source) {
    const auto size = source.little_endian(0, 4);
    if (!size || *size < 2 || *size > metadata_limit || source.view(4, 1) != "{" ||
        *size + 4 >= source.size())
        return std::nullopt;
    const ByteSource inner = source.part(4 + *size);
    std::optional<Recognised> plan = recognise_tensorrt(inner);
    if (!plan)
        plan = recognise_tensorrt_rtx(inner);
    if (!plan)
        return std::nullopt;
    plan->wrapper = Json::object({{"kind", "ultralytics"}, {"plan_offset", Json(4 + *size)}});
    try {
        plan->wrapper["metadata"] =
            parse_json(source.read(4, static_cast<std::size_t>(*size)), "metadata",
                       {.size_bytes = metadata_limit, .depth = 20, .values = 100'000});
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::input)
            throw;
        plan->wrapper["metadata"] = Json();
        plan->oddities.push_back("the metadata before the plan cannot be read: " + error.message());
    }
    return plan;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_tensorrt() {
    return {{"tensorrt", recognise_tensorrt, true},
            {"tensorrt-rtx", recognise_tensorrt_rtx, true},
            {"ultralytics", recognise_wrapped}};
}

}  // namespace requal::artifact
