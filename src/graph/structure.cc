// What must hold before onnx's checker and shape inference may see a model, said in terms of its nodes.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/checker.h>
#include <onnx/defs/schema.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Opsets = std::map<std::string, std::int64_t>;
constexpr const char* export_again = "export the model again";

/// Names visible at one place; sub-graphs see the names of the graphs around them.
struct Names {
    std::unordered_set<std::string_view> own;
    const Names* outer = nullptr;
    bool has(std::string_view name) const {
        for (const Names* each = this; each != nullptr; each = each->outer) {
            if (each->own.count(name) != 0)
                return true;
        }
        return false;
    }
};

/// What the node reads: its inputs, and what its sub-graphs read of the graph around them.
void collect_reads(const onnx::NodeProto& node, std::vector<std::string_view>& reads) {
    for (const std::string& name : node.input())
        reads.push_back(name);
    for_each_subgraph(node, [&](const onnx::GraphProto& graph, const std::string&) {
        for (const auto& inner : graph.node())
            collect_reads(inner, reads);
        for (const auto& output : graph.output())
            reads.push_back(output.name());
    });
}

class Checker {
public:
    Checker(const onnx::ModelProto& model, const std::string& folder, const std::string& source)
        : model_(model), folder_(folder), source_(source) {}

    Found run() {
        found_.opsets = read_opsets(model_.opset_import(), "the model");
        if (model_.ir_version() < 1 || model_.ir_version() > onnx::IR_VERSION)
            refuse("IR version " + std::to_string(model_.ir_version()) +
                       " is not one that this build knows (1 to " +
                       std::to_string(onnx::IR_VERSION) + ")",
                   "export with an older IR version, or use a newer Requal");
        if (found_.opsets.empty() && model_.ir_version() < 3)
            found_.opsets[""] = 1;
        for (const auto& function : model_.functions())
            functions_.insert({std::string(plain_domain(function.domain())), function.name()});
        for (const auto& function : model_.functions())
            check_function(function);
        check_graph(model_.graph(), "", nullptr, found_.opsets);
        return std::move(found_);
    }

private:
    [[noreturn]] void refuse(const std::string& message, const std::string& next = export_again) {
        throw Error(ErrorKind::input, message, source_, next);
    }

    template <typename Imports>
    Opsets read_opsets(const Imports& imports, const std::string& whose) {
        Opsets opsets;
        const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
        for (const auto& import : imports) {
            std::string domain(plain_domain(import.domain()));
            auto [place, fresh] = opsets.emplace(domain, import.version());
            if (!fresh && place->second != import.version())
                refuse(whose + " imports two versions of the operator set " + shown_domain(domain));
            auto range = known.find(domain);
            if (range != known.end() &&
                (import.version() < range->second.first || import.version() > range->second.second))
                refuse("opset " + std::to_string(import.version()) + " of " + shown_domain(domain) +
                           " is not one that this build knows (" +
                           std::to_string(range->second.first) + " to " +
                           std::to_string(range->second.second) + ")",
                       "export the model with an opset in that range");
        }
        return opsets;
    }

    void check_function(const onnx::FunctionProto& function) {
        std::string scope = "function " + joined(function.domain(), function.name());
        Opsets opsets = read_opsets(function.opset_import(), scope);
        for (const auto& [domain, version] : found_.opsets)
            opsets.emplace(domain, version);
        Names names;
        for (const std::string& input : function.input())
            declare(names, input, "an input of " + scope);
        for (const auto& attribute : function.attribute_proto())
            check_attribute(attribute);
        check_nodes(function.node(), scope, names, opsets);
        for (const std::string& output : function.output()) {
            if (!names.has(output))
                refuse("output '" + output + "' of " + scope + " is made by no node");
        }
    }

    void declare(Names& names, const std::string& name, const std::string& what) {
        if (!names.own.insert(name).second)
            refuse("the name '" + name + "' is given twice, the second time to " + what);
    }

