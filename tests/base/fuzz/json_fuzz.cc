// JSON: anything but Error, or a value that does not survive being written and read, is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    requal::Json value;
    try {
        value = requal::parse_json(text, "fuzz");
    } catch (const requal::Error&) {
        return 0;
    }
    const std::string written = requal::write_json(value);
    const requal::Json back = requal::parse_json(written, "written");
    if (!(back == value) || requal::write_json(back) != written)
        std::abort();
    if (!(requal::parse_json(requal::write_json_compact(value), "compact") == value))
        std::abort();
    return 0;
}
