#include "machine/dpkg.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/digest.h"
#include "base/text.h"

namespace requal::machine {

namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 20U;
constexpr std::size_t most_packages = 200'000;

constexpr std::array<std::string_view, 5> wants = {"unknown", "install", "hold", "deinstall",
                                                   "purge"};
constexpr std::string_view want_letters = "uihrp";
constexpr std::array<std::string_view, 8> states = {
    "not-installed",   "config-files",     "half-installed",   "unpacked",
    "half-configured", "triggers-awaited", "triggers-pending", "installed"};
constexpr std::string_view state_letters = "ncHUFWti";

template <std::size_t N>
char letter_of(std::string_view word, const std::array<std::string_view, N>& words,
               std::string_view letters) {
    const auto found = std::find(words.begin(), words.end(), word);
    return found == words.end() ? '?' : letters[static_cast<std::size_t>(found - words.begin())];
}

bool is_package_name(std::string_view name) {
    return !name.empty() && name.size() <= 256 && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '-' || c == '.' || c == '_';
    });
}

/// Fields of the stanza that is being read.
struct Stanza {
    std::size_t line = 0;
    bool any = false;
    std::string damage;
    Package package;
};

void end_stanza(Stanza& stanza, DpkgStatus& status) {
    if (stanza.any) {
        std::string damage = stanza.damage;
        const auto known = [](const auto& words, const std::string& word) {
            return std::find(words.begin(), words.end(), word) != words.end();
        };
        if (damage.empty() && !is_package_name(stanza.package.name))
            damage = "a stanza without a package name";
        if (damage.empty() &&
            (!known(wants, stanza.package.want) || !known(states, stanza.package.state)))
            damage = "the status of " + stanza.package.name + " is not understood";
        if (damage.empty() && status.packages.size() < most_packages)
            status.packages.push_back(stanza.package);
        else if (status.problems.size() < 20)
            status.problems.push_back("line " + std::to_string(stanza.line) + ": " +
                                      (damage.empty() ? "too many packages" : damage));
    }
    stanza = Stanza();
}

}  // namespace

std::string Package::abbreviation() const {
    std::string text = {letter_of(want, wants, want_letters),
                        letter_of(state, states, state_letters)};
    return flag == "reinstreq" ? text + "R" : text;
}

DpkgStatus parse_dpkg_status(std::string_view text) {
    DpkgStatus status;
    Stanza stanza;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        if (trimmed(line).empty()) {
            end_stanza(stanza, status);
            continue;
        }
        if (!stanza.any)
            stanza.line = number;
        stanza.any = true;
        if (line.find('\0') != std::string_view::npos)
            stanza.damage = "a NUL byte";
        if (line.front() == ' ' || line.front() == '\t')
            continue;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) {
            stanza.damage = "a line without a colon";
            continue;
        }
        const std::string_view key = line.substr(0, colon);
        const std::string_view value = trimmed(line.substr(colon + 1));
        const auto keep = [&](std::string& place) {
            if (!place.empty())
                stanza.damage = "'" + printable(key) + "' stands twice";
            else if (value.size() > 1024)
                stanza.damage = "'" + printable(key) + "' is too long";
            else
                place = value;
        };
        if (key == "Package") {
            keep(stanza.package.name);
        } else if (key == "Version") {
            keep(stanza.package.version);
        } else if (key == "Architecture") {
            keep(stanza.package.architecture);
        } else if (key == "Status") {
            const auto words = words_of(value);
            if (words.size() == 3) {
                stanza.package.want = words[0];
                stanza.package.flag = words[1];
                stanza.package.state = words[2];
            }
        }
    }
    end_stanza(stanza, status);
    return status;
}

