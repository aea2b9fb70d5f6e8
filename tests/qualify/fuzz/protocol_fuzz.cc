// Any bytes as a protocol: a protocol or Error(input), nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "qualify/protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const auto protocol = requal::qualify::parse_protocol(
            {reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
        if (protocol.gates.empty()) {
            std::abort();
        }
    } catch (const requal::Error& error) {
        if (error.kind() != requal::ErrorKind::input) {
            std::abort();
        }
    }
    return 0;
}
