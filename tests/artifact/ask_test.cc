// A fake trtexec in PATH: what it answers is shown as its own, and whatever it does, inspect ends.
#include <sys/stat.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "artifact/ask.h"
#include "artifact/recognise.h"
#include "base/file.h"

namespace requal::artifact {
namespace {

class Ask : public ::testing::Test {
protected:
    Ask() {
        const char* path = std::getenv("PATH");
        old_path_ = path == nullptr ? "" : path;
        ::setenv("PATH", (folder_.path() + ":" + old_path_).c_str(), 1);
        write_file_atomically(plan_, std::string("ftrt") + std::string(20, '\0') +
                                         std::string("\x0a\x03\x00\x1a", 4) +
                                         std::string(100, 'x'));
    }
    ~Ask() override { ::setenv("PATH", old_path_.c_str(), 1); }

    void trtexec(const std::string& script) {
        const std::string path = folder_.path() + "/trtexec";
        write_file_atomically(path, "#!/bin/sh\n" + script + "\n");
        ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    }

    Json asked(std::int64_t deadline_ns = std::int64_t{20} * 1'000'000'000) {
        Json document = inspect_document(plan_, false);
        ask_programs(document, plan_, deadline_ns);
        problems_ = document.at("problems");
        text_ = inspect_text(document);
        return document.at("asked");
    }

    TemporaryFolder folder_;
    std::string plan_ = folder_.path() + "/my engine;.onnx";
    std::string old_path_, text_;
    Json problems_;
};

TEST_F(Ask, the_answer_stands_with_who_gave_it) {
    trtexec("[ \"$1\" = --getPlanVersionOnly ] && [ \"$2\" = \"--loadEngine=" + plan_ +
            "\" ] || exit 1\n"
            "echo '[11/30/2026-19:00:00] [I] Plan was created with TensorRT version 10.3.0.26'");
    const Json answers = asked();
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers.as_array()[0],
              Json::object({{"program", folder_.path() + "/trtexec"},
                            {"question", "--getPlanVersionOnly"},
                            {"answer", Json::object({{"runtime_version", "10.3.0.26"}})},
                            {"why_not", Json()}}));
    EXPECT_EQ(problems_.size(), 0U);
    EXPECT_NE(text_.find("trtexec --getPlanVersionOnly: runtime_version 10.3.0.26"),
              std::string::npos);
}

TEST_F(Ask, an_answer_that_contradicts_the_bytes_is_a_problem) {
    trtexec("echo 'Plan was created with TensorRT version 8.6.1.6' >&2");
    EXPECT_TRUE(asked().as_array().at(0).at("answer").is_object());
    ASSERT_EQ(problems_.size(), 1U);
    EXPECT_EQ(problems_.as_array()[0],
              Json("the bytes say version 10.3.0.26, trtexec says 8.6.1.6"));
}

TEST_F(Ask, a_refusal_is_shown) {
    trtexec("echo '[11/30/2026-19:00:00] [E] Unknown option: --getPlanVersionOnly'; exit 1");
    const Json answer = asked().as_array().at(0);
    EXPECT_TRUE(answer.at("answer").is_null());
    EXPECT_EQ(answer.at("why_not"), Json("exit status 1: Unknown option: --getPlanVersionOnly"));
}

TEST_F(Ask, a_crash_a_flood_and_a_script_that_says_nothing) {
    trtexec("kill -SEGV $$");
    EXPECT_EQ(asked().as_array().at(0).at("why_not"), Json("killed by SIGSEGV"));
    trtexec("head -c 5000000 /dev/zero");
    EXPECT_EQ(asked().as_array().at(0).at("why_not"), Json("its output names no version"));
    trtexec("exit 0");
    EXPECT_EQ(asked().as_array().at(0).at("why_not"), Json("its output names no version"));
}

TEST_F(Ask, one_that_hangs_is_killed) {
    trtexec("sleep 1000");
    const Json answer = asked(std::int64_t{200} * 1'000'000).as_array().at(0);
    EXPECT_EQ(answer.at("why_not").as_string().rfind("it did not answer in ", 0), 0U);
}

TEST_F(Ask, nothing_is_asked_where_nobody_can_answer) {
    EXPECT_EQ(asked().size(), 0U);  // no trtexec
    trtexec("echo 'Plan was created with TensorRT version 1.2.3.4'");
    write_file_atomically(plan_, std::string("vtrt") + std::string(100, '\0'));
    const Json answers = asked();  // it does not know plans of TensorRT-RTX
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers.as_array()[0].at("program"), Json("requal-runner-tensorrt-rtx"));
    write_file_atomically(plan_, "x");
    EXPECT_EQ(asked().size(), 0U);
}

TEST_F(Ask, tensorrt_rtx_is_asked_through_a_runner_or_it_is_said_that_it_was_not) {
    const std::string path = folder_.path() + "/rtx.plan";
    std::string bytes = "vtrt" + std::string(20, '\0') + "\x01\x07\x01\x74" + std::string(100, 'x');
    bytes[16] = static_cast<char>(bytes.size());
    write_file_atomically(path, bytes);
    trtexec("echo 'Plan was created with TensorRT version 10.3.0.26'");  // does not know such plans
    const auto asked = [&](const AskValidity& validity) {
        Json document = inspect_document(path, false);
        EXPECT_EQ(document.at("kind"), Json("tensorrt-rtx-plan"));
        ask_programs(document, path, std::int64_t{20} * 1'000'000'000, validity);
        EXPECT_EQ(document.at("asked").size(), 1U);
        text_ = inspect_text(document);
        return document.at("asked").as_array().at(0);
    };
    Json entry = asked({});
    EXPECT_TRUE(entry.at("answer").is_null());
    EXPECT_EQ(entry.at("why_not").as_string().substr(0, 9), "not asked");
    EXPECT_NE(text_.find("requal-runner-tensorrt-rtx engine validity: no answer: not asked"),
              std::string::npos);
    std::string seen;
    entry = asked([&](const std::string& file) {
        seen = file;
        return Validity{Json::object({{"validity", "suboptimal"}}), ""};
    });
    EXPECT_EQ(seen, path);
    EXPECT_EQ(entry.at("answer"), Json::object({{"validity", "suboptimal"}}));
    EXPECT_TRUE(entry.at("why_not").is_null());
    EXPECT_NE(text_.find("engine validity: validity suboptimal"), std::string::npos);
}

}  // namespace
}  // namespace requal::artifact
