#include "graph/walk.h"

namespace requal::graph {

std::string_view plain_domain(std::string_view domain) {
    return domain == "ai.onnx" ? std::string_view() : domain;
}

std::string shown_domain(std::string_view domain) {
    return domain.empty() ? "ai.onnx" : std::string(domain);
}

std::string label_of(const onnx::NodeProto& node, std::size_t index) {
    return node.name().empty() ? node.op_type() + "#" + std::to_string(index) : node.name();
}

std::string described(const onnx::NodeProto& node, std::size_t index, std::string_view scope) {
    std::string text = "node '" + label_of(node, index) + "' (" + node.op_type() + ")";
    if (!scope.empty())
        text += " in " + std::string(scope);
    return text;
}

std::string joined(std::string_view scope, std::string_view part) {
    return scope.empty() ? std::string(part) : std::string(scope) + "/" + std::string(part);
}

}  // namespace requal::graph
