#include "machine/application.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "machine/elf.h"
#include "machine/libraries.h"

namespace requal::machine {

namespace {

bool is_number(std::string_view text) {
    return !text.empty() && text.size() < 11 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// When the process began: a number that was given to another process since differs in it. Empty: it is gone.
std::string start_of(const Root& root, std::int64_t pid) {
    const RootText stat = root.text("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t end = stat.bytes.rfind(')');  // the name before may hold anything
    if (!stat || end == std::string::npos)
        return {};
    const auto words = words_of(std::string_view(stat.bytes).substr(end + 1));
    return words.size() > 19 && words[0] != "Z" ? std::string(words[19]) : std::string();
}

std::int64_t process_of_unit(const Root& root, const std::string& unit) {
    if (unit.find('/') != std::string::npos || unit.empty())
        throw Error(ErrorKind::input, "no name of a unit", unit, "give it as systemctl shows it");
    const std::string name = unit.find('.') == std::string::npos ? unit + ".service" : unit;
    for (const char* base : {"/sys/fs/cgroup/system.slice/", "/sys/fs/cgroup/systemd/system.slice/",
                             "/sys/fs/cgroup/unified/system.slice/"})
        if (const RootText text = root.text(base + name + "/cgroup.procs"); text)
            for (const std::string_view line : lines_of(text.bytes))
                if (is_number(line))
                    return *parse_integer(line);
    throw Error(ErrorKind::input, "no process of this unit runs", name, "start it, or give --pid");
}

std::int64_t process_of_container(const Root& root, const std::string& id) {
    const bool hex = id.size() >= 8 && std::all_of(id.begin(), id.end(), [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                     });
    if (!hex)
        throw Error(ErrorKind::input, "no id of a container", id,
                    "give at least 8 hex digits of its id");
    std::int64_t least = 0;
    for (const std::string& name : root.folder("/proc").names) {
        if (!is_number(name))
            continue;
        const std::int64_t pid = *parse_integer(name);
        const RootText text = root.text("/proc/" + name + "/cgroup");
        if (text && text.bytes.find(id) != std::string::npos && (least == 0 || pid < least))
            least = pid;
    }
    if (least == 0)
        throw Error(ErrorKind::input, "no process of this container is seen here", id,
                    "run it on the host of the container, or give --pid");
    return least;
}

/// Variables that decide what the loader, CUDA and the runtimes do.
bool decides(std::string_view name) {
    static constexpr std::string_view beginnings[] = {
        "LD_",  "CUDA_", "CUDNN_", "CUBLAS_",  "NVIDIA_", "TRT_",  "TENSORRT_", "ORT_",
        "OMP_", "KMP_",  "MKL_",   "OPENVINO", "QNN_",    "ADSP_", "GLIBC_",    "MALLOC_"};
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view begin) { return name.starts_with(begin); });
}

Json environment_of(const Root& root, const std::string& process, Unknown& unknown) {
    Json result = Json::object();
    const RootText text = root.text(process + "/environ", std::size_t{4} << 20U);
    unknown.note(text, "application.environment");
    std::string_view rest = text.bytes;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find('\0'));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
        const std::size_t equals = entry.find('=');
        if (equals != std::string_view::npos && decides(entry.substr(0, equals)))
            result[printable(entry.substr(0, equals))] = printable(entry.substr(equals + 1));
    }
    return result;
}

Json limits_of(const Root& root, const std::string& process, Unknown& unknown) {
    Json result = Json::object();
    const RootText text = root.text(process + "/cgroup");
    unknown.note(text, "application.limits");
    for (const std::string_view line : lines_of(text.bytes)) {
        if (!line.starts_with("0::/"))
            continue;
        const std::string folder = "/sys/fs/cgroup" + std::string(line.substr(3));
        for (const char* name : {"memory.max", "cpu.max", "cpuset.cpus.effective", "pids.max"})
            if (const RootText value = root.line(folder + "/" + name);
                value && !value.bytes.empty())
                result[name] = printable(value.bytes);
    }
    return result;
}

Json devices_of(const Root& root, const std::string& process, Unknown& unknown) {
    const RootFolder fds = root.folder(process + "/fd");
    unknown.note(fds, "application.devices");
    std::set<std::string> found;
    for (const std::string& name : fds.names)
        if (const RootText target = root.link(process + "/fd/" + name);
            target && target.bytes.starts_with("/dev/") && !target.bytes.starts_with("/dev/pts/") &&
            !target.bytes.starts_with("/dev/shm/"))
            found.insert(printable(target.bytes));
    return text_array({found.begin(), found.end()});
}

}  // namespace

