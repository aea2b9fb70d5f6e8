// Any bytes: recognising neither crashes nor takes memory that the bytes do not justify, and its result can be written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "artifact/recognise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace requal;
    static const auto recognisers = artifact::all_recognisers();
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const artifact::ByteSource source = artifact::ByteSource::over(bytes);
    // at most one recogniser may claim the bytes: else the order of files would decide
    int claims = 0;
    for (const artifact::NamedRecogniser& recogniser : recognisers) {
        const auto found = recogniser.recognise(source);
        if (!found)
            continue;
        claims += found->kind != "unknown" ? 1 : 0;
        if (found->kind == "unknown" && found->problems().empty())
            std::abort();  // it knows nothing and does not say why it spoke
        for (const Json* part : {&found->recorded, &found->wrapper}) {
            const std::string text = write_json(*part);
            if (write_json(parse_json(text, "fuzz")) != text)
                std::abort();
        }
        for (const std::string& problem : found->problems())
            if (problem.size() > 2000)
                std::abort();
    }
    if (claims > 1)
        std::abort();
    return 0;
}
