#include "station/snapshot.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/document.h"
#include "base/error.h"
#include "base/text.h"
#include "machine/dpkg.h"
#include "machine/hash_files.h"
#include "machine/libraries.h"
#include "machine/probe.h"
#include "machine/tegra_release.h"

namespace requal::station {

namespace {

using machine::Root;
using machine::Unknown;

void set_part(Json& document, const char* key, Json part) {
    if (part.size() > 0)
        document[key] = std::move(part);
}

/// What an engine was built from, of the engine manifest beside it.
Json built_from(const Json& manifest) {
    Json result = Json::object();
    for (const auto& [key, part, member] :
         {std::tuple<const char*, const char*, const char*>{"model", "model", "digest"},
          {"toolchain", "toolchain", "name"},
          {"toolchain_version", "toolchain", "version"},
          {"preprocess", "preprocess", "digest"},
          {"calibration", "calibration", "digest"},
          {"engine_digest", "engine", "digest"}})
        if (const std::string text = text_at(manifest.get(part), member); !text.empty())
            result[key] = text;
    if (!manifest.get("options").is_null())
        result["options"] = digest_of(write_json_compact(manifest.at("options"))).text();
    return result;
}

Json engine_entry(const Root& root, const std::string& path, const machine::HashOptions& options,
                  Unknown& unknown) {
    const machine::RootFile file = root.file(path, false);
    if (!file)
        throw Error(ErrorKind::input,
                    file.presence == machine::Presence::absent ? "there is no such engine"
                                                               : file.reason,
                    path, "--engine names a file as the machine sees it");
    std::vector<machine::HashJob> jobs(1);
    jobs[0].path = path;
    machine::hash_files(root, jobs, options);
    if (jobs[0].digest.empty())
        throw Error(ErrorKind::storage, "the engine could not be read: " + jobs[0].reason, path);
    Json entry = Json::object({{"path", printable(path)},
                               {"digest", jobs[0].digest},
                               {"size_bytes", static_cast<std::uint64_t>(file.info.st_size)}});
    const std::string what = "engines[" + printable(path) + "].built_from";
    const machine::RootText manifest = root.text(path + ".manifest.json", std::size_t{64} << 20U);
    if (manifest.presence == machine::Presence::absent)
        unknown.add(what, "there is no engine manifest beside it");
    if (!unknown.note(manifest, what))
        return entry;
    try {
        const Json document = parse_json(manifest.bytes, path + ".manifest.json");
        require_schema(document, "engine-manifest", 1, path + ".manifest.json");
        entry["built_from"] = built_from(document);
        if (const std::string said = text_at(entry.at("built_from"), "engine_digest");
            !said.empty() && said != jobs[0].digest)
            unknown.add(what, "its engine manifest is of another engine");
    } catch (const Error& error) {
        unknown.add(what, error.what());
    }
    return entry;
}

/// How a GPU is set up, as far as the driver told.
void add_setup(Json& gpu, const machine::GpuSetup& setup, const std::string& place,
               Unknown& unknown) {
    if (!setup.video_bios.empty())
        gpu["video_bios"] = setup.video_bios;
    for (const auto& [key, value] : {std::pair<const char*, std::optional<bool>>{"ecc", setup.ecc},
                                     {"mig", setup.mig},
                                     {"persistence", setup.persistence}})
        if (value)
            gpu[key] = *value;
    for (const auto& [key, value] :
         {std::pair<const char*, std::optional<unsigned>>{"power_limit_mw", setup.power_limit_mw},
          {"graphics_clock_max_mhz", setup.graphics_clock_max_mhz},
          {"memory_clock_max_mhz", setup.memory_clock_max_mhz}})
        if (value)
            gpu[key] = std::uint32_t{*value};
    for (const std::string& line : setup.unknown) {
        const std::size_t colon = line.find(": ");
        unknown.add(place + line.substr(0, colon), line.substr(colon + 2));
    }
}

/// What the driver told, beside what its files told.
void add_gpus(Json& document, const SnapshotRequest& request, Unknown& unknown) {
    if (!request.gpus) {
        if (request.sysroot.empty())
            unknown.add("gpus.driver", "the driver's library was not asked");
    } else if (!request.gpus->why_not.empty()) {
        unknown.add("gpus.driver", request.gpus->why_not);
    } else {
        if (!request.gpus->driver.empty())
            document["driver"] = request.gpus->driver;
        Json list = document.get("gpus").is_array() ? document.at("gpus") : Json::array();
        const bool side_by_side = list.size() == request.gpus->list.size();
        for (std::size_t i = 0; i < request.gpus->list.size(); ++i) {
            if (!side_by_side && i >= list.size())
                list.push_back(Json::object());
            Json& gpu = list.as_array()[i];
            if (!gpu.has("bus"))  // its files are hidden, as in a container
                gpu["bus"] = "number " + std::to_string(i);
            gpu["model"] = request.gpus->list[i].model;
            gpu["compute_capability"] = request.gpus->list[i].compute_capability;
            if (i < request.gpus->setup.size())
                add_setup(gpu, request.gpus->setup[i], "gpus[" + std::to_string(i) + "].", unknown);
        }
        if (list.size() > 0)
            document["gpus"] = std::move(list);
    }
    if (!document.get("gpus").is_array())
        return;
    // a machine whose GPUs are all of one model is, for an engine, that model
    std::set<std::string> models, capabilities;
    for (const Json& gpu : document.at("gpus").as_array()) {
        models.insert(text_at(gpu, "model"));
        capabilities.insert(text_at(gpu, "compute_capability"));
    }
    Json& device = document["device"];
    if (models.size() == 1 && !models.begin()->empty() && !device.has("model"))
        device["model"] = *models.begin();
    if (capabilities.size() == 1 && !capabilities.begin()->empty())
        device["compute_capability"] = *capabilities.begin();
}

/// Keys of the document that are no part of the state; everything else is, also what later versions add.
bool is_state(std::string_view key) {
    static constexpr std::string_view others[] = {
        "schema", "requal", "taken", "scope", "unit", "state_digest", "application", "unknown"};
    return std::find(std::begin(others), std::end(others), key) == std::end(others);
}

/// Without what differs between two equal machines.
Json plain(const Json& value) {
    static const std::set<std::string, std::less<>> left_out = {"inode", "mtime_ns", "changed_ns",
                                                                "digest_from", "bus"};
    if (value.is_array()) {
        Json list = Json::array();
        for (const Json& item : value.as_array())
            list.push_back(plain(item));
        return list;
    }
    if (!value.is_object())
        return value;
    Json object = Json::object();
    for (const auto& [key, member] : value.as_object())
        if (!left_out.contains(key))
            object[key] = plain(member);
    return object;
}

}  // namespace

std::string text_at(const Json& object, std::string_view key) {
    if (!object.is_object())
        return {};
    const Json& value = object.get(key);
    return value.is_string() ? value.as_string() : std::string();
}

Digest state_digest(const Json& snapshot) {
    Json state = Json::object();
    for (const auto& [key, value] : snapshot.as_object())
        if (is_state(key))
            state[key] = plain(value);
    return digest_of(write_json_compact(state));
}

Json take_snapshot(const SnapshotRequest& request, const Clock& clock) {
    const Root root(request.sysroot);
    Unknown unknown;
    Json document = new_document("snapshot", 1);
    const Json stamp = time_stamp(clock);
    document["taken"] = Json::object({{"wall", stamp.at("wall")}, {"clock", stamp.at("clock")}});
    document["device"] = machine::probe_device(root, unknown);
    set_part(document, "unit", machine::probe_unit(root, unknown));
    document["os"] = machine::probe_os(root, unknown);
    document["l4t"] = machine::probe_l4t(root, unknown);
    document["kernel"] = machine::probe_kernel(root, unknown);
    const Json driver = machine::probe_driver_files(root, unknown);
    for (const auto& [key, value] : driver.as_object())
        document[key] = value;
    add_gpus(document, request, unknown);

    std::string core;
    Json packages = machine::probe_packages(root, unknown, core);
    Json holds = packages.get("holds");
    document["packages"] = packages.has("packages") ? packages.at("packages") : Json::array();
    if (packages.has("packages_other"))
        document["packages_other"] = packages.at("packages_other");
    if (!packages.has("packages"))
        unknown.add("packages", "dpkg's database is not there");
    if (!core.empty())
        document["l4t"]["core_package"] = core;

    Json apt = machine::probe_apt(root, unknown);
    if (holds.is_array())
        apt["holds"] = std::move(holds);
    set_part(document, "apt", std::move(apt));

    machine::LibraryRequest libraries;
    libraries.folders = request.folders;
    libraries.hashing = {
        .jobs = request.jobs, .idle = request.idle, .bytes_per_second = request.bytes_per_second};
    libraries.stop = request.stop;
    if (request.earlier.is_object())
        libraries.earlier = request.earlier.get("libraries");
    machine::LibraryFacts found =
        machine::probe_libraries(root, libraries, document.at("packages"), unknown);
    if (request.stop && request.stop())
        throw Error(ErrorKind::interrupted, "interrupted", "", "run it again");
    // the release file and the package that owns it
    const std::string release = text_at(document.at("l4t"), "release");
    const std::string version = release + "." + text_at(document.at("l4t"), "revision");
    if (!core.empty() && !release.empty() && !(core.starts_with(version + "-") || core == version))
        found.disagreements.push_back(
            Json::object({{"what", "release file and package"},
                          {"message", "/etc/nv_tegra_release says " + version +
                                          ", nvidia-l4t-core is " + core}}));
    document["libraries"] = std::move(found.libraries);
    document["python"] = std::move(found.python);
    document["disagreements"] = std::move(found.disagreements);

    set_part(document, "power", machine::probe_power(root, unknown));
    set_part(document, "container", machine::probe_container(root, unknown));
    set_part(document, "boot", machine::probe_boot(root, unknown));
    set_part(document, "security", machine::probe_security(root, unknown));
    set_part(document, "root_file_system", machine::probe_root_file_system(root, unknown));
    set_part(document, "time_source", machine::probe_time_source(root, unknown));
    set_part(document, "cameras", machine::probe_cameras(root, unknown));
    Json engines = Json::array();
    for (const std::string& path : request.engines)
        engines.push_back(engine_entry(root, path, libraries.hashing, unknown));
    set_part(document, "engines", std::move(engines));
    set_part(document, "application", request.application);
    if (request.application_unknown.is_array())
        for (const Json& item : request.application_unknown.as_array())
            unknown.add(item.at("what").as_string(), item.at("reason").as_string());

    document["scope"] =
        Json::object({{"root", request.sysroot.empty() ? "this computer" : "sysroot"},
                      {"privileged", ::geteuid() == 0},
                      {"trusted_digests", found.trusted}});
    document["unknown"] = unknown.json();
    document["state_digest"] = state_digest(document).text();
    return document;
}

Json checked_snapshot(Json document, const std::string& source) {
    require_schema(document, "snapshot", 1, source);
    const std::string said = text_at(document, "state_digest");
    if (said.empty())
        throw Error(ErrorKind::input, "it has no state_digest", source,
                    "give a snapshot as 'requal snapshot' writes it");
    if (said != state_digest(document).text())
        throw Error(ErrorKind::storage,
                    "it was altered: its state_digest is not that of its content", source,
                    "take a fresh snapshot, or fetch the original");
    return document;
}

Json read_snapshot(const std::string& text, const std::string& source) {
    return checked_snapshot(parse_json(text, source, {.size_bytes = std::size_t{64} << 20U}),
                            source);
}

std::string snapshot_text(const Json& snapshot) {
    std::string text;
    const auto line = [&](const char* name, const std::string& value) {
        if (!value.empty())
            text += std::string(name) + std::string(18 - std::string_view(name).size(), ' ') +
                    printable(value) + "\n";
    };
    const auto count = [](const Json& list) { return std::to_string(list.size()); };
    const Json& device = snapshot.at("device");
    line("state", snapshot.at("state_digest").as_string());
    line("device",
         text_at(device, "model").empty() ? text_at(device, "product") : text_at(device, "model"));
    line("module", text_at(device, "module") +
                       (text_at(device, "board").empty() ? "" : " on " + text_at(device, "board")));
    line("system",
         text_at(snapshot.at("os"), "pretty") + " " + text_at(snapshot.at("os"), "architecture"));
    const Json& l4t = snapshot.at("l4t");
    if (!text_at(l4t, "release").empty())
        line("L4T", "r" + text_at(l4t, "release") + "." + text_at(l4t, "revision"));
    line("kernel", text_at(snapshot.at("kernel"), "release"));
    line("driver", text_at(snapshot, "driver"));
    if (snapshot.get("power").is_object())
        line("power mode", text_at(snapshot.at("power").get("nvpmodel"), "mode_name"));
    for (const char* name :
         {"libnvinfer.so", "libcudart.so", "libcudnn.so", "libonnxruntime.so", "libopenvino.so"})
        for (const Json& library : snapshot.at("libraries").as_array()) {
            const std::string path = text_at(library, "path");
            if (path.substr(path.rfind('/') + 1).starts_with(name))
                line("library",
                     path + "  " +
                         (text_at(library, "version").empty() ? "version unknown"
                                                              : text_at(library, "version")));
        }
    line("libraries", count(snapshot.at("libraries")));
    line("packages", count(snapshot.at("packages")) + " that matter");
    if (snapshot.get("apt").is_object() && snapshot.at("apt").get("holds").is_array())
        line("holds", count(snapshot.at("apt").at("holds")));
    for (const Json& item : snapshot.at("disagreements").as_array())
        line("disagreement", text_at(item, "message"));
    for (const Json& item : snapshot.at("unknown").as_array())
        line("unknown", text_at(item, "what") + ": " + text_at(item, "reason"));
    return text;
}

}  // namespace requal::station
