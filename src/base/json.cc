#include "base/json.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace requal {
namespace {

constexpr std::uint64_t largest_exact_integer = (std::uint64_t{1} << 53) - 1;

std::string_view name_of(Json::Type type) {
    switch (type) {
    case Json::Type::null:
        return "null";
    case Json::Type::boolean:
        return "true or false";
    case Json::Type::integer:
        return "an integer";
    case Json::Type::real:
        return "a number";
    case Json::Type::string:
        return "a string";
    case Json::Type::array:
        return "an array";
    case Json::Type::object:
        return "an object";
    }
    return "null";
}

[[noreturn]] void throw_type(std::string_view expected, const Json& found) {
    throw Error(ErrorKind::input, "expected " + std::string(expected) + ", found " +
                                      std::string(name_of(found.type())));
}

}  // namespace

Json::Json(std::uint64_t value) {
    if (value > largest_exact_integer) {
        value_ = std::to_string(value);
    } else {
        value_ = static_cast<std::int64_t>(value);
    }
}

bool Json::as_boolean() const {
    if (const auto* value = std::get_if<bool>(&value_))
        return *value;
    throw_type("true or false", *this);
}

std::int64_t Json::as_integer() const {
    if (const auto* value = std::get_if<std::int64_t>(&value_))
        return *value;
    if (const auto* text = std::get_if<std::string>(&value_)) {
        const bool plain = text->find_first_not_of("0123456789", text->starts_with('-') ? 1 : 0) ==
                           std::string::npos;
        if (const auto value = parse_integer(*text); plain && value)
            return *value;
        throw Error(ErrorKind::input,
                    "expected an integer, found the string '" + text->substr(0, 40) + "'");
    }
    throw_type("an integer", *this);
}

double Json::as_number() const {
    if (const auto* value = std::get_if<std::int64_t>(&value_))
        return static_cast<double>(*value);
    if (const auto* value = std::get_if<double>(&value_))
        return *value;
    throw_type("a number", *this);
}

const std::string& Json::as_string() const {
    if (const auto* value = std::get_if<std::string>(&value_))
        return *value;
    throw_type("a string", *this);
}

const Json::Array& Json::as_array() const {
    if (const auto* value = std::get_if<Array>(&value_))
        return *value;
    throw_type("an array", *this);
}

Json::Array& Json::as_array() {
    if (auto* value = std::get_if<Array>(&value_))
        return *value;
    throw_type("an array", *this);
}

const Json::Object& Json::as_object() const {
    if (const auto* value = std::get_if<Object>(&value_))
        return *value;
    throw_type("an object", *this);
}

Json::Object& Json::as_object() {
    if (auto* value = std::get_if<Object>(&value_))
        return *value;
    throw_type("an object", *this);
}

const Json& Json::get(std::string_view key) const {
    static const Json absent;
    const Object& members = as_object();
    const auto found = members.find(key);
    return found == members.end() ? absent : found->second;
}

const Json& Json::at(std::string_view key) const {
    const Object& members = as_object();
    const auto found = members.find(key);
    if (found == members.end())
        throw Error(ErrorKind::input, "missing key '" + std::string(key) + "'");
    return found->second;
}

bool Json::has(std::string_view key) const {
    return as_object().contains(key);
}

Json& Json::operator[](std::string_view key) {
    if (is_null())
        value_ = Object();
    Object& members = as_object();
    const auto found = members.find(key);
    if (found != members.end())
        return found->second;
    return members.emplace(std::string(key), Json()).first->second;
}

void Json::push_back(Json item) {
    if (is_null())
        value_ = Array();
    as_array().push_back(std::move(item));
}

std::size_t Json::size() const {
    if (const auto* items = std::get_if<Array>(&value_))
        return items->size();
    if (const auto* members = std::get_if<Object>(&value_))
        return members->size();
    return 0;
}

void Json::set_number(std::string_view key, double value) {
    if (std::isfinite(value)) {
        (*this)[key] = value;
        return;
    }
    (*this)[key] = nullptr;
    (*this)["nonfinite"][key] = shortest(value);
}

Json text_array(const std::vector<std::string>& texts) {
    Json array = Json::array();
    for (const std::string& text : texts)
        array.push_back(text);
    return array;
}

}  // namespace requal
