#include "toolchain/runners/openvino/engine_file.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "base/error.h"
#include "base/file.h"

namespace requal::toolchain::openvino {
namespace {

constexpr std::string_view line_head = "\nrequal-openvino/1 ";
constexpr std::size_t line_limit = 16384;

/// Value of "key=VALUE" up to a ';' or a byte that is not printable.
std::string value_of(std::string_view head, std::string_view key) {
    const auto start = head.find(key);
    if (start == std::string_view::npos)
        return {};
    std::string value;
    for (auto index = start + key.size(); index < head.size(); ++index) {
        const char letter = head[index];
        if (letter == ';' || letter < ' ' || letter > '~')
            break;
        value += letter;
    }
    return value;
}

}  // namespace

FileKind kind_of(const std::string& path) {
    file_size(path);
    std::ifstream file(path, std::ios::binary);
    std::array<char, 512> buffer{};
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const std::string_view head(buffer.data(), static_cast<std::size_t>(file.gcount()));
    const bool says_so = head.substr(0, 256).find("ov=") != std::string_view::npos &&
                         head.find(";isa=") != std::string_view::npos;
    return says_so || path.ends_with(".blob") ? FileKind::blob : FileKind::model;
}

Json blob_head(std::string_view head) {
    head = head.substr(0, 512);
    Json result = Json::object();
    if (const auto version = value_of(head, "ov="); !version.empty())
        result["openvino"] = version;
    if (const auto isa = value_of(head, ";isa="); !isa.empty())
        result["isa"] = isa;
    return result;
}

std::string settings_line(const Json& settings) {
    return std::string(line_head) + write_json_compact(settings) + "\n";
}

Json recorded_settings(std::string_view bytes, const std::string& path) {
    const auto tail = bytes.substr(bytes.size() - std::min(bytes.size(), line_limit));
    const auto start = tail.rfind(line_head);
    if (start == std::string_view::npos || !tail.ends_with('\n'))
        return {};
    auto text = tail.substr(start + line_head.size());
    text.remove_suffix(1);
    if (text.find('\n') != std::string_view::npos)
        return {};
    auto settings = parse_json(text, path + " (settings at its end)", {line_limit, 8});
    for (const auto key : {"precision", "execution_mode"})
        settings.at(key).as_string();
    for (const auto& [key, value] : settings.at("config").as_object())
        value.as_string();
    return settings;
}

}  // namespace requal::toolchain::openvino
