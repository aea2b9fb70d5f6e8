#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "base/file.h"
#include "error_of.h"

namespace requal {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::size_t entries(const std::string& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(ReadFileTest, ReadsWholeFiles) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/a";
    const std::string content(100'000, 'x');
    put(path, content);
    EXPECT_EQ(read_file(path), content);
    EXPECT_EQ(read_file(path, content.size()), content);
    EXPECT_EQ(file_size(path), content.size());
    EXPECT_EQ(digest_of_file(path), digest_of(content));
    const MappedFile mapped(path);
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(mapped.bytes().data()),
                               mapped.bytes().size()),
              content);
    put(path, "");
    EXPECT_EQ(read_file(path), "");
    EXPECT_TRUE(MappedFile(path).bytes().empty());
    // Files of /proc tell no size.
    EXPECT_NE(read_file("/proc/self/status").find("VmRSS"), std::string::npos);
}

TEST(ReadFileTest, RefusesWhatIsTooLarge) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/a";
    put(path, "12345");
    const Error error = error_of([&] { read_file(path, 4); });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.where(), path);
    EXPECT_EQ(error_of([] { read_file("/proc/self/status", 10); }).kind(), ErrorKind::input);
}

TEST(ReadFileTest, RefusesWhatIsNoRegularFileAndNeverWaits) {
    const TemporaryFolder folder;
    const std::string fifo = folder.path() + "/fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    for (const std::string& path :
         {fifo, folder.path(), std::string("/dev/zero"), folder.path() + "/absent",
          folder.path() + "/absent/below", std::string("a\0b", 3), std::string()}) {
        EXPECT_EQ(error_of([&] { read_file(path); }).kind(), ErrorKind::input) << path;
        EXPECT_EQ(error_of([&] { MappedFile{path}; }).kind(), ErrorKind::input) << path;
        EXPECT_EQ(error_of([&] { digest_of_file(path); }).kind(), ErrorKind::input) << path;
        EXPECT_EQ(error_of([&] { file_size(path); }).kind(), ErrorKind::input) << path;
        EXPECT_FALSE(file_exists(path)) << path;
    }
    EXPECT_TRUE(folder_exists(folder.path()));
    EXPECT_FALSE(folder_exists(fifo));
}

TEST(AtomicFileTest, AppearsOnlyAtCommit) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/a";
    put(path, "old");
    {
        AtomicFile file(path);
        file.write("ne");
        file.write("w");
        EXPECT_EQ(read_file(path), "old");
        EXPECT_EQ(fs::path(file.temporary_path()).parent_path(), folder.path());
        file.commit();
    }
    EXPECT_EQ(read_file(path), "new");
    { AtomicFile(path).write("never"); }
    EXPECT_EQ(read_file(path), "new");
    EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFileTest, LongestNameAndModeOfTheUmask) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/" + std::string(255, 'n');
    const mode_t before = ::umask(027);
    write_file_atomically(path, "x");
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(AtomicFileTest, FailuresAreStorageErrorsAndLeaveNothing) {
    const TemporaryFolder folder;
    EXPECT_EQ(error_of([&] { AtomicFile{folder.path() + "/absent/a"}; }).kind(),
              ErrorKind::storage);
    EXPECT_EQ(error_of([&] { AtomicFile{folder.path()}; }).kind(), ErrorKind::storage);
    EXPECT_EQ(error_of([&] { AtomicFile{"/dev/null"}; }).kind(), ErrorKind::storage);
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_EQ(entries(folder.path()), 0U);
}

TEST(AtomicFileTest, AWriteThatFailsLeavesTheOldFile) {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/a";
    put(path, "old");
    // As on a full disk: the file may not grow past 4096 bytes.
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    Error error = error_of([&] { write_file_atomically(path, std::string(10'000, 'x')); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(error.kind(), ErrorKind::storage);
    EXPECT_EQ(error.where(), path);
    EXPECT_EQ(read_file(path), "old");
    EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(AtomicFileTest, AFullDiskIsNamed) {
    const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(full);
    const std::string text = "x";
    const Error error =
        error_of([&] { write_all(full.get(), std::as_bytes(std::span(text.data(), 1)), "store"); });
    EXPECT_EQ(error.kind(), ErrorKind::storage);
    EXPECT_STREQ(error.what(),
                 "store: cannot write: No space left on device; free some space and run it again");
}

TEST(FolderTest, MakesParentsAndRefusesFiles) {
    const TemporaryFolder folder;
    make_folders(folder.path() + "/a/b/c");
    make_folders(folder.path() + "/a/b/c");
    EXPECT_TRUE(folder_exists(folder.path() + "/a/b/c"));
    put(folder.path() + "/file", "");
    EXPECT_EQ(error_of([&] { make_folders(folder.path() + "/file"); }).kind(), ErrorKind::storage);
    EXPECT_EQ(error_of([&] { make_folders(folder.path() + "/file/x"); }).kind(),
              ErrorKind::storage);
}

TEST(FolderTest, TemporaryFoldersGo) {
    std::string path;
    {
        const TemporaryFolder folder("test");
        path = folder.path();
        make_folders(path + "/a/b");
        put(path + "/a/b/c", "x");
    }
    EXPECT_FALSE(folder_exists(path));
    EXPECT_EQ(error_of([] { TemporaryFolder("x", "/nowhere/at/all"); }).kind(), ErrorKind::storage);
}

TEST(PathInsideTest, TakesWhatStays) {
    const TemporaryFolder folder;
    make_folders(folder.path() + "/sub");
    put(folder.path() + "/sub/a", "x");
    fs::create_symlink("sub/a", folder.path() + "/link");
    fs::create_directory_symlink("sub", folder.path() + "/folder_link");
    for (const char* relative :
         {"sub/a", "new", "new/below", "./sub/a", "link", "folder_link/a", "..a", "a..", "..."})
        EXPECT_EQ(path_inside(folder.path(), relative), folder.path() + "/" + relative);
}

TEST(PathInsideTest, RefusesWhatLeaves) {
    const TemporaryFolder outer;
    const std::string folder = outer.path() + "/in";
    make_folders(folder + "/sub");
    make_folders(outer.path() + "/in2");
    put(outer.path() + "/secret", "x");
    fs::create_symlink("../secret", folder + "/out");
    fs::create_symlink("/etc/passwd", folder + "/absolute");
    fs::create_directory_symlink("..", folder + "/up");
    fs::create_symlink("../not_there_yet", folder + "/dangling");
    fs::create_symlink("loop", folder + "/loop");
    fs::create_directory_symlink("../in2", folder + "/sibling");  // a name that only begins alike
    for (const std::string& relative :
         {std::string(), std::string("/etc/passwd"), std::string(".."), std::string("../secret"),
          std::string("sub/../../secret"), std::string("sub/.."), std::string("a//b"),
          std::string("a/"), std::string("a\0b", 3), std::string("out"), std::string("absolute"),
          std::string("up/secret"), std::string("up/in/sub"), std::string("dangling"),
          std::string("loop"), std::string("sibling/x"), std::string(10'000, 'a')})
        EXPECT_EQ(error_of([&] { path_inside(folder, relative); }).kind(), ErrorKind::input)
            << relative;
    EXPECT_EQ(error_of([&] { path_inside(outer.path() + "/absent", "a"); }).kind(),
              ErrorKind::input);
}

}  // namespace
}  // namespace requal
