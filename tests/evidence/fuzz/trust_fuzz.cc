// Trust policies: any bytes give an Error or a policy.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "evidence/trust.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const auto policy = requal::evidence::parse_trust_policy(
            std::string_view(reinterpret_cast<const char*>(data), size), "/nowhere/trust.yaml");
        static_cast<void>(requal::evidence::unmet(policy, "evidence", {}));
    } catch (const requal::Error&) {
    }
    return 0;
}
