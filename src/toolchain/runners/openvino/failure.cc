#include "toolchain/runners/openvino/failure.h"

#include <cctype>
#include <new>

#include "toolchain/runners/support/process_facts.h"

namespace requal::toolchain::openvino {
namespace {

/// Takes out every "FROM...TO", both included.
void remove_between(std::string& text, std::string_view from, std::string_view to) {
    for (auto start = text.find(from); start != std::string::npos; start = text.find(from, start)) {
        const auto end = text.find(to, start + from.size());
        if (end == std::string::npos)
            return;
        text.erase(start, end + to.size() - start);
    }
}

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
    // "Check 'x' failed at src/file.hpp:12: " within a line, and the node that is named apart
    for (auto start = kept.find("Check '"); start != std::string::npos;
         start = kept.find("Check '", start)) {
        const auto place = kept.find("' failed at ", start);
        const auto end = place == std::string::npos ? place : kept.find(": ", place);
        if (end == std::string::npos)
            break;
        kept.erase(start, end + 2 - start);
    }
    remove_between(kept, "While validating node '", "friendly_name '");
    remove_between(kept, "FrontEnd API failed with ", ": ");
    remove_between(kept, "Model wasn't fully converted. Summary:", "-- ");
    return kept.empty() ? condition : one_line(kept);
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
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
        message.find("bad_alloc") != std::string::npos)
        throw Error(ErrorKind::input, "it takes more memory than there is", where,
                    "use smaller shapes, or a machine with more memory");
    throw Error(kind, message.empty() ? "OpenVINO failed" : message,
                node.empty() ? where : where + ", node '" + node + "'");
}

}  // namespace requal::toolchain::openvino
