#include "toolchain/runners/openvino/failure.h"

#include <cctype>

#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain::openvino {
namespace {

bool is_place(std::string_view line) {
    return line.starts_with("Exception from ") ||
           (line.starts_with("Check '") && line.find("' failed at ") != std::string_view::npos);
}

}  // namespace

std::string clean_message(std::string_view text) {
    std::string kept, condition;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const auto line = one_line(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (is_place(line)) {
            if (line.starts_with("Check '"))
                condition = line.substr(0, line.find("' failed at ") + 1) + " failed";
        } else if (!line.empty()) {
            kept += (kept.empty() ? "" : " ") + line;
        }
    }
    return kept.empty() ? condition : kept;
}

std::string node_in_message(std::string_view text) {
    constexpr std::string_view head = "friendly_name '";
    const auto start = text.find(head);
    if (start == std::string_view::npos)
        return {};
    const auto name_start = start + head.size();
    const auto end = text.find('\'', name_start);
    return end == std::string_view::npos ? std::string()
                                         : std::string(text.substr(name_start, end - name_start));
}

void throw_clean(const std::exception& exception, ErrorKind kind, const std::string& where) {
    const auto node = node_in_message(exception.what());
    const auto message = clean_message(exception.what());
    throw Error(kind, message.empty() ? "OpenVINO failed" : message,
                node.empty() ? where : where + ", node '" + node + "'");
}

}  // namespace requal::toolchain::openvino
