// One tensor of a model: its type, dimensions and data agree, and external data stays inside the model's folder.
#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "graph/walk.h"

namespace requal::graph {
namespace {

std::uint64_t number_of(const std::string& text, const std::string& key, const std::string& where) {
    std::uint64_t value = 0;
    auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || after != text.data() + text.size() ||
        value > (std::uint64_t{1} << 62))
        throw Error(ErrorKind::input,
                    "external data has the " + key + " '" + text + "', which is no size", where);
    return value;
}

std::string dimensions_text(const onnx::TensorProto& tensor) {
    std::string text;
    for (std::int64_t each : tensor.dims())
        text += (text.empty() ? "" : "x") + std::to_string(each);
    return text.empty() ? "scalar" : text;
}

ExternalPlace check_external(const onnx::TensorProto& tensor, std::uint64_t expected,
                             const std::string& folder, const std::string& where) {
    ExternalPlace place;
    std::optional<std::uint64_t> length;
    bool has_location = false;
    for (const auto& entry : tensor.external_data()) {
        if (entry.key() == "location") {
            if (has_location)
                throw Error(ErrorKind::input, "external data has two locations", where);
            has_location = true;
            place.location = entry.value();
        } else if (entry.key() == "offset") {
            place.offset = number_of(entry.value(), "offset", where);
        } else if (entry.key() == "length") {
            length = number_of(entry.value(), "length", where);
        }
    }
    if (!has_location)
        throw Error(ErrorKind::input, "external data names no location", where);
    if (folder.empty())
        throw Error(ErrorKind::input,
                    "the tensor's data lies in the file '" + place.location +
                        "', but the model was not read from a folder",
                    where, "give the model as a file");
    try {
        place.path = path_inside(folder, place.location);
    } catch (const Error&) {
        throw Error(
            ErrorKind::input,
            "external data '" + place.location + "' lies outside the model's folder", where,
            "external data must be a file beside the model or below it, not reached by .., an "
            "absolute path or a link that leaves it");
    }
    std::uint64_t size = 0;
    try {
        size = file_size(place.path);
    } catch (const Error& error) {
        throw Error(error.kind(),
                    "external data '" + place.location + "' cannot be used: " + error.message(),
                    where, "copy it beside the model");
    }
    place.size_bytes = expected;
    if (length && *length != expected)
        throw Error(ErrorKind::input,
                    "external data has " + std::to_string(*length) + " bytes, but " +
                        dimensions_text(tensor) + " elements need " + std::to_string(expected),
                    where, "export the model again");
    if (place.offset > size || expected > size - place.offset)
        throw Error(ErrorKind::input,
                    "external data '" + place.location + "' is too short: " +
                        std::to_string(expected) + " bytes from " + std::to_string(place.offset) +
                        " on are needed, it has " + std::to_string(size),
                    where, "copy it again");
    return place;
}

/// Values in the typed fields; nothing when the type is kept there in a packed form.
std::optional<std::uint64_t> typed_values(const onnx::TensorProto& tensor, std::uint64_t count) {
    using T = onnx::TensorProto;
    auto size = [](int value) { return static_cast<std::uint64_t>(value); };
    switch (tensor.data_type()) {
    case T::FLOAT:
        return size(tensor.float_data_size());
    case T::COMPLEX64:
        return size(tensor.float_data_size()) == 2 * count ? count : count + 1;
    case T::DOUBLE:
        return size(tensor.double_data_size());
    case T::COMPLEX128:
        return size(tensor.double_data_size()) == 2 * count ? count : count + 1;
    case T::INT64:
        return size(tensor.int64_data_size());
    case T::UINT32:
    case T::UINT64:
        return size(tensor.uint64_data_size());
    case T::STRING:
        return size(tensor.string_data_size());
    case T::INT32:
    case T::INT16:
    case T::INT8:
    case T::UINT16:
    case T::UINT8:
    case T::BOOL:
    case T::FLOAT16:
    case T::BFLOAT16:
        return size(tensor.int32_data_size());
    default:
        return std::nullopt;
    }
}

}  // namespace

