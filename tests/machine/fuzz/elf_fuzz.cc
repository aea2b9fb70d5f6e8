// ELF headers and dynamic sections of libraries.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "machine/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int fd = ::memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, 0) != 0 ||
        ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size))
        return 0;
    const requal::machine::ElfFacts facts = requal::machine::read_elf(fd, size);
    if (facts.soname.size() > 1024 || facts.versions.size() > 256)
        std::abort();
    return 0;
}
