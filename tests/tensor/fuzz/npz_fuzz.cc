#include <cstddef>
#include <cstdint>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const requal::TemporaryFolder folder("requal-fuzz");
    const std::string path = folder.path() + "/x.npz";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    try {
        requal::NpzReader reader(path, std::uint64_t{1} << 26);
        for (const std::string& name : reader.names()) {
            try {
                reader.read(name);
            } catch (const requal::Error& error) {
                if (error.kind() != requal::ErrorKind::input)
                    throw;
            }
        }
    } catch (const requal::Error& error) {
        if (error.kind() != requal::ErrorKind::input)
            throw;
    }
    return 0;
}
