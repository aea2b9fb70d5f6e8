#include "station/diff_parts.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "station/diff.h"
#include "station/snapshot.h"

namespace requal::station {

namespace {

Severity severity_of(std::string_view name) {
    for (const DifferenceClass& known : difference_classes())
        if (known.name == name)
            return known.severity;
    throw Error(ErrorKind::internal, "no class of differences '" + std::string(name) + "'");
}

const Json nothing;

const Json& member(const Json& object, std::string_view key) {
    return object.is_object() ? object.get(key) : nothing;
}

bool begins(const std::string& text, std::initializer_list<std::string_view> beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view begin) { return text.starts_with(begin); });
}

}  // namespace

Differences::Differences(const Json& before, const Json& after) : before_(before), after_(after) {}

bool Differences::unread(const Json& document, const std::string& path) const {
    const Json& list = member(document, "unknown");
    if (!list.is_array())
        return false;
    return std::any_of(list.as_array().begin(), list.as_array().end(), [&](const Json& item) {
        const std::string what = text_at(item, "what");
        return !what.empty() && path.starts_with(what) &&
               (path.size() == what.size() || path[what.size()] == '.' || path[what.size()] == '[');
    });
}

void Differences::compare(std::string_view name, const std::string& path, const Json& left,
                          const Json& right) {
    if (left == right)
        return;
    if ((left.is_null() && unread(before_, path)) || (right.is_null() && unread(after_, path)))
        name = "unknown";
    found_.push_back(Json::object({{"class", name},
                                   {"severity", name_of(severity_of(name))},
                                   {"path", path},
                                   {"before", left},
                                   {"after", right}}));
}

void Differences::compare_members(std::string_view name, const std::string& path, const Json& left,
                                  const Json& right) {
    std::set<std::string> keys;
    for (const Json* side : {&left, &right})
        if (side->is_object())
            for (const auto& entry : side->as_object())
                keys.insert(entry.first);
    for (const std::string& key : keys) {
        const Json& a = member(left, key);
        const Json& b = member(right, key);
        if (a.is_object() && b.is_object())
            compare_members(name, path + "." + key, a, b);
        else
            compare(name, path + "." + key, a, b);
    }
}

Json Differences::json() const {
    std::vector<Json> sorted = found_;
    const auto rank = [](const Json& item) {
        const std::string severity = item.at("severity").as_string();
        return severity == "high" ? 0 : severity == "medium" ? 1 : severity == "low" ? 2 : 3;
    };
    std::stable_sort(sorted.begin(), sorted.end(), [&](const Json& left, const Json& right) {
        return rank(left) != rank(right)
                   ? rank(left) < rank(right)
                   : left.at("path").as_string() < right.at("path").as_string();
    });
    return Json(Json::Array(std::move(sorted)));
}

Keyed keyed(const Json& array, std::string (*key_of)(const Json&)) {
    Keyed result;
    if (array.is_array())
        for (const Json& item : array.as_array())
            result.emplace(key_of(item), &item);
    return result;
}

