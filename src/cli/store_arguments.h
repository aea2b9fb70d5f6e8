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
    Json tags = Json::array();
    for (const std::string& tag : reference.tags)
        tags.push_back(tag);
    Json files = Json::object();
    for (const auto& [name, digest] : reference.files)
        files[name] = digest.text();
    return Json::object({{"name", reference.name},
                         {"kind", reference.kind},
                         {"tags", tags},
                         {"files", files},
                         {"digest", reference.digest.text()},
                         {"size_bytes", reference.size_bytes},
                         {"ledger", reference.ledger},
                         {"seq", reference.seq},
                         {"time", reference.time},
                         {"current", reference.current},
                         {"present", reference.present}});
}

inline Verb store_verb(std::string_view name, std::string_view summary,
                       Result (*run)(const Arguments&, const Common&)) {
    Verb verb;
    verb.group = "store";
    verb.name = name;
    verb.summary = summary;
    verb.run = run;
    return verb;
}

}  // namespace requal::cli
