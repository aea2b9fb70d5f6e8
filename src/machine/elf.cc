#include "machine/elf.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace requal::machine {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20U;

/// `size` bytes at `offset`, or nothing when the file does not have them.
std::optional<std::string> bytes_at(int fd, std::uint64_t file_size, std::uint64_t offset,
                                    std::uint64_t size) {
    if (size > most_bytes || offset > file_size || size > file_size - offset)
        return std::nullopt;
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return std::nullopt;
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

template <typename Record>
std::optional<Record> record_in(const std::string& bytes, std::uint64_t offset) {
    if (offset > bytes.size() || sizeof(Record) > bytes.size() - offset)
        return std::nullopt;
    Record record;
    std::memcpy(&record, bytes.data() + offset, sizeof(Record));
    return record;
}

/// The text at `offset` of a string table; empty when it is not closed there or longer than a name may be.
std::string text_in(const std::string& table, std::uint64_t offset) {
    if (offset >= table.size())
        return {};
    const std::size_t end = table.find('\0', offset);
    if (end == std::string::npos || end - offset > 1024)
        return {};
    return table.substr(offset, end - offset);
}

std::string machine_name(std::uint16_t machine) {
    switch (machine) {
    case EM_X86_64:
        return "x86_64";
    case EM_AARCH64:
        return "aarch64";
    case EM_ARM:
        return "arm";
    case EM_386:
        return "x86";
    default:
        return {};
    }
}

void read_dynamic(int fd, std::uint64_t size, const Elf64_Ehdr& header, ElfFacts& facts) {
    const auto programs =
        bytes_at(fd, size, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    if (!programs || header.e_phentsize != sizeof(Elf64_Phdr)) {
        facts.problem = "its program headers lie outside the file";
        return;
    }
    std::vector<Elf64_Phdr> segments;
    for (std::uint64_t i = 0; i < header.e_phnum; ++i)
        segments.push_back(*record_in<Elf64_Phdr>(*programs, i * sizeof(Elf64_Phdr)));
    const auto file_offset = [&](std::uint64_t address) -> std::optional<std::uint64_t> {
        for (const Elf64_Phdr& segment : segments)
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz)
                return segment.p_offset + (address - segment.p_vaddr);
        return std::nullopt;
    };
    const auto dynamic = std::find_if(segments.begin(), segments.end(),
                                      [](const Elf64_Phdr& s) { return s.p_type == PT_DYNAMIC; });
    if (dynamic == segments.end())
        return;
    const auto entries = bytes_at(fd, size, dynamic->p_offset, dynamic->p_filesz);
    if (!entries) {
        facts.problem = "its dynamic section lies outside the file";
        return;
    }
    std::uint64_t names = 0, names_size = 0, soname = 0, versions = 0, version_count = 0;
    bool has_soname = false;
    for (std::uint64_t at = 0;; at += sizeof(Elf64_Dyn)) {
        const auto entry = record_in<Elf64_Dyn>(*entries, at);
        if (!entry || entry->d_tag == DT_NULL)
            break;
        const std::uint64_t value = entry->d_un.d_val;
        switch (entry->d_tag) {
        case DT_STRTAB:
            names = value;
            break;
        case DT_STRSZ:
            names_size = value;
            break;
        case DT_SONAME:
            soname = value;
            has_soname = true;
            break;
        case DT_VERDEF:
            versions = value;
            break;
        case DT_VERDEFNUM:
            version_count = value;
            break;
        default:
            break;
        }
    }
    const auto names_at = file_offset(names);
    const auto table = names_at ? bytes_at(fd, size, *names_at, names_size) : std::nullopt;
    if (!table) {
        if (has_soname || version_count > 0)
            facts.problem = "its names lie outside the file";
        return;
    }
    if (has_soname)
        facts.soname = text_in(*table, soname);
    const auto versions_at = version_count > 0 ? file_offset(versions) : std::nullopt;
    if (!versions_at || *versions_at >= size)
        return;
    const auto block =
        bytes_at(fd, size, *versions_at, std::min<std::uint64_t>(size - *versions_at, 65536));
    std::uint64_t at = 0;
    for (std::uint64_t i = 0; block && i < std::min<std::uint64_t>(version_count, 256); ++i) {
        const auto definition = record_in<Elf64_Verdef>(*block, at);
        if (!definition)
            break;
        const auto name = record_in<Elf64_Verdaux>(*block, at + definition->vd_aux);
        if (name && (definition->vd_flags & VER_FLG_BASE) == 0)
            facts.versions.push_back(text_in(*table, name->vda_name));
        if (definition->vd_next == 0)
            break;
        at += definition->vd_next;
    }
}

}  // namespace

ElfFacts read_elf(int fd, std::uint64_t size) {
    ElfFacts facts;
    const auto bytes = bytes_at(fd, size, 0, sizeof(Elf64_Ehdr));
    if (!bytes || std::memcmp(bytes->data(), ELFMAG, SELFMAG) != 0) {
        facts.problem = "it is no ELF file";
        return facts;
    }
    const auto header = *record_in<Elf64_Ehdr>(*bytes, 0);
    facts.is_elf = true;
    if (header.e_ident[EI_DATA] != ELFDATA2LSB) {
        facts.problem = "its bytes are in big-endian order";
        return facts;
    }
    facts.architecture = machine_name(header.e_machine);  // at the same place in both classes
    if (header.e_ident[EI_CLASS] != ELFCLASS64) {
        facts.problem = "it is a 32-bit file";
        return facts;
    }
    read_dynamic(fd, size, header, facts);
    return facts;
}

}  // namespace requal::machine
