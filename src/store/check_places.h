// The first part of `store check`: what lies directly in a store's folder.
#pragma once

#include "store/check.h"
#include "store/layout.h"

namespace requal::store {

/// Adds to `report` what is no folder or file where one belongs, and what does not belong to the store. Error(storage).
void check_places(const Layout& layout, CheckReport& report);

}  // namespace requal::store
