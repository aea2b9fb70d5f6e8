// Arguments that name something in the store: "store:NAME", or a bare name that is no file.
#pragma once

#include <string>

#include "cli/verb.h"
#include "toolchain/client.h"

namespace requal::cli {

/// The file that `text` names: a path, or the blob of "store:NAME" (a name, or a digest), read once to see that its bytes are those of its
/// digest. A bare name is a path where there is such a file or folder; Error(usage) where the store has that name as well. Where
/// there is neither, it is returned as it is, so that whoever opens it says so. Error(input|storage).
std::string stored_path(const std::string& text, const Common& common);

/// The same for the artefact of a runnable; `text` of the result stays what the user wrote.
toolchain::RunnableSpec stored_runnable(const std::string& argument, const Common& common);

/// A runnable argument that reads back as `spec`, for who takes text only.
std::string runnable_text(const toolchain::RunnableSpec& spec);

}  // namespace requal::cli
