// TensorRT timing caches. They are an archive of TensorRT's: bytes 0 to 3 `ptrt`, 8 to 15 the size of what follows byte 20, and in
// it the text "file_format_version=N". Nothing documents it: read from a cache that TensorRT-RTX 1.7.1.116 serialised. That
// TensorRT checks a tag when it reads one: NVIDIA/TensorRT issue 3566. Plans hold the same archive inside, and those of releases
// before 8.6 may begin with it: without the text it is not said to be a cache.
#include "artifact/recognise.h"

namespace requal::artifact {

namespace {

constexpr std::size_t header_bytes = 20;
constexpr std::size_t looked_at = 4096;
constexpr std::string_view mark = "file_format_version=";

std::optional<Recognised> recognise_timing(const ByteSource& source) {
    if (source.view(0, 4) != "ptrt")
        return std::nullopt;
    Recognised result;
    const std::string head = source.read(0, looked_at);
    const std::size_t at = head.find(mark);
    if (head.size() < header_bytes || at == std::string::npos) {
        result.oddities.push_back("begins with `ptrt`, an archive of TensorRT: a plan of a release "
                                  "before 8.6 or a cache, which its documents do not tell apart");
        return result;
    }
    result.kind = "timing-cache";
    result.recorded["tag"] = "ptrt";
    const std::size_t begin = at + mark.size();
    const std::size_t end = head.find_first_not_of("0123456789", begin);
    if (end != std::string::npos && end > begin && end - begin < 10)
        result.recorded["file_format_version"] = head.substr(begin, end - begin);
    else
        result.unknown.push_back("file_format_version");
    const std::uint64_t size = source.little_endian(8, 8).value_or(0);
    if (size != source.size() - header_bytes)
        result.oddities.push_back("bytes 8 to 15 say that " + std::to_string(size) +
                                  " bytes follow the header, " +
                                  std::to_string(source.size() - header_bytes) + " do");
    result.unknown.insert(result.unknown.end(), {"runtime_version", "device"});
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_timing_cache() {
    return {{"timing-cache", recognise_timing}};
}

}  // namespace requal::artifact
