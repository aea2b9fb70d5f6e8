// What an ELF file says of itself: machine, soname, version definitions. Bytes from outside: every offset is checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace requal::machine {

struct ElfFacts {
    bool is_elf = false;
    std::string architecture;           ///< "x86_64", "aarch64", "arm", "x86", "" for others
    std::string soname;                 ///< DT_SONAME, empty: none
    std::vector<std::string> versions;  ///< names of version definitions: "VERS_1.20.1"
    std::string problem;                ///< why the rest is not known, empty: it is
};

/// Reads headers and the dynamic section of an open file with pread; at most a few hundred KB. Throws nothing.
ElfFacts read_elf(int fd, std::uint64_t size_bytes);

}  // namespace requal::machine
