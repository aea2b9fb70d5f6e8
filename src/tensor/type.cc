#include "tensor/type.h"

#include <array>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace requal {
namespace {

struct TypeRow {
    ElementType type;
    std::string_view name;
    std::size_t size_bytes;
};

constexpr std::array<TypeRow, 16> rows{{
    {ElementType::float32, "float32", 4},
    {ElementType::float64, "float64", 8},
    {ElementType::float16, "float16", 2},
    {ElementType::bfloat16, "bfloat16", 2},
    {ElementType::int8, "int8", 1},
    {ElementType::int16, "int16", 2},
    {ElementType::int32, "int32", 4},
    {ElementType::int64, "int64", 8},
    {ElementType::uint8, "uint8", 1},
    {ElementType::uint16, "uint16", 2},
    {ElementType::uint32, "uint32", 4},
    {ElementType::uint64, "uint64", 8},
    {ElementType::boolean, "bool", 1},
    {ElementType::string, "string", 0},
    {ElementType::complex64, "complex64", 8},
    {ElementType::complex128, "complex128", 16},
}};

const TypeRow& row_of(ElementType type) {
    auto index = static_cast<std::size_t>(type);
    if (index >= rows.size())
        throw Error(ErrorKind::internal, "element type out of range");
    return rows[index];
}

}  // namespace

std::string_view name_of(ElementType type) {
    return row_of(type).name;
}

ElementType parse_element_type(std::string_view name) {
    std::array<std::string_view, rows.size()> names;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].name == name)
            return rows[i].type;
        names[i] = rows[i].name;
    }
    std::string next = "use one of float32, float16, bfloat16, float64, int8 to int64, uint8 to "
                       "uint64, bool, string, complex64, complex128";
    if (std::string near = nearest(name, names); !near.empty())
        next = "did you mean '" + near + "'?";
    throw Error(ErrorKind::input, "unknown element type '" + std::string(name) + "'", {}, next);
}

std::size_t size_of(ElementType type) {
    return row_of(type).size_bytes;
}

bool is_floating(ElementType type) {
    return type == ElementType::float32 || type == ElementType::float64 ||
           type == ElementType::float16 || type == ElementType::bfloat16;
}

bool is_integer(ElementType type) {
    return type >= ElementType::int8 && type <= ElementType::uint64;
}

}  // namespace requal
