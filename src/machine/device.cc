// What this device is: model, module and board, operating system, kernel.
#include <sys/utsname.h>

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "machine/elf.h"
#include "machine/host.h"
#include "machine/probe.h"

namespace requal::machine {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    TextLines reader(text);
    for (std::string_view line; reader.next(line);)
        lines.push_back(line);
    return lines;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos)
        return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (;;) {
        const std::size_t begin = text.find_first_not_of(" \t\r\n");
        if (begin == std::string_view::npos)
            return words;
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::string setting_of(std::string_view text, std::string_view key) {
    for (const std::string_view line : lines_of(text)) {
        if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != '=')
            continue;
        std::string_view value = trimmed(line.substr(key.size() + 1));
        if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
            value.back() == value.front())
            value = value.substr(1, value.size() - 2);
        return std::string(value);
    }
    return {};
}

namespace {

/// Texts of a device tree property, which end in NUL bytes.
Json texts_of(std::string_view bytes) {
    Json list = Json::array();
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\0');
        if (end != 0)
            list.push_back(printable(bytes.substr(0, end)));
        bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    }
    return list;
}

RootText tree(const Root& root, const std::string& name) {
    RootText text = root.line("/proc/device-tree/" + name);
    return text.presence == Presence::absent ? root.line("/sys/firmware/devicetree/base/" + name)
                                             : text;
}

/// "p3767-0003" of the first word in "nvidia,p3768-0000+p3767-0003-super" that begins with one of `families`.
std::string part_number(std::string_view compatible, std::initializer_list<const char*> families) {
    for (std::size_t at = 0; at + 10 <= compatible.size(); ++at) {
        const std::string_view word = compatible.substr(at, 10);
        if (word[0] != 'p' || word[5] != '-' ||
            !std::all_of(word.begin() + 1, word.begin() + 5,
                         [](char c) { return c >= '0' && c <= '9'; }))
            continue;
        for (const char* family : families)
            if (word.starts_with(family))
                return std::string(word);
    }
    return {};
}

/// The part number in the module's EEPROM, "699-13767-0003-300 ...".
void read_eeprom(const Root& root, Json& device, Unknown& unknown) {
    for (const char* path :
         {"/sys/bus/i2c/devices/0-0050/eeprom", "/sys/bus/i2c/devices/7-0050/eeprom"}) {
        const RootText text = root.text(path, 65536);
        if (!unknown.note(text, "device.module_part"))
            continue;
        const std::size_t at = text.bytes.find("699-");
        if (at > 256)  // or not there
            continue;
        std::size_t end = at;
        while (end < text.bytes.size() && end - at < 30 && text.bytes[end] > ' ' &&
               text.bytes[end] < '\x7f')
            ++end;
        device["module_part"] = text.bytes.substr(at, end - at);
        return;
    }
}

}  // namespace

Json probe_device(const Root& root, Unknown& unknown) {
    Json device = Json::object();
    if (const RootText model = tree(root, "model"); unknown.note(model, "device.model"))
        device["model"] = printable(model.bytes);
    if (const RootText text = tree(root, "compatible"); unknown.note(text, "device.compatible")) {
        const Json list = texts_of(text.bytes);
        for (const Json& item : list.as_array()) {
            const std::string& word = item.as_string();
            const std::string module =
                part_number(word, {"p3767", "p3701", "p3668", "p2888", "p3448", "p3310", "p3489",
                                   "p2180", "p3834", "p3636"});
            const std::string board =
                part_number(word, {"p3768", "p3737", "p3509", "p3449", "p2822", "p2771", "p2597",
                                   "p4071", "p3740", "p3518"});
            if (!module.empty() && !device.has("module"))
                device["module"] = module;
            if (!board.empty() && !device.has("board"))
                device["board"] = board;
            if (word.starts_with("nvidia,tegra") && !device.has("soc"))
                device["soc"] = word.substr(7);
        }
        device["compatible"] = list;
        read_eeprom(root, device, unknown);
    }
    for (const auto& [key, name] : {std::pair<const char*, const char*>{"product", "product_name"},
                                    {"vendor", "sys_vendor"},
                                    {"board", "board_name"}})
        if (const RootText text = root.line(std::string("/sys/class/dmi/id/") + name);
            unknown.note(text, std::string("device.") + key) && !device.has(key))
            device[key] = printable(text.bytes);
    if (root.is_this_computer()) {
        const Json host = host_facts();
        if (host.get("cpu").is_object()) {
            if (host.at("cpu").has("isa"))
                device["isa"] = host.at("cpu").at("isa");
            if (host.at("cpu").has("model"))
                device["cpu"] = host.at("cpu").at("model");
        }
    }
    return device;
}

Json probe_unit(const Root& root, Unknown& unknown) {
    Json unit = Json::object();
    const auto add = [&](const char* key, const std::string& bytes) {
        // a digest tells units apart and does not name them
        unit[key] = digest_of("requal unit " + bytes).text();
    };
    RootText serial = tree(root, "serial-number");
    for (const char* path : {"/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/board_serial",
                             "/sys/class/dmi/id/product_serial"})
        if (serial.presence != Presence::found || serial.bytes.empty()) {
            RootText other = root.line(path);
            if (other.presence != Presence::absent)
                serial = std::move(other);
        }
    if (unknown.note(serial, "unit.id") && !serial.bytes.empty())
        add("id", serial.bytes);
    if (const RootText text = root.line("/etc/machine-id");
        unknown.note(text, "unit.installation") && text.bytes.size() >= 32)
        add("installation", text.bytes);
    return unit;
}