    void check_value(const onnx::ValueInfoProto& value, const std::string& what) {
        if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape())
            return;
        std::uint64_t product = 1;
        for (const auto& each : value.type().tensor_type().shape().dim()) {
            // -1 is how some old exporters write a dynamic dimension
            if (!each.has_dim_value() || each.dim_value() == -1 || each.dim_value() == 0)
                continue;
            auto size = static_cast<std::uint64_t>(each.dim_value());
            if (each.dim_value() < 0 || size > (std::uint64_t{1} << 58) / product)
                refuse(what + " '" + value.name() + "' has the dimension " +
                       std::to_string(each.dim_value()) + ": negative, or larger than any memory");
            product *= size;
        }
    }

    void check_graph(const onnx::GraphProto& graph, const std::string& scope, const Names* outer,
                     const Opsets& opsets) {
        Names names;
        names.outer = outer;
        std::string of = scope.empty() ? "" : " of " + scope;
        for (const auto& input : graph.input()) {
            declare(names, input.name(), "an input" + of);
            check_value(input, "input");
        }
        std::unordered_set<std::string_view> initializers;
        auto initializer = [&](const std::string& name) {
            if (!initializers.insert(name).second)
                refuse("two initializers" + of + " are named '" + name + "'");
            names.own.insert(name);  // an input may have an initializer as its default
        };
        for (const auto& tensor : graph.initializer()) {
            initializer(tensor.name());
            check_data(tensor);
        }
        for (const auto& sparse : graph.sparse_initializer()) {
            initializer(sparse.values().name());
            check_sparse(sparse);
        }
        for (const auto& value : graph.value_info())
            check_value(value, "tensor");
        check_nodes(graph.node(), scope, names, opsets);
        for (const auto& output : graph.output()) {
            check_value(output, "output");
            if (!names.has(output.name()))
                refuse("output '" + output.name() + "'" + of +
                       " is made by no node, input or initializer");
        }
    }

    void check_data(const onnx::TensorProto& tensor) {
        std::optional<ExternalPlace> place = check_tensor(tensor, folder_, source_);
        if (place && found_.external_files.count(place->location) == 0)
            found_.external_files[place->location] = file_size(place->path);
    }

    void check_sparse(const onnx::SparseTensorProto& sparse) {
        check_data(sparse.values());
        if (sparse.has_indices())
            check_data(sparse.indices());
        for (std::int64_t each : sparse.dims()) {
            if (each < 0)
                refuse("sparse tensor '" + sparse.values().name() + "' has a negative dimension");
        }
    }

    void check_attribute(const onnx::AttributeProto& attribute) {
        if (attribute.has_t())
            check_data(attribute.t());
        for (const auto& tensor : attribute.tensors())
            check_data(tensor);
        if (attribute.has_sparse_tensor())
            check_sparse(attribute.sparse_tensor());
        for (const auto& sparse : attribute.sparse_tensors())
            check_sparse(sparse);
    }

    void check_nodes(const Nodes& nodes, const std::string& scope, Names& names,
                     const Opsets& opsets) {
        for (int i = 0; i < nodes.size(); ++i) {
            const auto& node = nodes[i];
            auto index = static_cast<std::size_t>(i);
            check_operator(node, index, scope, opsets);
            for (const std::string& input : node.input()) {
                if (!input.empty() && !names.has(input))
                    explain_missing(nodes, i, input, scope, names);
            }
            for (const auto& attribute : node.attribute())
                check_attribute(attribute);
            for_each_subgraph(node, [&](const onnx::GraphProto& graph, const std::string& name) {
                explain_unready_reads(graph, nodes, i, scope, names);
                check_graph(graph, joined(scope, label_of(node, index) + "/" + name), &names,
                            opsets);
            });
            for (const std::string& output : node.output()) {
                if (!output.empty())
                    declare(names, output, described(node, index, scope));
            }
        }
    }

    /// A sub-graph that reads what a later node makes: found here, where the nodes around it are known.
    void explain_unready_reads(const onnx::GraphProto& graph, const Nodes& nodes, int index,
                               const std::string& scope, const Names& names) {
        std::unordered_set<std::string_view> inside;
        std::vector<std::string_view> reads;
        gather(graph, inside, reads);
        std::unordered_set<std::string_view> later;
        for (std::string_view read : reads) {
            if (read.empty() || inside.count(read) != 0 || names.has(read))
                continue;
            if (later.empty()) {
                for (int i = index; i < nodes.size(); ++i)
                    later.insert(nodes[i].output().begin(), nodes[i].output().end());
            }
            if (later.count(read) != 0)
                explain_missing(nodes, index, std::string(read), scope, names);
        }
    }

    static void gather(const onnx::GraphProto& graph, std::unordered_set<std::string_view>& inside,
                       std::vector<std::string_view>& reads) {
        for (const auto& input : graph.input())
            inside.insert(input.name());
        for (const auto& tensor : graph.initializer())
            inside.insert(tensor.name());
        for (const auto& sparse : graph.sparse_initializer())
            inside.insert(sparse.values().name());
        for (const auto& node : graph.node()) {
            inside.insert(node.output().begin(), node.output().end());
            reads.insert(reads.end(), node.input().begin(), node.input().end());
            for_each_subgraph(node, [&](const onnx::GraphProto& inner, const std::string&) {
                gather(inner, inside, reads);
            });
        }
    }

    /// Node `index` reads a name that no node before it makes: a cycle, an unsorted graph or a dangling name.
    [[noreturn]] void explain_missing(const Nodes& nodes, int index, const std::string& name,
                                      const std::string& scope, const Names& names) {
        std::unordered_map<std::string_view, int> maker;
        for (int i = 0; i < nodes.size(); ++i) {
            for (const std::string& output : nodes[i].output()) {
                if (!output.empty())
                    maker.emplace(output, i);
            }
        }
        auto show = [&](int i) { return described(nodes[i], static_cast<std::size_t>(i), scope); };
        auto found = maker.find(name);
        if (found == maker.end())
            refuse(show(index) + " reads '" + name +
                   "', which no node, input or initializer makes");
        std::vector<int> cycle = find_cycle(nodes, index, maker, names);
        if (cycle.empty())
            refuse(show(index) + " stands before " + show(found->second) + ", whose output '" +
                       name + "' it reads",
                   "sort the nodes topologically, for example with onnx-graphsurgeon's toposort()");
        std::string path;
        constexpr std::size_t shown = 6;
        for (std::size_t i = 0; i < cycle.size() && i < shown; ++i)
            path += show(cycle[i]) + " -> ";
        if (cycle.size() > shown)
            path += "... (" + std::to_string(cycle.size()) + " nodes) -> ";
        refuse(
            "the graph has a cycle: " + path + "'" +
                label_of(nodes[cycle.front()], static_cast<std::size_t>(cycle.front())) + "'",
            "ONNX graphs may not have cycles; export the model again, with Loop or Scan for what "
            "repeats");
    }

    /// The nodes of one cycle that `start` leads back into, in the direction of the data; empty when there is none.
    static std::vector<int> find_cycle(const Nodes& nodes, int start,
                                       const std::unordered_map<std::string_view, int>& maker,
                                       const Names& names) {
        struct Step {
            int node;
            std::vector<std::string_view> reads;
            std::size_t next = 0;
        };
        enum : std::uint8_t { fresh, open, done };
        std::vector<std::uint8_t> state(static_cast<std::size_t>(nodes.size()), fresh);
        std::vector<Step> path;
        auto enter = [&](int node) {
            state[static_cast<std::size_t>(node)] = open;
            path.push_back({node, {}, 0});
            collect_reads(nodes[node], path.back().reads);
        };
        enter(start);
        while (!path.empty()) {
            Step& step = path.back();
            if (step.next == step.reads.size()) {
                state[static_cast<std::size_t>(step.node)] = done;
                path.pop_back();
                continue;
            }
            std::string_view read = step.reads[step.next++];
            auto found = maker.find(read);
            if (found == maker.end() || names.has(read))
                continue;
            auto index = static_cast<std::size_t>(found->second);
            if (state[index] == fresh) {
                enter(found->second);
            } else if (state[index] == open) {
                std::vector<int> cycle;
                for (std::size_t i = path.size(); i-- > 0;) {
                    cycle.push_back(path[i].node);
                    if (path[i].node == found->second)
                        break;
                }
                return cycle;  // from reader back to maker: the path holds readers before what they read
            }
        }
        return {};
    }

    void check_operator(const onnx::NodeProto& node, std::size_t index, const std::string& scope,
                        const Opsets& opsets) {
        std::string domain(plain_domain(node.domain()));
        if (node.op_type().empty())
            refuse("node '" + label_of(node, index) + "' names no operator");
        if (functions_.count({domain, node.op_type()}) != 0)
            return;
        auto import = opsets.find(domain);
        if (import == opsets.end())
            refuse(described(node, index, scope) + " is of the operator set " +
                   shown_domain(domain) + ", which the model does not import");
        const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
        if (known.count(domain) == 0) {
            ++found_.custom_ops[domain + ":" + node.op_type()];
            return;
        }
        auto version = static_cast<int>(import->second);
        if (onnx::OpSchemaRegistry::Schema(node.op_type(), version, domain) != nullptr)
            return;
        const auto* newest = onnx::OpSchemaRegistry::Schema(node.op_type(), domain);
        if (newest != nullptr)
            refuse(described(node, index, scope) + ": operator " + node.op_type() +
                       " does not exist in opset " + std::to_string(version) + " of " +
                       shown_domain(domain),
                   "export the model with a newer opset");
        std::string next = "give the operator a domain of its own if a runtime adds it";
        if (std::string near = nearest_operator(node.op_type(), domain); !near.empty())
            next = "did you mean " + near + "?";
        refuse(described(node, index, scope) + ": there is no operator " + node.op_type() + " in " +
                   shown_domain(domain),
               next);
    }

    static std::string nearest_operator(const std::string& name, const std::string& domain) {
        std::set<std::string> names;
        for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
            if (schema.domain() == domain)
                names.insert(schema.Name());
        }
        std::vector<std::string_view> candidates(names.begin(), names.end());
        return std::string(nearest(name, candidates));
    }

    const onnx::ModelProto& model_;
    const std::string& folder_;
    const std::string& source_;
    std::set<std::pair<std::string, std::string>> functions_;
    Found found_;
};

