// Each kind of artefact by real or documented bytes (tests/artifact/README.md says which), and what is wrong with damaged ones.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "artifact/checksum.h"
#include "artifact/recognise.h"
#include "base/error.h"
#include "base/file.h"

namespace requal::artifact {
namespace {

const std::string data = std::string(REQUAL_SOURCE_DIR) + "/tests/artifact/data/";

std::string bytes_of(const std::string& name) {
    return read_file(data + name);
}

Recognised recognised(std::string_view bytes) {
    return recognise(ByteSource::over(bytes));
}

Recognised of_file(const std::string& name) {
    return recognise(ByteSource::open(data + name));
}

bool has(const std::vector<std::string>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
}

// No prefix of an artefact is taken for a whole one of its kind without saying that something is missing, except where the format
// does not show it (`open_ended`: from this size on).
void every_truncation(const std::string& name, std::string_view kind, std::size_t open_ended) {
    const std::string bytes = bytes_of(name);
    for (std::size_t size = 0; size < std::min(bytes.size(), open_ended); ++size) {
        const Recognised found = recognised(std::string_view(bytes).substr(0, size));
        EXPECT_TRUE(found.kind == "unknown" || (found.kind == kind && !found.problems().empty()))
            << name << " cut to " << size << " is " << found.kind;
    }
}

TEST(Kinds, ort) {
    const Recognised found = of_file("tiny.ort");
    EXPECT_EQ(found.kind, "ort");
    EXPECT_EQ(found.problems(), std::vector<std::string>{});
    const Json& recorded = found.recorded;
    EXPECT_EQ(recorded.at("ort_format_version"), Json("6"));
    EXPECT_EQ(recorded.at("ir_version"), Json(8));
    EXPECT_EQ(recorded.at("opsets").at("ai.onnx"), Json(17));
    EXPECT_EQ(recorded.at("producer_name"), Json("requal-tests"));
    EXPECT_EQ(recorded.at("operators"), Json::object({{"MatMul", 1}, {"Relu", 1}}));
    EXPECT_EQ(recorded.at("node_providers"), Json::object({{"CPUExecutionProvider", 2}}));
    EXPECT_EQ(recorded.at("inputs"),
              Json::array({Json::object(
                  {{"name", "x"}, {"type", "float32"}, {"shape", Json::array({"batch", 4})}})}));
    EXPECT_TRUE(has(found.unknown, "runtime_version"));  // the format's version is not ORT's
}

TEST(Kinds, tflite) {
    const Recognised found = of_file("tiny.tflite");
    EXPECT_EQ(found.kind, "tflite");
    EXPECT_EQ(found.recorded.at("schema_version"), Json(3));
    EXPECT_EQ(found.recorded.at("min_runtime_version"), Json("1.14.0"));
    EXPECT_EQ(found.recorded.at("operators"),
              Json::object({{"CONV_2D", 1}, {"custom:edgetpu-custom-op", 1}}));
    EXPECT_EQ(found.recorded.at("tensor_types"), Json::object({{"int8", 3}}));
    EXPECT_EQ(
        found.recorded.at("inputs"),
        Json::array({Json::object(
            {{"name", "image"}, {"type", "int8"}, {"shape", Json::array({Json(), 8, 8, 3})}})}));
}

TEST(Kinds, flatbuffers_whose_offsets_lead_astray) {
    for (const char* name : {"tiny.ort", "tiny.tflite"}) {
        const std::string good = bytes_of(name);
        int damaged = 0;
        for (std::size_t at = 8; at + 4 <= good.size(); at += 4) {
            std::string bad = good;
            bad.replace(at, 4, "\xff\xff\xff\x7f");
            const Recognised found = recognised(bad);  // does not crash, take memory or hang
            damaged += found.kind == "unknown" ? 1 : 0;
        }
        EXPECT_GT(damaged, 10) << name;
        std::string root = good;
        root.replace(0, 4, "\xf0\xff\xff\xff");
        EXPECT_EQ(recognised(root).kind, "unknown");
        EXPECT_EQ(recognised(root).problems().size(), 1U);
    }
}

TEST(Kinds, plan_of_tensorrt_rtx) {
    const Recognised found = of_file("rtx-head.plan");
    EXPECT_EQ(found.kind, "tensorrt-rtx-plan");
    EXPECT_EQ(found.recorded.at("runtime_version"), Json("1.7.1.116"));
    ASSERT_EQ(found.problems().size(), 1U);  // the fixture is the head of a plan of 136156 bytes
    EXPECT_NE(found.problems()[0].find("136156"), std::string::npos);
    EXPECT_TRUE(has(found.unknown, "compute_capability"));
    std::string whole = bytes_of("rtx-head.plan");
    whole.resize(136156);
    EXPECT_EQ(recognised(whole).problems(), std::vector<std::string>{});
}

TEST(Kinds, plan_behind_an_ultralytics_header) {
    const Recognised found = of_file("ultralytics.engine");
    EXPECT_EQ(found.kind, "tensorrt-plan");
    EXPECT_EQ(found.recorded.at("runtime_version"), Json("10.3.0.26"));
    EXPECT_EQ(found.wrapper.at("kind"), Json("ultralytics"));
    EXPECT_EQ(found.wrapper.at("metadata").at("stride"), Json(32));
    EXPECT_EQ(found.wrapper.at("metadata").at("names"), Json::object({{"0", "part"}}));
    // what the wrapper says is not what the plan says
    EXPECT_FALSE(found.recorded.has("stride"));
    EXPECT_TRUE(has(found.unknown, "inputs"));

    std::string bad = bytes_of("ultralytics.engine");
    bad[5] = '!';
    EXPECT_EQ(recognised(bad).kind, "tensorrt-plan");
    EXPECT_TRUE(recognised(bad).wrapper.at("metadata").is_null());
    EXPECT_EQ(recognised(bad).problems().size(), 1U);
    // a size that leads elsewhere: nothing is claimed
    bad = bytes_of("ultralytics.engine");
    bad[0] = '\x10';
    EXPECT_EQ(recognised(bad).kind, "unknown");
    bad = bytes_of("ultralytics.engine");
    bad[3] = '\x7f';
    EXPECT_EQ(recognised(bad).kind, "unknown");
    bad[3] = '\xff';  // signed, a negative size
    EXPECT_EQ(recognised(bad).kind, "unknown");
}

TEST(Kinds, openvino_ir) {
    const Recognised found = of_file("ir.xml");
    EXPECT_EQ(found.kind, "openvino-ir");
    const Json& recorded = found.recorded;
    EXPECT_EQ(recorded.at("ir_version"), Json("11"));
    EXPECT_EQ(recorded.at("runtime_version").as_string().substr(0, 9), "2026.4.1-");
    EXPECT_EQ(
        recorded.at("operators"),
        Json::object({{"Const", 1}, {"MatMul", 1}, {"Parameter", 1}, {"ReLU", 1}, {"Result", 1}}));
    EXPECT_EQ(recorded.at("constant_types"), Json::object({{"f32", 1}}));
    EXPECT_EQ(recorded.at("weight_bytes_needed"), Json(48));
    EXPECT_EQ(recorded.at("inputs"),
              Json::array({Json::object(
                  {{"name", "x"}, {"type", "FP32"}, {"shape", Json::array({Json(), 4})}})}));
    EXPECT_EQ(recorded.at("outputs").as_array()[0].at("name"), Json("y"));
    every_truncation("ir.xml", "openvino-ir", bytes_of("ir.xml").size() - 1);
}

TEST(Kinds, openvino_ir_that_is_hostile) {
    std::string bomb =
        "<?xml version=\"1.0\"?><!DOCTYPE net [<!ENTITY a \"aaaa\">]><net name=\"n\" "
        "version=\"11\"></net>";
    EXPECT_EQ(recognised(bomb).kind, "unknown");
    std::string deep = "<net name=\"n\" version=\"11\">";
    for (int i = 0; i < 100000; ++i)
        deep += "<a>";
    EXPECT_EQ(recognised(deep).kind, "unknown");
    EXPECT_NE(recognised(deep).problems().at(0).find("more than 200 open tags"), std::string::npos);
    EXPECT_EQ(recognised("<?xml version=\"1.0\"?><html/>").kind, "unknown");
    EXPECT_EQ(recognised("<net name=\"n\" version=\"11\"></net>").kind, "unknown");
    const Recognised far = recognised(
        "<net name='&lt;&#x41;' version='11'><layers><layer name='c' type='Const'><data offset='" +
        std::string("9223372036854775807") +
        "' size='9223372036854775807'/></layer></layers></net>");
    EXPECT_EQ(far.recorded.at("weight_bytes_needed"), Json(0));
    EXPECT_EQ(far.recorded.at("graph_name"), Json("<&#x41;"));
}

TEST(Kinds, openvino_cache_file) {
    const Recognised found = of_file("cached.blob");
    EXPECT_EQ(found.kind, "openvino-blob");
    EXPECT_EQ(found.recorded.at("runtime_version"), Json("2026.4.1"));
    EXPECT_TRUE(found.recorded.has("isa"));
    EXPECT_EQ(found.wrapper.at("kind"), Json("openvino-cache"));
    EXPECT_EQ(found.wrapper.at("ie_version").as_string().substr(0, 9), "2026.4.1-");
    // an unknown plugin's blob in such a file: its version is not that of the header
    const Recognised other = recognised("<compiled_blob ie_version=\"2025.1\"/>\nsomething");
    EXPECT_EQ(other.kind, "openvino-blob");
    EXPECT_FALSE(other.recorded.has("runtime_version"));
    EXPECT_TRUE(has(other.unknown, "plugin"));
}

TEST(Kinds, openvino_blob_of_an_npu) {
    const Recognised found = of_file("npu.blob");
    EXPECT_EQ(found.kind, "openvino-blob");
    EXPECT_EQ(found.recorded.at("plugin"), Json("NPU"));
    EXPECT_EQ(found.recorded.at("runtime_version"), Json("2025.4.1"));
    std::string other = bytes_of("npu.blob");
    other[46] = 3;
    EXPECT_FALSE(recognised(other).recorded.has("runtime_version"));
    every_truncation("npu.blob", "openvino-blob", SIZE_MAX);
}

TEST(Kinds, qnn_context) {
    const Recognised found = of_file("qnn.bin");
    EXPECT_EQ(found.kind, "qnn-context");
    EXPECT_EQ(found.recorded.at("build_id"), Json("v2.51.0.260929181845"));
    EXPECT_EQ(found.recorded.at("backend_id"), Json(6));
    EXPECT_EQ(found.recorded.at("body_bytes"), Json(45056));
    ASSERT_EQ(found.problems().size(), 1U);  // only its head is kept
    EXPECT_TRUE(has(found.unknown, "soc_model"));
    every_truncation("qnn.bin", "qnn-context", SIZE_MAX);
}

TEST(Kinds, hailo_hef) {
    const Recognised found = of_file("v1.hef");
    EXPECT_EQ(found.kind, "hailo-hef");
    EXPECT_EQ(found.problems(), std::vector<std::string>{});
    EXPECT_EQ(found.recorded.at("header_version"), Json(1));
    EXPECT_EQ(found.recorded.at("hw_arch"), Json("HAILO8L"));
    EXPECT_EQ(found.recorded.at("sdk_version"), Json("3.27.0"));
    EXPECT_EQ(found.recorded.at("checksum"), Json("crc32:11223344"));
    EXPECT_EQ(found.recorded.at("network_groups"), Json::array({"detector"}));
    EXPECT_EQ(found.recorded.at("extensions"), Json::array({"KO_RUN_ASAP"}));
    EXPECT_EQ(of_file("hailo8.hef").recorded.at("hw_arch"), Json("HAILO8"));
    for (const char* name : {"v0.hef", "v1.hef", "v2.hef", "v3.hef"}) {
        EXPECT_EQ(of_file(name).problems(), std::vector<std::string>{}) << name;
        EXPECT_EQ(of_file(name).recorded.at("sdk_version"), Json("3.27.0")) << name;
        every_truncation(name, "hailo-hef", SIZE_MAX);
    }
    EXPECT_EQ(of_file("v3.hef").recorded.at("checksum"), Json("xxh3-64:1122334455667788"));
    EXPECT_EQ(of_file("v0.hef").recorded.at("checksum"),
              Json("md5:000102030405060708090a0b0c0d0e0f"));
    std::string other = bytes_of("v3.hef");
    other[7] = 9;
    EXPECT_EQ(recognised(other).problems().at(0), "header version 9: an unknown layout");
    EXPECT_FALSE(recognised(other).recorded.has("hw_arch"));
}

// A file with this version of the header and its checksum in place; 4: version 3 with the description's checksum too.
std::string hef_with_checksum(unsigned version) {
    std::string body;  // whole fields of Protocol Buffers
    while (body.size() < 3060)
        body += "\x38\x01";
    const auto big = [](std::uint64_t value, unsigned width) {
        std::string text;
        for (unsigned i = width; i-- > 0;)
            text += i < 8 ? static_cast<char>(value >> (8 * i) & 0xFFU) : '\0';
        return text;
    };
    const std::uint64_t rest = body.size(), description = version == 0 ? rest : 300;
    const auto sum = [](std::string_view bytes) { return *xxh3_64_of(ByteSource::over(bytes)); };
    std::string header = "\x01HEF" + big(version, 4) + big(description, 4);
    if (version == 0) {
        header += big(0, 4);
        const std::string md5 = md5_of(ByteSource::over(body));
        for (std::size_t i = 0; i < md5.size(); i += 2)
            header += static_cast<char>(std::stoi(md5.substr(i, 2), nullptr, 16));
    } else if (version == 1) {
        header += big(crc32_of(ByteSource::over(body)), 4) + big(rest - description, 8) + big(0, 4);
    } else if (version == 2) {
        header += big(sum(body), 8) + big(rest - description, 8) + big(0, 16);
    } else {
        header += big(sum(body), 8) + big(rest - description, 8) + big(0, 4) + big(0, 8);
        header += big(version == 4 ? sum(body.substr(0, description)) : 0, 8) + big(0, 8);
        header[7] = 3;
    }
    return header + body;
}

TEST(Kinds, a_hailo_executables_checksum_is_verified_when_the_file_is_read) {
    for (const unsigned version : {0U, 1U, 2U, 3U, 4U}) {
        TemporaryFolder folder;
        const std::string path = folder.path() + "/m.hef";
        std::string bytes = hef_with_checksum(version);
        write_file_atomically(path, bytes);
        EXPECT_EQ(inspect_document(path, false).at("checksum"), Json("not verified")) << version;
        EXPECT_EQ(inspect_document(path, true).at("checksum"), Json("fits")) << version;
        EXPECT_EQ(inspect_document(path, true).at("damage").size(), 0U) << version;
        bytes[bytes.size() - 2900] ^= 1;
        write_file_atomically(path, bytes);
        EXPECT_EQ(inspect_document(path, true).at("checksum"), Json("differs")) << version;
        EXPECT_EQ(inspect_document(path, true).at("damage").as_array().back(),
                  Json("the bytes do not give the checksum in its header: changed"));
    }
    // an unknown layout has an unknown checksum
    std::string other = hef_with_checksum(1);
    other[7] = 9;
    EXPECT_EQ(recognised(other).checksum, "");
}

TEST(Kinds, checksums_are_those_of_hashlib_zlib_and_xxhash) {
    struct Row {
        std::size_t size;
        std::uint64_t xxh3;
        const char* md5;
        std::uint32_t crc32;
    };
    for (const Row& row :
         {Row{0, 0, "d41d8cd98f00b204e9800998ecf8427e", 0},
          Row{1, 0, "89e74e640b8c46257a29de0616794d5d", 0x4c667a2e},
          Row{55, 0, "852e13533f66e414bbbbb3348de4f81f", 0xe564326e},
          Row{56, 0, "98e8cb3457434649644b5fe9f4e5e4fa", 0x4a35ab03},
          Row{63, 0, "c9803ddca3b148d91d5f214be64197d4", 0x337301c0},
          Row{64, 0, "bc00c8534af1e5aef0ede584d8ad5bc3", 0x38e4dbb5},
          Row{65, 0, "4e114d3e0baf5ace365e0552a3273291", 0x6c311b46},
          Row{241, 0x956cae592c67279e, "8735821e74f113d436da119f6b383ab9", 0x16d0e71e},
          Row{1024, 0x70bd377d9574f4bb, "15ee510138a80d0470331212a023ab66", 0x0824e952},
          Row{1025, 0x66c4487c41e127a7, "642ef7bb1127b54d5199d7fa562c1cfa", 0xc90b6e1f},
          Row{3000, 0x33a08283bba03e0c, "0e28af5811d6c6890e51fba9f03856bd", 0x1a986ca7},
          Row{40000, 0x6d9533240215ebf9, "0809f5113a4c5c5ed345c7a4338c247e", 0x47f96d75}}) {
        std::string bytes;
        for (std::size_t i = 0; i < row.size; ++i)
            bytes += static_cast<char>((i * 131 + 7) & 255U);
        const ByteSource source = ByteSource::over(bytes);
        EXPECT_EQ(md5_of(source), row.md5) << row.size;
        EXPECT_EQ(crc32_of(source), row.crc32) << row.size;
        EXPECT_EQ(xxh3_64_of(source),
                  row.size > 240 ? std::optional<std::uint64_t>(row.xxh3) : std::nullopt)
            << row.size;
    }
}

TEST(Kinds, torch_checkpoint) {
    const Recognised found = of_file("checkpoint.pt");
    EXPECT_EQ(found.kind, "torch-checkpoint");
    EXPECT_EQ(role_of_kind(found.kind), "checkpoint");
    EXPECT_EQ(found.recorded.at("storages"), Json(2));
    EXPECT_EQ(found.recorded.at("storage_bytes"), Json(80));
    EXPECT_EQ(found.recorded.at("byte_order"), Json("little"));
    EXPECT_EQ(found.recorded.at("archive_version"), Json("3"));
    EXPECT_TRUE(has(found.unknown, "tensors"));  // they are in the pickle, which is never run
    const Recognised old = of_file("old-checkpoint.pt");
    EXPECT_EQ(old.kind, "torch-checkpoint");
    EXPECT_EQ(old.recorded, Json::object({{"container", "pickles"}, {"protocol_version", 1001}}));
}

TEST(Kinds, checkpoint_of_the_example) {
    const std::string path =
        std::string(REQUAL_SOURCE_DIR) + "/examples/parts-inspection/checkpoints/plain.pt";
    if (!file_exists(path))
        GTEST_SKIP() << "the example's checkpoint, which torch wrote, is not in this checkout";
    const Recognised found = recognise(ByteSource::open(path));
    EXPECT_EQ(found.kind, "torch-checkpoint");
    EXPECT_EQ(found.recorded.at("archive"), Json("plain"));
    EXPECT_EQ(found.recorded.at("byte_order"), Json("little"));
}

TEST(Kinds, torchscript) {
    const Recognised found = of_file("script.pt");
    EXPECT_EQ(found.kind, "torchscript");
    EXPECT_EQ(found.recorded.at("code_files"), Json(1));
    EXPECT_EQ(found.recorded.at("extra_files"), Json::array({"config.txt"}));
    EXPECT_EQ(of_file("export.pt2").kind, "unknown");
    EXPECT_EQ(of_file("export.pt2").problems().size(), 1U);
}

TEST(Kinds, safetensors) {
    const Recognised found = of_file("two.safetensors");
    EXPECT_EQ(found.kind, "safetensors");
    EXPECT_EQ(found.problems(), std::vector<std::string>{});
    EXPECT_EQ(found.recorded.at("tensors_total"), Json(2));
    EXPECT_EQ(found.recorded.at("tensor_types"), Json::object({{"F16", 1}, {"F32", 1}}));
    EXPECT_EQ(found.recorded.at("metadata"), Json::object({{"format", "np"}}));
    EXPECT_EQ(
        found.recorded.at("tensors").as_array()[0],
        Json::object({{"name", "a.weight"}, {"type", "F32"}, {"shape", Json::array({2, 3})}}));
    every_truncation("two.safetensors", "safetensors", SIZE_MAX);
    const auto with = [](std::string_view header) {
        std::string bytes(8, '\0');
        bytes[0] = static_cast<char>(header.size());
        return recognised(bytes + std::string(header) + std::string(8, 'x'));
    };
    EXPECT_EQ(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})").problems().size(),
              0U);
    EXPECT_EQ(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})").problems().size(),
              1U);
    EXPECT_EQ(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}})").problems().size(),
              1U);
    EXPECT_EQ(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-1,8]}})").kind, "unknown");
    EXPECT_EQ(with(R"({"a":1})").kind, "unknown");
    EXPECT_EQ(with(R"({"a":)").kind, "unknown");
    EXPECT_EQ(recognised("\xff\xff\xff\xff\xff\xff\xff\xff{\"a\"").kind, "unknown");
}

