// JSON documents against the schemas of schemas/, which are part of this program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace requal::evidence {

/// Every way in which `document` breaks the schema `name` ("run-1"), as "PLACE: WHAT", at most 20. Error(internal) for a schema that
/// is not there or uses a word of JSON Schema that this reader does not know.
std::vector<std::string> schema_problems(const Json& document, std::string_view name);

/// Error(input) with the first problem.
void require_as_schema_says(const Json& document, std::string_view name, const std::string& source);

bool has_schema(std::string_view name);
std::vector<std::string> schema_names();

}  // namespace requal::evidence
