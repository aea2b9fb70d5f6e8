// What an artefact is and what it records of itself, from its bytes and never from its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/byte_source.h"
#include "base/json.h"

namespace requal::artifact {

/// What the bytes say.
struct Recognised {
    std::string kind = "unknown";      ///< a kind of docs/formats/inspect.md
    Json recorded = Json::object();    ///< only what the bytes say, never a guess
    std::vector<std::string> unknown;  ///< what this kind should tell but does not show
    std::vector<std::string>
        problems;  ///< damage: "cut off at byte 120", with kind "unknown" when it prevents recognition
    Json wrapper;  ///< what stands around the artefact (an object), null: nothing
};

/// Looks at a few bytes; nullopt when this is nothing of its kind. Returns kind "unknown" with problems for bytes that begin as
/// its kind and are damaged. Throws only Error(storage).
using Recogniser = std::optional<Recognised> (*)(const ByteSource& source);

struct NamedRecogniser {
    std::string_view name;
    Recogniser recognise;
};

/// Each file src/artifact/recognisers/FILE.cc defines `std::vector<NamedRecogniser> recognisers_FILE()`; CMake collects the files.
std::vector<NamedRecogniser> all_recognisers();

/// Asks all recognisers. At most one kind answers to any bytes; of damaged ones the first is kept.
Recognised recognise(const ByteSource& source);

/// The document inspect/1 of a file; without `with_digest` only a few bytes are read and `digest` is null.
/// Error(input) for an empty file and for what is no regular file.
Json inspect_document(const std::string& path, bool with_digest);

/// The document as text for people.
std::string inspect_text(const Json& document);

}  // namespace requal::artifact
