#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/file.h"
#include "machine/application.h"
#include "machine/dpkg.h"
#include "machine/elf.h"
#include "machine/libraries.h"
#include "machine/tegra_release.h"

namespace requal::machine {
namespace {

TEST(TegraRelease, FormsOfMoreThanOneDecade) {
    const TegraRelease now = parse_tegra_release(
        "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed "
        "Jan  8 "
        "01:49:37 UTC 2025\n# KERNEL_VARIANT: oot\nTARGET_USERSPACE_LIB_DIR=nvidia\n");
    EXPECT_EQ(now.form, TegraRelease::Form::known);
    EXPECT_EQ(now.release, "36");
    EXPECT_EQ(now.revision, "4.3");
    EXPECT_EQ(now.gcid, "38968081");
    EXPECT_EQ(now.board, "generic");
    EXPECT_EQ(now.date, "Wed Jan  8 01:49:37 UTC 2025");
    EXPECT_EQ(now.variant, "oot");
    EXPECT_TRUE(now.problems.empty());

    const TegraRelease old = parse_tegra_release(
        "# R21 (release), REVISION: 5.0, GCID: 7273100, BOARD: ardbeg, EABI: hard, DATE: Wed Jun  "
        "8 04:19:09 "
        "UTC 2016\r\na9993e364706816aba3e25717850c26c9cd0d89d */usr/lib/libnvos.so\r\n");
    EXPECT_EQ(old.form, TegraRelease::Form::old);
    ASSERT_EQ(old.checksums.size(), 1U);
    EXPECT_EQ(old.checksums[0].second, "/usr/lib/libnvos.so");

    EXPECT_EQ(parse_tegra_release("# R36 (release), REVISION: 4.3\n").form,
              TegraRelease::Form::old);
    for (const char* text : {"", "\n", "R36 4.3", "# R (release), REVISION: 4.3", "# R36 (release)",
                             "# R36 (release), REVISION: new", "\x7f\xff"}) {
        const TegraRelease unknown = parse_tegra_release(text);
        EXPECT_EQ(unknown.form, TegraRelease::Form::unknown) << text;
        EXPECT_TRUE(unknown.release.empty()) << text;
    }
    EXPECT_EQ(parse_tegra_release("# R36 (release), REVISION: 4.3\nzzz\n").problems.size(), 1U);
}

TEST(Sha1, KnownAnswers) {
    Sha1 abc, empty, parts;
    abc.update("abc");
    EXPECT_EQ(abc.finish(), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(empty.finish(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    for (int i = 0; i < 1000; ++i)
        parts.update(std::string(1000, 'a'));
    EXPECT_EQ(parts.finish(), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(Dpkg, StatesAreToldApart) {
    const DpkgStatus status = parse_dpkg_status(
        "Package: a\nStatus: install ok installed\nVersion: 1:2-3\nArchitecture: arm64\n\n"
        "Package: b\nStatus: hold ok installed\nVersion: 1\nDescription: x\n .\n Status: fake\n\n"
        "Package: c\nStatus: deinstall ok config-files\nVersion: 1\n\n"
        "Package: d\nStatus: install reinstreq half-configured\nVersion: 1\n");
    ASSERT_EQ(status.packages.size(), 4U);
    EXPECT_TRUE(status.problems.empty());
    EXPECT_EQ(status.packages[0].abbreviation(), "ii");
    EXPECT_EQ(status.packages[0].version, "1:2-3");
    EXPECT_EQ(status.packages[1].abbreviation(), "hi");
    EXPECT_EQ(status.packages[2].abbreviation(), "rc");
    EXPECT_FALSE(status.packages[2].is_installed());
    EXPECT_EQ(status.packages[3].abbreviation(), "iFR");
}

TEST(Dpkg, DamageIsNamedAndTheRestIsKept) {
    const std::string whole = "Package: ok\nStatus: install ok installed\nVersion: 1\n";
    for (const std::string& damaged :
         {std::string("no colon here\n"), std::string("Package: x\nVersion: 1\n"),
          std::string("Status: install ok installed\n"),
          std::string("Package: x\nStatus: instal ok installed\n"),
          std::string("Package: x\nPackage: y\nStatus: install ok installed\n"),
          std::string("Package: a b\nStatus: install ok installed\n"),
          std::string("Package: x\nStatus: install ok installed\nVersion: 1\0\n", 52)}) {
        const DpkgStatus status = parse_dpkg_status(damaged + "\n" + whole);
        ASSERT_EQ(status.packages.size(), 1U) << damaged;
        EXPECT_EQ(status.packages[0].name, "ok");
        ASSERT_EQ(status.problems.size(), 1U) << damaged;
        EXPECT_TRUE(status.problems[0].starts_with("line 1: ")) << status.problems[0];
    }
    // cut in the middle of a stanza
    EXPECT_EQ(parse_dpkg_status(whole + "\nPackage: half\nStat").problems.size(), 1U);
}

TEST(Maps, DeletedFilesAndStrangeNames) {
    const auto found = parse_maps(
        "55919c05c000-55919c05e000 r--p 00000000 fe:00 247026                     /usr/bin/cat\n"
        "55919c05e000-55919c063000 r-xp 00002000 fe:00 247026                     /usr/bin/cat\n"
        "7f0000000000-7f0000001000 r-xp 00000000 fe:00 9   /opt/a b.so (deleted)\n"
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0   [heap]\n"
        "7f0000000000-7f0000001000 rw-p 00000000 00:05 7   /dev/nvidia0\n"
        "7f0000000000-7f0000001000 r--p 00000000 fe:00 8   /opt/x\\012y\n"
        "nonsense\n");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].path, "/opt/a b.so");
    EXPECT_TRUE(found[0].deleted);
    EXPECT_EQ(found[1].path, "/opt/x\ny");
    EXPECT_EQ(found[2].path, "/usr/bin/cat");
    EXPECT_EQ(found[2].inode, 247026U);
}

TEST(Libraries, NamesTellProductAndVersion) {
    EXPECT_EQ(product_of_library("libnvinfer.so.10.3.0"), "tensorrt");
    EXPECT_EQ(product_of_library("libcudart.so.12"), "cuda");
    EXPECT_EQ(product_of_library("libcuda.so.1"), "driver");
    EXPECT_EQ(product_of_library("libnvinfer.so.conf"), "tensorrt");
    EXPECT_EQ(product_of_library("libnvinfer.sox"), "");
    EXPECT_EQ(product_of_library("libnvinfer.a"), "");
    EXPECT_EQ(version_in_name("libnvinfer.so.10.3.0"), "10.3.0");
    EXPECT_EQ(version_in_name("libnvinfer.so.10"), "");
    EXPECT_EQ(version_in_name("libnvinfer.so.10.x"), "");
}

/// An ELF header that promises more than the file has, at every length.
TEST(Elf, CutAndLyingFilesAreRefused) {
    TemporaryFolder folder;
    std::string bytes = read_file("/proc/self/exe");
    const std::string path = folder.path() + "/x";
    const auto facts_of = [&](const std::string& content) {
        write_file_atomically(path, content);
        FileDescriptor fd = open_regular_file(path);
        return read_elf(fd.get(), content.size());
    };
    EXPECT_FALSE(facts_of("").is_elf);
    EXPECT_FALSE(facts_of("#!/bin/sh\n" + std::string(100, 'x')).is_elf);
    bytes.resize(std::min<std::size_t>(bytes.size(), 4096));
    EXPECT_TRUE(facts_of(bytes).is_elf);
    for (std::size_t place = 32; place < 64; ++place) {
        std::string lying = bytes;
        lying[place] = '\xff';
        EXPECT_TRUE(facts_of(lying).is_elf);  // and no crash
    }
    for (std::size_t size : {16U, 63U, 64U, 65U, 120U, 1000U})
        EXPECT_TRUE(facts_of(bytes.substr(0, size)).soname.empty());
}

}  // namespace
}  // namespace requal::machine
