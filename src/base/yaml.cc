// Typed reading of YAML nodes; they are made in yaml_read.cc.
#include "base/yaml.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/yaml_plain.h"

namespace requal {
namespace {

[[noreturn]] void fail_type(const Yaml& node, std::string_view expected, bool quoted) {
    std::string found;
    switch (node.kind()) {
    case Yaml::Kind::null:
        found = "nothing";
        break;
    case Yaml::Kind::scalar:
        found = (quoted ? "the text '" : "'") + node.text().substr(0, 60) + "'";
        break;
    case Yaml::Kind::sequence:
        found = "a sequence";
        break;
    case Yaml::Kind::map:
        found = "a map";
        break;
    }
    const bool quotes_hurt = quoted && plain_kind(node.text()) != PlainKind::text;
    node.fail("expected " + std::string(expected) + ", found " + found,
              quotes_hurt ? "take the quotes away" : "");
}

}  // namespace

std::string Yaml::text() const {
    if (kind_ != Kind::scalar)
        fail_type(*this, "text", false);
    return scalar_;
}

bool Yaml::boolean() const {
    if (kind_ != Kind::scalar || quoted_ || plain_kind(scalar_) != PlainKind::boolean)
        fail_type(*this, "true or false", quoted_);
    return scalar_ == "true";
}

std::int64_t Yaml::integer() const {
    if (kind_ != Kind::scalar || quoted_ || plain_kind(scalar_) != PlainKind::integer)
        fail_type(*this, "an integer", quoted_);
    const std::optional<std::int64_t> value = parse_integer(scalar_);
    if (!value)
        fail("the integer " + scalar_.substr(0, 60) + " does not fit into 64 bits");
    return *value;
}

double Yaml::number() const {
    const PlainKind kind =
        kind_ == Kind::scalar && !quoted_ ? plain_kind(scalar_) : PlainKind::text;
    if (kind != PlainKind::integer && kind != PlainKind::real)
        fail_type(*this, "a number", quoted_);
    const std::optional<double> value = parse_real(scalar_);
    if (!value)
        fail("the number " + scalar_.substr(0, 60) + " is too large");
    return *value;
}

const std::vector<Yaml>& Yaml::items() const {
    if (kind_ != Kind::sequence)
        fail_type(*this, "a sequence", quoted_);
    return items_;
}

const std::vector<std::pair<std::string, Yaml>>& Yaml::members() const {
    if (kind_ != Kind::map)
        fail_type(*this, "a map", quoted_);
    return members_;
}

bool Yaml::has(std::string_view key) const {
    return find(key) != nullptr;
}

const Yaml& Yaml::at(std::string_view key) const {
    const Yaml* found = find(key);
    if (found == nullptr)
        fail("missing key '" + std::string(key) + "'", "add it");
    return *found;
}

const Yaml* Yaml::find(std::string_view key) const {
    for (const auto& [name, value] : members()) {
        if (name == key)
            return &value;
    }
    return nullptr;
}

std::string Yaml::text_or(std::string_view key, std::string fallback) const {
    const Yaml* found = find(key);
    return found == nullptr ? std::move(fallback) : found->text();
}

double Yaml::number_or(std::string_view key, double fallback) const {
    const Yaml* found = find(key);
    return found == nullptr ? fallback : found->number();
}

std::int64_t Yaml::integer_or(std::string_view key, std::int64_t fallback) const {
    const Yaml* found = find(key);
    return found == nullptr ? fallback : found->integer();
}

bool Yaml::boolean_or(std::string_view key, bool fallback) const {
    const Yaml* found = find(key);
    return found == nullptr ? fallback : found->boolean();
}

void Yaml::allow_keys(std::initializer_list<std::string_view> known) const {
    for (const auto& [name, value] : members()) {
        bool is_known = false;
        for (const std::string_view key : known)
            is_known = is_known || key == name;
        if (is_known)
            continue;
        const std::string near = nearest(name, std::span(known.begin(), known.size()));
        std::string next;
        if (!near.empty()) {
            next = "did you mean '" + near + "'?";
        } else {
            next = "known here:";
            for (const std::string_view key : known)
                next += (next.back() == ':' ? " " : ", ") + std::string(key);
        }
        // The place is the value's, which for a long map or sequence is a line below its key.
        throw Error(ErrorKind::input,
                    (path_.empty() ? "" : path_ + ": ") + "unknown key '" + name.substr(0, 80) +
                        "'",
                    value.key_where_, next);
    }
}

void Yaml::fail(std::string message, std::string next) const {
    throw Error(ErrorKind::input, path_.empty() ? std::move(message) : path_ + ": " + message,
                where_, std::move(next));
}

Json Yaml::to_json() const {
    switch (kind_) {
    case Kind::null:
        return {};
    case Kind::sequence: {
        Json array = Json::array();
        for (const Yaml& item : items_)
            array.push_back(item.to_json());
        return array;
    }
    case Kind::map: {
        Json object = Json::object();
        for (const auto& [name, value] : members_)
            object[name] = value.to_json();
        return object;
    }
    case Kind::scalar:
        break;
    }
    if (quoted_)
        return scalar_;
    switch (plain_kind(scalar_)) {
    case PlainKind::boolean:
        return boolean();
    case PlainKind::integer:
        return integer();
    case PlainKind::real:
        return number();
    case PlainKind::text:
        break;
    }
    return scalar_;
}

}  // namespace requal
