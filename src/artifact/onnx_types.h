// Names of ONNX's tensor types (onnx.proto, TensorProto.DataType; ORT's flatbuffer uses the same numbers).
#pragma once

#include <cstdint>
#include <iterator>
#include <string>

namespace requal::artifact {

inline std::string onnx_type_name(std::uint64_t code) {
    static constexpr const char* names[] = {
        "undefined",      "float32",  "uint8",        "int8",           "uint16",
        "int16",          "int32",    "int64",        "string",         "bool",
        "float16",        "float64",  "uint32",       "uint64",         "complex64",
        "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
        "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
        "uint2",          "int2"};
    return code < std::size(names) ? names[code] : "type " + std::to_string(code);
}

}  // namespace requal::artifact
