#include "toolchain/runners/support/process_facts.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace requal::toolchain {
namespace {

/// soname by start address of every loaded object, read from its dynamic section in memory.
std::map<std::uintptr_t, std::string> sonames() {
    std::map<std::uintptr_t, std::string> result;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            const ElfW(Dyn)* dynamic = nullptr;
            for (int index = 0; index < info->dlpi_phnum; ++index) {
                if (info->dlpi_phdr[index].p_type == PT_DYNAMIC)
                    dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr +
                                                                 info->dlpi_phdr[index].p_vaddr);
            }
            const char* strings = nullptr;
            std::uintptr_t offset = 0;
            bool found = false;
            for (const auto* entry = dynamic; entry && entry->d_tag != DT_NULL; ++entry) {
                if (entry->d_tag == DT_STRTAB) {
                    // glibc relocates this entry on most machines, other loaders leave it as in the file
                    const auto address = entry->d_un.d_ptr;
                    strings = reinterpret_cast<const char*>(
                        address < info->dlpi_addr ? address + info->dlpi_addr : address);
                }
                if (entry->d_tag == DT_SONAME) {
                    offset = entry->d_un.d_val;
                    found = true;
                }
            }
            if (found && strings)
                (*static_cast<std::map<std::uintptr_t, std::string>*>(data))[info->dlpi_addr] =
                    strings + offset;
            return 0;
        },
        &result);
    return result;
}

std::string cpuinfo_field(std::string_view key) {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (!line.starts_with(key))
            continue;
        const auto colon = line.find(':');
        if (colon != std::string::npos)
            return one_line(std::string_view(line).substr(colon + 1));
    }
    return {};
}

}  // namespace

Json mapped_libraries(std::span<const std::string_view> parts) {
    // path -> lowest address it is mapped at
    std::map<std::string, std::uintptr_t> mapped;
    std::ifstream file("/proc/self/maps");
    std::string line;
    while (std::getline(file, line)) {
        const auto slash = line.find('/');
        if (slash == std::string::npos)
            continue;
        auto path = line.substr(slash);
        const auto name = std::string_view(path).substr(path.rfind('/') + 1);
        if (name.find(".so") == std::string_view::npos ||
            std::none_of(parts.begin(), parts.end(), [&](std::string_view part) {
                return name.find(part) != std::string_view::npos;
            }))
            continue;
        const auto start = static_cast<std::uintptr_t>(std::stoull(line, nullptr, 16));
        const auto [entry, fresh] = mapped.emplace(std::move(path), start);
        if (!fresh)
            entry->second = std::min(entry->second, start);
    }
    const auto names = sonames();
    Json result = Json::array();
    for (const auto& [path, start] : mapped) {
        const auto soname = names.find(start);
        result.push_back(Json::object(
            {{"path", path}, {"soname", soname == names.end() ? Json() : Json(soname->second)}}));
    }
    return result;
}

std::size_t thread_count() {
    std::error_code error;
    std::size_t count = 0;
    for (std::filesystem::directory_iterator entry("/proc/self/task", error), end;
         !error && entry != end; entry.increment(error))
        ++count;
    return error ? 0 : count;
}

Json cpu_features() {
    static constexpr std::array<std::string_view, 32> interesting = {
        "sse4_1",         "sse4_2",      "avx",         "avx2",     "fma",
        "f16c",           "avx512f",     "avx512bw",    "avx512dq", "avx512vl",
        "avx512_vnni",    "avx512_bf16", "avx512_fp16", "avx_vnni", "avx_vnni_int8",
        "avx_ne_convert", "amx_tile",    "amx_int8",    "amx_bf16", "amx_fp16",
        "asimd",          "asimdhp",     "asimddp",     "asimdfhm", "fphp",
        "bf16",           "i8mm",        "sve",         "sve2",     "svebf16",
        "svei8mm",        "sme"};
    auto text = cpuinfo_field("flags");
    if (text.empty())
        text = cpuinfo_field("Features");
    std::istringstream words(text);
    std::set<std::string> found;
    for (std::string word; words >> word;) {
        if (std::find(interesting.begin(), interesting.end(), word) != interesting.end())
            found.insert(word);
    }
    Json result = Json::array();
    for (const auto& word : found)
        result.push_back(word);
    return result;
}

std::string cpu_model() {
    return cpuinfo_field("model name");
}

std::string one_line(std::string_view text) {
    std::string result;
    bool blank = false;
    for (const char letter : text) {
        if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r') {
            blank = !result.empty();
            continue;
        }
        if (blank)
            result += ' ';
        blank = false;
        result += letter;
    }
    return result;
}

}  // namespace requal::toolchain
