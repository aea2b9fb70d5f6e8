#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "artifact/recognise.h"
#include "artifact/wire.h"
#include "artifact/zip_directory.h"
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

std::string plan(std::string_view tag, std::string_view version) {
    return std::string(tag) + std::string(20, '\0') + std::string(version) + std::string(100, 'x');
}

TEST(Recognise, onnx) {
    const Recognised found = recognise(ByteSource::open(data + "tiny.onnx"));
    EXPECT_EQ(found.kind, "onnx");
    const Json& recorded = found.recorded;
    EXPECT_EQ(recorded.at("ir_version"), Json(8));
    EXPECT_EQ(recorded.at("producer_name"), Json("requal-tests"));
    EXPECT_EQ(recorded.at("opsets"), Json::object({{"ai.onnx", 17}}));
    EXPECT_EQ(recorded.at("nodes"), Json(2));
    EXPECT_EQ(recorded.at("operators"), Json::object({{"MatMul", 1}, {"Relu", 1}}));
    EXPECT_EQ(recorded.at("initializers"), Json(1));
    EXPECT_EQ(recorded.at("inputs"),
              Json::array({Json::object(
                  {{"name", "x"}, {"type", "float32"}, {"shape", Json::array({"batch", 4})}})}));
    EXPECT_TRUE(found.unknown.empty());
    EXPECT_TRUE(found.problems().empty());
}

TEST(Recognise, onnx_with_external_data) {
    const Recognised found = recognised(bytes_of("external.onnx"));
    EXPECT_EQ(found.recorded.at("initializers_external"), Json(1));
    EXPECT_EQ(found.recorded.at("external_files"), Json::array({"weights.bin"}));
}

TEST(Recognise, a_model_around_a_compiled_engine) {
    const Recognised found = recognised(bytes_of("context.onnx"));
    EXPECT_EQ(found.kind, "ort-ep-context");
    EXPECT_FALSE(found.unknown.empty());
}

TEST(Recognise, every_truncation_of_a_model_is_no_model) {
    const std::string model = bytes_of("tiny.onnx");
    bool said_damaged = false;
    for (std::size_t size = 0; size < model.size(); ++size) {
        const Recognised found = recognised(std::string_view(model).substr(0, size));
        // the last field, the opset import, may be absent: the rest is a whole message
        if (found.kind == "onnx") {
            EXPECT_EQ(found.unknown, std::vector<std::string>{"opsets"}) << size;
        }
        said_damaged = said_damaged || !found.problems().empty();
    }
    EXPECT_TRUE(said_damaged);
    const Recognised half = recognised(std::string_view(model).substr(0, model.size() / 2));
    ASSERT_EQ(half.problems().size(), 1U);
    EXPECT_EQ(half.problems()[0].rfind("begins as an ONNX model and is damaged at byte ", 0), 0U);
    EXPECT_EQ(half.kind, "unknown");
}

TEST(Recognise, names_that_are_not_utf8_give_a_document_that_reads_back) {
    std::string model = bytes_of("context.onnx");
    model[model.rfind("com.microsoft")] = '\xef';
    const Recognised found = recognised(model);
    EXPECT_TRUE(found.recorded.at("opsets").has("\\xefom.microsoft"));
    const std::string text = write_json(found.recorded);
    EXPECT_EQ(write_json(parse_json(text, "test")), text);
}

TEST(Recognise, plans) {
    Recognised found = recognised(plan("vtrt", "\x01\x07\x01\x74"));
    EXPECT_EQ(found.kind, "tensorrt-rtx-plan");
    EXPECT_EQ(found.recorded.at("runtime_version"), Json("1.7.1.116"));
    EXPECT_EQ(found.unknown.front(), "compute_capability");
    found = recognised(plan("ftrt", std::string("\x0a\x03\x00\x1a", 4)));
    EXPECT_EQ(found.kind, "tensorrt-plan");
    EXPECT_EQ(found.recorded.at("runtime_version"), Json("10.3.0.26"));
}

