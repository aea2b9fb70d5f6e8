// Python packages of inference runtimes, from their dist-info folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/probe.h"

namespace requal::machine {

/// dist-packages and site-packages folders of the system's Pythons and of virtual environments at usual places.
std::vector<std::string> site_folders(const Root& root);

/// [{"name" (lower case, '_'), "version", "path"}] of one such folder.
Json python_packages(const Root& root, const std::string& site, Unknown& unknown);

/// Is this a folder of a site folder in which pip puts runtime libraries?
bool holds_runtime(std::string_view folder_name);

/// "10.3.0" of "10.3.0.26.post1" for count 3.
std::string first_numbers(std::string_view version, int count);

Json joined(Json left, Json right);

}  // namespace requal::machine