bool matters(std::string_view package) {
    static constexpr std::string_view beginnings[] = {"nvidia-",
                                                      "libnvidia-",
                                                      "cuda-",
                                                      "cuda",
                                                      "libcudnn",
                                                      "cudnn",
                                                      "libnv",
                                                      "libcu",
                                                      "libnccl",
                                                      "libnpp",
                                                      "tensorrt",
                                                      "python3-libnvinfer",
                                                      "graphsurgeon",
                                                      "onnx-graphsurgeon",
                                                      "uff-",
                                                      "deepstream",
                                                      "jetson-",
                                                      "linux-image",
                                                      "linux-modules",
                                                      "linux-headers",
                                                      "linux-firmware",
                                                      "wireless-regdb",
                                                      "docker",
                                                      "containerd",
                                                      "runc",
                                                      "libonnxruntime",
                                                      "onnxruntime",
                                                      "openvino",
                                                      "libopenvino",
                                                      "intel-opencl",
                                                      "intel-level-zero",
                                                      "libopencl",
                                                      "ocl-icd",
                                                      "qnn",
                                                      "qairt",
                                                      "hailort",
                                                      "libopencv",
                                                      "vpi",
                                                      "libvpi",
                                                      "unattended-upgrades",
                                                      "libc6",
                                                      "chrony",
                                                      "systemd-timesyncd",
                                                      "ntp"};
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view begin) { return package.starts_with(begin); });
}

Json probe_packages(const Root& root, Unknown& unknown, std::string& core_version) {
    Json result = Json::object();
    DpkgStatus status;
    const RootText text = root.text("/var/lib/dpkg/status", most_bytes);
    bool any = unknown.note(text, "packages");
    if (any)
        status = parse_dpkg_status(text.bytes);
    // images without a package manager keep one stanza a file
    const RootFolder folder = root.folder("/var/lib/dpkg/status.d");
    unknown.note(folder, "packages");
    for (const std::string& name : folder.names) {
        if (name.ends_with(".md5sums"))
            continue;
        const RootText one = root.text("/var/lib/dpkg/status.d/" + name);
        if (!unknown.note(one, "packages[" + printable(name) + "]"))
            continue;
        any = true;
        DpkgStatus more = parse_dpkg_status(one.bytes);
        for (Package& package : more.packages) {
            if (package.want.empty())
                package.want = "install";
            status.packages.push_back(std::move(package));
        }
    }
    for (const char* place : {"/var/lib/rpm", "/usr/lib/sysimage/rpm"})
        if (root.exists(std::string(place) + "/rpmdb.sqlite") ||
            root.exists(std::string(place) + "/Packages"))
            unknown.add("packages.rpm", "rpm's database is not read by this version");
    if (!any)
        return result;
    if (!status.problems.empty())
        unknown.add("packages.damaged",
                    "/var/lib/dpkg/status, " + status.problems.front() +
                        (status.problems.size() > 1 ? ", and further places" : ""));
    std::sort(status.packages.begin(), status.packages.end(),
              [](const Package& left, const Package& right) {
                  return std::tie(left.name, left.architecture, left.version) <
                         std::tie(right.name, right.architecture, right.version);
              });
    Json packages = Json::array(), holds = Json::array();
    Hasher others;
    std::int64_t count = 0;
    for (const Package& package : status.packages) {
        if (package.state == "not-installed" && package.want != "hold")
            continue;
        if (package.name == "nvidia-l4t-core" && package.is_installed())
            core_version = package.version;
        if (package.want == "hold")
            holds.push_back(package.name);
        if (matters(package.name) || package.want == "hold") {
            packages.push_back(
                Json::object({{"name", package.name},
                              {"version", package.version.empty() ? Json() : Json(package.version)},
                              {"architecture", package.architecture},
                              {"want", package.want},
                              {"state", package.state},
                              {"abbreviation", package.abbreviation()}}));
        } else if (package.is_installed()) {
            ++count;
            others.update(package.name + " " + package.architecture + " " + package.version + " " +
                          package.abbreviation() + "\n");
        }
    }
    result["packages"] = std::move(packages);
    result["packages_other"] = Json::object({{"count", count}, {"digest", others.finish().text()}});
    result["holds"] = std::move(holds);
    return result;
}

}  // namespace requal::machine
