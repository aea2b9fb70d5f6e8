// How the parts of two documents are compared; station/diff.h is what others use.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace requal::station {

/// Two documents and the differences that were found so far.
class Differences {
public:
    Differences(const Json& before, const Json& after);

    const Json& before() const { return before_; }
    const Json& after() const { return after_; }

    /// Notes a difference unless the values are equal. A value that one side lacks because it could not read it is of class `unknown`.
    void compare(std::string_view name, const std::string& path, const Json& left,
                 const Json& right);
    /// compare() for each member of two objects, and of objects in them; absent objects are empty.
    void compare_members(std::string_view name, const std::string& path, const Json& left,
                         const Json& right);
    /// Severities high to low, then by path.
    Json json() const;

private:
    bool unread(const Json& document, const std::string& path) const;
    const Json& before_;
    const Json& after_;
    std::vector<Json> found_;
};

/// An array of objects by the text that `key_of` gives; null and other types are empty.
using Keyed = std::map<std::string, const Json*>;
Keyed keyed(const Json& array, std::string (*key_of)(const Json&));

void compare_snapshots(Differences& found);
void compare_manifests(Differences& found);

}  // namespace requal::station
