// Folders of runs: whole or not there, two at once, left-overs removed.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "qualify/run_folder.h"

namespace fs = std::filesystem;

namespace requal::qualify {
namespace {

std::size_t entries(const std::string& folder) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        (void)entry;
        ++count;
    }
    return count;
}

TEST(RunFolderTest, AppearsWholeOrNotAtAll) {
    const TemporaryFolder store;
    {
        RunFolder folder(store.path(), system_clock());
        write_file_atomically(folder.path() + "/record.json", "{}\n");
    }
    EXPECT_EQ(entries(store.path() + "/runs"), 0U);
    EXPECT_EQ(entries(store.path() + "/tmp"), 0U);
    std::string final_path;
    {
        RunFolder folder(store.path(), system_clock());
        write_file_atomically(folder.path() + "/record.json", "{}\n");
        EXPECT_FALSE(folder_exists(folder.final_path()));
        folder.commit();
        final_path = folder.final_path();
    }
    EXPECT_TRUE(file_exists(final_path + "/record.json"));
    EXPECT_EQ(entries(store.path() + "/tmp"), 0U);
    EXPECT_EQ(find_run(store.path(), fs::path(final_path).filename().string()), final_path);
    EXPECT_EQ(find_run(store.path(), final_path), final_path);
    EXPECT_EQ(find_run(store.path(), final_path + "/record.json"), final_path);
}

TEST(RunFolderTest, ManyAtOnceGetDifferentFolders) {
    const TemporaryFolder store;
    std::set<std::string> ids;
    {
        RunFolder one(store.path(), system_clock());
        RunFolder two(store.path(), system_clock());
        RunFolder three(store.path(), system_clock());
        ids = {one.id(), two.id(), three.id()};
        // A living run's folder is not a left-over, also for the third.
        EXPECT_TRUE(folder_exists(one.path()));
        EXPECT_TRUE(folder_exists(two.path()));
    }
    EXPECT_EQ(ids.size(), 3U);
}

TEST(RunFolderTest, WhatAKilledProcessLeftIsRemovedByTheNext) {
    const TemporaryFolder store;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        RunFolder folder(store.path(), system_clock());
        write_file_atomically(folder.path() + "/half", "half");
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(entries(store.path() + "/tmp"), 2U);  // folder and lock
    EXPECT_EQ(entries(store.path() + "/runs"), 0U);
    {
        RunFolder next(store.path(), system_clock());
        EXPECT_EQ(entries(store.path() + "/tmp"), 2U);  // its own
        EXPECT_TRUE(folder_exists(next.path()));
    }
    EXPECT_EQ(entries(store.path() + "/tmp"), 0U);
}

TEST(RunFolderTest, NamesThatLeaveTheStoreAreNoRuns) {
    const TemporaryFolder store;
    for (const char* name : {"", "..", "../runs", "20261130T181136Z-1a2b3c4d", "-x", "a/b",
                             "/etc/passwd", "record.json"}) {
        try {
            (void)find_run(store.path(), name);
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input) << name;
        }
    }
}

TEST(RunFolderTest, AStoreThatCannotBeWrittenIsAStorageError) {
    const TemporaryFolder parent;
    write_file_atomically(parent.path() + "/store", "a file, not a folder");
    try {
        RunFolder folder(parent.path() + "/store", system_clock());
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::storage) << error.what();
    }
}

}  // namespace
}  // namespace requal::qualify
