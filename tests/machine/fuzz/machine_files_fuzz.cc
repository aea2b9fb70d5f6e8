// The files that a snapshot reads and parses: nv_tegra_release, dpkg's status, /proc/PID/maps, by the first byte.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "machine/application.h"
#include "machine/dpkg.h"
#include "machine/tegra_release.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace requal::machine;
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] == 'r') {
        const TegraRelease found = parse_tegra_release(text);
        if ((found.form == TegraRelease::Form::unknown) != found.release.empty())
            std::abort();
        for (const auto& [hex, path] : found.checksums)
            if (hex.size() != 40 || path.empty())
                std::abort();
    } else if (data[0] == 'd') {
        for (const Package& package : parse_dpkg_status(text).packages)
            if (package.name.empty() || package.abbreviation().find('?') != std::string::npos)
                std::abort();
    } else if (data[0] == 'm') {
        for (const Mapping& mapping : parse_maps(text))
            if (mapping.path.empty() || mapping.path[0] != '/')
                std::abort();
    }
    return 0;
}
