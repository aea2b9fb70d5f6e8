// dpkg's own database, /var/lib/dpkg/status: packages with what is wanted of them and how far they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/probe.h"

namespace requal::machine {

struct Package {
    std::string name, version, architecture;
    std::string want;   ///< install, hold, deinstall, purge, unknown
    std::string flag;   ///< ok, reinstreq
    std::string state;  ///< installed, config-files, half-configured, unpacked, ...

    /// As dpkg -l shows it: "ii", "hi", "rc", "iF", with a third letter "R" for reinstreq.
    std::string abbreviation() const;
    bool is_installed() const { return state != "not-installed" && state != "config-files"; }
};

struct DpkgStatus {
    std::vector<Package> packages;
    std::vector<std::string> problems;  ///< damaged places, "line 12: ..."; at most 20
};

/// Never throws; a damaged stanza is left out and named in `problems`.
DpkgStatus parse_dpkg_status(std::string_view text);

/// Is this a package that an engine's state depends on (NVIDIA, CUDA, TensorRT, kernel, firmware, containers, runtimes)?
bool matters(std::string_view package);

/// {"packages": [..], "packages_other": {..}, "holds": [names]}; absent where there is no database. `core_version` receives the
/// version of nvidia-l4t-core.
Json probe_packages(const Root& root, Unknown& unknown, std::string& core_version);

/// The part `apt` without holds: {"sources": [..], "unattended_upgrades": bool}.
Json probe_apt(const Root& root, Unknown& unknown);

}  // namespace requal::machine
