// Folders of runs: STORE/runs/RUN shows the files of a run under their names; the bytes are the blobs'.
#pragma once

#include <cstdint>
#include <string>

#include "store/store.h"

namespace requal::store {

/// Makes runs/NAME from the reference's files; nothing when it is there. Error(storage).
void make_view(Store& store, const Reference& run);
/// Makes every view that is missing and mends changed ones; returns how many were made.
std::uint64_t make_views(Store& store);
void remove_view(const Layout& layout, const std::string& name);

}  // namespace requal::store
