// A store with runs of one protocol, written as `qualify` writes them, but small and without measuring anything.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "evidence/export.h"
#include "evidence/statement.h"
#include "store/batch.h"
#include "store/steps.h"
#include "store/store.h"

namespace requal::evidence {

inline const std::string small_protocol = "schema: protocol/1\nname: small\n";

/// A clock that a test sets.
class SetClock : public Clock {
public:
    std::int64_t wall = 1'800'000'000'000'000'000;  // 2027-01-15
    bool synced = true;
    std::int64_t wall_ns() const override { return wall; }
    std::int64_t monotonic_ns() const override { return 1; }
    bool synchronised() const override { return synced; }
    std::string boot_id() const override { return "boot"; }
};

inline std::string run_id(int number) {
    std::string digits = std::to_string(number);
    return "20270115T080000Z-" + std::string(8 - digits.size(), '0') + digits;
}

/// A record (run/1) as small as its schema allows: only the engine gate.
inline Json small_record(const std::string& run, const std::string& protocol_text, bool passes,
                         const Clock& clock) {
    const std::string digest = digest_of(protocol_text).text();
    Json record = new_document("run", 1);
    record["run"] = run;
    record["verdict"] = passes ? "pass" : "fail";
    record["command_line"] = "requal qualify protocol.yaml";
    record["started"] = time_stamp(clock);
    record["ended"] = time_stamp(clock);
    record["protocol"] = Json::object({{"name", "small"}, {"title", ""}, {"digest", digest}});
    record["host"] = Json::object();
    record["conditions"] = Json();
    record["conditions_after"] = Json();
    record["unknown"] = Json::array();
    record["model"] = Json::object({{"file", "m.onnx"},
                                    {"digest", digest_of("model bytes").text()},
                                    {"size_bytes", 11},
                                    {"opsets", Json::object()},
                                    {"inputs", Json::array()}});
    record["inputs"] = Json::object({{"samples", 1}});
    record["engine_manifest"] = Json();
    record["reference"] = Json();
    record["candidate"] = Json();
    record["outputs"] = Json::array();
    record["samples"] = Json::array();
    record["latency"] = Json();
    record["steps"] = Json::array({Json::object({{"name", "build"},
                                                 {"state", passes ? "done" : "failed"},
                                                 {"seconds", 0.5},
                                                 {"message", passes ? "" : "refused"}})});
    record["gates"] = Json::array({Json::object(
        {{"id", "engine"},
         {"kind", "engine"},
         {"criterion",
          Json::object(
              {{"kind", "engine"}, {"precision", "default"}, {"text", "the engine builds"}})},
         {"value", Json::object({{"built", passes}, {"ran", passes}, {"precision", ""}})},
         {"verdict", passes ? "pass" : "fail"},
         {"reason", "built, loaded and ran"}})});
    record["files"] = Json::array({Json::object({{"role", "protocol"},
                                                 {"name", "protocol.yaml"},
                                                 {"digest", digest},
                                                 {"size_bytes", protocol_text.size()}})});
    record["not_shown"] = Json::array({"anything else"});
    return record;
}

/// A store in a folder of its own.
class SmallStore {
public:
    SmallStore() {
        store::StoreOptions options;
        options.access = store::Access::create;
        options.clock = &clock;
        here = std::make_unique<store::Store>(folder.path() + "/store", options);
    }

    enum class End { passed, failed, abandoned, killed };

    /// One run; its files are those of the run folder beside record and protocol.
    void run(int number, End end, const std::map<std::string, std::string>& files = {},
             const std::string& protocol = small_protocol) {
        store::WorkRequest request;
        request.kind = "qualify";
        request.key = "small";
        request.identity = std::to_string(number);
        request.id = run_id(number);
        request.facts = Json::object({{"protocol", digest_of(protocol).text()}});
        store::Work work(*here, request);
        work.start_step("build", Json(number));
        if (end == End::killed)
            return;
        {
            store::Batch batch(*here);
            store::StepResult result;
            result.blobs.emplace(
                "(result)", batch.add_bytes("{\"step\":" + std::to_string(number) + "}\n").digest);
            work.finish_step("build", Json(number), result, batch);
        }
        if (end == End::abandoned) {
            work.abandon("the inputs were wrong");
            return;
        }
        const bool passed = end == End::passed;
        Json record = small_record(work.id(), protocol, passed, clock);
        store::Batch batch(*here);
        store::ItemInfo info;
        info.name = work.id();
        info.kind = "run";
        info.files.emplace("protocol.yaml", batch.add_bytes(protocol).digest);
        for (const auto& [name, bytes] : files) {
            info.files.emplace(name, batch.add_bytes(bytes).digest);
            record["files"].push_back(
                Json::object({{"role", name.ends_with(".engine") ? "engine" : "predictions"},
                              {"name", name},
                              {"digest", digest_of(bytes).text()},
                              {"size_bytes", bytes.size()}}));
        }
        const Digest digest = batch.add_bytes(write_json(record)).digest;
        info.files.emplace("record.json", digest);
        batch.add_reference(digest, info);
        work.finish(
            Json::object({{"verdict", passed ? "pass" : "fail"}, {"record", digest.text()}}),
            batch);
    }

    Sign signer(const PrivateKey& key, const Signer& who) const {
        return [this, &key, who](const std::vector<Subject>& subjects) {
            return std::vector<Envelope>{
                sign_payload(write_statement(approval(subjects, who, clock)), key)};
        };
    }

    void sign_the_protocol(const PrivateKey& key, const Signer& who,
                           const std::string& text = small_protocol) {
        const std::string path = folder.path() + "/protocol.yaml";
        write_file_atomically(path, text);
        sign_protocol(*here, "small", path, {}, signer(key, who));
    }

    /// Exports to a file of this folder; returns its path.
    std::string exported(const std::string& name, const Sign& sign = {}, bool engines = false) {
        ExportRequest request;
        request.name = "small";
        request.output = folder.path() + "/" + name;
        request.engines = engines;
        request.sign = sign;
        export_evidence(*here, request);
        return request.output;
    }

    std::string write(const std::string& name, const std::string& text) const {
        const std::string path = folder.path() + "/" + name;
        write_file_atomically(path, text);
        return path;
    }

    TemporaryFolder folder;
    SetClock clock;
    std::unique_ptr<store::Store> here;
};

inline const Signer doe{"J. Doe", "validation owner", "approver", "criteria are met"};
inline const Signer roe{"R. Roe", "application owner", "reviewer", "read and agreed"};

}  // namespace requal::evidence
