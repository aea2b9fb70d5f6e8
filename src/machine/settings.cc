// How this device is set up: power, container, boot, security, root file system, time, cameras, driver files.
#include <sys/timex.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include "machine/probe.h"

namespace requal::machine {

namespace {

/// {"path", "digest"} of a settings file; null when it is absent.
Json file_digest(const Root& root, const std::string& path, const std::string& what,
                 Unknown& unknown) {
    const RootText text = root.text(path);
    if (!unknown.note(text, what))
        return {};
    return Json::object({{"path", path}, {"digest", digest_of(text.bytes).text()}});
}

/// "MAXN" of "< POWER_MODEL ID=0 NAME=MAXN >".
std::string mode_name(std::string_view text, std::string_view id) {
    for (const std::string_view line : lines_of(text)) {
        if (line.find("POWER_MODEL") == std::string_view::npos)
            continue;
        std::string name;
        bool ours = false;
        for (const std::string_view word : words_of(line)) {
            if (word == "ID=" + std::string(id))
                ours = true;
            else if (word.starts_with("NAME="))
                name = word.substr(5);
        }
        if (ours)
            return printable(name);
    }
    return {};
}

}  // namespace

Json probe_power(const Root& root, Unknown& unknown) {
    Json power = Json::object();
    const RootText table = root.text("/etc/nvpmodel.conf");
    if (unknown.note(table, "power.nvpmodel")) {
        Json nvpmodel = Json::object({{"digest", digest_of(table.bytes).text()}});
        for (const std::string_view line : lines_of(table.bytes))
            if (line.find("PM_CONFIG") != std::string_view::npos)
                for (const std::string_view word : words_of(line))
                    if (word.starts_with("DEFAULT="))
                        nvpmodel["default_mode"] = printable(word.substr(8));
        const RootText status = root.line("/var/lib/nvpmodel/status");
        if (unknown.note(status, "power.nvpmodel.mode")) {
            // "pmode:0002", and a fan profile behind it on older releases
            const std::size_t at = status.bytes.find("pmode:");
            const std::string_view digits = at == std::string::npos
                                                ? std::string_view()
                                                : std::string_view(status.bytes).substr(at + 6, 4);
            if (const auto mode =
                    parse_integer(digits.substr(0, digits.find_first_not_of("0123456789")))) {
                nvpmodel["mode"] = *mode;
                if (const std::string name = mode_name(table.bytes, std::to_string(*mode));
                    !name.empty())
                    nvpmodel["mode_name"] = name;
            } else {
                unknown.add("power.nvpmodel.mode",
                            "/var/lib/nvpmodel/status has a form that is not known");
            }
        } else if (status.presence == Presence::absent) {
            unknown.add("power.nvpmodel.mode", "there is no /var/lib/nvpmodel/status");
        }
        power["nvpmodel"] = std::move(nvpmodel);
    }
    // locked by jetson_clocks when the lowest frequency is the highest
    const RootFolder devices = root.folder("/sys/class/devfreq");
    for (const std::string& name : devices.names) {
        if (name.find("gpu") == std::string::npos && name.find("ga10b") == std::string::npos &&
            name.find("gv11b") == std::string::npos && name.find("gp10b") == std::string::npos)
            continue;
        const RootText low = root.line("/sys/class/devfreq/" + name + "/min_freq");
        const RootText high = root.line("/sys/class/devfreq/" + name + "/max_freq");
        if (unknown.note(low, "power.gpu_clock") && unknown.note(high, "power.gpu_clock"))
            power["gpu_clock"] = Json::object({{"min_hz", parse_integer(low.bytes).value_or(0)},
                                               {"max_hz", parse_integer(high.bytes).value_or(0)},
                                               {"locked", low.bytes == high.bytes}});
    }
    if (power.has("nvpmodel") && !power.has("gpu_clock"))
        unknown.add("power.jetson_clocks", "the GPU's clock limits are not there to be read");
    if (Json fan = file_digest(root, "/etc/nvfancontrol.conf", "power.fan", unknown);
        !fan.is_null())
        power["fan"] = std::move(fan);
    if (const RootText governor =
            root.line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        unknown.note(governor, "power.cpu_governor"))
        power["cpu_governor"] = printable(governor.bytes);
    return power;
}

Json probe_container(const Root& root, Unknown& unknown) {
    Json container = Json::object();
    Json signs = Json::array();
    for (const char* path : {"/.dockerenv", "/run/.containerenv"})
        if (root.exists(path))
            signs.push_back(path);
    if (const RootText text = root.line("/proc/1/cgroup"); unknown.note(text, "container"))
        for (const char* word : {"docker", "kubepods", "containerd", "lxc", "libpod"})
            if (text.bytes.find(word) != std::string::npos) {
                signs.push_back(std::string("/proc/1/cgroup names ") + word);
                break;
            }
    if (const RootText text = root.line("/run/systemd/container"); text)
        signs.push_back("/run/systemd/container: " + printable(text.bytes));
    container["inside"] = !signs.as_array().empty();
    if (!signs.as_array().empty()) {
        container["signs"] = std::move(signs);
        unknown.add("container.host",
                    "from inside a container the host's packages and settings are not seen");
    }
    for (const auto& [key, path] :
         {std::pair<const char*, const char*>{"docker", "/etc/docker/daemon.json"},
          {"nvidia", "/etc/nvidia-container-runtime/config.toml"},
          {"containerd", "/etc/containerd/config.toml"}})
        if (Json file = file_digest(root, path, std::string("container.") + key, unknown);
            !file.is_null())
            container[key] = std::move(file);
    return container;
}

Json probe_boot(const Root& root, Unknown& unknown) {
    Json boot = Json::object();
    for (const auto& [key, path] :
         {std::pair<const char*, const char*>{"firmware_version", "/sys/class/dmi/id/bios_version"},
          {"firmware_date", "/sys/class/dmi/id/bios_date"},
          {"bootloader", "/proc/device-tree/chosen/nvidia,bootloader-version"}})
        if (const RootText text = root.line(path); unknown.note(text, std::string("boot.") + key))
            boot[key] = printable(text.bytes);
    for (const auto& [key, path] :
         {std::pair<const char*, const char*>{"extlinux", "/boot/extlinux/extlinux.conf"},
          {"boot_settings", "/etc/nv_boot_control.conf"}})
        if (const RootText text = root.text(path); unknown.note(text, std::string("boot.") + key)) {
            std::string kept;
            for (const std::string_view line : lines_of(text.bytes))  // these name the unit
                if (line.find("UUID") == std::string_view::npos &&
                    line.find("TNSPEC") == std::string_view::npos)
                    kept += std::string(line) + "\n";
            boot[key] = digest_of(kept).text();
        }
    // the kernel image itself
    if (const RootText image = root.text("/boot/Image", std::size_t{256} << 20U);
        unknown.note(image, "boot.kernel_image"))
        boot["kernel_image"] = digest_of(image.bytes).text();
    return boot;
}

Json probe_security(const Root& root, Unknown& unknown) {
    Json security = Json::object();
    const RootFolder variables = root.folder("/sys/firmware/efi/efivars");
    unknown.note(variables, "security.secure_boot");
    for (const std::string& name : variables.names)
        if (name.starts_with("SecureBoot-"))
            if (const RootText text = root.text("/sys/firmware/efi/efivars/" + name);
                unknown.note(text, "security.secure_boot") && text.bytes.size() == 5)
                security["secure_boot"] = text.bytes[4] == '\1';
    if (!security.has("secure_boot"))
        unknown.add("security.secure_boot", "no firmware variable tells it");
    const RootFolder blocks = root.folder("/sys/class/block");
    unknown.note(blocks, "security.mapped_disks");
    std::vector<std::string> mapped;
    for (const std::string& name : blocks.names)
        if (const RootText text = root.line("/sys/class/block/" + name + "/dm/uuid"); text)
            mapped.push_back(
                printable(std::string_view(text.bytes).substr(0, text.bytes.find('-'))));
    std::sort(mapped.begin(), mapped.end());
    if (!mapped.empty())
        security["mapped_disks"] = text_array(mapped);  // CRYPT: encrypted, LVM, ..
    if (const RootText text = root.line("/proc/cmdline"); text)
        security["verity"] = text.bytes.find("dm-mod.create=") != std::string::npos ||
                             text.bytes.find("verity") != std::string::npos;
    return security;
}

Json probe_root_file_system(const Root& root, Unknown& unknown) {
    Json result = Json::object();
    RootText text = root.text("/proc/self/mounts");
    if (!root.is_this_computer() || text.presence == Presence::absent)
        text = root.text("/etc/fstab");
    if (!unknown.note(text, "root_file_system"))
        return result;
    for (const std::string_view line : lines_of(text.bytes)) {
        const auto words = words_of(line);
        if (words.size() < 4 || words[0].starts_with('#') || words[1] != "/")
            continue;
        result["type"] = printable(words[2]);
        result["read_only"] = ("," + std::string(words[3]) + ",").find(",ro,") != std::string::npos;
    }
    return result;
}

Json probe_time_source(const Root& root, Unknown& unknown) {
    Json result = Json::object();
    Json enabled = Json::array();
    for (const char* folder : {"/etc/systemd/system/multi-user.target.wants",
                               "/etc/systemd/system/sysinit.target.wants"}) {
        const RootFolder found = root.folder(folder);
        unknown.note(found, "time_source");
        for (const std::string& name : found.names)
            for (const char* service : {"systemd-timesyncd", "chrony", "ntp", "ptp4l", "phc2sys"})
                if (name.starts_with(service))
                    enabled.push_back(printable(name));
    }
    if (!enabled.as_array().empty())
        result["enabled"] = std::move(enabled);
    for (const auto& [key, path] :
         {std::pair<const char*, const char*>{"timesyncd", "/etc/systemd/timesyncd.conf"},
          {"chrony", "/etc/chrony/chrony.conf"},
          {"ntp", "/etc/ntp.conf"},
          {"ptp", "/etc/linuxptp/ptp4l.conf"}})
        if (Json file = file_digest(root, path, std::string("time_source.") + key, unknown);
            !file.is_null())
            result[key] = std::move(file);
    if (const RootText zone = root.link("/etc/localtime"); zone) {
        const std::size_t at = zone.bytes.find("zoneinfo/");
        if (at != std::string::npos)
            result["zone"] = printable(zone.bytes.substr(at + 9));
    }
    return result;
}

Json probe_cameras(const Root& root, Unknown& unknown) {
    Json cameras = Json::array();
    const RootFolder devices = root.folder("/sys/class/video4linux");
    unknown.note(devices, "cameras");
    for (const std::string& name : devices.names) {
        const std::string place = "/sys/class/video4linux/" + name;
        Json camera = Json::object({{"node", printable(name)}});
        if (const RootText text = root.line(place + "/name");
            unknown.note(text, "cameras[" + printable(name) + "].name"))
            camera["name"] = printable(text.bytes);
        if (const RootText driver = root.link(place + "/device/driver"); driver)
            camera["driver"] = printable(driver.bytes.substr(driver.bytes.rfind('/') + 1));
        // a USB camera is an interface of a device that tells its release
        for (const char* at : {"/device", "/device/.."}) {
            const RootText version = root.line(place + at + "/bcdDevice");
            if (!version)
                continue;
            camera["firmware"] = printable(version.bytes);
            for (const auto& [key, file] :
                 {std::pair<const char*, const char*>{"vendor_id", "idVendor"},
                  {"product_id", "idProduct"}})
                if (const RootText text = root.line(place + at + "/" + file); text)
                    camera[key] = printable(text.bytes);
            break;
        }
        if (!camera.has("firmware"))
            unknown.add("cameras[" + printable(name) + "].firmware", "its driver does not tell it");
        cameras.push_back(std::move(camera));
    }
    if (!cameras.as_array().empty())
        unknown.add("cameras.mode", "frame size, rate and trigger are not read");
    unknown.add("cameras.network", "cameras on a network are not looked for");
    return cameras;
}

Json probe_driver_files(const Root& root, Unknown& unknown) {
    Json result = Json::object();
    if (const RootText text = root.text("/proc/driver/nvidia/version");
        unknown.note(text, "driver")) {
        const auto lines = lines_of(text.bytes);
        for (const std::string_view word :
             lines.empty() ? std::vector<std::string_view>() : words_of(lines[0]))
            if (word.find('.') != std::string_view::npos && word[0] >= '0' && word[0] <= '9') {
                result["driver"] = printable(word);
                break;
            }
    }
    const RootFolder folder = root.folder("/proc/driver/nvidia/gpus");
    unknown.note(folder, "gpus");
    Json gpus = Json::array();
    for (const std::string& name : folder.names) {
        const RootText text = root.text("/proc/driver/nvidia/gpus/" + name + "/information");
        if (!unknown.note(text, "gpus[" + printable(name) + "]"))
            continue;
        Json gpu = Json::object({{"bus", printable(name)}});
        for (const std::string_view line : lines_of(text.bytes)) {
            const std::size_t colon = line.find(':');
            if (colon == std::string_view::npos)
                continue;
            const std::string_view key = trimmed(line.substr(0, colon));
            const std::string value = printable(trimmed(line.substr(colon + 1)));
            if (key == "Model")
                gpu["model"] = value;
            else if (key == "Video BIOS")
                gpu["video_bios"] = value;
            else if (key == "GPU Firmware")
                gpu["firmware"] = value;
        }
        gpus.push_back(std::move(gpu));
    }
    if (!gpus.as_array().empty())
        result["gpus"] = std::move(gpus);
    return result;
}

}  // namespace requal::machine
