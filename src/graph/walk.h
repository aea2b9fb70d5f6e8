// Helpers over onnx's messages that the files of this room share. Not for other rooms: it includes onnx's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

namespace requal::graph {

/// "" for "ai.onnx", the domain's two spellings.
std::string_view plain_domain(std::string_view domain);
/// "ai.onnx" for "", for messages.
std::string shown_domain(std::string_view domain);

/// Name of a node, or "Conv#12" when the model leaves it empty.
std::string label_of(const onnx::NodeProto& node, std::size_t index);
/// "node 'conv1' (Conv)"; "node 'conv1' (Conv) in If_3/then_branch".
std::string described(const onnx::NodeProto& node, std::size_t index, std::string_view scope);
/// "scope/part", or "part" at the top.
std::string joined(std::string_view scope, std::string_view part);

/// Calls use(graph, attribute name) for each sub-graph of a node.
template <typename Node, typename Use>
void for_each_subgraph(Node& node, Use use) {
    for (auto& attribute : node.attribute()) {
        if (attribute.has_g())
            use(attribute.g(), attribute.name());
        for (int i = 0; i < attribute.graphs_size(); ++i)
            use(attribute.graphs(i), attribute.name() + "[" + std::to_string(i) + "]");
    }
}

/// Bits of one element in raw data; 0 for strings; nothing for a type that onnx does not name.
std::optional<unsigned> element_bits(std::int32_t data_type);
/// Elements of a tensor; nothing when a dimension is negative or the product passes 2^58.
std::optional<std::uint64_t> element_count_of(const onnx::TensorProto& tensor);
/// Bytes of `count` elements of `bits` bits each, packed.
std::uint64_t packed_bytes(std::uint64_t count, unsigned bits);

/// Where a tensor's bytes lie beside the model.
struct ExternalPlace {
    std::string location;  ///< as written
    std::string path;      ///< inside the model's folder
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
};

/// Checks type, dimensions and the amount of data of one tensor. External data must lie inside `folder` ("" when the model is no
/// file: then there can be none) and be long enough; its place is returned. Error(input) at "SOURCE: tensor 'NAME'".
std::optional<ExternalPlace> check_tensor(const onnx::TensorProto& tensor,
                                          const std::string& folder, const std::string& source);

/// What the structure check found on its way.
struct Found {
    std::map<std::string, std::uint64_t> external_files;  ///< location -> size of the file in bytes
    std::map<std::string, std::int64_t> opsets;           ///< domain -> version
    std::map<std::string, std::size_t> custom_ops;        ///< "domain:op" -> nodes
};

/// Parses bytes as a ModelProto. Error(input) says what the bytes look like instead.
void parse_model(std::string_view bytes, const std::string& source, onnx::ModelProto& model);

/// Checks what onnx's checker does not check, or says unclearly: names, order and cycles, operators and opsets, tensors.
Found check_structure(const onnx::ModelProto& model, const std::string& folder,
                      const std::string& source);

/// onnx's own checker; its messages become one line. `model` is the same again afterwards: meanwhile, inputs and outputs that say
/// no shape get one, since the checker asks for what runtimes do not.
void check_with_onnx(onnx::ModelProto& model, const std::string& folder, const std::string& source);

/// A copy for shape inference: large tensors without their data, model-local functions replaced by their nodes. Each node's
/// doc_string holds its scope. Error(input) when the functions expand to more nodes than a model can have.
onnx::ModelProto light_copy(const onnx::ModelProto& model, const std::string& folder,
                            const std::string& source);

/// Infers shapes in place, with data propagation. Returns what onnx found contradictory, empty when nothing was.
std::string infer_shapes(onnx::ModelProto& light);

/// The same, repeated with shape arithmetic of known values replaced by Constant nodes until nothing more becomes known. The nodes
/// stay at their places.
std::string infer_and_fold(onnx::ModelProto& light);

}  // namespace requal::graph
