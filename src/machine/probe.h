// What every probe of a snapshot takes and gives.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "machine/root.h"

namespace requal::machine {

/// What could not be told, as it stands in a snapshot: {"what", "reason"} by `what`, one reason each.
class Unknown {
public:
    void add(std::string_view what, std::string_view reason) {
        reasons_.emplace(std::string(what), std::string(reason));
    }
    /// Notes an unreadable thing; what is absent is not unknown.
    template <typename Found>
    bool note(const Found& found, std::string_view what) {
        if (found.presence == Presence::unreadable)
            add(what, found.reason);
        return found.presence == Presence::found;
    }
    Json json() const {
        Json list = Json::array();
        for (const auto& [what, reason] : reasons_)
            list.push_back(Json::object({{"what", what}, {"reason", reason}}));
        return list;
    }

private:
    std::map<std::string, std::string> reasons_;
};

/// The lines of a text, without their ends ("\n" or "\r\n").
std::vector<std::string_view> lines_of(std::string_view text);
/// Words between blanks.
std::vector<std::string_view> words_of(std::string_view text);
std::string_view trimmed(std::string_view text);
/// Value of a line `KEY=value` or `KEY="value"`, as in os-release; empty when absent.
std::string setting_of(std::string_view text, std::string_view key);

// The probes. Each returns a part of snapshot/1 (docs/formats/snapshot.md); an empty object: nothing was found.
Json probe_device(const Root& root, Unknown& unknown);
Json probe_unit(const Root& root, Unknown& unknown);
Json probe_os(const Root& root, Unknown& unknown);
Json probe_kernel(const Root& root, Unknown& unknown);
Json probe_power(const Root& root, Unknown& unknown);
Json probe_container(const Root& root, Unknown& unknown);
Json probe_boot(const Root& root, Unknown& unknown);
Json probe_security(const Root& root, Unknown& unknown);
Json probe_root_file_system(const Root& root, Unknown& unknown);
Json probe_time_source(const Root& root, Unknown& unknown);
Json probe_cameras(const Root& root, Unknown& unknown);
/// {"driver": text, "gpus": [..]} from the files of NVIDIA's driver.
Json probe_driver_files(const Root& root, Unknown& unknown);

}  // namespace requal::machine
