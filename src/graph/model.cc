#include "graph/model.h"

#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "graph/shapes.h"
#include "graph/walk.h"

namespace requal::graph {

struct Model::State {
    std::string path;
    std::string folder;  ///< of external data; empty when the model is no file
    onnx::ModelProto proto;
    onnx::ModelProto light;  ///< before inference
    Found found;
    Digest file_digest;
    Summary summary;

    Summary describe(const onnx::ModelProto& nodes, const onnx::ModelProto& inferred,
                     const std::string& contradiction) const {
        Summary result;
        result.ir_version = proto.ir_version();
        result.producer = proto.producer_name();
        if (!proto.producer_version().empty())
            result.producer += " " + proto.producer_version();
        result.opsets = found.opsets;
        if (!contradiction.empty())
            result.warnings.push_back("shape inference: " + contradiction);
        for (const auto& [name, uses] : found.custom_ops)
            result.custom_ops.push_back(name);
        for (const auto& function : proto.functions())
            result.functions.push_back(std::string(plain_domain(function.domain())) + ":" +
                                       function.name());
        for (const auto& [location, size] : found.external_files)
            result.external_files.push_back(location);
        describe_graph(nodes, inferred, result);
        count_parameters(proto, result);
        return result;
    }

    void read(std::string_view bytes) {
        parse_model(bytes, path, proto);
        file_digest = digest_of(bytes);
    }

    void check() {
        found = check_structure(proto, folder, path);
        check_with_onnx(proto, folder, path);
        light = light_copy(proto, folder, path);
        onnx::ModelProto inferred = light;
        std::string contradiction = infer_and_fold(inferred);
        summary = describe(light, inferred, contradiction);
        keep_inferred(inferred.graph());
    }

    /// What was inferred of the values at the top of the model becomes part of its message.
    void keep_inferred(const onnx::GraphProto& inferred) {
        std::unordered_set<std::string> made;
        for (const auto& node : proto.graph().node())
            made.insert(node.output().begin(), node.output().end());
        auto& graph = *proto.mutable_graph();
        graph.clear_value_info();
        for (const auto& value : inferred.value_info()) {
            if (made.count(value.name()) != 0)
                *graph.add_value_info() = value;
        }
    }
};

Model::Model() : state_(std::make_unique<State>()) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model Model::load(const std::string& path) {
    Model model;
    State& state = *model.state_;
    state.path = path;
    std::size_t slash = path.rfind('/');
    state.folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (file_size(path) >= std::uint64_t{1} << 31)
        throw Error(ErrorKind::input,
                    "the model is larger than 2 GiB, the most that protobuf can hold", path,
                    "export it with its weights as external data");
    state.read(read_file(path));
    state.check();
    return model;
}

Model Model::from_bytes(std::string_view bytes, std::string_view source) {
    Model model;
    model.state_->path = source;
    model.state_->read(bytes);
    model.state_->check();
    return model;
}

const std::string& Model::path() const {
    return state_->path;
}

const onnx::ModelProto& Model::proto() const {
    return state_->proto;
}

const Summary& Model::summary() const {
    return state_->summary;
}

Summary Model::summary_at(const std::map<std::string, Shape>& shapes) const {
    onnx::ModelProto fixed = state_->light;
    fix_inputs(fixed, shapes, state_->path);
    onnx::ModelProto inferred = fixed;
    std::string contradiction = infer_and_fold(inferred);
    return state_->describe(fixed, inferred, contradiction);
}

Digest Model::digest() const {
    if (state_->found.external_files.empty())
        return state_->file_digest;
    std::string list = state_->file_digest.hex() + "\n";
    for (const auto& [location, size] : state_->found.external_files)
        list +=
            digest_of_file(path_inside(state_->folder, location)).hex() + "  " + location + "\n";
    return digest_of(list);
}

}  // namespace requal::graph
