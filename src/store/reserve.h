// Space held back on the disk itself: what must still be written when it is full (a verdict, a removal) is written from it.
#pragma once

#include <cstdint>

#include "base/file.h"
#include "store/layout.h"

namespace requal::store {

/// Held at least, whatever `store quota` says.
constexpr std::uint64_t default_reserve_bytes = std::uint64_t{1} << 20;

/// Makes the file STORE/reserve take `bytes` on the disk. Error(storage) when there is no room for it, and when
/// another process is writing from it just now: then nothing else is to be put.
void hold_reserve(const Layout& layout, std::uint64_t bytes);

/// Frees the reserve while it lives, where the disk is nearly full; afterwards takes it back as far as there is room.
class ReserveUse {
public:
    explicit ReserveUse(const Layout& layout);
    ~ReserveUse();
    ReserveUse(const ReserveUse&) = delete;
    ReserveUse& operator=(const ReserveUse&) = delete;
    /// Looks again: the disk may have filled since.
    void look();

private:
    Layout layout_;
    FileDescriptor file_;  ///< locked while the reserve is in use
    std::uint64_t freed_bytes_ = 0;
};

}  // namespace requal::store