Json probe_os(const Root& root, Unknown& unknown) {
    Json os = Json::object();
    RootText text = root.text("/etc/os-release");
    if (text.presence == Presence::absent)
        text = root.text("/usr/lib/os-release");
    if (unknown.note(text, "os")) {
        os["name"] = "linux";
        for (const auto& [key, name] : {std::pair<const char*, const char*>{"distribution", "ID"},
                                        {"release", "VERSION_ID"},
                                        {"pretty", "PRETTY_NAME"}})
            if (const std::string value = setting_of(text.bytes, name); !value.empty())
                os[key] = printable(value);
    }
    if (root.is_this_computer()) {
        utsname names{};
        if (::uname(&names) == 0) {
            os["name"] = "linux";
            os["architecture"] = names.machine;
        }
        return os;
    }
    for (const char* path : {"/bin/sh", "/usr/bin/env", "/sbin/init", "/lib/systemd/systemd"}) {
        const RootFile file = root.file(path);
        if (!file)
            continue;
        const ElfFacts elf = read_elf(file.fd.get(), static_cast<std::uint64_t>(file.info.st_size));
        if (!elf.architecture.empty()) {
            os["name"] = "linux";
            os["architecture"] = elf.architecture;
            return os;
        }
    }
    unknown.add("os.architecture", "no program was found that tells it");
    return os;
}

namespace {

/// A command line without what names one unit or one installation.
std::string plain_command_line(std::string_view text) {
    std::string result;
    for (const std::string_view word : words_of(text)) {
        const std::string_view key = word.substr(0, word.find('='));
        std::string shown = printable(word);
        if (word.find("UUID=") != std::string_view::npos ||
            key.find("mac") != std::string_view::npos ||
            key.find("serial") != std::string_view::npos || key == "boot.slot_suffix" ||
            key == "BOOT_IMAGE" || key.find("token") != std::string_view::npos ||
            key.find("passw") != std::string_view::npos)
            shown = std::string(key) + "=(left out)";
        result += (result.empty() ? "" : " ") + shown;
    }
    return result;
}

/// Modules below extra/ and updates/: they come from outside the kernel's own package.
void outside_modules(const Root& root, const std::string& folder, int depth, Json& list,
                     Unknown& unknown) {
    const RootFolder found = root.folder(folder);
    unknown.note(found, "kernel.outside_modules");
    for (const std::string& name : found.names) {
        const std::string path = folder + "/" + name;
        const bool module = name.find(".ko") != std::string::npos;
        if (!module) {
            if (depth < 8)
                outside_modules(root, path, depth + 1, list, unknown);
            continue;
        }
        const RootText text = root.text(path, std::size_t{256} << 20U);
        if (unknown.note(text, "kernel.outside_modules[" + printable(path) + "]"))
            list.push_back(Json::object(
                {{"path", printable(path)}, {"digest", digest_of(text.bytes).text()}}));
    }
}

}  // namespace

Json probe_kernel(const Root& root, Unknown& unknown) {
    Json kernel = Json::object();
    const RootFolder modules = root.folder("/lib/modules");
    std::string release;
    if (const RootText text = root.line("/proc/sys/kernel/osrelease");
        unknown.note(text, "kernel.release")) {
        release = printable(text.bytes);
    } else if (modules.names.size() == 1) {
        release = printable(modules.names.front());
    } else if (!root.is_this_computer() && !modules.names.empty()) {
        unknown.add("kernel.release", "several kernels are installed and none of them runs here");
        for (const std::string& name : modules.names)
            kernel["installed"].push_back(printable(name));
    }
    if (!release.empty())
        kernel["release"] = release;
    if (const RootText text = root.line("/proc/version"); text)
        kernel["version"] = printable(text.bytes);
    if (const RootText text = root.line("/proc/cmdline"); unknown.note(text, "kernel.command_line"))
        kernel["command_line"] = plain_command_line(text.bytes);
    if (const RootText text = root.text("/boot/extlinux/extlinux.conf");
        unknown.note(text, "boot.extlinux"))
        for (const std::string_view line : lines_of(text.bytes))
            if (trimmed(line).starts_with("APPEND ") && !kernel.has("configured_command_line"))
                kernel["configured_command_line"] = plain_command_line(trimmed(line).substr(7));
    Json outside = Json::array();
    for (const char* part : {"/extra", "/updates"})
        if (!release.empty() && root.exists("/lib/modules/" + release + part))
            outside_modules(root, "/lib/modules/" + release + part, 0, outside, unknown);
    if (!outside.as_array().empty())
        kernel["outside_modules"] = std::move(outside);
    const RootFolder loaded = root.folder("/sys/module");
    unknown.note(loaded, "kernel.loaded_outside");
    Json tainting = Json::array();
    for (const std::string& name : loaded.names)
        if (const RootText taint = root.line("/sys/module/" + name + "/taint");
            taint && taint.bytes.find('O') != std::string::npos) {
            const RootText version = root.line("/sys/module/" + name + "/version");
            tainting.push_back(printable(name) + (version ? " " + printable(version.bytes) : ""));
        }
    if (!tainting.as_array().empty())
        kernel["loaded_outside"] = std::move(tainting);
    return kernel;
}

}  // namespace requal::machine