TEST(Recognise, a_plan_of_an_unknown_layout_has_no_version) {
    std::string bytes = plan("ftrt", "\x0a\x03\x01\x1a");
    bytes[5] = 1;
    const Recognised found = recognised(bytes);
    EXPECT_EQ(found.kind, "tensorrt-plan");
    EXPECT_FALSE(found.recorded.has("runtime_version"));
    EXPECT_EQ(found.unknown.front(), "runtime_version");
    EXPECT_EQ(found.problems().size(), 1U);
}

TEST(Recognise, a_cut_plan_is_said_to_be_cut) {
    const Recognised found = recognised(plan("ftrt", "\x0a\x03\x01\x1a").substr(0, 27));
    EXPECT_EQ(found.kind, "unknown");
    EXPECT_EQ(found.unknown.front(), "kind");
    EXPECT_EQ(found.problems().at(0),
              "begins as a tensorrt-plan and is cut off at byte 27, inside its header");
}

TEST(Recognise, openvino_blob) {
    const Recognised found = recognised(bytes_of("tiny.blob"));
    EXPECT_EQ(found.kind, "openvino-blob");
    EXPECT_EQ(found.recorded.at("runtime_version"), Json("2026.4.1"));
    EXPECT_TRUE(found.recorded.has("isa"));
    std::string other = bytes_of("tiny.blob");
    other[8] = 2;
    EXPECT_FALSE(recognised(other).recorded.has("runtime_version"));
    EXPECT_EQ(recognised(other).problems().size(), 1U);
    std::string huge = bytes_of("tiny.blob");
    huge[17] = '\x7f';
    EXPECT_EQ(recognised(huge).problems().size(), 1U);
    EXPECT_EQ(recognised(huge).unknown.front(), "runtime_version");
}

TEST(Recognise, npz) {
    const Recognised found = recognised(bytes_of("two.npz"));
    EXPECT_EQ(found.kind, "npz");
    const Json& arrays = found.recorded.at("arrays");
    ASSERT_EQ(arrays.size(), 2U);
    EXPECT_EQ(arrays.as_array()[0].at("name"), Json("a"));
    EXPECT_EQ(arrays.as_array()[0].at("shape"), Json::array({2, 3}));
    EXPECT_EQ(arrays.as_array()[1].at("type"), Json("<i8"));
    const Recognised packed = recognised(bytes_of("packed.npz"));
    EXPECT_EQ(packed.kind, "npz");
    EXPECT_FALSE(packed.recorded.at("arrays").as_array()[0].has("shape"));
    EXPECT_EQ(packed.unknown.size(), 1U);
}

TEST(Recognise, a_cut_npz_is_said_to_be_cut) {
    const std::string bytes = bytes_of("two.npz");
    const Recognised found = recognised(std::string_view(bytes).substr(0, bytes.size() - 30));
    EXPECT_EQ(found.kind, "unknown");
    EXPECT_EQ(found.problems().size(), 1U);
}

TEST(Recognise, other_zip_archives_are_unknown) {
    std::string bytes = bytes_of("two.npz");
    for (std::size_t at = bytes.find("a.npy"); at != std::string::npos; at = bytes.find("a.npy"))
        bytes.replace(at, 5, "a.txt");
    EXPECT_EQ(recognised(bytes).kind, "unknown");
}

TEST(Recognise, what_is_too_short_or_random_is_unknown) {
    EXPECT_EQ(recognised("x").kind, "unknown");
    EXPECT_EQ(recognised(std::string(1, '\x08')).kind, "unknown");
    EXPECT_EQ(recognised("vtr").kind, "unknown");
    EXPECT_EQ(recognised(std::string(5000, '\0')).kind, "unknown");
}

TEST(Recognise, names_do_not_matter) {
    TemporaryFolder folder;
    const std::string file = folder.path() + "/model.onnx";
    write_file_atomically(file, plan("ftrt", "\x0a\x03\x01\x1a"));
    EXPECT_EQ(inspect_document(file, false).at("kind"), Json("tensorrt-plan"));
    write_file_atomically(file + ".engine", bytes_of("tiny.onnx"));
    EXPECT_EQ(inspect_document(file + ".engine", false).at("kind"), Json("onnx"));
}

