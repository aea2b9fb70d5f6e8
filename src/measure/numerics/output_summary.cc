#include "measure/numerics/output_summary.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace requal::measure {

namespace {

bool has_numbers(ElementType type) {
    return type != ElementType::string && type != ElementType::complex64 &&
           type != ElementType::complex128;
}

void merge_shape(Shape& shape, const Shape& other) {
    if (shape.size() != other.size()) {
        shape.assign(std::max(shape.size(), other.size()), -1);
        return;
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        shape[axis] = shape[axis] == other[axis] ? shape[axis] : -1;
    }
}

}  // namespace

void OutputSummary::add(const NamedTensors& outputs) {
    for (const auto& [name, tensor] : outputs) {
        auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&n = name](const Entry& e) { return e.name == n; });
        if (entry == entries_.end()) {
            entries_.emplace_back();
            entry = std::prev(entries_.end());
            entry->name = name;
            entry->type = tensor.type();
            entry->shape = tensor.shape();
        }
        merge_shape(entry->shape, tensor.shape());
        entry->elements += tensor.count();
        if (!has_numbers(tensor.type())) {
            continue;
        }
        std::vector<double> numbers(tensor.count());
        tensor.copy_numbers(numbers);
        for (const double value : numbers) {
            if (!std::isfinite(value)) {
                entry->nan += std::isnan(value) ? 1 : 0;
                entry->inf += std::isinf(value) ? 1 : 0;
                continue;
            }
            entry->min = entry->finite == 0 ? value : std::min(entry->min, value);
            entry->max = entry->finite == 0 ? value : std::max(entry->max, value);
            entry->sum += value;
            ++entry->finite;
        }
    }
}

Json OutputSummary::to_json() const {
    Json result = Json::array();
    for (const Entry& entry : entries_) {
        Json item = Json::object();
        item["name"] = entry.name;
        item["type"] = name_of(entry.type);
        Json shape = Json::array();
        for (const std::int64_t extent : entry.shape) {
            shape.push_back(extent);
        }
        item["shape"] = std::move(shape);
        item["elements"] = entry.elements;
        item["nan"] = entry.nan;
        item["inf"] = entry.inf;
        const bool known = entry.finite > 0;
        item["min"] = known ? Json(entry.min) : Json();
        item["max"] = known ? Json(entry.max) : Json();
        item["mean"] = known ? Json(entry.sum / static_cast<double>(entry.finite)) : Json();
        result.push_back(std::move(item));
    }
    return result;
}

std::uint64_t OutputSummary::nonfinite() const {
    std::uint64_t count = 0;
    for (const Entry& entry : entries_) {
        count += entry.nan + entry.inf;
    }
    return count;
}

}  // namespace requal::measure
