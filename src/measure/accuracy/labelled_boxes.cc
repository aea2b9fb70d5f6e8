#include "measure/accuracy/labelled_boxes.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace requal::measure {

namespace {

constexpr std::size_t most_names = 4096;

std::uint32_t name_index(std::vector<std::string>& names, std::string_view name,
                         const std::string& where) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end() && names.size() >= most_names) {
        throw Error(ErrorKind::input, "more than 4096 names of attributes or tags", where,
                    "move what is no attribute below another key");
    }
    const auto index = static_cast<std::uint32_t>(found - names.begin());
    if (found == names.end()) {
        names.emplace_back(name);
    }
    return index;
}

}  // namespace

std::uint32_t AttributeTable::number_name(std::string_view name, const std::string& where) {
    const std::uint32_t index = name_index(number_names_, name, where);
    numbers_.resize(number_names_.size());
    return index;
}

std::uint32_t AttributeTable::tag_name(std::string_view name, const std::string& where) {
    const std::uint32_t index = name_index(tag_names_, name, where);
    tags_.resize(tag_names_.size());
    return index;
}

void AttributeTable::add_number(std::uint32_t name, std::uint32_t owner, double value) {
    numbers_[name].emplace_back(owner, value);
}

void AttributeTable::add_tag(std::uint32_t name, std::uint32_t owner) {
    tags_[name].push_back(owner);
}

std::vector<double> AttributeTable::values(std::string_view name, std::size_t owners) const {
    const auto found = std::find(number_names_.begin(), number_names_.end(), name);
    if (found == number_names_.end()) {
        return {};
    }
    std::vector<double> values(owners, std::numeric_limits<double>::quiet_NaN());
    for (const auto& [owner, value] :
         numbers_[static_cast<std::size_t>(found - number_names_.begin())]) {
        values[owner] = value;
    }
    return values;
}

std::vector<std::uint8_t> AttributeTable::has_tag(std::string_view name, std::size_t owners) const {
    const auto found = std::find(tag_names_.begin(), tag_names_.end(), name);
    if (found == tag_names_.end()) {
        return {};
    }
    std::vector<std::uint8_t> has(owners, 0);
    for (const std::uint32_t owner : tags_[static_cast<std::size_t>(found - tag_names_.begin())]) {
        has[owner] = 1;
    }
    return has;
}

void AttributeTable::renumber(std::span<const std::uint32_t> to) {
    for (auto& column : numbers_) {
        for (auto& [owner, value] : column) {
            owner = to[owner];
        }
    }
    for (auto& column : tags_) {
        for (std::uint32_t& owner : column) {
            owner = to[owner];
        }
    }
}

}  // namespace requal::measure