TEST(Inspect, refuses_what_is_no_file_with_content) {
    TemporaryFolder folder;
    write_file_atomically(folder.path() + "/empty", "");
    EXPECT_THROW(inspect_document(folder.path() + "/empty", true), Error);
    EXPECT_THROW(inspect_document(folder.path(), true), Error);
    EXPECT_THROW(inspect_document(folder.path() + "/absent", true), Error);
    ASSERT_EQ(::mkfifo((folder.path() + "/fifo").c_str(), 0600), 0);
    try {
        inspect_document(folder.path() + "/fifo", true);  // and does not wait for a writer
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
    }
}

TEST(Inspect, a_sparse_file_of_a_tebibyte_takes_no_time_without_digest) {
    TemporaryFolder folder;
    const std::string file = folder.path() + "/engine.plan";
    write_file_atomically(file, plan("vtrt", "\x01\x07\x01\x74"));
    std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
    const Json document = inspect_document(file, false);
    EXPECT_EQ(document.at("kind"), Json("tensorrt-rtx-plan"));
    EXPECT_TRUE(document.at("digest").is_null());
}

TEST(Inspect, text_escapes_what_a_file_says) {
    std::string model = bytes_of("tiny.onnx");
    const std::size_t at = model.find("requal-tests");
    model.replace(at, 4, "\x1b[2J");
    TemporaryFolder folder;
    write_file_atomically(folder.path() + "/m", model);
    const std::string text = inspect_text(inspect_document(folder.path() + "/m", true));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(text.find("\\x1b[2J"), std::string::npos);
}

TEST(Wire, hostile_sizes) {
    const auto walk = [](std::string_view bytes) -> std::string {
        const ByteSource source = ByteSource::over(bytes);
        WireField field;
        try {
            for (WireReader reader(source, 0, source.size()); reader.next(field);) {
            }
        } catch (const MalformedWire& malformed) {
            return malformed.what;
        }
        return "well formed";
    };
    EXPECT_EQ(walk(std::string_view("\x08\x01\x12\x01\x61", 5)), "well formed");
    EXPECT_EQ(walk("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
              "cut off: field 2 needs 18446744073709551615 bytes, 0 are left");
    EXPECT_EQ(walk("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "a number that passes 64 bits");
    EXPECT_EQ(walk("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
              "a number that passes 64 bits");
    EXPECT_EQ(walk("\x08"), "cut off");
    EXPECT_EQ(walk("\x0b"), "wire type 3");
    EXPECT_EQ(walk(std::string_view("\x00\x01", 2)), "no field number");
    EXPECT_EQ(walk("\x09\x01\x02"), "cut off: field 1 needs 8 bytes, 2 are left");
}

TEST(ByteSource, reads_across_windows_and_parts) {
    TemporaryFolder folder;
    std::string content;
    for (int i = 0; i < 60000; ++i)
        content += static_cast<char>(i * 7 % 251);
    write_file_atomically(folder.path() + "/f", content);
    const ByteSource file = ByteSource::open(folder.path() + "/f");
    for (std::uint64_t at : {0U, 16383U, 16384U, 40000U, 59999U, 5U}) {
        EXPECT_EQ(file.view(at, 10), std::string_view(content).substr(at, 10));
        EXPECT_EQ(file.part(3).read(at, 20000),
                  at + 3 < 60000 ? content.substr(at + 3, 20000) : "");
    }
    EXPECT_EQ(file.view(60000, 1), "");
    EXPECT_EQ(file.view(UINT64_MAX, 1), "");
    EXPECT_EQ(file.part(59990, 4).size(), 4U);
    EXPECT_EQ(file.part(70000).size(), 0U);
    EXPECT_EQ(file.little_endian(59999, 2), std::nullopt);
    EXPECT_EQ(ByteSource::over("\x01\x02").little_endian(0, 2), 0x0201U);
}

TEST(ByteSource, a_file_that_gets_shorter_meanwhile) {
    TemporaryFolder folder;
    const std::string path = folder.path() + "/f";
    write_file_atomically(path, std::string(50000, 'x'));
    const ByteSource file = ByteSource::open(path);
    std::filesystem::resize_file(path, 100);
    EXPECT_EQ(file.view(40000, 10), "");
    EXPECT_EQ(file.read(90, 100).size(), 10U);
}

}  // namespace
}  // namespace requal::artifact
