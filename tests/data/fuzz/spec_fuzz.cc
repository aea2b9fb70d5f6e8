// Any text as a preprocessing spec, a decoder spec, and a file to import one from: a spec or Error. What was read places a picture without harm.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "data/decoder.h"
#include "data/preprocess.h"
#include "data/preprocess_import.h"

namespace {

template <typename Work>
void attempt(Work work) {
    try {
        work();
    } catch (const requal::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    attempt([&] {
        const requal::data::PreprocessSpec spec = requal::data::parse_preprocess(text, "spec");
        requal::data::place(400, 300, spec, "picture");
        requal::data::place(1, 60000, spec, "picture");
    });
    attempt([&] {
        const requal::data::DecoderSpec spec = requal::data::parse_decoder(text, "spec");
        requal::data::decode({{"output0", requal::Tensor(requal::ElementType::float32, {1, 9, 5})}},
                             spec, {4, 4, 4, 4, 0, 0, 4, 4});
    });
    for (const char* from : {"deepstream", "triton", "ultralytics"}) {
        attempt([&] { requal::data::import_preprocess(from, text, "file"); });
    }
    return 0;
}
