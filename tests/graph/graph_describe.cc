// Prints counts of a model at given shapes, for tests against counts made elsewhere.
// graph_describe MODEL [NAME=SHAPE ...]
#include <cstdio>
#include <string>

#include "base/error.h"
#include "graph/model.h"

int main(int argc, char** argv) {
    if (argc < 2)
        return 2;
    try {
        std::map<std::string, requal::Shape> shapes;
        for (int i = 2; i < argc; ++i) {
            std::string pair = argv[i];
            std::size_t sign = pair.rfind('=');
            shapes[pair.substr(0, sign)] = requal::parse_shape(pair.substr(sign + 1));
        }
        requal::graph::Model model = requal::graph::Model::load(argv[1]);
        requal::graph::Summary summary = model.summary_at(shapes);
        std::printf("macs %llu\nunknown %llu\nparameters %llu\nparameter_bytes %llu\nnodes "
                    "%zu\nwarnings %zu\n",
                    static_cast<unsigned long long>(summary.macs),
                    static_cast<unsigned long long>(summary.macs_unknown_nodes),
                    static_cast<unsigned long long>(summary.parameters),
                    static_cast<unsigned long long>(summary.parameter_bytes), summary.nodes.size(),
                    summary.warnings.size());
        for (const auto& node : summary.nodes) {
            if (node.macs_known)
                std::printf("node %llu %s\n", static_cast<unsigned long long>(node.macs),
                            node.outputs[0].c_str());
        }
    } catch (const requal::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return static_cast<int>(requal::exit_status_of(error.kind()));
    }
    return 0;
}