/// Gives tensors of the model's inputs and outputs that have no shape the shape of a scalar, and takes it away again.
class ShapesGiven {
public:
    explicit ShapesGiven(onnx::GraphProto& graph) {
        for (auto* list : {graph.mutable_input(), graph.mutable_output()}) {
            for (auto& value : *list) {
                if (!value.type().has_tensor_type() || value.type().tensor_type().has_shape())
                    continue;
                auto* type = value.mutable_type()->mutable_tensor_type();
                type->mutable_shape();
                given_.push_back(type);
            }
        }
    }
    ~ShapesGiven() {
        for (auto* type : given_)
            type->clear_shape();
    }
    ShapesGiven(const ShapesGiven&) = delete;
    ShapesGiven& operator=(const ShapesGiven&) = delete;

private:
    std::vector<onnx::TypeProto::Tensor*> given_;
};

std::string one_line(std::string text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        constexpr std::string_view context = "\n\n==> Context: ";
        if (text.compare(at, context.size(), context) == 0) {
            result += "; ";
            at += context.size() - 1;
        } else if (text[at] == '\n') {
            if (!result.empty() && result.back() != ' ')
                result += ' ';
        } else {
            result += text[at];
        }
    }
    while (!result.empty() && result.back() == ' ')
        result.pop_back();
    return result;
}

}  // namespace

Found check_structure(const onnx::ModelProto& model, const std::string& folder,
                      const std::string& source) {
    return Checker(model, folder, source).run();
}

void check_with_onnx(onnx::ModelProto& model, const std::string& folder,
                     const std::string& source) {
    // As onnx::checker::check_model does, but with the folder of external data, and without reading the file again.
    namespace check = onnx::checker;
    ShapesGiven given(*model.mutable_graph());
    try {
        check::CheckerContext context;
        context.set_model_dir(folder.empty() ? "." : folder);
        context.set_ir_version(static_cast<int>(model.ir_version()));
        std::unordered_map<std::string, int> opsets;
        for (const auto& import : model.opset_import())
            opsets[import.domain()] = static_cast<int>(import.version());
        if (opsets.empty())
            opsets[""] = 1;
        context.set_opset_imports(opsets);
        check::LexicalScopeContext lexical;
        check::check_graph(model.graph(), context, lexical);
        if (model.functions_size() != 0) {
            check::check_function_call_cycles(model);
            check::check_model_local_functions(model, context, lexical);
        }
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw Error(ErrorKind::input,
                    "the ONNX checker refuses the model: " + one_line(error.what()), source,
                    "export the model again, or mend the part that is named");
    }
}

}  // namespace requal::graph
