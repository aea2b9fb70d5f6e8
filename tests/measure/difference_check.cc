// Compares the arrays NAME.a (candidate) and NAME.b (reference) of an npz and prints one JSON object a NAME; for tests against
// numpy. difference_check PAIRS.npz ATOL RTOL RULE
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "measure/numerics/difference.h"
#include "tensor/npy.h"

int main(int argc, char** argv) {
    if (argc != 5) {
        return 2;
    }
    try {
        const requal::NpzReader pairs(argv[1]);
        requal::measure::Tolerance tolerance;
        tolerance.atol = std::strtod(argv[2], nullptr);
        tolerance.rtol = std::strtod(argv[3], nullptr);
        tolerance.rule = requal::measure::parse_tolerance_rule(argv[4]);
        requal::Json result = requal::Json::object();
        for (const std::string& name : pairs.names()) {
            if (!name.ends_with(".a")) {
                continue;
            }
            const std::string stem = name.substr(0, name.size() - 2);
            requal::measure::Difference difference(tolerance);
            difference.add(pairs.read(stem + ".b"), pairs.read(name));
            result[stem] = difference.to_json(stem);
        }
        std::fputs(requal::write_json(result).c_str(), stdout);
    } catch (const requal::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
