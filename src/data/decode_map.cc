// Maps: an output of one number or one class a cell, brought to the size of the picture by taking the nearest cell.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/decoder.h"

namespace requal::data {

namespace {

[[noreturn]] void refuse(const DecoderSpec& spec, const std::string& message,
                         const std::string& advice = "the decoder spec must say what the model "
                                                     "puts out") {
    throw Error(ErrorKind::input, message, spec.path, advice);
}

const Tensor& output_of(const NamedTensors& outputs, const DecoderSpec& spec) {
    const Tensor* tensor = spec.output.empty() && outputs.size() == 1
                               ? &outputs.front().second
                               : find_tensor(outputs, spec.output);
    if (tensor == nullptr) {
        refuse(spec, spec.output.empty() ? "the model has several outputs and the spec names none"
                                         : "the model has no output '" + spec.output + "'");
    }
    if (tensor->type() == ElementType::string || tensor->type() == ElementType::complex64 ||
        tensor->type() == ElementType::complex128) {
        refuse(spec, "the output is of type " + std::string(name_of(tensor->type())));
    }
    return *tensor;
}

/// Channels, height and width of an output for one picture.
struct Grid {
    std::size_t channels = 1, height = 0, width = 0;
};

Grid grid_of(const Tensor& tensor, const DecoderSpec& spec) {
    Shape shape = tensor.shape();
    if (shape.size() == 4 && shape[0] == 1) {
        shape.erase(shape.begin());
    }
    if (shape.size() == 3 && shape[0] >= 1) {
        return {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1]),
                static_cast<std::size_t>(shape[2])};
    }
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
        refuse(spec, "output of shape " + text_of(tensor.shape()) +
                         " where one picture's map, 1xCxHxW, CxHxW or HxW, is read");
    }
    return {1, static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1])};
}

/// For each column (row) of the picture the cell of the output that lies over its middle.
std::vector<std::size_t> cells_of(std::int64_t picture, std::int64_t resized, std::int64_t begin,
                                  std::int64_t input, std::size_t cells) {
    std::vector<std::size_t> result(static_cast<std::size_t>(picture));
    const double scale = static_cast<double>(resized) / static_cast<double>(picture);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double at = (static_cast<double>(i) + 0.5) * scale + static_cast<double>(begin);
        const double cell = at * static_cast<double>(cells) / static_cast<double>(input);
        result[i] = static_cast<std::size_t>(
            std::clamp(std::floor(cell), 0.0, static_cast<double>(cells) - 1));
    }
    return result;
}

}  // namespace

Tensor decode_map(const NamedTensors& outputs, const DecoderSpec& spec, const Placement& p) {
    const bool labels = spec.form == DecoderSpec::Form::label_map;
    const Tensor& tensor = output_of(outputs, spec);
    const Grid grid = grid_of(tensor, spec);
    if (p.left < 0 || p.top < 0) {
        refuse(spec,
               "the preprocessing cuts off part of the picture, so that there is no map of it",
               "resize without a crop");
    }
    if (!labels && grid.channels != 1) {
        refuse(spec,
               "output of shape " + text_of(tensor.shape()) + " where one number a cell is read");
    }
    const std::size_t known =
        spec.category_ids.empty() ? spec.classes.size() : spec.category_ids.size();
    if (labels && grid.channels > 1 && known > 0 && known != grid.channels) {
        refuse(spec, "output of shape " + text_of(tensor.shape()) + " has " +
                         std::to_string(grid.channels) + " classes where the spec names " +
                         std::to_string(known));
    }
    std::vector<double> values(tensor.count());
    tensor.copy_numbers(values);
    const std::size_t plane = grid.height * grid.width;
    // one number a cell first: the picture is usually larger
    std::vector<double> cells(plane);
    for (std::size_t i = 0; i < plane; ++i) {
        if (!labels) {
            cells[i] = spec.activation == Activation::sigmoid ? 1.0 / (1.0 + std::exp(-values[i]))
                                                              : values[i];
            continue;
        }
        double index = values[i];
        if (grid.channels > 1) {
            std::size_t best = 0;
            for (std::size_t c = 0; c < grid.channels; ++c) {
                if (std::isnan(values[c * plane + i])) {
                    refuse(spec, "the output holds a NaN",
                           "a score that is no number decides nothing");
                }
                best = values[c * plane + i] > values[best * plane + i] ? c : best;
            }
            index = static_cast<double>(best);
        }
        if (!(index >= 0 && index < 65536) || index != std::floor(index) ||
            (known > 0 && index >= static_cast<double>(known))) {
            refuse(spec, "the model puts out class " + std::to_string(index) +
                             " where the spec knows " + std::to_string(known) + " classes");
        }
        const auto place = static_cast<std::size_t>(index);
        cells[i] = place < spec.category_ids.size() ? static_cast<double>(spec.category_ids[place])
                                                    : index;
    }
    const auto rows = cells_of(p.picture_height, p.new_height, p.top, p.input_height, grid.height);
    const auto columns = cells_of(p.picture_width, p.new_width, p.left, p.input_width, grid.width);
    Tensor map(labels ? ElementType::uint16 : ElementType::float32,
               {p.picture_height, p.picture_width});
    for (std::size_t y = 0; y < rows.size(); ++y) {
        for (std::size_t x = 0; x < columns.size(); ++x) {
            const double value = cells[rows[y] * grid.width + columns[x]];
            const std::size_t at = y * columns.size() + x;
            if (labels) {
                map.mutable_values<std::uint16_t>()[at] = static_cast<std::uint16_t>(value);
            } else {
                map.mutable_values<float>()[at] = static_cast<float>(value);
            }
        }
    }
    return map;
}

}  // namespace requal::data
