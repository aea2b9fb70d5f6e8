// Reads JSON strictly, on the events of nlohmann's parser. The only file that
// includes nlohmann.
#include <algorithm>
#include <cstddef>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace requal {
namespace {

/// An iterator over the text that tells how far the parser has read, so that
/// our own refusals can name a line.
class TrackedIterator {
public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    TrackedIterator() = default;
    TrackedIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
    reference operator*() const { return *at_; }
    TrackedIterator& operator++() {
        ++at_;
        *reached_ = at_;
        return *this;
    }
    TrackedIterator operator++(int) {
        TrackedIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }
    bool operator!=(const TrackedIterator& other) const { return at_ != other.at_; }

private:
    const char* at_ = nullptr;
    const char** reached_ = nullptr;
};

/// Builds the value from the parser's events.
class Builder {
public:
    Builder(std::string_view text, std::string_view source, const JsonLimits& limits)
        : text_(text), source_(source), limits_(limits), reached_(text.data()) {}

    TrackedIterator begin() { return {text_.data(), &reached_}; }
    TrackedIterator end() { return {text_.data() + text_.size(), &reached_}; }
    Json take() { return std::move(root_); }

    [[noreturn]] void fail(const std::string& message, std::size_t bytes_read,
                           const std::string& next) const {
        // The last byte read may be the line end behind the culprit.
        const std::size_t before = std::min(text_.size(), bytes_read == 0 ? 0 : bytes_read - 1);
        const auto line = 1 + std::count(text_.begin(),
                                         text_.begin() + static_cast<std::ptrdiff_t>(before), '\n');
        throw Error(ErrorKind::input, message, source_ + ":" + std::to_string(line), next);
    }

    // The events; names and signatures are nlohmann's.
    bool null() { return add(Json()); }
    bool boolean(bool value) { return add(Json(value)); }
    bool number_integer(std::int64_t value) { return add(Json(value)); }
    bool number_unsigned(std::uint64_t value) {
        if (value > static_cast<std::uint64_t>(INT64_MAX))
            refuse_integer(std::to_string(value));
        return add(Json(static_cast<std::int64_t>(value)));
    }
    bool number_float(double value, const std::string& literal) {
        if (literal.find_first_of(".eE") == std::string::npos)
            refuse_integer(literal);
        return add(Json(value));
    }
    bool string(std::string& value) { return add(Json(std::move(value))); }
    bool binary(nlohmann::json::binary_t&) { return false; }  // only of binary formats
    bool start_object(std::size_t) { return open(Json::object()); }
    bool start_array(std::size_t) { return open(Json::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool key(std::string& name) {
        Json::Object& members = open_.back()->as_object();
        const auto [place, is_new] = members.emplace(std::move(name), Json());
        if (!is_new)
            fail("duplicate key '" + place->first.substr(0, 80) + "'", bytes_read(),
                 "keep one of them");
        member_ = &place->second;
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception& error) {
        std::string message = error.what();
        // "[json.exception.parse_error.101] parse error at line 1, column 2:
        // MESSAGE"
        if (const std::size_t bracket = message.find("] "); bracket != std::string::npos)
            message.erase(0, bracket + 2);
        if (message.starts_with("parse error at ")) {
            if (const std::size_t colon = message.find(": "); colon != std::string::npos)
                message.erase(0, colon + 2);
        }
        constexpr std::size_t longest = 240;
        if (message.size() > longest)
            message = message.substr(0, longest) + "...";
        fail("not valid JSON: " + message, position, "mend the file");
    }

private:
    std::size_t bytes_read() const { return static_cast<std::size_t>(reached_ - text_.data()); }

    [[noreturn]] void refuse_integer(const std::string& literal) const {
        fail("the integer " + literal.substr(0, 40) + " does not fit into 64 bits", bytes_read(),
             "write it as a string or as a real number");
    }

    Json* place(Json value) {
        if (++values_ > limits_.values) {
            fail("more than " + std::to_string(limits_.values) + " values", bytes_read(),
                 "split the file");
        }
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        if (open_.back()->is_array()) {
            Json::Array& items = open_.back()->as_array();
            items.push_back(std::move(value));
            return &items.back();
        }
        *member_ = std::move(value);
        return member_;
    }
    bool add(Json value) {
        place(std::move(value));
        return true;
    }
    bool open(Json value) {
        if (static_cast<int>(open_.size()) >= limits_.depth) {
            fail("nested deeper than " + std::to_string(limits_.depth) + " levels", bytes_read(),
                 "flatten the document");
        }
        // The pointer stays good: while a container is open nothing is added to the
        // one around it.
        open_.push_back(place(std::move(value)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    std::string_view text_;
    std::string source_;
    JsonLimits limits_;
    const char* reached_;
    Json root_;
    Json* member_ = nullptr;
    std::vector<Json*> open_;
    std::size_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view source, const JsonLimits& limits) {
    if (text.size() > limits.size_bytes) {
        throw Error(ErrorKind::input,
                    "JSON larger than the " + std::to_string(limits.size_bytes) +
                        " bytes allowed here",
                    std::string(source) + ":1", "check that this is the file you mean");
    }
    Builder builder(text, source, limits);
    // The parser takes a NUL byte for the end of the text.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
        builder.fail("not valid JSON: a NUL byte", nul + 1, "mend the file");
    }
    nlohmann::json::sax_parse(builder.begin(), builder.end(), &builder,
                              nlohmann::json::input_format_t::json, true, false);
    return builder.take();
}

}  // namespace requal
