#include <cstddef>
#include <cstdint>

#include "toolchain/companions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const std::string& name :
         requal::toolchain::external_names({reinterpret_cast<const char*>(data), size})) {
        if (name.empty() || name.size() > size) {
            __builtin_trap();
        }
    }
    return 0;
}
