// Where runner programs are found.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/process.h"
#include "toolchain/client.h"

namespace requal::toolchain {

namespace {

constexpr std::string_view prefix = "requal-runner-";

struct Folder {
    std::string path;
    bool named_by_user = false;  ///< in $REQUAL_RUNNERS
};

void add_list(std::vector<Folder>& folders, const char* variable, bool named_by_user) {
    const char* const text = std::getenv(variable);
    std::string_view rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
        const std::size_t colon = std::min(rest.find(':'), rest.size());
        if (colon > 0) {
            folders.push_back({std::string(rest.substr(0, colon)), named_by_user});
        }
        rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
}

std::vector<Folder> folders() {
    std::vector<Folder> list;
    add_list(list, "REQUAL_RUNNERS", true);
    list.push_back({executable_folder() + "/../libexec/requal", false});
    add_list(list, "PATH", false);
    return list;
}

bool is_program(const std::string& path) {
    return file_exists(path) && access(path.c_str(), X_OK) == 0;
}

bool is_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
}

}  // namespace

std::optional<std::string> find_runner_program(const std::string& name) {
    if (!is_name(name)) {
        return std::nullopt;
    }
    for (const Folder& folder : folders()) {
        const std::string path = folder.path + "/" + std::string(prefix) + name;
        if (is_program(path)) {
            return std::filesystem::path(path).lexically_normal().string();
        }
    }
    return std::nullopt;
}

std::vector<std::string> list_runner_programs() {
    std::set<std::string> names;
    for (const Folder& folder : folders()) {
        std::error_code ignored;
        for (const auto& entry : std::filesystem::directory_iterator(folder.path, ignored)) {
            const std::string file = entry.path().filename().string();
            if (!file.starts_with(prefix)) {
                continue;
            }
            const std::string name = file.substr(prefix.size());
            // The runner for tests shows itself only to those who ask for it.
            if (is_name(name) && is_program(entry.path().string()) &&
                (name != "scripted" || folder.named_by_user)) {
                names.insert(name);
            }
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace requal::toolchain
