#include "machine/libraries.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "machine/elf.h"
#include "machine/python_packages.h"

namespace requal::machine {

namespace {

constexpr std::size_t most_folders = 20'000;

struct Known {
    std::string_view begin;
    std::string_view product;
};

constexpr Known known_libraries[] = {{"libnvinfer", "tensorrt"},
                                     {"libnvonnxparser", "tensorrt"},
                                     {"libnvparsers", "tensorrt"},
                                     {"libnvcaffe_parser", "tensorrt"},
                                     {"libnvdla_compiler", "tensorrt"},
                                     {"libtensorrt_rtx", "tensorrt-rtx"},
                                     {"libcudart.", "cuda"},
                                     {"libcublas", "cuda"},
                                     {"libcufft", "cuda"},
                                     {"libcurand", "cuda"},
                                     {"libcusparse", "cuda"},
                                     {"libcusolver", "cuda"},
                                     {"libnvrtc", "cuda"},
                                     {"libnvJitLink", "cuda"},
                                     {"libcudla", "cuda"},
                                     {"libcudnn", "cudnn"},
                                     {"libcuda.", "driver"},
                                     {"libnvidia-ml.", "driver"},
                                     {"libnvidia-ptxjitcompiler.", "driver"},
                                     {"libonnxruntime", "onnxruntime"},
                                     {"libopenvino", "openvino"},
                                     {"libQnn", "qnn"},
                                     {"libhailort", "hailort"}};

/// The folders in which a loader, an installer or pip puts libraries.
class Folders {
public:
    explicit Folders(const Root& root, Unknown& unknown) : root_(root), unknown_(unknown) {}

    void add(const std::string& path) {
        const RootText real = root_.resolved(path);
        if (real && seen_.insert(real.bytes).second)
            list_.push_back(real.bytes);
        else if (real.presence == Presence::unreadable)
            unknown_.add("libraries[" + printable(path) + "]", real.reason);
    }

    /// All folders below `path` down to `depth`.
    void add_below(const std::string& path, int depth) {
        if (list_.size() > most_folders) {
            unknown_.add("libraries[" + printable(path) + "]", "too many folders");
            return;
        }
        const RootFolder found = root_.folder(path);
        unknown_.note(found, "libraries[" + printable(path) + "]");
        if (!found)
            return;
        add(path);
        for (const std::string& name : found.names) {
            const std::string below = path + "/" + name;
            // a link to a folder is not gone into: links may lead in a circle
            if (depth > 0 && name.find(".so") == std::string::npos &&
                root_.link(below).presence != Presence::found && root_.folder(below))
                add_below(below, depth - 1);
        }
    }

