// Writes random inputs of every type as npz; for a test that makes the same by what docs/formats/random-inputs.md says.
// random_inputs_dump FOLDER SEED COUNT
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "data/inputs.h"
#include "tensor/npy.h"

int main(int argc, char** argv) {
    if (argc != 4) {
        return 2;
    }
    using requal::ElementType;
    try {
        std::vector<requal::data::InputPort> ports;
        std::map<std::string, std::pair<double, double>> ranges;
        for (int type = 0; type <= static_cast<int>(ElementType::string); ++type) {
            const auto element = static_cast<ElementType>(type);
            const std::string name(requal::name_of(element));
            ports.push_back({name, element, {3, -1}});
            if (element == ElementType::string || element == ElementType::boolean) {
                continue;
            }
            ports.push_back({name + "_range", element, {3, -1}});
            ranges[name + "_range"] = requal::is_floating(element)
                                          ? std::pair<double, double>{-2.5, 7.25}
                                          : std::pair<double, double>{3, 100};
        }
        std::map<std::string, requal::Shape> shapes;
        for (const auto& port : ports) {
            shapes[port.name] = {3, 341};
        }
        const auto inputs =
            requal::data::random_inputs(ports, std::strtoull(argv[3], nullptr, 10),
                                        std::strtoull(argv[2], nullptr, 10), shapes, ranges);
        for (std::uint64_t i = 0; i < inputs->size(); ++i) {
            requal::write_npz_file(std::string(argv[1]) + "/" + std::to_string(i) + ".npz",
                                   inputs->sample(i));
        }
    } catch (const requal::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
