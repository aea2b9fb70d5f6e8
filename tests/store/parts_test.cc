// The parts of a store with other clocks and with bytes that no program of ours would write.
#include <sys/stat.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "store/batch.h"
#include "store/check.h"
#include "store/keep.h"
#include "store/store.h"

namespace requal::store {
namespace {

class SetClock final : public Clock {
public:
    std::int64_t wall = 1'790'000'000'000'000'000;
    std::int64_t monotonic = 5;
    std::int64_t wall_ns() const override { return wall; }
    std::int64_t monotonic_ns() const override { return monotonic; }
    bool synchronised() const override { return true; }
    std::string boot_id() const override { return "boot"; }
};

StoreOptions with(const Clock& clock, Access access = Access::create) {
    StoreOptions options;
    options.access = access;
    options.clock = &clock;
    return options;
}

constexpr std::int64_t day_ns = std::int64_t{86'400} * 1'000'000'000;

TEST(StoreClock, OneThatMovesBackIsRecordedAndBreaksNothing) {
    const TemporaryFolder folder;
    SetClock clock;
    Store store(folder.path() + "/s", with(clock));
    store.append({{"tick", Json::object({{"n", 1}})}});
    clock.wall -= 400 * day_ns;
    const auto back = store.append({{"tick", Json::object({{"n", 2}})}});
    clock.wall += 500 * day_ns;
    const auto forward = store.append({{"tick", Json::object({{"n", 3}})}});
    EXPECT_TRUE(back.front().time.has("went_back"));
    EXPECT_FALSE(forward.front().time.has("went_back"));
    EXPECT_EQ(back.front().seq + 1, forward.front().seq);
    EXPECT_EQ(back.front().time.at("clock"), Json("synced"));
    EXPECT_EQ(back.front().time.at("boot_id"), Json("boot"));
    EXPECT_TRUE(check_store(folder.path() + "/s").clean());
}

TEST(StoreClock, DaysAreThoseOfTheRecordsAndRunsThoseOfTheLedger) {
    const TemporaryFolder folder;
    SetClock clock;
    Store store(folder.path() + "/s", with(clock));
    const auto put = [&](const std::string& text, const std::string& name,
                         const std::string& kind) {
        Batch batch(store);
        ItemInfo info;
        info.name = name;
        info.kind = kind;
        const Digest digest = batch.add_bytes(text, info).digest;
        batch.commit();
        return digest;
    };
    const Digest old = put("old", "old", "model");
    const Digest run1 = put("{\"run\":1}", "run-1", "run");
    clock.wall += 10 * day_ns;
    const Digest fresh = put("fresh", "fresh", "model");
    clock.wall -= 20 * day_ns;  // the newest run is the last in the ledger, whatever its clock says
    const Digest run2 = put("{\"run\":2}", "run-2", "run");
    clock.wall += 20 * day_ns;
    const GcReport report = collect_garbage(store, parse_keep({"days:5", "runs:1"}), false);
    EXPECT_EQ(report.removed.size(), 2U);
    EXPECT_FALSE(store.find_blob(old));
    EXPECT_FALSE(store.find_blob(run1));
    EXPECT_TRUE(store.find_blob(fresh));
    EXPECT_TRUE(store.find_blob(run2));
    EXPECT_TRUE(check_store(folder.path() + "/s").clean());
}

TEST(StoreSize, ThirtyDaysOfHourlyRecordsStayBelow200Megabytes) {
    const TemporaryFolder folder;
    SetClock clock;
    Store store(folder.path() + "/s", with(clock));
    // What a re-verification leaves: a document of some 20 kB that is new each hour.
    constexpr int hours = 72;  // a tenth of them is written here, and growth is linear
    for (int hour = 0; hour < hours; ++hour) {
        clock.wall += day_ns / 24;
        Batch batch(store);
        ItemInfo info;
        info.name = "reverify-" + std::to_string(hour);
        info.kind = "reverify";
        std::string text = "{\"hour\": " + std::to_string(hour) + ", \"noise\": \"";
        for (int i = 0; i < 20'000; ++i)
            text += static_cast<char>('a' + (hour * 31 + i * 7 + i / 26) % 26);
        batch.add_bytes(text + "\"}\n", info);
        batch.commit({{"reverified", Json::object({{"verdict", "pass"}})}});
    }
    std::uint64_t bytes = store.index().blob_bytes() + file_size(store.layout().database()) +
                          file_size(store.layout().ledger(store.ledger_id()));
    EXPECT_LT(bytes * (30 * 24 / hours), 200'000'000U);
}

TEST(StoreNames, AreOnePartOfAPath) {
    for (const char* good :
         {"a", "model.onnx", "Größe 320×320", "20261130T181136Z-1a2b3c4d", "deadbee", "x@y", "a b"})
        EXPECT_NO_THROW(check_name(good)) << good;
    for (const std::string bad : {"", ".", "..", "a/b", "/a", "a\\b", "-a", ".a", " a", "a ",
                                  "deadbeef", "sha256:x", "a\nb", "\x01", "\xff", "\xc3\x28"}) {
        try {
            check_name(bad);
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
        }
    }
}

TEST(StoreBlobs, AreWrittenOnceAndReadOnly) {
    const TemporaryFolder folder;
    SetClock clock;
    Store store(folder.path() + "/s", with(clock));
    Digest digest{};
    {
        Batch batch(store);
        digest = batch.add_bytes("once").digest;
        EXPECT_FALSE(batch.add_bytes("once").fresh);
        batch.commit();
    }
    struct stat before {};
    ASSERT_EQ(::stat(store.blob_path(digest).c_str(), &before), 0);
    EXPECT_EQ(before.st_mode & 0222U, 0U);
    Batch again(store);
    EXPECT_FALSE(again.add_bytes("once").fresh);
    again.commit();
    struct stat after {};
    ASSERT_EQ(::stat(store.blob_path(digest).c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
    EXPECT_EQ(store.index().head(store.ledger_id()).seq, 2U);  // its start and one put
    EXPECT_EQ(store.read_blob(digest), "once");
}

TEST(StoreBlobs, ADroppedBatchLeavesNothing) {
    const TemporaryFolder folder;
    SetClock clock;
    Store store(folder.path() + "/s", with(clock));
    {
        Batch batch(store);
        batch.add_bytes("never");
        EXPECT_FALSE(store.find_blob(digest_of("never")));
    }
    EXPECT_FALSE(store.find_blob(digest_of("never")));
    EXPECT_TRUE(names_in(store.layout().tmp()).empty());
}

TEST(StoreBlobs, ABigStreamHasTheDigestOfItsBytes) {
    const TemporaryFolder folder;
    SetClock clock;
    Store store(folder.path() + "/s", with(clock));
    std::string content;
    for (int i = 0; i < 5'000'000; ++i)
        content += static_cast<char>(i * 7 + i / 251);
    write_file_atomically(folder.path() + "/big", content);
    Batch batch(store);
    const PutItem item = batch.add_file(folder.path() + "/big");
    batch.commit();
    EXPECT_EQ(item.digest, digest_of(content));
    EXPECT_EQ(item.size_bytes, content.size());
    EXPECT_EQ(store.read_blob(item.digest), content);
}

TEST(StoreLedger, ALineThatIsTooLongIsRefused) {
    const TemporaryFolder folder;
    SetClock clock;
    Store store(folder.path() + "/s", with(clock));
    store.append({{"small", Json::object()}});
    EXPECT_THROW(store.append({{"large", Json::object({{"text", std::string(17 << 20, 'x')}})}}),
                 Error);
    EXPECT_THROW(store.append({{"Bad Type", Json::object()}}), Error);
    EXPECT_TRUE(check_store(folder.path() + "/s").clean());
}

}  // namespace
}  // namespace requal::store
