#include "machine/host.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.h"

namespace requal::machine {

namespace {

/// Content of a small file of /proc or /sys, without the final line end; empty when unreadable.
std::optional<std::string> text_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return std::nullopt;
    }
    std::string text;
    char buffer[4096];
    while (file.read(buffer, sizeof(buffer)) || file.gcount() > 0) {
        text.append(buffer, static_cast<std::size_t>(file.gcount()));
        if (text.size() > (std::size_t{4} << 20U)) {
            break;
        }
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) {
        text.pop_back();
    }
    return text;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end == text.data()) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::uint64_t> number_of_file(const std::string& path) {
    const auto text = text_of_file(path);
    return text ? number_of(*text) : std::nullopt;
}

/// Value of the first "key : value" line.
std::string field_of(const std::string& text, std::string_view key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find_first_of(":=");
        if (colon == std::string::npos || !line.starts_with(key)) {
            continue;
        }
        if (line.find_first_not_of(" \t", key.size()) != colon) {
            continue;
        }
        const std::size_t begin = line.find_first_not_of(" \t\"", colon + 1);
        const std::size_t end = line.find_last_not_of(" \t\"\r");
        return begin == std::string::npos ? std::string() : line.substr(begin, end - begin + 1);
    }
    return {};
}

std::optional<std::uint64_t> meminfo_bytes(const std::string& root, std::string_view key) {
    const auto text = text_of_file(root + "/proc/meminfo");
    const auto kilobytes = text ? number_of(field_of(*text, key)) : std::nullopt;
    return kilobytes ? std::optional<std::uint64_t>(*kilobytes * 1024) : std::nullopt;
}

/// Free memory below the limit of the control group of this process, where there is one (version 2, or version 1).
std::optional<std::uint64_t> group_memory_bytes(const std::string& root) {
    const std::pair<const char*, const char*> places[] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    for (const auto& [limit_path, used_path] : places) {
        const auto limit = number_of_file(root + limit_path);
        const auto used = number_of_file(root + used_path);
        if (limit && used) {
            return *limit > *used ? *limit - *used : 0;
        }
    }
    return std::nullopt;
}

Json instruction_sets(const std::string& cpuinfo) {
    static const std::set<std::string, std::less<>> telling = {
        "sse4_2",   "avx",         "avx2",     "fma",      "f16c",     "avx512f", "avx512_vnni",
        "avx_vnni", "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16", "asimd",   "asimdhp",
        "asimddp",  "sve",         "sve2",     "bf16",     "i8mm"};
    std::string flags = field_of(cpuinfo, "flags");
    if (flags.empty()) {
        flags = field_of(cpuinfo, "Features");
    }
    std::istringstream words(flags);
    std::set<std::string> found;
    for (std::string word; words >> word;) {
        if (telling.contains(word)) {
            found.insert(word);
        }
    }
    Json result = Json::array();
    for (const std::string& word : found) {
        result.push_back(word);
    }
    return result;
}

std::vector<std::string> cpu_folders(const std::string& root) {
    std::vector<std::string> folders;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(root + "/sys/devices/system/cpu", error), end;
         !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with("cpu") && name.size() > 3 &&
            name.find_first_not_of("0123456789", 3) == std::string::npos) {
            folders.push_back(entry->path().string());
        }
    }
    std::sort(folders.begin(), folders.end());
    return folders;
}

std::string join(const std::set<std::string>& words) {
    return words.size() == 1 ? *words.begin() : std::string("mixed");
}

void add_frequencies(Json& conditions, std::vector<std::string>& unknown,
                     const std::vector<std::string>& cpus) {
    std::set<std::string> governors;
    std::optional<std::uint64_t> slowest, fastest;
    for (const std::string& cpu : cpus) {
        const auto governor = text_of_file(cpu + "/cpufreq/scaling_governor");
        if (governor) {
            governors.insert(printable(*governor));
        }
        const auto khz = number_of_file(cpu + "/cpufreq/scaling_cur_freq");
        if (khz) {
            slowest = slowest ? std::min(*slowest, *khz) : *khz;
            fastest = fastest ? std::max(*fastest, *khz) : *khz;
        }
    }
    if (governors.empty()) {
        unknown.emplace_back("cpu_governor: the kernel shows no cpufreq here");
    } else {
        conditions["cpu_governor"] = join(governors);
    }
    if (slowest) {
        conditions["cpu_frequency_min_mhz"] = static_cast<double>(*slowest) / 1000;
        conditions["cpu_frequency_max_mhz"] = static_cast<double>(*fastest) / 1000;
    } else {
        unknown.emplace_back("cpu_frequency: the kernel shows no cpufreq here");
    }
}

