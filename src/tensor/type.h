// Element types of tensors: those of ONNX.
#pragma once

#include <cstdint>
#include <string_view>

namespace requal {

/// Element types. The names are ONNX's in lower case.
enum class ElementType : std::uint8_t {
    float32,
    float64,
    float16,
    bfloat16,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    boolean,
    string,
    complex64,
    complex128,
};

/// "float32", "bfloat16", "bool", "string", ...
std::string_view name_of(ElementType type);
/// Error(input) for an unknown name.
ElementType parse_element_type(std::string_view name);
/// Bytes of one element; 0 for string.
std::size_t size_of(ElementType type);
bool is_floating(ElementType type);  ///< float16, bfloat16, float32, float64
bool is_integer(ElementType type);   ///< signed and unsigned, not bool

}  // namespace requal
