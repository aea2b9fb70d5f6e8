#include "data/input_request.h"

#include "base/error.h"
#include "base/file.h"

namespace requal::data {

void check_request(const InputRequest& request) {
    if (request.path && request.random) {
        throw Error(ErrorKind::usage, "--inputs and --random exclude each other", {},
                    "leave one out");
    }
    if (request.path && !folder_exists(*request.path)) {
        file_size(*request.path);  // refuses what does not exist, in its own words
    }
    if (request.random && *request.random == 0) {
        throw Error(ErrorKind::usage, "no samples", "--random", "give a number from 1 up");
    }
    if (request.path && !request.ranges.empty()) {
        throw Error(ErrorKind::usage, "ranges are for random inputs", "--range", "leave it out");
    }
}

std::unique_ptr<InputSource> open_inputs(const InputRequest& request,
                                         std::vector<InputPort> ports) {
    check_request(request);
    if (request.path) {
        return inputs_from_path(*request.path, std::move(ports), request.shapes);
    }
    if (request.random) {
        return random_inputs(std::move(ports), *request.random, request.seed, request.shapes,
                             request.ranges);
    }
    throw Error(ErrorKind::usage, "no inputs are given", {},
                "give --inputs PATH or --random N --seed S");
}

}  // namespace requal::data
