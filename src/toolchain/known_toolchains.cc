#include <set>

#include "base/rules.h"
#include "toolchain/proof.h"

namespace requal::toolchain {

std::vector<KnownToolchain> known_toolchains(const std::string& rules_folder) {
    const Yaml rules = read_rules("toolchains.yaml", rules_folder);
    rules.allow_keys({"topic", "toolchains"});
    std::vector<KnownToolchain> known;
    std::set<std::string> names;
    for (const Yaml& row : rules.at("toolchains").items()) {
        row.allow_keys({"name", "how_to_get", "source", "date"});
        KnownToolchain toolchain{.name = row.at("name").text(),
                                 .how_to_get = row.at("how_to_get").text()};
        if (!names.insert(toolchain.name).second) {
            row.fail("a second row for " + toolchain.name);
        }
        known.push_back(std::move(toolchain));
    }
    return known;
}

}  // namespace requal::toolchain
