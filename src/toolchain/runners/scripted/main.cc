// requal-runner-scripted: a runtime whose wrongness is written in a file, for tests. See docs/scripted-runner.md.
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "toolchain/runner.h"
#include "toolchain/runners/scripted/faults.h"
#include "toolchain/runners/scripted/script.h"
#include "toolchain/runners/scripted/session.h"

namespace requal::scripted {

namespace {

/// Faults of "at": "load" and "build".
void fault_at(const Script& script, std::string_view moment) {
    for (const Wrong& wrong : script.wrongness) {
        if (wrong.text("at", "") != moment) {
            continue;
        }
        if (wrong.kind == "crash") {
            crash();
        } else if (wrong.kind == "hang") {
            hang();
        } else if (wrong.kind == "flood") {
            flood(wrong.text("what", "frame"));
        }
    }
}

class ScriptedRuntime : public toolchain::Runtime {
public:
    Json capabilities() override {
        const auto option = [](const char* type, const char* help) {
            return Json::object({{"type", type}, {"help", help}});
        };
        Json options = Json::object({{"precision", option("string", "f32, f16 or bf16")},
                                     {"threads", option("integer", "recorded only")},
                                     {"all_outputs", option("boolean", "every layer is an output")},
                                     {"clean", option("boolean", "the wrongness is left out")}});
        options["precision"]["values"] = Json::array({"f32", "f16", "bf16"});
        return Json::object(
            {{"name", "scripted"},
             {"version", "1.0"},
             {"toolchains", Json::array({Json::object({{"name", "scripted"},
                                                       {"works", true},
                                                       {"can", Json::array({"build", "run"})}})})},
             {"libraries", Json::array()},
             {"options", std::move(options)}});
    }

    std::unique_ptr<toolchain::Session> load(const std::string& path, const std::string& toolchain,
                                             const Json& options) override {
        Script script = opened(path, toolchain, options);
        if (const Wrong* wrong = script.find("load_failure")) {
            throw Error(ErrorKind::toolchain,
                        wrong->text("message", "the script says that it cannot be loaded"), path);
        }
        fault_at(script, "load");
        Settings settings = settings_of(script, options);
        return make_session(std::move(script), std::move(settings));
    }

    Json build(const std::string& model_path, const std::string& output_path,
               const std::string& toolchain, const Json& options) override {
        const Script script = opened(model_path, toolchain, options);
        if (script.is_engine) {
            throw Error(ErrorKind::input, "it is an engine already", model_path);
        }
        fault_at(script, "build");
        if (const Wrong* wrong = script.find("build_failure")) {
            const std::string node = wrong->text("node", "");
            throw Error(ErrorKind::toolchain,
                        wrong->text("message", "the script says that it cannot be built"),
                        node.empty() ? model_path : "node " + node);
        }
        const Settings settings = settings_of(script, options);
        write_file_atomically(output_path, engine_bytes(script, options));
        Json facts = facts_of(settings);
        facts["files"] = Json::array({output_path});
        return facts;
    }

private:
    static Script opened(const std::string& path, const std::string& toolchain,
                         const Json& options) {
        if (toolchain != "scripted") {
            throw Error(ErrorKind::missing, "this runner has no toolchain " + toolchain, {},
                        "its only toolchain is scripted");
        }
        toolchain::check_options(options, known_options());
        Script script = read_script(path);
        if (options.has("clean") && options.at("clean").as_boolean()) {
            script.wrongness.clear();
        }
        return script;
    }
};

}  // namespace

}  // namespace requal::scripted

int main(int argc, char** argv) {
    requal::scripted::remember_protocol_descriptor();
    requal::scripted::fault_at_start();
    requal::scripted::ScriptedRuntime runtime;
    return requal::toolchain::serve(runtime, argc, argv);
}
