#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "graph/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        requal::graph::Model model = requal::graph::Model::from_bytes(
            std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.onnx");
        std::map<std::string, requal::Shape> shapes;
        for (const auto& input : model.summary().inputs) {
            requal::Shape shape;
            for (const auto& dimension : input.dimensions)
                shape.push_back(dimension.dynamic() ? 2 : dimension.value);
            shapes[input.name] = shape;
        }
        model.summary_at(shapes);
    } catch (const requal::Error& error) {
        if (error.kind() != requal::ErrorKind::input)
            throw;
    }
    return 0;
}
