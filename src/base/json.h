// JSON values of the document contract: read strictly, written deterministically.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace requal {

/// A JSON value. Objects keep their keys sorted by bytes; there is one value a key.
/// Integers are kept apart from real numbers. A number that is not finite is written as null (put its reason under
/// `nonfinite` with set_number()).
class Json {
public:
    using Array = std::vector<Json>;
    using Object = std::map<std::string, Json, std::less<>>;
    enum class Type { null, boolean, integer, real, string, array, object };

    Json() = default;
    Json(std::nullptr_t) {}
    Json(bool value) : value_(value) {}
    Json(int value) : value_(static_cast<std::int64_t>(value)) {}
    Json(std::int64_t value) : value_(value) {}
    Json(std::uint32_t value) : value_(static_cast<std::int64_t>(value)) {}
    Json(std::uint64_t
             value);  ///< values past 2^53 - 1 become strings, as the document contract says
    Json(double value) : value_(value) {}
    Json(const char* value) : value_(std::string(value)) {}
    Json(std::string value) : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    Json(Array value) : value_(std::move(value)) {}
    Json(Object value) : value_(std::move(value)) {}

    static Json object(std::initializer_list<Object::value_type> members = {}) {
        return Json(Object(members));
    }
    static Json array(std::initializer_list<Json> items = {}) { return Json(Array(items)); }

    Type type() const { return static_cast<Type>(value_.index()); }
    bool is_null() const { return type() == Type::null; }
    bool is_object() const { return type() == Type::object; }
    bool is_array() const { return type() == Type::array; }
    bool is_string() const { return type() == Type::string; }
    bool is_integer() const { return type() == Type::integer; }
    bool is_number() const { return type() == Type::integer || type() == Type::real; }
    bool is_boolean() const { return type() == Type::boolean; }

    // Typed access; throws Error(input) that names the expected type when the value has another one.
    bool as_boolean() const;
    std::int64_t as_integer() const;  ///< also a string of decimal digits (integers past 2^53)
    double as_number() const;
    const std::string& as_string() const;
    const Array& as_array() const;
    Array& as_array();
    const Object& as_object() const;
    Object& as_object();

    /// Member of an object; null value when absent. Throws Error(input) when this is no object.
    const Json& get(std::string_view key) const;
    /// Member that must exist; throws Error(input) "missing key KEY".
    const Json& at(std::string_view key) const;
    bool has(std::string_view key) const;
    /// Member for writing; a null value becomes an object first.
    Json& operator[](std::string_view key);
    void push_back(Json item);  ///< a null value becomes an array first
    std::size_t size() const;   ///< of an array or object; 0 otherwise

    /// Writes `value` under `key` of this object; when it is not finite, writes null and
    /// `nonfinite.KEY` = "nan", "inf" or "-inf".
    void set_number(std::string_view key, double value);

    bool operator==(const Json&) const = default;

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

/// An array of these texts, in their order.
Json text_array(const std::vector<std::string>& texts);

/// Limits on JSON that comes from outside.
struct JsonLimits {
    std::size_t size_bytes = std::size_t{256} << 20;
    int depth = 100;
    std::size_t values =
        32'000'000;  ///< so that a small text cannot take all memory (a value takes 56 bytes)
};

/// Reads one JSON document. Refuses duplicate keys, trailing text, comments, NaN, invalid UTF-8, integers outside int64,
/// real numbers outside double (1e999) and what passes the limits with Error(input) whose `where` is "SOURCE:LINE".
/// A number with point or exponent is real, any other an integer. A UTF-8 byte order mark at the start is skipped.
Json parse_json(std::string_view text, std::string_view source, const JsonLimits& limits = {});

/// Deterministic text: keys sorted, shortest round-trip numbers, LF line ends, two-space indentation, final LF.
/// Real numbers keep their type: an integral one is written with ".0". A non-empty array of scalars stands on one line when
/// that line has at most 100 bytes. Bytes of strings that are not UTF-8 are written as the text \xNN.
/// `compact`: everything on one line (for JSON Lines and for digests of parts), final LF not added.
std::string write_json(const Json& value);
std::string write_json_compact(const Json& value);

}  // namespace requal
