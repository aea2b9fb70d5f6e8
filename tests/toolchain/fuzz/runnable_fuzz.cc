#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "toolchain/client.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const auto spec =
            requal::toolchain::parse_runnable({reinterpret_cast<const char*>(data), size});
        if (spec.artefact.empty()) {
            __builtin_trap();
        }
    } catch (const requal::Error& error) {
        if (error.kind() != requal::ErrorKind::usage && error.kind() != requal::ErrorKind::input) {
            throw;
        }
    }
    return 0;
}