void add_turbo(Json& conditions, std::vector<std::string>& unknown, const std::string& root) {
    const std::string cpu = root + "/sys/devices/system/cpu";
    if (const auto no_turbo = number_of_file(cpu + "/intel_pstate/no_turbo")) {
        conditions["turbo"] = *no_turbo == 0;
    } else if (const auto boost = number_of_file(cpu + "/cpufreq/boost")) {
        conditions["turbo"] = *boost != 0;
    } else {
        unknown.emplace_back("turbo: the kernel does not show it here");
    }
}

void add_temperature(Json& conditions, std::vector<std::string>& unknown, const std::string& root) {
    std::optional<double> hottest;
    for (int zone = 0; zone < 64; ++zone) {
        const auto millidegrees = number_of_file(root + "/sys/class/thermal/thermal_zone" +
                                                 std::to_string(zone) + "/temp");
        if (millidegrees && *millidegrees < 200'000) {
            const double degrees = static_cast<double>(*millidegrees) / 1000;
            hottest = hottest ? std::max(*hottest, degrees) : degrees;
        }
    }
    if (hottest) {
        conditions["temperature_max_c"] = *hottest;
    } else {
        unknown.emplace_back("temperature_max_c: no thermal zone can be read here");
    }
}

}  // namespace

Json host_facts(const std::string& root) {
    Json result = Json::object();
    if (root.empty()) {
        utsname names{};
        if (::uname(&names) == 0) {
            result["architecture"] = printable(names.machine);
            result["kernel"] = printable(names.release);
        }
    } else if (const auto release = text_of_file(root + "/proc/sys/kernel/osrelease")) {
        result["kernel"] = printable(*release);
    }
    auto os = text_of_file(root + "/etc/os-release");
    if (!os) {
        os = text_of_file(root + "/usr/lib/os-release");
    }
    if (os && !field_of(*os, "PRETTY_NAME").empty()) {
        result["os"] = printable(field_of(*os, "PRETTY_NAME"));
    }
    Json cpu = Json::object();
    if (const auto cpuinfo = text_of_file(root + "/proc/cpuinfo")) {
        const std::string model = field_of(*cpuinfo, "model name");
        if (!model.empty()) {
            cpu["model"] = printable(model);
        }
        cpu["isa"] = instruction_sets(*cpuinfo);
    }
    const std::size_t cores = cpu_folders(root).size();
    if (cores > 0) {
        cpu["cores"] = static_cast<std::uint64_t>(cores);
    }
    result["cpu"] = std::move(cpu);
    if (const auto memory = meminfo_bytes(root, "MemTotal")) {
        result["memory_bytes"] = *memory;
    }
    return result;
}

Json measurement_conditions(std::vector<std::string>& unknown, const std::string& root) {
    Json result = Json::object();
    if (const auto load = text_of_file(root + "/proc/loadavg")) {
        double value = 0;
        const auto [end, error] = std::from_chars(load->data(), load->data() + load->size(), value);
        if (error == std::errc{}) {
            result["load_average_1min"] = value;
        }
    }
    if (!result.has("load_average_1min")) {
        unknown.emplace_back("load_average_1min: /proc/loadavg cannot be read");
    }
    add_frequencies(result, unknown, cpu_folders(root));
    add_turbo(result, unknown, root);
    add_temperature(result, unknown, root);
    if (root.empty()) {
        cpu_set_t allowed;
        if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
            result["cores_allowed"] = CPU_COUNT(&allowed);
        }
    }
    if (const std::uint64_t memory = memory_available_bytes(root); memory > 0) {
        result["memory_available_bytes"] = memory;
    } else {
        unknown.emplace_back("memory_available_bytes: /proc/meminfo cannot be read");
    }
    if (const auto cpuinfo = text_of_file(root + "/proc/cpuinfo")) {
        result["virtualised"] =
            (" " + field_of(*cpuinfo, "flags") + " ").find(" hypervisor ") != std::string::npos;
    }
    return result;
}

std::uint64_t memory_available_bytes(const std::string& root) {
    const auto available = meminfo_bytes(root, "MemAvailable");
    if (!available) {
        return 0;
    }
    const auto group = group_memory_bytes(root);
    return group ? std::min(*available, *group) : *available;
}

}  // namespace requal::machine