namespace {

/// Calls `work(key, left, right)` for all keys of both; a side that lacks it gives null.
template <typename Work>
void for_both(const Keyed& left, const Keyed& right, const Work& work) {
    std::set<std::string> keys;
    for (const Keyed* side : {&left, &right})
        for (const auto& entry : *side)
            keys.insert(entry.first);
    for (const std::string& key : keys) {
        const auto a = left.find(key), b = right.find(key);
        work(key, a == left.end() ? nothing : *a->second, b == right.end() ? nothing : *b->second);
    }
}

void compare_l4t(Differences& found) {
    const Json& left = member(found.before(), "l4t");
    const Json& right = member(found.after(), "l4t");
    const bool release = member(left, "release") != member(right, "release");
    const bool revision = release || member(left, "revision") != member(right, "revision");
    found.compare("jetpack-major", "l4t.release", member(left, "release"),
                  member(right, "release"));
    if (!release)
        found.compare("l4t-point-release", "l4t.revision", member(left, "revision"),
                      member(right, "revision"));
    const bool core = member(left, "core_package") != member(right, "core_package");
    found.compare(release ? "jetpack-major" : "l4t-point-release", "l4t.core_package",
                  member(left, "core_package"), member(right, "core_package"));
    // another release has another file; the same release with another file was tampered with, or was built anew
    if (!revision && !core)
        for (const char* key : {"gcid", "board", "form", "variant", "digest"})
            found.compare("release-file", std::string("l4t.") + key, member(left, key),
                          member(right, key));
    const Json& was_wrong = member(member(left, "checksums"), "wrong");
    const Json& is_wrong = member(member(right, "checksums"), "wrong");
    if (!revision || is_wrong.size() > 0)
        found.compare("release-file", "l4t.checksums.wrong", was_wrong, is_wrong);
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

/// Versions of one library live under one folder and stem: "/usr/lib/x/libnvinfer.so".
std::string library_group(const Json& library) {
    const std::string path = text_at(library, "path");
    const std::size_t so = path.find(".so", path.rfind('/') + 1);
    return so == std::string::npos ? path : path.substr(0, so + 3);
}

Json short_library(const Json& library) {
    if (library.is_null())
        return {};
    return Json::object({{"path", member(library, "path")},
                         {"version", member(library, "version")},
                         {"digest", member(library, "digest")}});
}

void compare_library(Differences& found, const Json& left, const Json& right) {
    const std::string path = "libraries[" + text_at(left, "path") + "]";
    const std::string product = text_at(left, "product");
    if (member(left, "version") != member(right, "version")) {
        found.compare(product == "driver" ? "driver" : "runtime-version", path + ".version",
                      member(left, "version"), member(right, "version"));
        return;
    }
    if (member(left, "path") != member(right, "path"))
        found.compare("library-moved", path + ".path", member(left, "path"), member(right, "path"));
    found.compare("library-replaced", path + ".digest", member(left, "digest"),
                  member(right, "digest"));
    found.compare("library-moved", path + ".soname", member(left, "soname"),
                  member(right, "soname"));
    found.compare("library-moved", path + ".seen_in", member(left, "seen_in"),
                  member(right, "seen_in"));
}

void compare_libraries(Differences& found) {
    std::map<std::string, std::pair<std::vector<const Json*>, std::vector<const Json*>>> groups;
    for (const Json* side : {&found.before(), &found.after()})
        if (const Json& list = member(*side, "libraries"); list.is_array())
            for (const Json& item : list.as_array()) {
                auto& group = groups[library_group(item)];
                (side == &found.before() ? group.first : group.second).push_back(&item);
            }
    for (auto& [stem, group] : groups) {
        auto& [left, right] = group;
        // the same path first; what is left over is paired in its order, as a new version under a new name
        for (auto a = left.begin(); a != left.end();) {
            const auto b = std::find_if(right.begin(), right.end(), [&](const Json* item) {
                return text_at(*item, "path") == text_at(**a, "path");
            });
            if (b == right.end()) {
                ++a;
                continue;
            }
            compare_library(found, **a, **b);
            right.erase(b);
            a = left.erase(a);
        }
        const std::size_t pairs = std::min(left.size(), right.size());
        for (std::size_t i = 0; i < pairs; ++i)
            compare_library(found, *left[i], *right[i]);
        for (std::size_t i = pairs; i < left.size(); ++i)
            found.compare("runtime-version", "libraries[" + text_at(*left[i], "path") + "]",
                          short_library(*left[i]), Json());
        for (std::size_t i = pairs; i < right.size(); ++i)
            found.compare("runtime-version", "libraries[" + text_at(*right[i], "path") + "]",
                          Json(), short_library(*right[i]));
    }
}

std::string_view package_class(const std::string& name) {
    if (begins(name, {"nvidia-l4t-kernel", "linux-image", "linux-modules", "linux-headers"}))
        return "kernel";
    if (name.find("firmware") != std::string::npos ||
        begins(name, {"nvidia-l4t-bootloader", "wireless-regdb"}))
        return "firmware";
    if (begins(name, {"nvidia-l4t-", "nvidia-jetpack", "jetson-"}))
        return "l4t-point-release";
    if (begins(name, {"nvidia-driver", "nvidia-kernel", "libnvidia-"}))
        return "driver";
    if (begins(name, {"docker", "containerd", "runc", "nvidia-container"}))
        return "container";
    if (begins(name, {"libnvinfer", "libnvonnx", "libnvparsers", "tensorrt", "cuda", "libcu",
                      "cudnn", "libonnxruntime", "onnxruntime", "openvino", "libopenvino", "qnn",
                      "hailort", "python3-libnvinfer"}))
        return "runtime-version";
    return "package-state";
}

void compare_packages(Differences& found) {
    const auto key = [](const Json& item) {
        return text_at(item, "name") +
               (text_at(item, "architecture").empty() ? "" : ":" + text_at(item, "architecture"));
    };
    const bool major = member(member(found.before(), "l4t"), "release") !=
                       member(member(found.after(), "l4t"), "release");
    for_both(keyed(member(found.before(), "packages"), key),
             keyed(member(found.after(), "packages"), key),
             [&](const std::string& name, const Json& left, const Json& right) {
                 const std::string path = "packages[" + name + "]";
                 std::string_view kind = package_class(name);
                 if (kind == "l4t-point-release" && major)
                     kind = "jetpack-major";
                 found.compare(kind, path + ".version", member(left, "version"),
                               member(right, "version"));
                 if (!left.is_null() && !right.is_null())
                     found.compare("package-state", path + ".state", member(left, "state"),
                                   member(right, "state"));
             });
    found.compare("other-packages", "packages_other", member(found.before(), "packages_other"),
                  member(found.after(), "packages_other"));
}

void compare_apt(Differences& found) {
    const Json& left = member(found.before(), "apt");
    const Json& right = member(found.after(), "apt");
    std::set<std::string> before, after;
    for (const auto& [apt, names] : {std::pair{&left, &before}, std::pair{&right, &after}})
        if (const Json& list = member(*apt, "holds"); list.is_array())
            for (const Json& item : list.as_array())
                names->insert(item.as_string());
    for (const std::string& name : before)
        if (!after.contains(name))
            found.compare("hold-lost", "apt.holds[" + name + "]", "held", Json());
    for (const std::string& name : after)
        if (!before.contains(name))
            found.compare("hold-added", "apt.holds[" + name + "]", Json(), "held");
    const auto key = [](const Json& item) {
        return text_at(item, "file") + ": " + text_at(item, "entry");
    };
    for_both(keyed(member(left, "sources"), key), keyed(member(right, "sources"), key),
             [&](const std::string& name, const Json& a, const Json& b) {
                 const auto enabled = [](const Json& item) {
                     return member(item, "enabled").is_boolean() && item.at("enabled").as_boolean();
                 };
                 if (enabled(a) == enabled(b))
                     return;
                 const auto word = [&](const Json& item) {
                     return item.is_null() ? Json() : Json(enabled(item) ? "enabled" : "disabled");
                 };
                 found.compare(enabled(b) ? "source-enabled" : "source-disabled",
                               "apt.sources[" + name + "]", word(a), word(b));
             });
    const Json& now = member(right, "unattended_upgrades");
    found.compare(now.is_boolean() && now.as_boolean() ? "upgrades-enabled" : "upgrades-disabled",
                  "apt.unattended_upgrades", member(left, "unattended_upgrades"), now);
}

void compare_engines(Differences& found) {
    const auto key = [](const Json& item) { return text_at(item, "path"); };
    for_both(
        keyed(member(found.before(), "engines"), key), keyed(member(found.after(), "engines"), key),
        [&](const std::string& name, const Json& left, const Json& right) {
            const std::string path = "engines[" + name + "]";
            const Json& from = member(left, "built_from");
            const Json& to = member(right, "built_from");
            found.compare("new-weights", path + ".built_from.model", member(from, "model"),
                          member(to, "model"));
            found.compare("preprocessing", path + ".built_from.preprocess",
                          member(from, "preprocess"), member(to, "preprocess"));
            found.compare("calibration", path + ".built_from.calibration",
                          member(from, "calibration"), member(to, "calibration"));
            const bool told =
                from.is_object() && to.is_object() && !member(from, "model").is_null();
            bool same = told;
            for (const char* part : {"model", "toolchain", "toolchain_version", "options",
                                     "preprocess", "calibration"})
                same = same && member(from, part) == member(to, part);
            found.compare(same ? "engine-rebuilt" : "engine-changed", path + ".digest",
                          member(left, "digest"), member(right, "digest"));
            if (told)
                found.compare("runtime-version", path + ".built_from.toolchain_version",
                              member(from, "toolchain_version"), member(to, "toolchain_version"));
        });
}

void compare_units(Differences& found) {
    const Json& left = member(found.before(), "unit");
    const Json& right = member(found.after(), "unit");
    const bool other = member(left, "id") != member(right, "id");
    found.compare("other-unit", "unit.id", member(left, "id"), member(right, "id"));
    if (other)
        return;
    const Json& engines = member(found.before(), "engines");
    const auto digests = [](const Json& list) {
        std::set<std::string> result;
        if (list.is_array())
            for (const Json& item : list.as_array())
                result.insert(text_at(item, "digest"));
        return result;
    };
    const bool restored =
        engines.size() > 0 && digests(engines) == digests(member(found.after(), "engines"));
    found.compare(restored ? "engine-restored" : "os", "unit.installation",
                  member(left, "installation"), member(right, "installation"));
}

void compare_lists(Differences& found) {
    const auto node = [](const Json& item) { return text_at(item, "node"); };
    for_both(keyed(member(found.before(), "cameras"), node),
             keyed(member(found.after(), "cameras"), node),
             [&](const std::string& name, const Json& left, const Json& right) {
                 if (left.is_null() || right.is_null())
                     found.compare("camera", "cameras[" + name + "]", left, right);
                 else
                     found.compare_members("camera", "cameras[" + name + "]", left, right);
             });
    const auto python = [](const Json& item) {
        return text_at(item, "name") + " in " +
               text_at(item, "path").substr(0, text_at(item, "path").rfind('/'));
    };
    for_both(keyed(member(found.before(), "python"), python),
             keyed(member(found.after(), "python"), python),
             [&](const std::string& name, const Json& left, const Json& right) {
                 const bool runtime = begins(name, {"tensorrt", "onnxruntime", "openvino"});
                 found.compare(runtime ? "runtime-version" : "package-state",
                               "python[" + name + "].version", member(left, "version"),
                               member(right, "version"));
             });
    const auto message = [](const Json& item) { return text_at(item, "message"); };
    for_both(keyed(member(found.before(), "disagreements"), message),
             keyed(member(found.after(), "disagreements"), message),
             [&](const std::string& text, const Json& left, const Json& right) {
                 found.compare("disagreement", "disagreements",
                               left.is_null() ? Json() : Json(text),
                               right.is_null() ? Json() : Json(text));
             });
    const auto bus = [](const Json& item) {
        return text_at(item, "bus");
    };  // empty on a machine whose driver files are hidden
    for_both(keyed(member(found.before(), "gpus"), bus), keyed(member(found.after(), "gpus"), bus),
             [&](const std::string& name, const Json& left, const Json& right) {
                 const std::string path = "gpus[" + name + "]";
                 for (const char* key : {"video_bios", "firmware"})
                     found.compare("firmware", path + "." + key, member(left, key),
                                   member(right, key));
                 for (const char* key : {"model", "compute_capability"})
                     found.compare("other-model", path + "." + key, member(left, key),
                                   member(right, key));
                 for (const char* key : {"ecc", "mig", "persistence", "power_limit_mw",
                                         "graphics_clock_max_mhz", "memory_clock_max_mhz"})
                     found.compare("power-mode", path + "." + key, member(left, key),
                                   member(right, key));
             });
}

}  // namespace

void compare_snapshots(Differences& found) {
    compare_l4t(found);
    compare_libraries(found);
    compare_packages(found);
    compare_apt(found);
    compare_engines(found);
    compare_units(found);
    compare_lists(found);
    const auto part = [&](std::string_view name, const char* key) {
        found.compare_members(name, key, member(found.before(), key), member(found.after(), key));
    };
    part("other-model", "device");
    part("os", "os");
    part("os", "root_file_system");
    part("kernel", "kernel");
    part("power-mode", "power");
    part("container", "container");
    part("security", "security");
    part("time-source", "time_source");
    part("application", "application");
    found.compare("driver", "driver", member(found.before(), "driver"),
                  member(found.after(), "driver"));
    const Json& left = member(found.before(), "boot");
    const Json& right = member(found.after(), "boot");
    for (const char* key : {"extlinux", "kernel_image"})
        found.compare("kernel", std::string("boot.") + key, member(left, key), member(right, key));
    for (const char* key : {"firmware_version", "firmware_date", "bootloader", "boot_settings"})
        found.compare("firmware", std::string("boot.") + key, member(left, key),
                      member(right, key));
    // what a later version added
    static const std::set<std::string, std::less<>> known = {
        "schema",         "requal",  "taken",     "scope",     "unit",
        "state_digest",   "unknown", "l4t",       "libraries", "packages",
        "packages_other", "apt",     "engines",   "cameras",   "python",
        "disagreements",  "gpus",    "device",    "os",        "root_file_system",
        "kernel",         "power",   "container", "security",  "time_source",
        "application",    "driver",  "boot"};
    std::set<std::string> keys;
    for (const Json* side : {&found.before(), &found.after()})
        for (const auto& entry : side->as_object())
            if (!known.contains(entry.first))
                keys.insert(entry.first);
    for (const std::string& key : keys)
        found.compare("other", key, member(found.before(), key), member(found.after(), key));
}

void compare_manifests(Differences& found) {
    const Json& left = found.before();
    const Json& right = found.after();
    bool same = true;
    const auto part = [&](std::string_view name, const char* key, const char* what) {
        const Json& a = member(member(left, key), what);
        const Json& b = member(member(right, key), what);
        same = same && a == b;
        found.compare(name, std::string(key) + "." + what, a, b);
    };
    part("new-weights", "model", "digest");
    part("preprocessing", "preprocess", "digest");
    part("calibration", "calibration", "digest");
    part("runtime-version", "toolchain", "version");
    part("engine-changed", "toolchain", "name");
    same = same && member(left, "options") == member(right, "options");
    found.compare_members("engine-changed", "options", member(left, "options"),
                          member(right, "options"));
    found.compare_members("engine-changed", "shapes", member(left, "shapes"),
                          member(right, "shapes"));
    found.compare_members("engine-changed", "precision", member(left, "precision"),
                          member(right, "precision"));
    found.compare_members("other-model", "target", member(left, "target"), member(right, "target"));
    const auto name = [](const Json& item) { return base_name(text_at(item, "path")); };
    for_both(keyed(member(left, "libraries"), name), keyed(member(right, "libraries"), name),
             [&](const std::string& library, const Json& a, const Json& b) {
                 found.compare("library-replaced", "libraries[" + library + "].digest",
                               member(a, "digest"), member(b, "digest"));
             });
    found.compare(same ? "engine-rebuilt" : "engine-changed", "engine.digest",
                  member(member(left, "engine"), "digest"),
                  member(member(right, "engine"), "digest"));
}

}  // namespace requal::station