TEST(Kinds, calibration_cache) {
    const Recognised found = of_file("calibration.cache");
    EXPECT_EQ(found.kind, "calibration-cache");
    EXPECT_EQ(found.recorded.at("calibrator"), Json("EntropyCalibration2"));
    EXPECT_EQ(found.recorded.at("version_digits"), Json("8510"));
    EXPECT_TRUE(has(found.unknown, "runtime_version"));  // 8510 may be 8.5.1.0 or 8.5.10
    EXPECT_EQ(found.recorded.at("tensors_total"), Json(3));
    EXPECT_EQ(found.recorded.at("tensors").as_array()[1],
              Json::object({{"name", "block/conv:0"}, {"scale_hex", "3d1b2f40"}}));
    EXPECT_EQ(recognised("TRT-8510-MinMaxCalibration\nimages: nothing\n").problems().at(0),
              "line 2 is not NAME: and 8 hexadecimal digits");
    EXPECT_EQ(recognised("TRT-\n").kind, "unknown");
    EXPECT_EQ(recognised("TRT-85a-X\n").kind, "unknown");
}

TEST(Kinds, timing_cache) {
    const Recognised found = of_file("rtx.timing");
    EXPECT_EQ(found.kind, "timing-cache");
    EXPECT_EQ(found.problems(), std::vector<std::string>{});
    EXPECT_EQ(found.recorded.at("file_format_version"), Json("1"));
    EXPECT_TRUE(has(found.unknown, "device"));
    every_truncation("rtx.timing", "timing-cache", SIZE_MAX);
    // the same archive without the text may be an old plan: neither is claimed
    const Recognised other = recognised("ptrt" + std::string(100, '\0'));
    EXPECT_EQ(other.kind, "unknown");
    EXPECT_EQ(other.problems().size(), 1U);
}

