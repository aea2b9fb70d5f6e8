// Frames and the tensors in them, as a hostile peer could send them.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "toolchain/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace requal::toolchain;
    static const int file = memfd_create("fuzz", MFD_CLOEXEC);
    static const auto region = SharedRegion::create(4096);
    if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0 ||
        write(file, data, size) != static_cast<ssize_t>(size) || lseek(file, 0, SEEK_SET) != 0) {
        return 0;
    }
    FrameLimits limits;
    limits.attachment_bytes = std::uint64_t{1} << 24;
    FrameChannel channel(file, -1, limits);
    try {
        while (const auto message = channel.receive()) {
            for (const auto& [name, tensor] : detach_tensors(*message, region)) {
                if (tensor.bytes().size() > (std::uint64_t{1} << 25)) {
                    __builtin_trap();
                }
            }
        }
    } catch (const requal::Error& error) {
        if (error.kind() != requal::ErrorKind::toolchain) {
            throw;
        }
    }
    return 0;
}
