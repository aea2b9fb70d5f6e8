// The document contract: every JSON document names its schema and the program that wrote it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace requal {

/// The three outcomes. They are never folded into another.
enum class Verdict { pass, fail, undecidable };
std::string_view name_of(Verdict verdict);     ///< "pass", "fail", "undecidable"
Verdict parse_verdict(std::string_view word);  ///< Error(input) otherwise
ExitStatus exit_status_of(Verdict verdict);    ///< 0, 1, 6
/// One failed gate fails, else one undecided gate leaves it undecided.
Verdict combine(Verdict left, Verdict right);

/// A new document: {"requal": VERSION, "schema": "NAME/MAJOR"}.
Json new_document(std::string_view schema_name, int major);

/// Checks `schema` of a document that was read: NAME equal, MAJOR equal to `major` or `major` - 1. Returns the major.
int require_schema(const Json& document, std::string_view schema_name, int major,
                   std::string_view source);

/// {"schema": "error/1", "kind", "message", "where", "next"}.
Json error_document(const Error& error);

/// Version of this program, "0.1.0"; and with the commit where the build knows it, "0.1.0+g1234567", with ".modified" when
/// tracked files differed from it.
std::string_view program_version();
std::string_view program_version_with_commit();

}  // namespace requal
