#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "machine/root.h"

namespace requal::machine {
namespace {

class RootFolderTest : public testing::Test {
protected:
    void put(const std::string& path, const std::string& text) {
        const std::string full = inside() + path;
        make_folders(full.substr(0, full.rfind('/')));
        write_file_atomically(full, text);
    }
    void link(const std::string& path, const std::string& to) {
        const std::string full = inside() + path;
        make_folders(full.substr(0, full.rfind('/')));
        std::filesystem::create_symlink(to, full);
    }
    std::string inside() const { return folder_.path() + "/root"; }
    void SetUp() override {
        make_folders(inside());
        write_file_atomically(folder_.path() + "/secret", "outside");
    }
    TemporaryFolder folder_;
};

TEST_F(RootFolderTest, LinksNeverLeadOutside) {
    put("/etc/name", "inside");
    make_folders(inside() + "/" + folder_.path());
    link("/absolute", "/etc/name");
    link("/up", "../../../../../../../etc/name");
    link("/to-secret", folder_.path() + "/secret");
    link("/up-to-secret", "../secret");
    link("/folder", "/etc/../etc");
    const Root root(inside());
    EXPECT_FALSE(root.is_this_computer());
    EXPECT_EQ(root.text("/absolute").bytes, "inside");
    EXPECT_EQ(root.text("/up").bytes, "inside");
    EXPECT_EQ(root.text("/folder/name").bytes, "inside");
    EXPECT_EQ(root.text("/../../../etc/name").bytes, "inside");
    EXPECT_EQ(root.text("/to-secret").presence, Presence::absent);
    EXPECT_EQ(root.text("/up-to-secret").presence, Presence::absent);
    EXPECT_EQ(root.text("/../secret").presence, Presence::absent);
    EXPECT_EQ(root.resolved("/folder/name").bytes, "/etc/name");
    EXPECT_EQ(root.link("/absolute").bytes, "/etc/name");
}

TEST_F(RootFolderTest, LoopsEnd) {
    link("/a", "/b");
    link("/b", "a");
    link("/deep/again", "../deep");
    const Root root(inside());
    const RootText loop = root.text("/a");
    EXPECT_EQ(loop.presence, Presence::unreadable);
    EXPECT_EQ(loop.reason, "links lead in a circle");
    std::string path = "/deep";
    for (int i = 0; i < 30; ++i)
        path += "/again";
    EXPECT_TRUE(root.folder(path));
    for (int i = 0; i < 30; ++i)
        path += "/again";
    EXPECT_EQ(root.folder(path).presence, Presence::unreadable);
}

TEST_F(RootFolderTest, OnlyRegularFilesAreOpened) {
    make_folders(inside() + "/etc");
    ASSERT_EQ(::mkfifo((inside() + "/etc/pipe").c_str(), 0600), 0);
    link("/zero", "/dev/zero");
    const Root root(inside());
    EXPECT_EQ(root.text("/etc/pipe").reason, "it is a FIFO");  // and did not wait for a writer
    EXPECT_EQ(root.text("/etc").reason, "it is a folder");
    EXPECT_EQ(root.text("/zero").presence, Presence::absent);
    if (::geteuid() == 0 && ::mknod((inside() + "/zero2").c_str(), S_IFCHR | 0600, 0x105) == 0) {
        EXPECT_EQ(root.text("/zero2").reason, "it is a device");
    }
}

TEST_F(RootFolderTest, HugeAndUnreadableFilesHaveAReason) {
    put("/huge", "");
    std::filesystem::resize_file(inside() + "/huge", std::uintmax_t{1} << 40U);
    put("/hidden", "x");
    std::filesystem::permissions(inside() + "/hidden", std::filesystem::perms::none);
    const Root root(inside());
    EXPECT_EQ(root.text("/huge", 1000).reason, "larger than 1000 bytes");
    const RootText hidden = root.text("/hidden");
    if (::geteuid() != 0) {
        EXPECT_EQ(hidden.reason, "permission denied");
    } else {
        EXPECT_EQ(hidden.bytes, "x");
    }
    EXPECT_EQ(root.text("/absent").presence, Presence::absent);
    EXPECT_EQ(root.text("/hidden/below").presence, Presence::absent);
    EXPECT_EQ(root.text(std::string("/a\0b", 4)).presence, Presence::unreadable);
    EXPECT_EQ(root.text("/" + std::string(10000, 'a')).presence, Presence::unreadable);
}

TEST_F(RootFolderTest, NamesMayBeAnyBytes) {
    put("/lib/\xff\xfe.so", "bytes");
    const Root root(inside());
    EXPECT_EQ(root.folder("/lib").names, std::vector<std::string>{"\xff\xfe.so"});
    EXPECT_EQ(root.text("/lib/\xff\xfe.so").bytes, "bytes");
}

TEST(Root, ThisComputerAndWhatIsNoFolder) {
    EXPECT_TRUE(Root("/").is_this_computer());
    EXPECT_FALSE(Root("/").line("/proc/sys/kernel/osrelease").bytes.empty());
    EXPECT_THROW(Root("/proc/version"), Error);
    EXPECT_THROW(Root("/no/such/root"), Error);
}

}  // namespace
}  // namespace requal::machine
