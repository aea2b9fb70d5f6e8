// Reads every array of one npz and writes them to another; for tests against numpy.
// npz_echo IN OUT [ZIP64_FROM]
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "tensor/npy.h"
#include "tensor/zip.h"

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4)
        return 2;
    try {
        requal::NamedTensors tensors = requal::read_npz_file(argv[1]);
        if (argc == 3) {
            requal::write_npz_file(argv[2], tensors);
        } else {
            requal::ZipWriter writer(argv[2], std::strtoull(argv[3], nullptr, 10));
            for (const auto& [name, tensor] : tensors)
                writer.add(name + ".npy", requal::write_npy(tensor), {});
            writer.commit();
        }
    } catch (const requal::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
