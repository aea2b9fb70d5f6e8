// Any bytes as a picture: pixels or Error, nothing else.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "data/near_duplicate.h"
#include "data/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    requal::data::PictureRules rules;
    rules.limit_pixels = 1'000'000;
    rules.sixteen_bit = requal::data::DepthRule::high_byte;
    try {
        const requal::data::Picture picture =
            requal::data::decode_picture(std::as_bytes(std::span(data, size)), rules, "picture");
        requal::data::hash_of_picture(picture);
    } catch (const requal::Error&) {
    }
    return 0;
}
