#include "toolchain/runners/openvino/ports.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <openvino/core/node.hpp>

#include "base/error.h"

namespace requal::toolchain::openvino {
namespace {

struct TypePair {
    ElementType ours;
    ov::element::Type_t theirs;
};

constexpr TypePair type_pairs[] = {
    {ElementType::float32, ov::element::Type_t::f32},
    {ElementType::float64, ov::element::Type_t::f64},
    {ElementType::float16, ov::element::Type_t::f16},
    {ElementType::bfloat16, ov::element::Type_t::bf16},
    {ElementType::int8, ov::element::Type_t::i8},
    {ElementType::int16, ov::element::Type_t::i16},
    {ElementType::int32, ov::element::Type_t::i32},
    {ElementType::int64, ov::element::Type_t::i64},
    {ElementType::uint8, ov::element::Type_t::u8},
    {ElementType::uint16, ov::element::Type_t::u16},
    {ElementType::uint32, ov::element::Type_t::u32},
    {ElementType::uint64, ov::element::Type_t::u64},
    {ElementType::boolean, ov::element::Type_t::boolean},
    {ElementType::string, ov::element::Type_t::string},
};

Shape shape_of(const ov::PartialShape& partial, const std::string& where) {
    if (partial.rank().is_dynamic())
        throw Error(ErrorKind::toolchain, "its rank is not known", where,
                    "give the model's input shapes with shape.NAME");
    Shape shape;
    for (const auto& dimension : partial)
        shape.push_back(dimension.is_static() ? dimension.get_length() : -1);
    return shape;
}

std::string name_of_port(const ov::Output<const ov::Node>& output, std::string_view what,
                         std::size_t index) {
    const auto& names = output.get_names();
    auto node_name = output.get_node()->get_friendly_name();
    // a result node is called after the tensor it takes: "y/sink_port_0"
    if (const auto sink = node_name.rfind("/sink_port_"); sink != std::string::npos)
        node_name.resize(sink);
    if (names.count(node_name) != 0)
        return node_name;
    if (!names.empty())
        return *std::min_element(names.begin(), names.end());
    return std::string(what) + "_" + std::to_string(index);
}

}  // namespace

ov::element::Type to_openvino(ElementType type, const std::string& where) {
    for (const auto& pair : type_pairs) {
        if (pair.ours == type)
            return pair.theirs;
    }
    throw Error(ErrorKind::toolchain, "OpenVINO has no " + std::string(name_of(type)), where);
}

ElementType from_openvino(ov::element::Type type, const std::string& where) {
    for (const auto& pair : type_pairs) {
        if (pair.theirs == type)
            return pair.ours;
    }
    throw Error(ErrorKind::toolchain,
                "its element type " + type.get_type_name() + " has no counterpart here", where);
}

std::vector<Port> ports_of(const std::vector<ov::Output<const ov::Node>>& outputs,
                           std::string_view what) {
    std::vector<Port> ports;
    std::set<std::string> taken;
    for (std::size_t index = 0; index < outputs.size(); ++index) {
        auto name = name_of_port(outputs[index], what, index);
        if (!taken.insert(name).second) {
            name = std::string(what) + "_" + std::to_string(index);
            taken.insert(name);
        }
        const auto where = std::string(what) + " " + name;
        auto shape = shape_of(outputs[index].get_partial_shape(), where);
        ports.push_back(
            {name, from_openvino(outputs[index].get_element_type(), where), std::move(shape)});
    }
    return ports;
}

ov::Tensor view_of(const Tensor& tensor, const std::string& where) {
    const auto type = to_openvino(tensor.type(), where);
    const ov::Shape shape(tensor.shape().begin(), tensor.shape().end());
    if (tensor.type() == ElementType::string) {
        ov::Tensor copy(type, shape);
        std::copy(tensor.strings().begin(), tensor.strings().end(), copy.data<std::string>());
        return copy;
    }
    if (tensor.bytes().empty())
        return ov::Tensor(type, shape);
    // the runtime reads inputs only; its interface does not say so
    return ov::Tensor(type, shape, const_cast<std::byte*>(tensor.bytes().data()));
}

Tensor copy_of(const ov::Tensor& tensor, const std::string& where) {
    const auto& dimensions = tensor.get_shape();
    Tensor result(from_openvino(tensor.get_element_type(), where),
                  Shape(dimensions.begin(), dimensions.end()));
    if (result.type() == ElementType::string) {
        const auto* texts = tensor.data<std::string>();
        result.strings().assign(texts, texts + tensor.get_size());
        return result;
    }
    const auto target = result.mutable_bytes();
    if (tensor.get_byte_size() != target.size())
        throw Error(ErrorKind::toolchain, "its size is not that of its shape", where);
    if (!target.empty())
        std::memcpy(target.data(), tensor.data(), target.size());
    return result;
}

}  // namespace requal::toolchain::openvino
