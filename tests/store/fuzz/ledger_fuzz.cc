// A ledger from outside: any bytes give records or a reason why not, never a crash; and what is read is chained.
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "store/ledger.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const requal::TemporaryFolder folder("fuzz-ledger");
    const std::string path = folder.path() + "/in.jsonl";
    {
        const requal::FileDescriptor file(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        requal::write_all(file.get(), std::as_bytes(std::span(data, size)), path);
    }
    std::uint64_t count = 0;
    std::string torn;
    const requal::store::Head end = requal::store::scan_ledger(
        path, {},
        [&](const requal::store::Record& record) {
            if (record.seq != count++)
                std::abort();
        },
        torn);
    if (end.seq != count || end.offset > size || (torn.empty() && end.offset != size))
        std::abort();
    return 0;
}