    void add_usual() {
        for (const char* triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"})
            for (const char* base : {"/usr/lib/", "/lib/", "/usr/local/lib/"}) {
                add(std::string(base) + triplet);
                for (const char* sub : {"/nvidia", "/tegra", "/openvino-2023", "/stubs"})
                    add(std::string(base) + triplet + sub);
            }
        for (const char* path :
             {"/usr/lib", "/usr/lib64", "/lib64", "/usr/local/lib", "/usr/local/lib64",
              "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"})
            add(path);
        for (const std::string& name : root_.folder("/usr/local").names)
            if (name.starts_with("cuda")) {
                add("/usr/local/" + name + "/lib64");
                for (const std::string& target :
                     root_.folder("/usr/local/" + name + "/targets").names)
                    add("/usr/local/" + name + "/targets/" + target + "/lib");
            }
        add_configured("/etc/ld.so.conf");
        for (const std::string& name : root_.folder("/etc/ld.so.conf.d").names)
            if (name.ends_with(".conf"))
                add_configured("/etc/ld.so.conf.d/" + name);
        if (root_.folder("/opt"))
            add_below("/opt", 6);
    }

    const std::vector<std::string>& list() const { return list_; }

private:
    void add_configured(const std::string& file) {
        const RootText text = root_.text(file);
        unknown_.note(text, "libraries[" + printable(file) + "]");
        for (std::string_view line : lines_of(text.bytes)) {
            line = trimmed(line.substr(0, line.find('#')));
            if (line.starts_with('/'))
                add(std::string(line));
        }
    }

    const Root& root_;
    Unknown& unknown_;
    std::set<std::string> seen_;
    std::vector<std::string> list_;
};

/// Unsigned: past 2^53 it is written as text.
std::uint64_t nanoseconds(const timespec& time) {
    return time.tv_sec < 0 ? 0
                           : static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                                 static_cast<std::uint64_t>(time.tv_nsec);
}

/// OpenVINO writes "2025.4.1-20426-82bbf0292c5-releases/2025/4" into itself.
std::string openvino_version(int fd, std::uint64_t size) {
    std::string window;
    std::string block(std::size_t{1} << 20U, '\0');
    for (std::uint64_t offset = 0; offset < std::min<std::uint64_t>(size, 256U << 20U);) {
        const ssize_t got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(offset));
        if (got <= 0)
            return {};
        offset += static_cast<std::uint64_t>(got);
        window.append(block, 0, static_cast<std::size_t>(got));
        for (std::size_t at = window.find("20"); at != std::string::npos && at + 64 < window.size();
             at = window.find("20", at + 1)) {
            const auto digit = [&](std::size_t i) { return window[i] >= '0' && window[i] <= '9'; };
            std::size_t end = at;
            int points = 0;
            while (end < at + 16 && (digit(end) || window[end] == '.'))
                points += window[end++] == '.' ? 1 : 0;
            if (points != 2 || end - at < 8 || window[at + 4] != '.' || window[end] != '-' ||
                !digit(end + 1))
                continue;
            std::size_t build = end + 1;
            while (build < end + 8 && digit(build))
                ++build;
            if (build >= end + 5 && window[build] == '-')
                return window.substr(at, build - at);
        }
        window.erase(0, window.size() > 128 ? window.size() - 128 : 0);
    }
    return {};
}

std::string base_name(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

std::string product_of_library(std::string_view file_name) {
    const std::size_t so = file_name.find(".so");
    if (so == std::string_view::npos || (so + 3 < file_name.size() && file_name[so + 3] != '.'))
        return {};
    for (const Known& known : known_libraries)
        if (file_name.starts_with(known.begin))
            return std::string(known.product);
    return {};
}

std::string version_in_name(std::string_view file_name) {
    const std::size_t so = file_name.find(".so.");
    if (so == std::string_view::npos)
        return {};
    const std::string_view version = file_name.substr(so + 4);
    const bool numbers = std::all_of(version.begin(), version.end(),
                                     [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    return numbers && version.find('.') != std::string_view::npos && version.back() != '.'
               ? std::string(version)
               : std::string();
}

Json describe_library(const RootFile& file, const std::string& product, Unknown& unknown) {
    const auto size = static_cast<std::uint64_t>(file.info.st_size);
    const std::string path = printable(file.path);
    Json library = Json::object({{"path", path},
                                 {"product", product},
                                 {"soname", Json()},
                                 {"version", Json()},
                                 {"version_from", Json()},
                                 {"digest", Json()},
                                 {"digest_from", Json()},
                                 {"size_bytes", size},
                                 {"inode", static_cast<std::uint64_t>(file.info.st_ino)},
                                 {"mtime_ns", nanoseconds(file.info.st_mtim)},
                                 {"changed_ns", nanoseconds(file.info.st_ctim)},
                                 {"seen_in", Json::array()}});
    const ElfFacts elf = read_elf(file.fd.get(), size);
    if (!elf.problem.empty())
        unknown.add("libraries[" + path + "].soname", elf.problem);
    if (!elf.soname.empty())
        library["soname"] = printable(elf.soname);
    std::string version, from;
    for (const std::string& name : elf.versions)
        if (name.starts_with("VERS_") && product == "onnxruntime") {
            version = name.substr(5);
            from = "symbols";
        }
    if (version.empty() && !(version = version_in_name(base_name(file.path))).empty())
        from = "file name";
    if (version.empty() && product == "openvino" &&
        !(version = openvino_version(file.fd.get(), size)).empty())
        from = "text";
    if (version.empty()) {
        unknown.add("libraries[" + path + "].version", "neither its name nor its symbols tell it");
    } else {
        library["version"] = version;
        library["version_from"] = from;
    }
    return library;
}

namespace {

/// What an earlier snapshot says of the file, when it is the same by size, inode and times.
const Json* earlier_entry(const std::map<std::string, const Json*>& earlier, const Json& library) {
    const auto found = earlier.find(library.at("path").as_string());
    if (found == earlier.end())
        return nullptr;
    for (const char* key : {"size_bytes", "inode", "mtime_ns", "changed_ns"})
        if (found->second->get(key) != library.at(key))
            return nullptr;
    return found->second->get("digest").is_string() ? found->second : nullptr;
}

void take_digests(const Root& root, const LibraryRequest& request, LibraryFacts& facts,
                  const std::map<std::string, std::string>& raw_paths, Unknown& unknown) {
    std::map<std::string, const Json*> earlier;
    if (request.earlier.is_array())
        for (const Json& item : request.earlier.as_array())
            if (item.is_object() && item.get("path").is_string())
                earlier[item.at("path").as_string()] = &item;
    std::vector<HashJob> jobs;
    std::vector<Json*> places;
    for (Json& library : facts.libraries.as_array()) {
        if (const Json* known = earlier_entry(earlier, library)) {
            library["digest"] = known->at("digest");
            library["digest_from"] = "trusted mtime";
            ++facts.trusted;
            continue;
        }
        HashJob job;
        job.path = raw_paths.at(library.at("path").as_string());
        job.size_bytes = static_cast<std::uint64_t>(library.at("size_bytes").as_integer());
        jobs.push_back(std::move(job));
        places.push_back(&library);
    }
    hash_files(root, jobs, request.hashing, request.stop);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs[i].digest.empty()) {
            unknown.add("libraries[" + places[i]->at("path").as_string() + "].digest",
                        jobs[i].reason);
            continue;
        }
        (*places[i])["digest"] = jobs[i].digest;
        (*places[i])["digest_from"] = "read";
    }
}

/// Does `longer` begin with the numbers of `shorter`? "10.3.0.30-1+cuda12.5" and "10.3.0".
bool goes_on(std::string_view longer, std::string_view shorter) {
    return longer.starts_with(shorter) &&
           (longer.size() == shorter.size() ||
            !(longer[shorter.size()] >= '0' && longer[shorter.size()] <= '9'));
}

void disagree(Json& list, std::string what, std::string message) {
    list.push_back(Json::object({{"what", std::move(what)}, {"message", std::move(message)}}));
}

/// Debian names the package after the soname: libnvinfer.so.10 is in libnvinfer10.
void compare_with_packages(LibraryFacts& facts, const Json& packages) {
    if (!packages.is_array())
        return;
    std::map<std::string, std::string> versions;
    for (const Json& package : packages.as_array())
        if (package.at("version").is_string() && package.at("state").as_string() == "installed")
            versions[package.at("name").as_string()] = package.at("version").as_string();
    for (Json& library : facts.libraries.as_array()) {
        const std::string path = library.at("path").as_string();
        if (!library.at("soname").is_string() || !library.at("version").is_string() ||
            library.at("product").as_string() != "tensorrt" || !path.starts_with("/usr/lib/"))
            continue;
        std::string name = library.at("soname").as_string();
        const std::size_t so = name.find(".so.");
        if (so == std::string::npos)
            continue;
        name = name.substr(0, so) + name.substr(so + 4);
        std::replace(name.begin(), name.end(), '_', '-');
        const auto package = versions.find(name);
        if (package == versions.end())
            continue;
        const std::string version = library.at("version").as_string();
        const std::string numbers = package->second.substr(0, package->second.find('-'));
        if (goes_on(numbers, version)) {
            library["version"] = numbers;
            library["version_from"] = "package";
        } else {
            disagree(facts.disagreements, "library and package",
                     path + " is " + version + ", package " + name + " says " + package->second);
        }
    }
}

/// Python says one version, the library that it will load another.
void compare_with_python(LibraryFacts& facts) {
    const auto compare = [&](std::string_view package_begin, std::string_view library_begin) {
        std::set<std::string> versions;
        for (const Json& library : facts.libraries.as_array())
            if (base_name(library.at("path").as_string()).starts_with(library_begin) &&
                library.at("version").is_string())
                versions.insert(library.at("version").as_string());
        if (versions.size() > 1) {
            std::string text;
            for (const std::string& version : versions)
                text += (text.empty() ? "" : ", ") + version;
            disagree(facts.disagreements, "two versions of one library",
                     std::string(library_begin.substr(0, library_begin.find('.'))) +
                         " is installed as " + text +
                         "; which one a process loads depends on its search path");
        }
        for (const Json& package : facts.python.as_array()) {
            const std::string name = package.at("name").as_string();
            if (!package.at("version").is_string() ||
                !(name == package_begin || name.starts_with(std::string(package_begin) + "_cu") ||
                  name == std::string(package_begin) + "_gpu"))
                continue;
            const std::string said = package.at("version").as_string();
            for (const std::string& version : versions)
                if (!goes_on(version, said) && !goes_on(said, version) &&
                    first_numbers(version, 3) != first_numbers(said, 3))
                    disagree(facts.disagreements, "Python package and library",
                             "Python package " + name + " says " + said + ", the library is " +
                                 version);
        }
    };
    compare("tensorrt", "libnvinfer.so");
    compare("onnxruntime", "libonnxruntime.so");
    compare("openvino", "libopenvino.so");
}

}  // namespace

LibraryFacts probe_libraries(const Root& root, const LibraryRequest& request, const Json& packages,
                             Unknown& unknown) {
    LibraryFacts facts;
    Folders folders(root, unknown);
    folders.add_usual();
    for (const std::string& folder : request.folders)
        folders.add_below(folder, 6);
    for (const std::string& site : site_folders(root)) {
        facts.python = joined(std::move(facts.python), python_packages(root, site, unknown));
        for (const std::string& name : root.folder(site).names)
            if (holds_runtime(name))
                folders.add_below(site + "/" + name, 4);
    }
    std::map<std::string, std::pair<Json, std::set<std::string>>> found;  // by real path
    std::map<std::string, std::string> raw_paths;
    for (const std::string& folder : folders.list()) {
        const RootFolder names = root.folder(folder);
        unknown.note(names, "libraries[" + printable(folder) + "]");
        for (const std::string& name : names.names) {
            const std::string product = product_of_library(name);
            if (product.empty())
                continue;
            const std::string path = (folder == "/" ? "" : folder) + "/" + name;
            const RootFile file = root.file(path);
            if (!file) {
                if (file.presence == Presence::unreadable)
                    unknown.add("libraries[" + printable(path) + "]", file.reason);
                else
                    unknown.add("libraries[" + printable(path) + "]", "a link that leads nowhere");
                continue;
            }
            auto& [library, seen] = found[file.path];
            if (library.is_null()) {
                library = describe_library(file, product, unknown);
                raw_paths[printable(file.path)] = file.path;
            }
            seen.insert(printable(path));
        }
    }
    for (auto& [path, entry] : found) {
        entry.first["seen_in"] = text_array({entry.second.begin(), entry.second.end()});
        facts.libraries.push_back(std::move(entry.first));
    }
    take_digests(root, request, facts, raw_paths, unknown);
    compare_with_packages(facts, packages);
    compare_with_python(facts);
    return facts;
}

}  // namespace requal::machine
