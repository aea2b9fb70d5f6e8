// ONNX models: read, checked, described. The onnx C++ library stays behind this header.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "tensor/tensor.h"

namespace onnx {
class ModelProto;
}

namespace requal::graph {

/// One dimension: a value, a name (dynamic axis) or neither.
struct Dimension {
    std::int64_t value = -1;  ///< -1 when dynamic
    std::string name;         ///< symbolic name, may be empty for an unnamed dynamic axis
    bool dynamic() const { return value < 0; }
};

/// An input or output of the model.
struct ValueInfo {
    std::string name;
    ElementType type = ElementType::float32;
    std::vector<Dimension> dimensions;
    bool has_shape = false;
    /// "tensor", "sequence", "optional", "map", "sparse_tensor", "unknown"; "tensor of float8e4m3fn" and the like for element types
    /// that ElementType does not have.
    std::string kind = "tensor";
};

/// One node in topological order; sub-graphs and functions entered (`scope` is "" at the top, else "If_3/then_branch").
struct NodeInfo {
    std::string name;  ///< as written; "op#index" when the model leaves it empty
    std::string op;
    std::string domain;  ///< "" for ai.onnx
    std::string scope;
    std::vector<std::string> inputs;  ///< inside a function, names begin with its scope and "/"
    std::vector<std::string> outputs;
    std::uint64_t macs =
        0;  ///< multiply-accumulates, 0 when not counted for this operator or shape unknown
    bool macs_known = false;
};

/// What a model is.
struct Summary {
    std::int64_t ir_version = 0;
    std::string producer;
    std::map<std::string, std::int64_t> opsets;  ///< domain -> version ("" is ai.onnx)
    std::vector<ValueInfo> inputs;               ///< without initializers
    std::vector<ValueInfo> outputs;
    std::vector<NodeInfo> nodes;
    std::uint64_t parameters =
        0;  ///< elements of all initializers and Constant nodes, sub-graphs included
    std::uint64_t parameter_bytes = 0;
    std::uint64_t macs =
        0;  ///< at the given shapes, each sub-graph once; 0 when a needed shape is unknown
    std::uint64_t macs_unknown_nodes = 0;     ///< nodes that would count but whose shape is unknown
    std::vector<std::string> dynamic_axes;    ///< "x: axis 0 'batch'"
    std::vector<std::string> functions;       ///< model-local functions, "domain:name"
    std::vector<std::string> external_files;  ///< relative paths of external data
    std::vector<std::string>
        custom_ops;  ///< "domain:operator" of domains that onnx does not define: not checked, no shapes
    std::vector<std::string>
        warnings;  ///< contradictions that shape inference found; counts that hold for one repetition
};

/// A model that was read and passed the checker. Owns the protobuf message. Const calls are safe from several threads.
class Model {
public:
    /// Reads FILE: parses, holds external data inside its folder (no "..", absolute path or link that leaves it), checks raw data
    /// against dimensions, checks with the onnx checker, infers shapes. Error(input) names the node or tensor.
    static Model load(const std::string& path);
    static Model from_bytes(std::string_view bytes, std::string_view source);
    ~Model();
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;

    const std::string& path() const;
    const onnx::ModelProto& proto() const;  ///< as read, value_info replaced by what was inferred
    const Summary& summary() const;         ///< computed once
    /// Summary with dynamic axes fixed: input name -> shape. Error(input) when a name or rank does not fit.
    Summary summary_at(const std::map<std::string, Shape>& shapes) const;
    /// Of the file's bytes as they were read. With external files: of the text "HEX\n" of the model and one line "HEX  PATH\n" a file,
    /// sorted by path (as sha256sum prints them).
    Digest digest() const;

private:
    Model();
    struct State;
    std::unique_ptr<State> state_;
};

/// A tiny valid model used to prove a runtime: y = relu(x * w + b), x float32 [1, 4]. Returns its serialized bytes.
std::string tiny_model_bytes();
/// The input used with it, and the exact expected output.
Tensor tiny_model_input();
Tensor tiny_model_output();

}  // namespace requal::graph