std::optional<unsigned> element_bits(std::int32_t data_type) {
    using T = onnx::TensorProto;
    switch (data_type) {
    case T::STRING:
        return 0;
    case T::UINT2:
    case T::INT2:
        return 2;
    case T::UINT4:
    case T::INT4:
    case T::FLOAT4E2M1:
        return 4;
    case T::FLOAT6E2M3:
    case T::FLOAT6E3M2:
        return 6;
    case T::UINT8:
    case T::INT8:
    case T::BOOL:
    case T::FLOAT8E4M3FN:
    case T::FLOAT8E4M3FNUZ:
    case T::FLOAT8E5M2:
    case T::FLOAT8E5M2FNUZ:
    case T::FLOAT8E8M0:
        return 8;
    case T::UINT16:
    case T::INT16:
    case T::FLOAT16:
    case T::BFLOAT16:
        return 16;
    case T::FLOAT:
    case T::INT32:
    case T::UINT32:
        return 32;
    case T::DOUBLE:
    case T::INT64:
    case T::UINT64:
    case T::COMPLEX64:
        return 64;
    case T::COMPLEX128:
        return 128;
    default:
        return std::nullopt;
    }
}

std::optional<std::uint64_t> element_count_of(const onnx::TensorProto& tensor) {
    constexpr std::uint64_t limit = std::uint64_t{1} << 58;
    std::uint64_t count = 1;
    bool empty = false;
    for (std::int64_t each : tensor.dims()) {
        if (each < 0)
            return std::nullopt;
        if (each == 0) {
            empty = true;
        } else {
            auto size = static_cast<std::uint64_t>(each);
            if (size > limit / count)
                return std::nullopt;
            count *= size;
        }
    }
    return empty ? 0 : count;
}

std::uint64_t packed_bytes(std::uint64_t count, unsigned bits) {
    if (bits % 8 == 0)
        return count * (bits / 8);
    return (count * bits + 7) / 8;
}

std::optional<ExternalPlace> check_tensor(const onnx::TensorProto& tensor,
                                          const std::string& folder, const std::string& source) {
    std::string where = source + ": tensor '" + tensor.name() + "'";
    std::optional<unsigned> bits = element_bits(tensor.data_type());
    if (!bits)
        throw Error(ErrorKind::input,
                    "element type " + std::to_string(tensor.data_type()) + " is not one of ONNX",
                    where, "export the model again");
    std::optional<std::uint64_t> count = element_count_of(tensor);
    if (!count)
        throw Error(ErrorKind::input,
                    "dimensions " + dimensions_text(tensor) +
                        " are negative or larger than any memory",
                    where, "export the model again");
    std::uint64_t expected = packed_bytes(*count, *bits);
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
        if (tensor.data_type() == onnx::TensorProto::STRING)
            throw Error(ErrorKind::input, "strings cannot be external data", where);
        return check_external(tensor, expected, folder, where);
    }
    if (tensor.has_raw_data() && !tensor.raw_data().empty()) {
        if (tensor.data_type() != onnx::TensorProto::STRING && tensor.raw_data().size() != expected)
            throw Error(ErrorKind::input,
                        "raw data has " + std::to_string(tensor.raw_data().size()) +
                            " bytes, but " + dimensions_text(tensor) + " elements need " +
                            std::to_string(expected),
                        where, "export the model again");
        return std::nullopt;
    }
    std::optional<std::uint64_t> values = typed_values(tensor, *count);
    if (values && *values != *count)
        throw Error(ErrorKind::input,
                    "the tensor has " + std::to_string(*values) + " values, but its dimensions " +
                        dimensions_text(tensor) + " need " + std::to_string(*count),
                    where, "export the model again");
    return std::nullopt;
}

}  // namespace requal::graph
