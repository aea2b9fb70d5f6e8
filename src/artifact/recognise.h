// What an artefact is and what it records of itself, from its bytes and never from its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/byte_source.h"
#include "base/json.h"

namespace requal::artifact {

/// A file that belongs to the artefact and stands beside it.
struct NamedFile {
    std::string
        name;  ///< as the bytes name it: hostile, a path relative to the artefact's folder when it is honest
    std::string what;  ///< "weights", "context"
};

/// What the bytes say.
struct Recognised {
    std::string kind = "unknown";      ///< a kind of docs/formats/inspect.md
    Json recorded = Json::object();    ///< only what the bytes say, never a guess
    std::vector<std::string> unknown;  ///< what this kind should tell but does not show
    /// The bytes are not whole: "cut off at byte 120"; with kind "unknown" when it prevents recognition.
    std::vector<std::string> damage = {};
    /// Whole bytes that were not read to their end: "an unknown layout", "only the first 100 are listed". No damage.
    std::vector<std::string> oddities = {};
    std::string checksum =
        {};        ///< its own one: "not verified", "fits", "differs"; empty: the kind has none
    Json wrapper;  ///< what stands around the artefact (an object), null: nothing
    std::vector<NamedFile> files = {};  ///< that the bytes name, 1000 at most

    /// Damage, then oddities.
    std::vector<std::string> problems() const;
};

/// Looks at a few bytes; nullopt when this is nothing of its kind. Returns kind "unknown" with damage (or oddities) for bytes that begin as
/// its kind and are damaged. Throws only Error(storage).
using Recogniser = std::optional<Recognised> (*)(const ByteSource& source);

/// Reads the whole artefact and holds it against the checksum that it carries: sets `checksum`, adds to `damage`.
using Verifier = void (*)(const ByteSource& source, Recognised& found);

struct NamedRecogniser {
    std::string_view name;
    Recogniser recognise;
    bool inside =
        false;  ///< also asked of what stands inside another artefact; never looks inside again itself
    Verifier verify = nullptr;  ///< then `name` is the kind's
};

/// Each file src/artifact/recognisers/FILE.cc defines `std::vector<NamedRecogniser> recognisers_FILE()`; CMake collects the files.
std::vector<NamedRecogniser> all_recognisers();

/// Asks all recognisers. At most one kind answers to any bytes; of damaged ones the first is kept.
Recognised recognise(const ByteSource& source);

/// Asks those that are for the inside of another artefact; nullopt when none knows it.
std::optional<Recognised> recognise_inside(const ByteSource& source);

/// Verifies the checksum of an artefact that has one; reads all of it.
void verify_checksum(const ByteSource& source, Recognised& found);

/// What an artefact of this kind is for: "model", "engine", "checkpoint", "build input", "data", "" (unknown).
std::string_view role_of_kind(std::string_view kind);

/// A known kind that is no engine: a model, checkpoint, build input or data. No device, version or build stands in it.
bool is_no_engine(std::string_view kind);

/// The document inspect/1 of a file; without `with_digest` only a few bytes are read and `digest` is null.
/// Error(input) for an empty file and for what is no regular file.
Json inspect_document(const std::string& path, bool with_digest);

/// The document as text for people.
std::string inspect_text(const Json& document);

}  // namespace requal::artifact
