#include "build/engine_build.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <future>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/digest.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "graph/model.h"
#include "machine/host.h"
#include "toolchain/client.h"

namespace requal::build {

namespace {

namespace fs = std::filesystem;

struct BuiltFile {
    std::string temporary;
    std::string name;
    std::uint64_t size_bytes = 0;
    Digest digest;
};

Json shape_json(const Shape& shape) {
    Json result = Json::array();
    for (const std::int64_t extent : shape) {
        result.push_back(extent);
    }
    return result;
}

Json runner_options(const BuildRequest& request, const graph::Summary& model) {
    Json options = request.options;
    if (request.precision != "default") {
        options["precision"] = request.precision;
    }
    for (const auto& [name, shape] : request.shapes) {
        bool known = false;
        for (const graph::ValueInfo& input : model.inputs) {
            known = known || input.name == name;
        }
        if (!known) {
            throw Error(ErrorKind::usage, "the model has no input '" + name + "'", "--shape");
        }
        options["shape." + name] = text_of(shape);
    }
    return options;
}

std::string folder_of(const std::string& path) {
    const std::string folder = fs::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

void require_free(const BuildRequest& request) {
    std::error_code same;
    if (fs::equivalent(request.output_path, request.model_path, same)) {
        throw Error(ErrorKind::input, "is the model itself", request.output_path,
                    "choose another name");
    }
    if (request.overwrite) {
        return;
    }
    for (const std::string& path : {request.output_path, manifest_path_of(request.output_path)}) {
        std::error_code ignored;
        if (fs::exists(fs::symlink_status(path, ignored))) {
            throw Error(ErrorKind::input, "exists already", path,
                        "choose another name, or give --force to replace it");
        }
    }
}

/// The engine first, then what it is made of; all inside the temporary folder.
std::vector<BuiltFile> built_files(const Json& facts, const std::string& folder,
                                   const std::string& engine_name) {
    std::vector<BuiltFile> files;
    files.push_back({folder + "/" + engine_name, engine_name, 0, {}});
    if (facts.get("files").is_array()) {
        for (const Json& file : facts.get("files").as_array()) {
            const std::string name = fs::path(file.as_string()).filename().string();
            if (name != engine_name) {
                files.push_back({path_inside(folder, name), name, 0, {}});
            }
        }
    }
    for (BuiltFile& file : files) {
        if (!file_exists(file.temporary)) {
            throw Error(ErrorKind::toolchain,
                        "the runner reports success and did not write " + file.name, engine_name);
        }
        file.size_bytes = file_size(file.temporary);
        file.digest = digest_of_file(file.temporary);
    }
    return files;
}

Json file_json(const BuiltFile& file) {
    return Json::object(
        {{"name", file.name}, {"digest", file.digest.text()}, {"size_bytes", file.size_bytes}});
}

Json ports_json(const std::vector<toolchain::Port>& ports) {
    Json result = Json::array();
    for (const toolchain::Port& port : ports) {
        result.push_back(Json::object({{"name", port.name},
                                       {"type", name_of(port.type)},
                                       {"shape", shape_json(port.shape)}}));
    }
    return result;
}

/// Inputs and outputs as the engine itself has them; that also shows that it loads. An engine may be built for another machine.
void add_ports(Json& manifest, toolchain::Runner& runner, const std::string& engine,
               const Json& load_options, Json& unknown) {
    manifest["inputs"] = Json::array();
    manifest["outputs"] = Json::array();
    try {
        toolchain::LoadedRunnable loaded =
            runner.load(engine, load_options.is_object() ? load_options : Json::object());
        manifest["inputs"] = ports_json(loaded.inputs());
        manifest["outputs"] = ports_json(loaded.outputs());
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) {
            throw;
        }
        unknown.push_back("inputs, outputs: the engine was not loaded where it was built: " +
                          error.message());
    }
}

Json model_json(const graph::Model& model, const std::string& path) {
    const graph::Summary& summary = model.summary();
    Json result = Json::object();
    result["name"] = fs::path(path).filename().string();
    result["digest"] = model.digest().text();
    result["size_bytes"] = file_size(path);
    result["ir_version"] = summary.ir_version;
    result["producer"] = summary.producer;
    result["parameters"] = summary.parameters;
    Json opsets = Json::object();
    for (const auto& [domain, version] : summary.opsets) {
        opsets[domain.empty() ? "ai.onnx" : domain] = version;
    }
    result["opsets"] = std::move(opsets);
    if (!summary.external_files.empty()) {
        Json files = Json::array();
        for (const std::string& file : summary.external_files) {
            files.push_back(file);
        }
        result["external_files"] = std::move(files);
    }
    return result;
}

/// The runtime's libraries with their digests, read side by side.
Json libraries_json(const Json& lister, bool local, Json& unknown) {
    Json result = Json::array();
    const Json& libraries = lister.get("libraries");
    if (!libraries.is_array()) {
        unknown.push_back("libraries: the runner does not list them");
        return result;
    }
    if (!local) {
        unknown.push_back("libraries: digests of files on another machine were not taken");
    }
    std::vector<std::pair<Json, std::future<Digest>>> digests;
    for (const Json& library : libraries.as_array()) {
        const std::string path = library.at("path").as_string();
        digests.emplace_back(library, local && file_exists(path)
                                          ? std::async(std::launch::async, digest_of_file, path)
                                          : std::future<Digest>());
    }
    for (auto& [library, digest] : digests) {
        if (digest.valid()) {
            library["digest"] = digest.get().text();
            library["size_bytes"] = file_size(library.at("path").as_string());
        }
        result.push_back(std::move(library));
    }
    return result;
}

Json precision_json(const BuildRequest& request, const Json& facts) {
    Json result = Json::object(
        {{"executed", "unknown"}, {"learned_by", "nothing: the runner does not tell"}});
    if (facts.get("precision").is_object()) {
        for (const auto& [key, value] : facts.get("precision").as_object()) {
            result[key] = value;
        }
    }
    result["requested"] = request.precision;
    return result;
}

/// Moves the finished files to their places, the engine manifest last; takes back what it moved when one cannot be moved.
void put_in_place(const std::vector<BuiltFile>& files, const std::string& folder,
                  const std::string& manifest_path, const Json& manifest) {
    std::vector<std::string> moved;
    try {
        for (std::size_t i = files.size(); i-- > 0;) {
            const std::string target = folder + "/" + files[i].name;
            if (std::rename(files[i].temporary.c_str(), target.c_str()) != 0) {
                throw_errno(errno, "write", target);
            }
            moved.push_back(target);
        }
        write_file_atomically(manifest_path, write_json(manifest));
    } catch (...) {
        for (const std::string& path : moved) {
            std::remove(path.c_str());
        }
        throw;
    }
}

}  // namespace

std::string manifest_path_of(const std::string& engine_path) {
    return engine_path + ".manifest.json";
}

BuildResult build_engine(const BuildRequest& request) {
    const graph::Model model = graph::Model::load(request.model_path);
    require_free(request);
    const std::string folder = folder_of(request.output_path);
    if (!folder_exists(folder)) {
        throw Error(ErrorKind::input, "no such folder", folder, "make it first");
    }
    const Json options = runner_options(request, model.summary());

    toolchain::RunnerOptions runner_request;
    runner_request.toolchain = request.toolchain;
    runner_request.remote = request.remote;
    runner_request.answer_timeout_ns = request.timeout_ns;
    runner_request.memory_limit_bytes = request.memory_limit_bytes;
    toolchain::Runner runner(runner_request);
    const std::string engine_name = fs::path(request.output_path).filename().string();
    const TemporaryFolder working(".requal-build", folder);
    const std::int64_t started_ns = system_clock().monotonic_ns();
    const Json facts =
        runner.build(request.model_path, working.path() + "/" + engine_name, options);
    const std::int64_t elapsed_ns = system_clock().monotonic_ns() - started_ns;

    const std::uint64_t peak_bytes = runner.peak_resident_bytes();
    const std::vector<BuiltFile> files = built_files(facts, working.path(), engine_name);
    const Json& capabilities = runner.capabilities();
    Json unknown = Json::array();
    BuildResult result;
    Json& manifest = result.manifest;
    manifest = new_document("engine-manifest", 1);
    manifest["engine"] = file_json(files.front());
    Json companions = Json::array();
    for (std::size_t i = 1; i < files.size(); ++i) {
        companions.push_back(file_json(files[i]));
    }
    manifest["engine"]["companions"] = std::move(companions);
    manifest["model"] = model_json(model, request.model_path);
    manifest["toolchain"] = Json::object(
        {{"name", request.toolchain},
         {"version", capabilities.get("version").is_string() ? capabilities.get("version")
                                                             : Json("unknown")}});
    manifest["options"] = Json::object({{"requested", request.options}});
    if (facts.get("options_effective").is_object()) {
        manifest["options"]["effective"] = facts.get("options_effective");
    } else {
        unknown.push_back("options.effective: the runner does not tell");
    }
    manifest["shapes"] = Json::object();
    for (const auto& [name, shape] : request.shapes) {
        manifest["shapes"][name] = shape_json(shape);
    }
    manifest["precision"] = precision_json(request, facts);
    manifest["placement"] = facts.get("placement");
    if (facts.get("placement").is_null()) {
        unknown.push_back("placement: the runner does not tell");
    }
    // a plugin is mapped when it is first used, so what the build saw is more than what the start saw
    const Json& lister = facts.has("libraries") ? facts : capabilities;
    manifest["libraries"] = libraries_json(lister, request.remote.empty(), unknown);
    manifest["host"] =
        request.remote.empty() ? machine::host_facts() : Json::object({{"on", request.remote}});
    manifest["facts"] = facts;
    // paths of the building; names and digests stand above
    manifest["facts"].as_object().erase("files");
    manifest["built"] = time_stamp(system_clock());
    manifest["built"]["elapsed_ms"] = static_cast<double>(elapsed_ns) / 1e6;
    if (peak_bytes > 0) {
        manifest["built"]["peak_resident_bytes"] = peak_bytes;
    } else {
        unknown.push_back("built.peak_resident_bytes: the runner ran on another machine");
    }
    add_ports(manifest, runner, files.front().temporary, facts.get("load_options"), unknown);
    manifest["unknown"] = std::move(unknown);

    result.precision_executed = manifest["precision"].at("executed").as_string();
    result.precision_as_requested =
        request.precision == "default" || request.precision == result.precision_executed;
    result.manifest_path = manifest_path_of(request.output_path);
    put_in_place(files, folder, result.manifest_path, manifest);
    return result;
}

Json read_engine_manifest(const std::string& engine_path, bool check_digest) {
    const std::string path = manifest_path_of(engine_path);
    if (!file_exists(path)) {
        return {};
    }
    Json manifest = parse_json(read_file(path, std::uint64_t{64} << 20U), path);
    require_schema(manifest, "engine-manifest", 1, path);
    const Digest recorded = parse_digest(manifest.at("engine").at("digest").as_string());
    if (check_digest && digest_of_file(engine_path) != recorded) {
        throw Error(ErrorKind::input, "its bytes are not those that its engine manifest describes",
                    engine_path, "build the engine again");
    }
    return manifest;
}

}  // namespace requal::build