std::vector<Mapping> parse_maps(std::string_view text) {
    std::map<std::string, Mapping> found;
    for (std::string_view line : lines_of(text)) {
        // "start-end perms offset dev inode    path"
        std::string_view fields[5];
        bool whole = true;
        for (std::string_view& field : fields) {
            const std::size_t begin = line.find_first_not_of(' ');
            if (begin == std::string_view::npos) {
                whole = false;
                break;
            }
            line.remove_prefix(begin);
            field = line.substr(0, line.find(' '));
            line.remove_prefix(field.size());
        }
        const std::size_t begin = line.find_first_not_of(' ');
        if (!whole || begin == std::string_view::npos || line[begin] != '/')
            continue;
        Mapping mapping;
        constexpr std::string_view mark = " (deleted)";
        std::string_view path = line.substr(begin);
        if (path.ends_with(mark)) {
            mapping.deleted = true;
            path.remove_suffix(mark.size());
        }
        for (std::size_t i = 0; i < path.size(); ++i) {
            if (path.substr(i).starts_with("\\012")) {  // the kernel writes line ends so
                mapping.path += '\n';
                i += 3;
            } else {
                mapping.path += path[i];
            }
        }
        if (const auto inode = parse_integer(fields[4]); inode && *inode > 0)
            mapping.inode = static_cast<std::uint64_t>(*inode);
        if (mapping.path.starts_with("/dev/") || mapping.path.starts_with("/memfd:") ||
            mapping.path.starts_with("/SYSV"))
            continue;
        found[mapping.path + (mapping.deleted ? "\n" : "")] = std::move(mapping);
    }
    std::vector<Mapping> list;
    for (auto& entry : found)
        list.push_back(std::move(entry.second));
    return list;
}

Json probe_application(const ApplicationRequest& request, Unknown& unknown) {
    const Root host;
    const std::int64_t pid = request.pid ? *request.pid
                             : !request.unit.empty()
                                 ? process_of_unit(host, request.unit)
                                 : process_of_container(host, request.container);
    const std::string process = "/proc/" + std::to_string(pid);
    const std::string started = pid > 0 ? start_of(host, pid) : std::string();
    if (started.empty())
        throw Error(ErrorKind::input, "there is no such process", std::to_string(pid),
                    "give the number of a running process");
    const RootText maps = host.text(process + "/maps", std::size_t{64} << 20U);
    const auto gone = [&] { return start_of(host, pid) != started; };
    const auto throw_gone = [&] {
        throw Error(ErrorKind::input, "it ended while it was read",
                    "process " + std::to_string(pid), "run it again while the process runs");
    };
    if (!maps) {
        if (gone())
            throw_gone();
        throw Error(ErrorKind::storage, "its mapped files cannot be read: " + maps.reason,
                    "process " + std::to_string(pid),
                    "run it as the owner of the process or as root");
    }
    Json application = Json::object({{"learned_from", "mapped"}});
    Json libraries = Json::array(), deleted = Json::array();
    std::vector<HashJob> jobs;
    try {
        const Root inside(process + "/root");
        for (const Mapping& mapping : parse_maps(maps.bytes)) {
            if (mapping.deleted) {
                deleted.push_back(printable(mapping.path));
                unknown.add("application.libraries[" + printable(mapping.path) + "]",
                            "it was deleted or replaced after the process had mapped it");
                continue;
            }
            const RootFile file = inside.file(mapping.path);
            const std::string what = "application.libraries[" + printable(mapping.path) + "]";
            if (!file) {
                unknown.add(what, file.presence == Presence::absent ? "it is not under this name"
                                                                    : file.reason);
                continue;
            }
            if (mapping.inode != 0 && mapping.inode != file.info.st_ino) {
                deleted.push_back(printable(mapping.path));
                unknown.add(what, "another file is under this name now");
                continue;
            }
            const std::string name = mapping.path.substr(mapping.path.rfind('/') + 1);
            Unknown ignored;  // what a plain library's version is does not matter
            const std::string product = product_of_library(name);
            Json library = describe_library(file, product.empty() ? "other" : product,
                                            product.empty() ? ignored : unknown);
            for (const char* key : {"inode", "mtime_ns", "changed_ns", "seen_in", "digest_from"})
                library.as_object().erase(key);
            libraries.push_back(std::move(library));
            HashJob job;
            job.path = mapping.path;
            job.size_bytes = static_cast<std::uint64_t>(file.info.st_size);
            jobs.push_back(std::move(job));
        }
        hash_files(inside, jobs, request.hashing);
    } catch (const Error&) {
        if (gone())
            throw_gone();
        throw;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        Json& library = libraries.as_array()[i];
        if (jobs[i].digest.empty())
            unknown.add("application.libraries[" + library.at("path").as_string() + "]",
                        jobs[i].reason);
        else
            library["digest"] = jobs[i].digest;
    }
    if (const RootText path = host.link(process + "/exe");
        unknown.note(path, "application.executable"))
        application["executable"] = printable(path.bytes);
    application["libraries"] = std::move(libraries);
    application["deleted"] = std::move(deleted);
    application["environment"] = environment_of(host, process, unknown);
    application["limits"] = limits_of(host, process, unknown);
    application["devices"] = devices_of(host, process, unknown);
    if (gone())
        throw_gone();
    return application;
}

}  // namespace requal::machine
