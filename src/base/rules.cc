#include "base/rules.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/digest.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"

namespace requal {

Yaml read_rules(std::string_view name, const std::string& folder) {
    if (!folder.empty()) {
        const std::string path = path_inside(folder, name);
        return parse_yaml(read_file(path), path);
    }
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.name == name) {
            return parse_yaml(file.bytes, "rules/" + std::string(name));
        }
    }
    throw Error(ErrorKind::internal, "no rule file " + std::string(name) + " in this program");
}

Json describe_rules(const std::string& folder) {
    Json result = Json::object();
    if (folder.empty()) {
        result["origin"] = "embedded";
        result["digest"] = "sha256:" + std::string(embedded_digest());
        return result;
    }
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
         !error && entry != end; entry.increment(error)) {
        const std::string extension = entry->path().extension().string();
        if (entry->is_regular_file(error) && (extension == ".yaml" || extension == ".csv")) {
            names.push_back(std::filesystem::relative(entry->path(), folder).string());
        }
    }
    if (error) {
        throw_errno(error.value(), "read folder", folder);
    }
    std::sort(names.begin(), names.end());
    Hasher sums;
    for (const std::string& name : names) {
        sums.update(digest_of_file(path_inside(folder, name)).hex() + "  " + name + "\n");
    }
    result["origin"] = folder;
    result["digest"] = sums.finish().text();
    return result;
}

}  // namespace requal
