// What the verbs of the store share: how it is opened, and a reference as JSON.
#pragma once

#include "base/json.h"
#include "cli/verb.h"
#include "store/store.h"

namespace requal::cli {

inline store::StoreOptions store_options(store::Access access) {
    store::StoreOptions options;
    options.access = access;
    options.lowers = store::lowers_from_environment();
    return options;
}

inline Json reference_json(const store::Reference& reference) {
    Json files = Json::object();
    for (const auto& [name, digest] : reference.files)
        files[name] = digest.text();
    return Json::object({{"name", reference.name},
                         {"kind", reference.kind},
                         {"tags", text_array(reference.tags)},
                         {"files", files},
                         {"digest", reference.digest.text()},
                         {"size_bytes", reference.size_bytes},
                         {"ledger", reference.ledger},
                         {"seq", reference.seq},
                         {"time", reference.time},
                         {"current", reference.current},
                         {"present", reference.present}});
}

}  // namespace requal::cli
