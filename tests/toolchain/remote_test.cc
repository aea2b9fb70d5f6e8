#include <sys/stat.h>

#include <algorithm>

#include "support.h"
#include "toolchain/remote.h"

namespace requal::toolchain {
namespace {

TEST(Remote, ReadsAddresses) {
    const RemoteHost plain = parse_remote("ssh://orin.local");
    EXPECT_EQ(plain.user, "");
    EXPECT_EQ(plain.host, "orin.local");
    EXPECT_EQ(plain.port, 0);
    const RemoteHost full = parse_remote("ssh://quality-team@192.168.1.7:2222/");
    EXPECT_EQ(full.user, "quality-team");
    EXPECT_EQ(full.host, "192.168.1.7");
    EXPECT_EQ(full.port, 2222);
    const RemoteHost six = parse_remote("ssh://root@[fe80::1]:22");
    EXPECT_EQ(six.host, "fe80::1");
    EXPECT_EQ(six.port, 22);
    EXPECT_EQ(parse_remote("ssh://[::1]").host, "::1");
}

TEST(Remote, RefusesWhatSshOrAShellCouldMisread) {
    for (const char* text : {"",
                             "orin",
                             "http://orin",
                             "ssh://",
                             "ssh://@orin",
                             "ssh://-oProxyCommand=x",
                             "ssh://-l@orin",
                             "ssh://u@-oProxyCommand=x",
                             "ssh://u@h o",
                             "ssh://u@h;ls",
                             "ssh://u@h$(ls)",
                             "ssh://u'@h",
                             "ssh://u@h\n",
                             "ssh://u@h\x1b[31m",
                             "ssh://u@h:",
                             "ssh://u@h:0",
                             "ssh://u@h:65536",
                             "ssh://u@h:22x",
                             "ssh://u@h:-1",
                             "ssh://u@h:999999999999",
                             "ssh://u@h/path",
                             "ssh://u@h:22/path",
                             "ssh://u:pw@h",
                             "ssh://u@[::1",
                             "ssh://u@[::1]x",
                             "ssh://u@[]",
                             "ssh://u@[-x]",
                             "ssh://a@b@c",
                             "ssh://ü@h"}) {
        SCOPED_TRACE(text);
        EXPECT_ERROR(error_of([&] { parse_remote(text); }), ErrorKind::usage, "");
    }
}

TEST(Remote, TheCommandQuotesTheProgramForTheOtherShell) {
    unsetenv("REQUAL_SSH");
    auto command = ssh_command({"user", "host", 2222}, "requal-runner-openvino");
    EXPECT_EQ(command.front(), "ssh");
    EXPECT_EQ(command.back(), "requal-runner-openvino --stdio");
    EXPECT_EQ(command[command.size() - 2], "host");
    EXPECT_EQ(command[command.size() - 3], "--");
    EXPECT_NE(std::find(command.begin(), command.end(), "BatchMode=yes"), command.end());
    EXPECT_NE(std::find(command.begin(), command.end(), "2222"), command.end());
    setenv("REQUAL_SSH", " ssh -F  other ", 1);
    command = ssh_command({"", "host", 0}, "/opt/my tools/it's here");
    EXPECT_EQ((std::vector<std::string>(command.begin(), command.begin() + 3)),
              (std::vector<std::string>{"ssh", "-F", "other"}));
    EXPECT_EQ(command.back(), R"('/opt/my tools/it'\''s here' --stdio)");
    unsetenv("REQUAL_SSH");
}

TEST(Remote, TheProgramOverThere) {
    unsetenv("REQUAL_REMOTE_RUNNERS");
    EXPECT_EQ(remote_program("openvino"), "requal-runner-openvino");
    setenv("REQUAL_REMOTE_RUNNERS", "/opt/requal", 1);
    EXPECT_EQ(remote_program("openvino"), "/opt/requal/requal-runner-openvino");
    unsetenv("REQUAL_REMOTE_RUNNERS");
}

TEST(RunnerPrograms, AreFoundAndListed) {
    const TemporaryFolder folder;
    setenv("REQUAL_RUNNERS", (folder.path() + "::" + folder.path() + "/none").c_str(), 1);
    const auto put = [&](const std::string& name, unsigned mode) {
        write_file_atomically(folder.path() + "/" + name, "#!/bin/sh\n");
        ASSERT_EQ(chmod((folder.path() + "/" + name).c_str(), mode), 0);
    };
    put("requal-runner-mine", 0755);
    put("requal-runner-not-executable", 0644);
    put("requal-runner-Bad Name", 0755);
    put("other", 0755);
    EXPECT_EQ(find_runner_program("mine"), folder.path() + "/requal-runner-mine");
    EXPECT_FALSE(find_runner_program("not-executable").has_value());
    EXPECT_FALSE(find_runner_program("").has_value());
    EXPECT_FALSE(find_runner_program("../mine").has_value());
    const auto names = list_runner_programs();
    EXPECT_NE(std::find(names.begin(), names.end(), "mine"), names.end());
    EXPECT_EQ(std::find(names.begin(), names.end(), "Bad Name"), names.end());
    EXPECT_EQ(std::find(names.begin(), names.end(), "scripted"), names.end());
    put("requal-runner-scripted", 0755);
    const auto asked = list_runner_programs();
    EXPECT_NE(std::find(asked.begin(), asked.end(), "scripted"), asked.end());
    // In PATH only, the runner for tests does not show itself.
    unsetenv("REQUAL_RUNNERS");
    const std::string path = std::getenv("PATH");
    setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
    const auto hidden = list_runner_programs();
    EXPECT_NE(std::find(hidden.begin(), hidden.end(), "mine"), hidden.end());
    EXPECT_EQ(std::find(hidden.begin(), hidden.end(), "scripted"), hidden.end());
    setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace requal::toolchain
