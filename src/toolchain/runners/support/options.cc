#include "toolchain/runners/support/options.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace requal::toolchain {
namespace {

[[noreturn]] void refuse(std::string_view name, const std::string& message) {
    throw Error(ErrorKind::input, message, "option " + std::string(name));
}

std::string_view type_name(OptionType type) {
    switch (type) {
    case OptionType::integer:
        return "integer";
    case OptionType::flag:
        return "flag";
    case OptionType::word:
        return "word";
    case OptionType::shape:
        return "shape";
    case OptionType::text:
        break;
    }
    return "text";
}

std::string joined(std::span<const std::string_view> words) {
    std::string result;
    for (const auto word : words)
        result += (result.empty() ? "" : ", ") + std::string(word);
    return result;
}

const OptionSpec* find_spec(std::span<const OptionSpec> known, std::string_view name) {
    for (const auto& spec : known) {
        if (spec.is_family() ? name.starts_with(spec.name) && name.size() > spec.name.size()
                             : name == spec.name)
            return &spec;
    }
    return nullptr;
}

}  // namespace

OptionReader::OptionReader(const Json& options, std::span<const OptionSpec> known,
                           std::string_view toolchain)
    : options_(options), known_(known), toolchain_(toolchain) {
    if (options.is_null())
        return;
    if (!options.is_object())
        throw Error(ErrorKind::input, "options must be an object", toolchain_);
    for (const auto& [name, value] : options.as_object()) {
        if (find_spec(known, name))
            continue;
        std::vector<std::string_view> names;
        for (const auto& spec : known)
            names.push_back(spec.name);
        const auto near = nearest(name, names);
        throw Error(ErrorKind::input, "unknown option '" + name + "'", toolchain_,
                    near.empty() ? "it has " + joined(names) : "did you mean '" + near + "'?");
    }
}

const OptionSpec& OptionReader::spec_of(std::string_view name) const {
    const auto* spec = find_spec(known_, name);
    if (!spec)
        throw Error(ErrorKind::internal, "option not declared", std::string(name));
    return *spec;
}

std::string OptionReader::text_of_value(std::string_view name) const {
    const Json& value = options_.get(name);
    switch (value.type()) {
    case Json::Type::string:
        return value.as_string();
    case Json::Type::boolean:
        return value.as_boolean() ? "1" : "0";
    case Json::Type::integer:
    case Json::Type::real:
        return write_json_compact(value);
    default:
        refuse(name, "must be a text, a number or a flag");
    }
}

std::optional<std::int64_t> OptionReader::integer(std::string_view name) const {
    const auto& spec = spec_of(name);
    if (!options_.is_object() || !options_.has(name))
        return std::nullopt;
    const auto text = text_of_value(name);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || value < spec.low ||
        value > spec.high)
        refuse(name, "'" + text + "' is not an integer from " + std::to_string(spec.low) + " to " +
                         std::to_string(spec.high));
    return value;
}

std::optional<bool> OptionReader::flag(std::string_view name) const {
    spec_of(name);
    if (!options_.is_object() || !options_.has(name))
        return std::nullopt;
    const auto text = text_of_value(name);
    if (text == "on" || text == "true" || text == "1")
        return true;
    if (text == "off" || text == "false" || text == "0")
        return false;
    refuse(name, "'" + text + "' is neither on nor off");
}

std::optional<std::string> OptionReader::word(std::string_view name) const {
    const auto& spec = spec_of(name);
    if (!options_.is_object() || !options_.has(name))
        return std::nullopt;
    auto value = text_of_value(name);
    if (std::find(spec.values.begin(), spec.values.end(), value) == spec.values.end())
        refuse(name, "'" + value + "' is none of " + joined(spec.values));
    return value;
}

std::optional<std::string> OptionReader::text(std::string_view name) const {
    spec_of(name);
    if (!options_.is_object() || !options_.has(name))
        return std::nullopt;
    return text_of_value(name);
}

std::map<std::string, std::string> OptionReader::family(std::string_view prefix) const {
    spec_of(std::string(prefix) + "x");
    std::map<std::string, std::string> result;
    if (!options_.is_object())
        return result;
    for (const auto& [name, value] : options_.as_object()) {
        if (!name.starts_with(prefix))
            continue;
        auto text = text_of_value(name);
        if (text.find('\0') != std::string::npos || name.find('\0') != std::string::npos)
            refuse(name, "holds a NUL");
        result[name.substr(prefix.size())] = std::move(text);
    }
    return result;
}

std::map<std::string, Shape> OptionReader::shapes(std::string_view prefix) const {
    std::map<std::string, Shape> result;
    for (const auto& [name, text] : family(prefix)) {
        Shape shape;
        try {
            shape = parse_shape(text);
            element_count(shape);
        } catch (const Error& error) {
            refuse(std::string(prefix) + name, error.message());
        }
        result[name] = std::move(shape);
    }
    return result;
}

Json describe_options(std::span<const OptionSpec> known) {
    Json result = Json::object();
    for (const auto& spec : known) {
        Json entry = Json::object({{"type", type_name(spec.type)}, {"help", spec.help}});
        if (!spec.values.empty()) {
            Json values = Json::array();
            for (const auto value : spec.values)
                values.push_back(value);
            entry["values"] = std::move(values);
        }
        if (spec.type == OptionType::integer) {
            entry["low"] = spec.low;
            entry["high"] = spec.high;
        }
        result[spec.is_family() ? std::string(spec.name) + "NAME" : std::string(spec.name)] =
            std::move(entry);
    }
    return result;
}

}  // namespace requal::toolchain