TEST(Kinds, context_of_qnn) {
    const Recognised found = of_file("qnn-context.onnx");
    EXPECT_EQ(found.kind, "ort-ep-context");
    const Json& context = found.recorded.at("contexts").as_array().at(0);
    EXPECT_EQ(context.at("ep_cache_context"), Json("qnn0_ctx_qnn.bin"));
    EXPECT_EQ(context.at("ep_sdk_version"), Json("v2.51.0.260929181845"));
    EXPECT_EQ(context.at("source"), Json("QNNExecutionProvider"));
    EXPECT_EQ(context.at("embed_mode"), Json(0));
    EXPECT_TRUE(has(found.unknown, "hardware_architecture"));
    EXPECT_FALSE(has(found.unknown, "ep_sdk_version"));
    ASSERT_EQ(found.files.size(), 1U);
    EXPECT_EQ(found.files[0].name, "qnn0_ctx_qnn.bin");
}

TEST(Kinds, context_with_its_engine_inside) {
    const Recognised found = of_file("embedded-context.onnx");
    EXPECT_EQ(found.kind, "ort-ep-context");
    const Json& context = found.recorded.at("contexts").as_array().at(0);
    EXPECT_EQ(context.at("hardware_architecture"), Json("86"));
    EXPECT_EQ(context.at("inside").at("kind"), Json("tensorrt-plan"));
    EXPECT_EQ(context.at("inside").at("recorded").at("runtime_version"), Json("10.3.0.26"));
    EXPECT_EQ(context.at("inside").at("size_bytes"), Json(92));
    EXPECT_TRUE(found.files.empty());
    EXPECT_TRUE(has(found.unknown, "ep_sdk_version"));
}

