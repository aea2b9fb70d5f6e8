#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        requal::Tensor tensor =
            requal::read_npy(std::as_bytes(std::span<const std::uint8_t>(data, size)), "fuzz.npy");
        // What was read must be writable and readable again.
        std::string file = requal::write_npy(tensor);
        requal::read_npy(std::as_bytes(std::span<const char>(file)), "again.npy");
    } catch (const requal::Error& error) {
        if (error.kind() != requal::ErrorKind::input)
            throw;
    }
    return 0;
}
