// Evidence packages: whatever stands in the file, verification ends with a result.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/document.h"
#include "evidence/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::string path = "/tmp/requal-fuzz-" + std::to_string(::getpid()) + ".tar";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr)
        return 0;
    std::fwrite(data, 1, size, file);
    std::fclose(file);
    requal::evidence::VerifyOptions options;
    const auto result = requal::evidence::verify_evidence(path, options);
    // Without a key nothing is ever valid.
    if (result.verdict() == requal::Verdict::pass)
        std::abort();
    ::unlink(path.c_str());
    return 0;
}
