#include "measure/accuracy/slices.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace requal::measure {

namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

bool ascending(const std::vector<double>& bounds) {
    return std::adjacent_find(bounds.begin(), bounds.end(),
                              [](double a, double b) { return a >= b; }) == bounds.end();
}

/// A term without numbers; nullopt when the word is none.
std::optional<SliceTerm> plain_term(std::string_view word) {
    if (word == "class") {
        return SliceTerm{SliceTerm::Kind::category, {}, {}};
    }
    if (word == "size") {
        return SliceTerm{SliceTerm::Kind::size, {}, {}};
    }
    if (word == "tags") {
        return SliceTerm{SliceTerm::Kind::tags, {}, {}};
    }
    if (word.substr(0, 4) == "tag=" && word.size() > 4) {
        return SliceTerm{SliceTerm::Kind::tags, std::string(word.substr(4)), {}};
    }
    return std::nullopt;
}

SliceTerm number_term(std::string_view text, const std::string& where) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        throw Error(ErrorKind::usage, "'" + std::string(text) + "' is no slice", where,
                    "write class, size, tags, tag=NAME or NUMBER=0,10,25; cross them with '*'");
    }
    SliceTerm term;
    term.kind = SliceTerm::Kind::number;
    term.name = std::string(text.substr(0, equals));
    for (const std::string_view part : split(text.substr(equals + 1), ',')) {
        const auto bound = parse_real(part);
        if (!bound) {
            throw Error(ErrorKind::usage, "'" + std::string(part) + "' is no number", where,
                        "write the bounds of the ranges as 0,10,25");
        }
        term.bounds.push_back(*bound);
    }
    if (term.bounds.size() < 2 || !ascending(term.bounds)) {
        throw Error(ErrorKind::usage, "the bounds of '" + term.name + "' do not rise", where,
                    "two bounds or more, from the least to the greatest");
    }
    return term;
}

SliceTerm read_term(const Yaml& item) {
    if (item.kind() == Yaml::Kind::scalar) {
        if (auto term = plain_term(item.text())) {
            return *term;
        }
        item.fail("'" + item.text() + "' is no slice",
                  "write class, size, tags, tag=NAME or NAME: [0, 10, 25]");
    }
    if (item.kind() != Yaml::Kind::map || item.members().size() != 1) {
        item.fail("a slice is a word, or one name with its bounds");
    }
    const auto& [name, bounds] = item.members().front();
    SliceTerm term;
    term.kind = SliceTerm::Kind::number;
    term.name = name;
    for (const Yaml& bound : bounds.items()) {
        term.bounds.push_back(bound.number());
    }
    if (term.bounds.size() < 2 || !ascending(term.bounds)) {
        bounds.fail("the bounds do not rise", "two bounds or more, from the least to the greatest");
    }
    return term;
}

void check_crossing(const SliceSpec& spec, const std::string& where) {
    for (std::size_t i = 0; i < spec.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (spec[i].by() == spec[j].by() && spec[i].kind != SliceTerm::Kind::tags) {
                throw Error(ErrorKind::input, "'" + spec[i].by() + "' is crossed with itself",
                            where, "name each property once");
            }
        }
    }
}

}  // namespace

std::string SliceTerm::by() const {
    switch (kind) {
    case Kind::category:
        return "class";
    case Kind::size:
        return "size";
    case Kind::tags:
        return "tag";
    case Kind::number:
        break;
    }
    return name;
}

SliceSpec parse_slice(std::string_view text, const std::string& where) {
    SliceSpec spec;
    for (const std::string_view part : split(text, '*')) {
        if (auto term = plain_term(part)) {
            spec.push_back(*term);
        } else {
            spec.push_back(number_term(part, where));
        }
    }
    check_crossing(spec, where);
    return spec;
}

std::vector<SliceSpec> read_slices(const Yaml& sequence) {
    std::vector<SliceSpec> specs;
    for (const Yaml& item : sequence.items()) {
        SliceSpec spec;
        const Yaml* cross = item.kind() == Yaml::Kind::map ? item.find("cross") : nullptr;
        if (cross != nullptr) {
            item.allow_keys({"cross"});
            for (const Yaml& part : cross->items()) {
                spec.push_back(read_term(part));
            }
            if (spec.size() < 2) {
                cross->fail("a crossing needs two slices or more");
            }
            check_crossing(spec, cross->where());
        } else {
            spec.push_back(read_term(item));
        }
        specs.push_back(std::move(spec));
    }
    return specs;
}

std::string by_of(const SliceName& name) {
    std::string text;
    for (const auto& [by, value] : name) {
        text += (text.empty() ? "" : "*") + by;
    }
    return text;
}

std::string value_of(const SliceName& name) {
    std::string text;
    for (const auto& [by, value] : name) {
        text += (text.empty() ? "" : "*") + value;
    }
    return text;
}

std::string band_name(double low, double high) {
    return shortest(low) + ".." + shortest(high);
}

int band_of(const std::vector<double>& bounds, double value) {
    if (!(value >= bounds.front()) || !(value <= bounds.back())) {
        return -1;
    }
    const auto above = std::upper_bound(bounds.begin(), bounds.end(), value);
    const auto index = static_cast<int>(above - bounds.begin()) - 1;
    return std::min(index, static_cast<int>(bounds.size()) - 2);
}

}  // namespace requal::measure
