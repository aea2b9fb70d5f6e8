// Any bytes: recognising neither crashes nor takes memory that the bytes do not justify, and its result can be written.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "artifact/recognise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace requal;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const artifact::ByteSource source = artifact::ByteSource::over(bytes);
    const artifact::Recognised whole = artifact::recognise(source);
    // at most one recogniser may claim the bytes: else the order of files would decide
    int claims = 0;
    for (const artifact::NamedRecogniser& recogniser : artifact::all_recognisers()) {
        const auto found = recogniser.recognise(source);
        claims += found && found->kind != "unknown" ? 1 : 0;
    }
    if (claims > 1 || (claims == 0) != (whole.kind == "unknown"))
        std::abort();
    const std::string text = write_json(whole.recorded);
    if (write_json(parse_json(text, "fuzz")) != text)
        std::abort();
    return 0;
}
