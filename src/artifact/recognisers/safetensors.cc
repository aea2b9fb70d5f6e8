// safetensors: the 64-bit little-endian size of a JSON header, the header, and the tensors' bytes without gaps.
// Format: https://github.com/huggingface/safetensors#format (the header begins with '{' and has at most 100,000,000 bytes).
#include <algorithm>
#include <map>

#include "artifact/recognise.h"
#include "base/error.h"

namespace requal::artifact {

namespace {

constexpr std::uint64_t format_limit = 100'000'000;
constexpr std::uint64_t read_limit = std::uint64_t{32} << 20;
constexpr std::size_t list_limit = 1000;

// nullopt when an entry is no tensor
bool read_tensors(const Json& header, std::uint64_t data_bytes, Recognised& result) {
    std::map<std::string, std::uint64_t> types;
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    Json tensors = Json::array();
    for (const auto& [name, value] : header.as_object()) {
        if (name == "__metadata__")
            continue;
        if (!value.is_object() || !value.get("dtype").is_string() ||
            !value.get("shape").is_array() || !value.get("data_offsets").is_array() ||
            value.at("data_offsets").size() != 2)
            return false;
        for (const char* key : {"shape", "data_offsets"})
            for (const Json& item : value.at(key).as_array())
                if (!item.is_integer() || item.as_integer() < 0)
                    return false;
        const std::string& type = value.at("dtype").as_string();
        if (types.size() < 100 || types.contains(type))
            ++types[type];
        const auto& span = value.at("data_offsets").as_array();
        spans.emplace_back(span[0].as_integer(), span[1].as_integer());
        if (tensors.size() < list_limit)
            tensors.push_back(
                Json::object({{"name", name}, {"type", type}, {"shape", value.at("shape")}}));
    }
    std::sort(spans.begin(), spans.end());
    std::int64_t end = 0;
    bool whole = true;
    for (const auto& [from, to] : spans) {
        whole = whole && from == end && to >= from;
        end = std::max(end, to);
    }
    if (static_cast<std::uint64_t>(end) > data_bytes)
        result.damage.push_back("cut off: the tensors need " + std::to_string(end) + " bytes, " +
                                std::to_string(data_bytes) + " are there");
    else if (!whole || static_cast<std::uint64_t>(end) != data_bytes)
        result.damage.push_back("the tensors do not fill the file without gaps or overlaps");
    Json& recorded = result.recorded;
    recorded["tensors_total"] = static_cast<std::uint64_t>(spans.size());
    recorded["tensors"] = std::move(tensors);
    recorded["tensor_types"] = Json::object();
    for (const auto& [name, count] : types)
        recorded["tensor_types"][name] = count;
    if (spans.size() > list_limit)
        result.oddities.push_back("only the first " + std::to_string(list_limit) +
                                  " tensors are listed");
    return true;
}

std::optional<Recognised> recognise_safetensors(const ByteSource& source) {
    const auto size = source.little_endian(0, 8);
    if (!size || *size < 2 || *size > format_limit || source.view(8, 1) != "{")
        return std::nullopt;
    Recognised damaged;
    if (*size > source.size() - 8) {
        // too little to be sure: a name must follow the brace
        if (source.view(8, 2) != "{\"")
            return std::nullopt;
        damaged.damage.push_back("begins as safetensors and is cut off inside its header");
        return damaged;
    }
    if (*size > read_limit) {
        damaged.damage.push_back("may be safetensors: its header of " + std::to_string(*size) +
                                 " bytes is larger than what is read");
        return damaged;
    }
    Recognised result;
    try {
        const Json header = parse_json(source.read(8, static_cast<std::size_t>(*size)), "header",
                                       {.size_bytes = read_limit, .depth = 8, .values = 4'000'000});
        if (!header.is_object() || !read_tensors(header, source.size() - 8 - *size, result))
            return std::nullopt;
        if (header.get("__metadata__").is_object()) {
            for (const auto& [key, value] : header.at("__metadata__").as_object()) {
                if (!value.is_string())
                    return std::nullopt;
                if (result.recorded.get("metadata").size() < list_limit)
                    result.recorded["metadata"][key] = value;
            }
        }
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::input)
            throw;
        return std::nullopt;  // not JSON: another format whose first bytes happen to fit
    }
    result.kind = "safetensors";
    result.unknown = {"architecture", "source_model"};
    return result;
}

}  // namespace

std::vector<NamedRecogniser> recognisers_safetensors() {
    return {{"safetensors", recognise_safetensors}};
}

}  // namespace requal::artifact
