// Envelopes and the statements in them: any bytes give an Error or a value that is written and read again as itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "evidence/dsse.h"
#include "evidence/statement.h"
#include "evidence/trust.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace requal::evidence;
    const std::string text(reinterpret_cast<const char*>(data), size);
    static_cast<void>(judge_signature(text, "evidence", {}));
    try {
        const Envelope envelope = read_envelope(text, "fuzz");
        const Envelope again = read_envelope(write_envelope(envelope), "again");
        if (again.payload != envelope.payload ||
            again.signatures.size() != envelope.signatures.size())
            std::abort();
        const Statement statement = read_statement(envelope.payload, "fuzz");
        if (read_statement(write_statement(statement), "again").subjects != statement.subjects)
            std::abort();
    } catch (const requal::Error&) {
    }
    return 0;
}
