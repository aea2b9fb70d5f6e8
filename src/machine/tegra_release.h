// /etc/nv_tegra_release: which L4T this is, and the checksums that older releases list.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/probe.h"

namespace requal::machine {

/// The file's first line is "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: ...".
struct TegraRelease {
    enum class Form { known, old, unknown };
    Form form = Form::unknown;  ///< old: a release before 32, or one without GCID or BOARD
    std::string release, revision, gcid, board, date;  ///< "36", "4.3", ..; empty: not there
    std::string variant;                               ///< KERNEL_VARIANT: "oot"
    std::vector<std::pair<std::string, std::string>>
        checksums;                      ///< SHA-1 in hex, and the path from the root
    std::vector<std::string> problems;  ///< lines that are not understood: "line 3: ..."
};

/// Never throws: what is not understood leaves the form unknown or a line in `problems`.
TegraRelease parse_tegra_release(std::string_view text);

/// The part `l4t` of a snapshot. Checksum lines are verified against the files below the root.
Json probe_l4t(const Root& root, Unknown& unknown);

/// 40 hex digits. For the checksum lines only: nothing of Requal's own relies on SHA-1.
class Sha1 {
public:
    void update(std::string_view bytes);
    std::string finish();

private:
    void block(const unsigned char* bytes);
    std::uint32_t state_[5] = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
    std::uint64_t size_ = 0;
    std::string rest_;
};

}  // namespace requal::machine
