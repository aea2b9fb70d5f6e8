// The options that say which inputs a runnable gets, the same for every verb that runs one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "data/input_request.h"

namespace requal::cli {

inline std::vector<Argument> input_arguments() {
    return {
        {.name = "--inputs",
         .kind = ValueKind::path,
         .help = "an .npz or .npy file, or a folder of them: one sample a file",
         .value_name = "PATH"},
        {.name = "--random",
         .kind = ValueKind::integer,
         .help = "N samples made by type and range; equal on every machine for one seed",
         .value_name = "N"},
        {.name = "--seed",
         .kind = ValueKind::integer,
         .help = "of the random samples",
         .value_name = "S",
         .fallback = "0"},
        {.name = "--shape",
         .help = "shape of an input with dynamic axes, as image:1x3x320x320",
         .value_name = "NAME:SHAPE",
         .repeated = true},
        {.name = "--range",
         .help = "range of a random input, as image:0:255; floats reach LOW and not HIGH, integers "
                 "both",
         .value_name = "NAME:LOW:HIGH",
         .repeated = true},
    };
}

/// How long a runner may take to answer; the same for every verb that runs a runnable.
inline Argument timeout_argument() {
    return {.name = "--timeout",
            .kind = ValueKind::number,
            .help = "seconds that loading or one run may take",
            .value_name = "SECONDS",
            .fallback = "600"};
}

/// --timeout in nanoseconds.
inline std::int64_t timeout_ns(const Arguments& arguments) {
    const double seconds = arguments.number("--timeout");
    if (!(seconds > 0) || seconds > 1e8) {
        throw Error(ErrorKind::usage, "a time limit is a number of seconds above 0", "--timeout",
                    "leave it out for the default");
    }
    return static_cast<std::int64_t>(seconds * 1e9);
}

inline data::InputRequest input_request(const Arguments& arguments) {
    data::InputRequest request;
    request.path = arguments.optional_text("--inputs");
    if (arguments.given("--random")) {
        const std::int64_t count = arguments.integer("--random");
        if (count < 1) {
            throw Error(ErrorKind::usage, "no samples", "--random", "give a number from 1 up");
        }
        request.random = static_cast<std::uint64_t>(count);
    }
    request.seed = static_cast<std::uint64_t>(arguments.integer("--seed"));
    for (const std::string& text : arguments.all("--shape")) {
        if (!request.shapes.insert(data::parse_named_shape(text, "--shape")).second) {
            throw Error(ErrorKind::usage, "'" + text + "' names an input a second time", "--shape",
                        "name each once");
        }
    }
    for (const std::string& text : arguments.all("--range")) {
        if (!request.ranges.insert(data::parse_named_range(text, "--range")).second) {
            throw Error(ErrorKind::usage, "'" + text + "' names an input a second time", "--range",
                        "name each once");
        }
    }
    data::check_request(request);
    return request;
}

}  // namespace requal::cli
