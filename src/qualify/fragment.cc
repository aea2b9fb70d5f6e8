#include "qualify/fragment.h"

#include "base/document.h"

namespace requal::qualify {

namespace {

Decision decision_from(const Json& json) {
    Decision decision;
    decision.id = json.at("id").as_string();
    decision.kind = json.at("kind").as_string();
    decision.criterion = json.at("criterion");
    decision.value = json.at("value");
    decision.verdict = parse_verdict(json.at("verdict").as_string());
    decision.reason = json.at("reason").as_string();
    return decision;
}

}  // namespace

Json to_json(const Fragment& fragment) {
    Json json = new_document("step-result", 1);
    json["step"] = Json::object({{"name", fragment.step.name},
                                 {"state", fragment.step.state},
                                 {"seconds", fragment.step.seconds},
                                 {"message", fragment.step.message}});
    json["engine"] = Json::object({{"built", fragment.engine.built},
                                   {"ran", fragment.engine.ran},
                                   {"failure", fragment.engine.failure},
                                   {"precision_executed", fragment.engine.precision_executed}});
    json["reference_failure"] = fragment.reference_failure;
    json["record"] = fragment.record;
    json["decisions"] = Json::array();
    for (const Decision& decision : fragment.decisions) {
        json["decisions"].push_back(decision.to_json());
    }
    json["outputs"] = Json::array();
    for (const OutputDigests& sample : fragment.outputs) {
        Json list = Json::array();
        for (const auto& [name, digest] : sample) {
            list.push_back(Json::object({{"name", name}, {"digest", digest.text()}}));
        }
        json["outputs"].push_back(std::move(list));
    }
    json["files"] = Json::array();
    for (const FileOfRun& file : fragment.files) {
        json["files"].push_back(Json::object({{"role", file.role},
                                              {"name", file.name},
                                              {"digest", file.digest},
                                              {"size_bytes", file.size_bytes}}));
    }
    return json;
}

std::vector<Decision> decisions_from(const Json& gates) {
    std::vector<Decision> decisions;
    for (const Json& gate : gates.as_array()) {
        decisions.push_back(decision_from(gate));
    }
    return decisions;
}

Fragment fragment_from(const Json& json) {
    require_schema(json, "step-result", 1, "the result of a step");
    Fragment fragment;
    const Json& step = json.at("step");
    fragment.step = {step.at("name").as_string(), step.at("state").as_string(),
                     step.at("seconds").as_number(), step.at("message").as_string(), true};
    const Json& engine = json.at("engine");
    fragment.engine.built = engine.at("built").as_boolean();
    fragment.engine.ran = engine.at("ran").as_boolean();
    fragment.engine.failure = engine.at("failure").as_string();
    fragment.engine.precision_executed = engine.at("precision_executed").as_string();
    fragment.reference_failure = json.at("reference_failure").as_string();
    fragment.record = json.at("record");
    fragment.decisions = decisions_from(json.at("decisions"));
    for (const Json& sample : json.at("outputs").as_array()) {
        OutputDigests list;
        for (const Json& output : sample.as_array()) {
            list.emplace_back(output.at("name").as_string(),
                              parse_digest(output.at("digest").as_string()));
        }
        fragment.outputs.push_back(std::move(list));
    }
    for (const Json& file : json.at("files").as_array()) {
        fragment.files.push_back({file.at("role").as_string(), file.at("name").as_string(),
                                  file.at("digest").as_string(),
                                  static_cast<std::uint64_t>(file.at("size_bytes").as_integer())});
    }
    return fragment;
}

}  // namespace requal::qualify
