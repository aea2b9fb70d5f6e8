// The copy of a model that shape inference works on: small, and without model-local functions.
#include <fcntl.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

// Shape inference reads the values of shapes, pads, axes, scales and the like, never of weights.
constexpr std::uint64_t kept_elements = 4096;
// Functions that call functions can describe more nodes than any computer can hold.
constexpr std::size_t nodes_limit = std::size_t{1} << 18;
constexpr std::size_t bytes_limit = std::size_t{1} << 28;
constexpr int call_depth_limit = 64;

std::string read_part(const ExternalPlace& place) {
    FileDescriptor file(::open(place.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        throw_errno(errno, "open", place.path);
    std::string bytes(place.size_bytes, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        ssize_t got = ::pread(file.get(), bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(place.offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            throw_errno(errno, "read", place.path);
        if (got == 0)
            throw Error(ErrorKind::input, "the file became shorter while it was read", place.path);
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

/// How names and attributes of a function's body read inside one call of it. At the top of the model everything stays.
struct Call {
    const onnx::FunctionProto* function = nullptr;
    std::string prefix;
    std::map<std::string, std::string> names;
    std::map<std::string, onnx::AttributeProto> attributes;

    std::string name(const std::string& inner) const {
        if (function == nullptr || inner.empty())
            return inner;
        auto found = names.find(inner);
        return found == names.end() ? prefix + inner : found->second;
    }
};

class LightCopier {
public:
    LightCopier(const onnx::ModelProto& model, const std::string& folder, const std::string& source)
        : model_(model), folder_(folder), source_(source) {
        for (const auto& function : model.functions())
            functions_[{std::string(plain_domain(function.domain())), function.name(),
                        function.overload()}] = &function;
    }

    onnx::ModelProto run() {
        onnx::ModelProto light;
        light.set_ir_version(model_.ir_version());
        light.mutable_opset_import()->CopyFrom(model_.opset_import());
        std::set<std::string> domains;
        for (const auto& import : model_.opset_import())
            domains.emplace(plain_domain(import.domain()));
        for (const auto& function : model_.functions()) {
            for (const auto& import : function.opset_import()) {
                if (domains.emplace(plain_domain(import.domain())).second)
                    *light.add_opset_import() = import;
            }
        }
        if (light.opset_import_size() == 0)
            light.add_opset_import()->set_version(1);
        copy_graph(model_.graph(), *light.mutable_graph(), Call{}, "", 0);
        return light;
    }

private:
    void spend(std::size_t bytes) {
        bytes_ += bytes;
        if (++nodes_ > nodes_limit || bytes_ > bytes_limit)
            throw Error(ErrorKind::input,
                        "the model's functions expand to more than " + std::to_string(nodes_limit) +
                            " nodes or " + std::to_string(bytes_limit) + " bytes of constants",
                        source_, "export the model without functions");
    }

    void copy_tensor(const onnx::TensorProto& from, onnx::TensorProto& to) {
        std::uint64_t count = element_count_of(from).value_or(0);
        if (count > kept_elements) {
            to.set_name(from.name());
            to.mutable_dims()->CopyFrom(from.dims());
            to.set_data_type(from.data_type());
            return;
        }
        to.CopyFrom(from);
        if (from.data_location() == onnx::TensorProto::EXTERNAL) {
            if (std::optional<ExternalPlace> place = check_tensor(from, folder_, source_))
                to.set_raw_data(read_part(*place));
            to.clear_external_data();
            to.clear_data_location();
        }
    }

    void copy_attribute(const onnx::AttributeProto& from, onnx::AttributeProto& to,
                        const Call& call, const std::string& scope, int depth) {
        if (!from.has_t() && from.tensors_size() == 0 && !from.has_g() && from.graphs_size() == 0) {
            to.CopyFrom(from);
            return;
        }
        to.set_name(from.name());
        to.set_type(from.type());
        if (from.has_t())
            copy_tensor(from.t(), *to.mutable_t());
        for (const auto& tensor : from.tensors())
            copy_tensor(tensor, *to.add_tensors());
        if (from.has_g())
            copy_graph(from.g(), *to.mutable_g(), call, joined(scope, from.name()), depth);
        for (int i = 0; i < from.graphs_size(); ++i)
            copy_graph(from.graphs(i), *to.add_graphs(), call,
                       joined(scope, from.name() + "[" + std::to_string(i) + "]"), depth);
    }

    /// The attributes of a node as they are inside `call`: references to the function's attributes are replaced.
    template <typename Target>
    void copy_attributes(const onnx::NodeProto& from, Target add, const Call& call,
                         const std::string& scope, int depth) {
        for (const auto& attribute : from.attribute()) {
            if (attribute.ref_attr_name().empty() || call.function == nullptr) {
                onnx::AttributeProto copy;
                copy_attribute(attribute, copy, call, scope, depth);
                add(std::move(copy));
                continue;
            }
            auto given = call.attributes.find(attribute.ref_attr_name());
            if (given == call.attributes.end())
                continue;  // an optional attribute that the caller left out
            onnx::AttributeProto copy = given->second;
            copy.set_name(attribute.name());
            add(std::move(copy));
        }
    }

    void copy_graph(const onnx::GraphProto& from, onnx::GraphProto& to, const Call& call,
                    const std::string& scope, int depth) {
        to.set_name(from.name());
        auto copy_values = [&](const auto& source, auto& target) {
            for (const auto& value : source) {
                *target.Add() = value;
                target.rbegin()->set_name(call.name(value.name()));
            }
        };
        copy_values(from.input(), *to.mutable_input());
        copy_values(from.output(), *to.mutable_output());
        copy_values(from.value_info(), *to.mutable_value_info());
        for (auto* list : {to.mutable_input(), to.mutable_output(), to.mutable_value_info()}) {
            for (auto& value : *list)
                clear_negative_dimensions(value);
        }
        for (const auto& tensor : from.initializer()) {
            copy_tensor(tensor, *to.add_initializer());
            to.mutable_initializer()->rbegin()->set_name(call.name(tensor.name()));
        }
        for (const auto& sparse : from.sparse_initializer()) {
            *to.add_sparse_initializer() = sparse;
            to.mutable_sparse_initializer()->rbegin()->mutable_values()->set_name(
                call.name(sparse.values().name()));
        }
        copy_nodes(from.node(), to, call, scope, depth);
    }

    /// -1 is how some old exporters write a dynamic dimension; onnx knows only the absence of a value.
    static void clear_negative_dimensions(onnx::ValueInfoProto& value) {
        if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape())
            return;
        for (auto& each :
             *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
            if (each.has_dim_value() && each.dim_value() < 0)
                each.clear_dim_value();
        }
    }

    template <typename Nodes>
    void copy_nodes(const Nodes& nodes, onnx::GraphProto& to, const Call& call,
                    const std::string& scope, int depth) {
        std::size_t index = 0;
        for (const auto& node : nodes) {
            std::string label = label_of(node, index++);
            std::string inner_scope = joined(scope, label);
            auto function = functions_.find(
                {std::string(plain_domain(node.domain())), node.op_type(), node.overload()});
            if (function != functions_.end()) {
                expand(node, *function->second, to, call, inner_scope, depth);
                continue;
            }
            onnx::NodeProto& copy = *to.add_node();
            copy.set_name(label);
            copy.set_op_type(node.op_type());
            copy.set_domain(node.domain());
            copy.set_overload(node.overload());
            copy.set_doc_string(scope);
            for (const std::string& input : node.input())
                copy.add_input(call.name(input));
            for (const std::string& output : node.output())
                copy.add_output(call.name(output));
            copy_attributes(
                node, [&](onnx::AttributeProto&& each) { *copy.add_attribute() = std::move(each); },
                call, inner_scope, depth);
            spend(call.function == nullptr ? 0 : copy.ByteSizeLong());
        }
    }

    void expand(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                onnx::GraphProto& to, const Call& outer, const std::string& scope, int depth) {
        if (depth >= call_depth_limit)
            throw Error(ErrorKind::input,
                        "functions call each other more than " + std::to_string(call_depth_limit) +
                            " levels deep",
                        source_ + ": " + scope);
        spend(0);
        Call call;
        call.function = &function;
        call.prefix = scope + "/";
        for (int i = 1; !prefixes_.insert(call.prefix).second; ++i)  // node names may repeat
            call.prefix = scope + "@" + std::to_string(i) + "/";
        for (const auto& attribute : function.attribute_proto())
            call.attributes[attribute.name()] = attribute;
        copy_attributes(
            node,
            [&](onnx::AttributeProto&& each) { call.attributes[each.name()] = std::move(each); },
            outer, scope, depth);
        for (int i = 0; i < function.input_size(); ++i)
            call.names[function.input(i)] = i < node.input_size() ? outer.name(node.input(i)) : "";
        for (int i = 0; i < function.output_size() && i < node.output_size(); ++i) {
            if (node.output(i).empty())
                continue;
            std::string target = outer.name(node.output(i));
            auto [place, fresh] = call.names.emplace(function.output(i), target);
            if (!fresh) {  // the function hands an input through
                onnx::NodeProto& copy = *to.add_node();
                copy.set_op_type("Identity");
                copy.set_name("Identity#output" + std::to_string(i));
                copy.set_doc_string(scope);
                copy.add_input(place->second);
                copy.add_output(target);
            }
        }
        copy_nodes(function.node(), to, call, scope, depth + 1);
    }

    const onnx::ModelProto& model_;
    const std::string& folder_;
    const std::string& source_;
    std::map<std::tuple<std::string, std::string, std::string>, const onnx::FunctionProto*>
        functions_;
    std::set<std::string> prefixes_;
    std::size_t nodes_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace

onnx::ModelProto light_copy(const onnx::ModelProto& model, const std::string& folder,
                            const std::string& source) {
    return LightCopier(model, folder, source).run();
}

}  // namespace requal::graph
