// Which files belong to a model. An ONNX file is walked by its protobuf field numbers (onnx.proto3) without being read into
// memory: a model of many gigabytes is only mapped, and what its tensors hold is skipped.
#include "toolchain/companions.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "toolchain/client.h"

namespace requal::toolchain {

namespace {

constexpr int depth_limit = 64;
constexpr std::size_t companions_limit = 100'000;

/// The messages on the way to names of files, and the fields that lead on.
enum class Kind { model, graph, function, node, attribute, tensor, sparse, training };

enum Field : std::uint64_t {
    model_graph = 7,
    model_training = 20,
    model_functions = 25,
    training_initialization = 1,
    training_algorithm = 2,
    graph_node = 1,
    graph_initializer = 5,
    graph_sparse = 15,
    function_node = 7,
    node_op_type = 4,
    node_attribute = 5,
    attribute_name = 1,
    attribute_integer = 3,
    attribute_text = 4,
    attribute_tensor = 5,
    attribute_graph = 6,
    attribute_tensors = 10,
    attribute_graphs = 11,
    attribute_sparse = 22,
    attribute_sparses = 23,
    tensor_external = 13,
    sparse_values = 1,
    sparse_indices = 2,
    entry_key = 1,
    entry_value = 2,
};

struct Cursor {
    std::string_view bytes;

    bool varint(std::uint64_t& value) {
        value = 0;
        for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(bytes.front());
            bytes.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80) {
                return true;
            }
        }
        return false;
    }

    bool skip(std::uint64_t size) {
        if (size > bytes.size()) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(size));
        return true;
    }

    std::uint64_t number = 0;  ///< of the field just read, when it is an integer

    /// The next field; `content` is its bytes when it has a length. False at the end and for bytes that are no protobuf.
    bool next(std::uint64_t& field, std::string_view& content, bool& has_content) {
        std::uint64_t tag = 0;
        if (bytes.empty() || !varint(tag)) {
            return false;
        }
        field = tag >> 3U;
        has_content = false;
        switch (tag & 7U) {
        case 0:
            return varint(number);
        case 1:
            return skip(8);
        case 5:
            return skip(4);
        case 2:
            if (!varint(number) || number > bytes.size()) {
                return false;
            }
            content = bytes.substr(0, static_cast<std::size_t>(number));
            has_content = true;
            return skip(number);
        default:
            return false;
        }
    }
};

/// Value of `wanted` in key and value entries such as a tensor's external_data.
std::string_view entry(std::string_view bytes, std::string_view wanted) {
    Cursor cursor{bytes};
    std::uint64_t field = 0;
    std::string_view content;
    bool has_content = false;
    std::string_view key;
    std::string_view value;
    while (cursor.next(field, content, has_content)) {
        if (has_content && field == entry_key) {
            key = content;
        } else if (has_content && field == entry_value) {
            value = content;
        }
    }
    return key == wanted ? value : std::string_view();
}

class Walk {
public:
    std::set<std::string, std::less<>> found;

    void message(Kind kind, std::string_view bytes, int depth) {
        if (depth > depth_limit || found.size() >= companions_limit) {
            return;
        }
        Cursor cursor{bytes};
        std::uint64_t field = 0;
        std::string_view content;
        bool has_content = false;
        while (cursor.next(field, content, has_content)) {
            if (!has_content) {
                continue;
            }
            if (kind == Kind::tensor && field == tensor_external) {
                add(entry(content, "location"));
            } else if (const auto next = following(kind, field)) {
                message(*next, content, depth + 1);
            }
        }
        if (kind == Kind::node) {
            add(context_file(bytes));
        }
    }

private:
    static std::optional<Kind> following(Kind kind, std::uint64_t field) {
        switch (kind) {
        case Kind::model:
            return field == model_graph       ? std::optional(Kind::graph)
                   : field == model_training  ? std::optional(Kind::training)
                   : field == model_functions ? std::optional(Kind::function)
                                              : std::nullopt;
        case Kind::training:
            return field == training_initialization || field == training_algorithm
                       ? std::optional(Kind::graph)
                       : std::nullopt;
        case Kind::graph:
            return field == graph_node          ? std::optional(Kind::node)
                   : field == graph_initializer ? std::optional(Kind::tensor)
                   : field == graph_sparse      ? std::optional(Kind::sparse)
                                                : std::nullopt;
        case Kind::function:
            return field == function_node ? std::optional(Kind::node) : std::nullopt;
        case Kind::node:
            return field == node_attribute ? std::optional(Kind::attribute) : std::nullopt;
        case Kind::attribute:
            return field == attribute_tensor || field == attribute_tensors
                       ? std::optional(Kind::tensor)
                   : field == attribute_graph || field == attribute_graphs
                       ? std::optional(Kind::graph)
                   : field == attribute_sparse || field == attribute_sparses
                       ? std::optional(Kind::sparse)
                       : std::nullopt;
        case Kind::sparse:
            return field == sparse_values || field == sparse_indices ? std::optional(Kind::tensor)
                                                                     : std::nullopt;
        case Kind::tensor:
            return std::nullopt;
        }
        return std::nullopt;
    }

    /// The file that an EPContext node names (embed_mode 0); empty for every other node.
    static std::string_view context_file(std::string_view bytes) {
        Cursor cursor{bytes};
        std::uint64_t field = 0;
        std::string_view content;
        bool has_content = false;
        bool is_context = false;
        bool embedded = true;  // the default of the operator
        std::string_view file;
        while (cursor.next(field, content, has_content)) {
            if (has_content && field == node_op_type) {
                is_context = content == "EPContext";
            } else if (has_content && field == node_attribute) {
                Cursor attribute{content};
                std::string_view name;
                std::string_view text;
                std::uint64_t integer = 0;
                std::string_view part;
                while (attribute.next(field, part, has_content)) {
                    if (has_content && field == attribute_name) {
                        name = part;
                    } else if (has_content && field == attribute_text) {
                        text = part;
                    } else if (!has_content && field == attribute_integer) {
                        integer = attribute.number;
                    }
                }
                if (name == "ep_cache_context") {
                    file = text;
                } else if (name == "embed_mode") {
                    embedded = integer != 0;
                }
            }
        }
        return is_context && !embedded ? file : std::string_view();
    }

    void add(std::string_view name) {
        if (!name.empty()) {
            found.emplace(name);
        }
    }
};

}  // namespace

std::vector<std::string> external_names(std::string_view onnx_bytes) {
    Walk walk;
    walk.message(Kind::model, onnx_bytes, 0);
    return {walk.found.begin(), walk.found.end()};
}

std::vector<std::string> companions_of(const std::string& path) {
    const std::filesystem::path file = path;
    std::string folder = file.parent_path().string();
    if (folder.empty()) {
        folder = ".";
    }
    if (file.extension() == ".xml") {
        const std::string weights =
            std::filesystem::path(file.filename()).replace_extension(".bin").string();
        return file_exists(folder + "/" + weights) ? std::vector{weights}
                                                   : std::vector<std::string>();
    }
    if (file.extension() != ".onnx") {
        return {};
    }
    const MappedFile mapped(path);
    const std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()),
                                 mapped.bytes().size());
    std::vector<std::string> names = external_names(bytes);
    for (const std::string& name : names) {
        try {
            if (!file_exists(path_inside(folder, name))) {
                throw Error(ErrorKind::input, "it does not exist");
            }
        } catch (const Error& error) {
            throw Error(ErrorKind::input,
                        "it needs the file \"" + name + "\" beside it: " + error.message(), path,
                        "copy the model together with its files");
        }
    }
    return names;
}

}  // namespace requal::toolchain
