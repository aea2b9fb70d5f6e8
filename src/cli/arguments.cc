// Access to parsed values; a name that is not in the verb's table is a bug of the verb.
#include <charconv>

#include "cli/verb.h"

namespace requal::cli {

namespace {

const std::vector<std::string>& values_of(const Arguments& arguments, std::string_view name) {
    auto declared = arguments.fallbacks.find(name);
    if (declared == arguments.fallbacks.end())
        throw Error(ErrorKind::internal, "the verb's table has no argument " + std::string(name));
    auto given = arguments.values.find(name);
    return given != arguments.values.end() ? given->second : declared->second;
}

const std::string& last_value(const Arguments& arguments, std::string_view name) {
    const std::vector<std::string>& found = values_of(arguments, name);
    if (found.empty())
        throw Error(ErrorKind::internal,
                    "argument " + std::string(name) + " has neither value nor default");
    return found.back();
}

// The parser has checked what the user gave; a fallback that does not read is a bug of the table.
template <class Number>
Number read_number(std::string_view name, const std::string& text) {
    Number value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        throw Error(ErrorKind::internal,
                    "argument " + std::string(name) + " is no number: " + text);
    return value;
}

}  // namespace

bool Arguments::flag(std::string_view name) const {
    return !values_of(*this, name).empty();
}

bool Arguments::given(std::string_view name) const {
    values_of(*this, name);
    return values.find(name) != values.end();
}

std::string Arguments::text(std::string_view name) const {
    const std::vector<std::string>& found = values_of(*this, name);
    return found.empty() ? std::string() : found.back();
}

std::optional<std::string> Arguments::optional_text(std::string_view name) const {
    const std::vector<std::string>& found = values_of(*this, name);
    if (found.empty())
        return std::nullopt;
    return found.back();
}

std::int64_t Arguments::integer(std::string_view name) const {
    return read_number<std::int64_t>(name, last_value(*this, name));
}

double Arguments::number(std::string_view name) const {
    return read_number<double>(name, last_value(*this, name));
}

std::vector<std::string> Arguments::all(std::string_view name) const {
    return values_of(*this, name);
}

}  // namespace requal::cli