TEST(Inspect, sparse_files_of_a_tebibyte_whatever_they_begin_with) {
    TemporaryFolder folder;
    const std::string file = folder.path() + "/sparse";
    for (const std::string& head :
         {std::string(1, '\0'), std::string("<?xml"), std::string("<!--"), std::string("<net"),
          std::string("<net name='n' version='11'><layers>"), std::string("<compiled_blob a='"),
          std::string("TRT-8510-MinMaxCalibration\n"), std::string("PK\3\4"), bytes_of("qnn.bin"),
          bytes_of("v3.hef"), bytes_of("tiny.tflite"), bytes_of("tiny.ort"),
          bytes_of("two.safetensors"), bytes_of("tiny.onnx"), bytes_of("ultralytics.engine"),
          bytes_of("rtx.timing"), bytes_of("cached.blob")}) {
        write_file_atomically(file, head);
        std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
        const Json document = inspect_document(file, false);  // and ends soon
        EXPECT_TRUE(document.at("kind").is_string());
    }
    write_file_atomically(file, std::string(1, '\0'));
    std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
    EXPECT_EQ(inspect_document(file, false).at("kind"), Json("unknown"));
}

TEST(Inspect, weights_beside_the_ir) {
    TemporaryFolder folder;
    const std::string xml = folder.path() + "/net.xml";
    write_file_atomically(xml, bytes_of("ir.xml"));
    Json document = inspect_document(xml, true);
    EXPECT_EQ(document.at("role"), Json("model"));
    EXPECT_EQ(document.at("files").as_array().at(0).at("name"), Json("net.bin"));
    EXPECT_TRUE(document.at("files").as_array()[0].at("size_bytes").is_null());
    EXPECT_EQ(document.at("problems").size(), 1U);
    write_file_atomically(folder.path() + "/net.bin", bytes_of("ir.bin"));
    document = inspect_document(xml, true);
    EXPECT_EQ(document.at("problems").size(), 0U);
    EXPECT_EQ(document.at("files").as_array()[0].at("size_bytes"), Json(48));
    EXPECT_TRUE(document.at("files").as_array()[0].at("digest").is_string());
    EXPECT_TRUE(inspect_document(xml, false).at("files").as_array()[0].at("digest").is_null());
    std::filesystem::resize_file(folder.path() + "/net.bin", 47);
    document = inspect_document(xml, false);
    EXPECT_EQ(document.at("problems").as_array().at(0),
              Json("its weights have 47 bytes, 48 are needed"));
}

TEST(Inspect, files_that_lie_outside_are_not_looked_at) {
    for (const char* name : {"/etc/passwd", "../up.bin", "a/../../b"}) {
        std::string model = bytes_of("qnn-context.onnx");
        const std::string was = "qnn0_ctx_qnn.bin";
        std::string now = name;
        now.resize(was.size(), 'x');
        model.replace(model.find(was), was.size(), now);
        TemporaryFolder folder;
        write_file_atomically(folder.path() + "/m.onnx", model);
        const Json document = inspect_document(folder.path() + "/m.onnx", true);
        EXPECT_EQ(document.at("problems").size(), 1U) << name;
        EXPECT_TRUE(document.at("files").as_array().at(0).at("digest").is_null());
    }
}

TEST(Inspect, a_fifo_as_companion_is_not_waited_for) {
    TemporaryFolder folder;
    write_file_atomically(folder.path() + "/net.xml", bytes_of("ir.xml"));
    ASSERT_EQ(::mkfifo((folder.path() + "/net.bin").c_str(), 0600), 0);
    EXPECT_EQ(inspect_document(folder.path() + "/net.xml", true).at("problems").size(), 1U);
}

}  // namespace
}  // namespace requal::artifact
