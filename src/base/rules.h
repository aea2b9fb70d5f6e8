// The rule set: files of knowledge that is not code, embedded in the program or taken from a folder (--rules DIR).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/yaml.h"

namespace requal {

/// One rule file, read by the strict YAML reader. `folder` empty: the embedded one. Error(input) when a given folder does not have it.
Yaml read_rules(std::string_view name, const std::string& folder = {});

/// For documents that a rule influenced: {"origin": "embedded" or the folder, "digest": of all rule files}. The digest is the
/// SHA-256 of what sha256sum prints for the .yaml and .csv files below the folder, names relative to it and sorted.
Json describe_rules(const std::string& folder = {});

}  // namespace requal
