// TensorRT INT8 calibration caches: text whose first line is TRT-DIGITS-CALIBRATOR and whose other lines are NAME: and the 8
// hexadecimal digits of a scale. The header's digits (8510, 100300) do not say where one number ends and the next begins, so no
// version is read from them. Source: caches in public repositories, and NVIDIA/TensorRT's samples, which keep them as they come.
#include "artifact/recognise.h"
#include "base/text.h"

namespace requal::artifact {

namespace {

constexpr std::uint64_t read_limit = std::uint64_t{16} << 20;
constexpr std::size_t list_limit = 1000;
constexpr std::size_t header_limit = 200;

bool all_of(std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string_view next_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
    return line;
}

std::optional<Recognised> recognise_calibration(const ByteSource& source) {
    std::string_view head = source.view(0, header_limit);
    if (head.substr(0, 4) != "TRT-")
        return std::nullopt;
    const std::string header(next_line(head));
    const std::size_t dash = header.find('-', 4);
    if (dash == std::string::npos)
        return std::nullopt;
    const std::string digits = header.substr(4, dash - 4), calibrator = header.substr(dash + 1);
    if (!all_of(digits, "0123456789") ||
        !all_of(calibrator, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"))
        return std::nullopt;
    Recognised result;
    result.kind = "calibration-cache";
    result.recorded["header"] = header;
    result.recorded["version_digits"] = digits;
    result.recorded["calibrator"] = calibrator;
    const std::string bytes = source.read(0, read_limit);
    std::string_view rest = bytes;
    next_line(rest);
    std::uint64_t line_number = 1, count = 0;
    Json scales = Json::array();
    while (!rest.empty()) {
        const bool last = rest.find('\n') == std::string_view::npos;
        const std::string_view line = next_line(rest);
        ++line_number;
        if (line.empty())
            continue;
        const std::size_t colon = line.rfind(": ");
        const bool fits = colon != std::string_view::npos && colon > 0 &&
                          line.size() == colon + 10 &&
                          all_of(line.substr(colon + 2), "0123456789abcdefABCDEF");
        if (!fits) {
            if (last && bytes.size() < source.size())
                break;  // the limit cut it
            result.damage.push_back("line " + std::to_string(line_number) +
                                    " is not NAME: and 8 hexadecimal digits");
            break;
        }
        ++count;
        if (scales.size() < list_limit)
            scales.push_back(Json::object({{"name", printable(line.substr(0, colon))},
                                           {"scale_hex", line.substr(colon + 2)}}));
    }
    result.recorded["tensors_total"] = count;
    result.recorded["tensors"] = std::move(scales);
    if (count > list_limit)
        result.oddities.push_back("only the first " + std::to_string(list_limit) +
                                  " tensors are listed");
    if (bytes.size() < source.size())
        result.oddities.push_back("only the first " + std::to_string(read_limit) +
                                  " bytes were read");
    result.unknown = {"runtime_version", "source_model", "calibration_data", "device"};
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_calibration_cache() {
    return {{"calibration-cache", recognise_calibration}};
}

}  // namespace requal::artifact
