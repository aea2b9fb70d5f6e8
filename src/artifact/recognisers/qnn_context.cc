// Qualcomm QNN context binaries. Nothing documents their layout: read from binaries that onnxruntime-qnn 2.7.0 (QAIRT 2.51) wrote for
// two HTP targets. Bytes 0 to 15 are the 32-bit big-endian numbers 2, 3, 0, 1; then follow little-endian 64-bit sizes: of the
// description, where the body begins, and of the body; the description is a FlatBuffer at byte 40. Its tables repeat the order of
// QnnSystemContext_BinaryInfo: backendId (6 is HTP in QAIRT), buildId. The build id is also what ONNX Runtime writes as
// ep_sdk_version beside such a binary.
#include "artifact/flatbuffer.h"
#include "artifact/recognise.h"

namespace requal::artifact {

namespace {

constexpr std::string_view magic("\0\0\0\2\0\0\0\3\0\0\0\0\0\0\0\1", 16);
constexpr std::uint64_t description_at = 40;

void read_description(const ByteSource& source, std::uint64_t size, Recognised& result) {
    const ByteSource description = source.part(description_at, size);
    const FlatTable root = FlatTable::root(description);
    const auto outer = root.table(0);
    const auto info = outer ? outer->table(2) : std::nullopt;
    if (!info)
        return;
    if (info->has(0))
        result.recorded["backend_id"] = info->number(0, 4);
    const std::string build = info->text(1, 100);
    // vMAJOR.MINOR.PATCH.BUILD; anything else would mean that the layout is another one
    if (build.size() > 4 && build[0] == 'v' &&
        build.find_first_not_of("0123456789.", 1) == std::string::npos)
        result.recorded["build_id"] = build;
}

std::optional<Recognised> recognise_qnn(const ByteSource& source) {
    if (source.view(0, magic.size()) != magic)
        return std::nullopt;
    Recognised result;
    const auto size = source.little_endian(16, 8), body_at = source.little_endian(24, 8),
               body = source.little_endian(32, 8);
    if (!size || !body_at || !body) {
        result.damage.push_back("begins as a QNN context binary and is cut off at byte " +
                                std::to_string(source.size()));
        return result;
    }
    if (*size > *body_at || *body_at < description_at || *size > *body_at - description_at ||
        *body > UINT64_MAX - *body_at) {
        result.damage.push_back("begins as a QNN context binary; its sizes do not fit");
        return result;
    }
    result.kind = "qnn-context";
    if (*body_at + *body > source.size())
        result.damage.push_back("cut off: its header speaks of " +
                                std::to_string(*body_at + *body) + " bytes, the file has " +
                                std::to_string(source.size()));
    result.recorded["body_bytes"] = *body;
    try {
        read_description(source, *size, result);
    } catch (const MalformedFlat& malformed) {
        result.damage.push_back("the description is damaged at byte " +
                                std::to_string(description_at + malformed.offset) + ": " +
                                malformed.what);
    }
    for (const char* key : {"build_id", "backend_id"})
        if (!result.recorded.has(key))
            result.unknown.push_back(key);
    result.unknown.insert(result.unknown.end(), {"soc_model", "htp_arch", "precision", "inputs",
                                                 "outputs", "source_model"});
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_qnn_context() {
    return {{"qnn-context", recognise_qnn, true}};
}

}  // namespace requal::artifact
