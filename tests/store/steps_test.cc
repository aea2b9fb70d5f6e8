// Resumable work: what is finished is not done again, what changed is, and of two callers one works.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "store/check.h"
#include "store/steps.h"

namespace requal::store {
namespace {

StoreOptions creating() {
    StoreOptions options;
    options.access = Access::create;
    return options;
}

WorkRequest request(const std::string& id, const std::string& identity = "one", bool wait = true) {
    WorkRequest wanted;
    wanted.kind = "qualify";
    wanted.key = "protocol";
    wanted.identity = identity;
    wanted.id = id;
    wanted.wait = wait;
    return wanted;
}

/// A chain of two steps that counts how often each is done: b depends on what a left.
struct Chain {
    int a = 0, b = 0;
    std::string run(Store& store, Work& work, const std::string& input_a,
                    const std::string& input_b, bool stop_after_a = false) {
        const auto step = [&](const std::string& name, const Json& inputs, int& count,
                              const std::string& content) {
            if (auto found = work.find(name, inputs))
                return found->blobs.at("out");
            work.start_step(name, inputs);
            ++count;
            Batch batch(store);
            StepResult result;
            result.blobs.emplace("out", batch.add_bytes(content).digest);
            work.finish_step(name, inputs, result, batch);
            return result.blobs.at("out");
        };
        const Digest first = step("a", Json::object({{"in", input_a}}), a, "a of " + input_a);
        if (stop_after_a)
            return {};
        const Digest second = step("b", Json::object({{"in", input_b}, {"a", first.text()}}), b,
                                   "b of " + first.hex() + input_b);
        Batch batch(store);
        work.finish(Json::object({{"out", second.text()}}), batch);
        return second.text();
    }
};

TEST(StoreSteps, TheFolderOfARunWhoseProcessWasKilledAtTheVeryEndIsMadeByTheNextCall) {
    const TemporaryFolder folder;
    Store store(folder.path() + "/s", creating());
    {
        Work work(store, request("run-1"));
        Batch batch(store);
        ItemInfo run;
        run.name = "run-1";
        run.kind = "run";
        run.files.emplace("record.json", batch.add_bytes("{}").digest);
        batch.add_reference(run.files.at("record.json"), run);
        work.finish(Json::object({{"verdict", "pass"}}), batch);  // and no make_view()
    }
    const std::string record = folder.path() + "/s/runs/run-1/record.json";
    EXPECT_FALSE(file_exists(record));
    const Work next(store, request("run-2"));
    EXPECT_EQ(read_file(record), "{}");
    EXPECT_TRUE(check_store(folder.path() + "/s").clean());
}

TEST(StoreSteps, ARepeatedCallGoesOn) {
    const TemporaryFolder folder;
    Store store(folder.path() + "/s", creating());
    Chain chain;
    {
        Work work(store, request("run-1"));
        chain.run(store, work, "x", "y", true);  // ends without a result, as when it is killed
    }
    Work work(store, request("run-2"));
    EXPECT_TRUE(work.resumed());
    EXPECT_EQ(work.id(), "run-1");
    chain.run(store, work, "x", "y");
    EXPECT_EQ(chain.a, 1);
    EXPECT_EQ(chain.b, 1);
    EXPECT_TRUE(store.index().works("open").empty());
    EXPECT_TRUE(check_store(folder.path() + "/s").clean());
}

TEST(StoreSteps, FinishedWorkIsNotContinued) {
    const TemporaryFolder folder;
    Store store(folder.path() + "/s", creating());
    Chain chain;
    for (const char* id : {"run-1", "run-2"}) {
        Work work(store, request(id));
        EXPECT_FALSE(work.resumed());
        EXPECT_EQ(work.id(), id);
        chain.run(store, work, "x", "y");
    }
    EXPECT_EQ(chain.a, 2);
}

TEST(StoreSteps, AChangedInputRestartsWhatDependsOnIt) {
    const TemporaryFolder folder;
    Store store(folder.path() + "/s", creating());
    Chain chain;
    {
        Work work(store, request("run-1"));
        chain.run(store, work, "x", "y", true);
    }
    {
        // b's own input changed: a stays
        Work work(store, request("run-2", "two"));
        EXPECT_EQ(work.id(), "run-2");
        chain.run(store, work, "x", "other", true);
        EXPECT_EQ(chain.a, 1);
    }
    {
        // a's input changed: both are new
        Work work(store, request("run-3", "three"));
        chain.run(store, work, "other", "other");
        EXPECT_EQ(chain.a, 2);
        EXPECT_EQ(chain.b, 1);
    }
    EXPECT_TRUE(store.index().works("open").empty());
    EXPECT_EQ(store.index().works("abandoned").size(), 2U);
    EXPECT_TRUE(check_store(folder.path() + "/s").clean());
}

TEST(StoreSteps, ALostOrDamagedOutputIsMadeAgain) {
    const TemporaryFolder folder;
    Store store(folder.path() + "/s", creating());
    Chain chain;
    {
        Work work(store, request("run-1"));
        chain.run(store, work, "x", "y", true);
    }
    const std::string path = store.blob_path(digest_of("a of x"));
    ASSERT_EQ(::unlink(path.c_str()), 0);
    Work work(store, request("run-1"));
    chain.run(store, work, "x", "y");
    EXPECT_EQ(chain.a, 2);
    EXPECT_TRUE(file_exists(path));
}

TEST(StoreSteps, OfTwoCallersOneWorksAndTheOtherGetsItsResult) {
    const TemporaryFolder folder;
    Store store(folder.path() + "/s", creating());
    Chain chain;
    std::atomic<bool> waiting{false};
    std::string seen;
    std::thread other;
    std::string made;
    {
        Work work(store, request("run-1"));
        Store second(folder.path() + "/s", creating());
        try {
            const Work refused(second, request("run-2", "one", false));
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::undecidable);
            EXPECT_NE(std::string(error.what()).find("run-1"), std::string::npos) << error.what();
        }
        other = std::thread([&] {
            Store third(folder.path() + "/s", creating());
            waiting = true;
            const Work waited(third, request("run-3"));
            if (waited.done_by_another())
                seen = waited.done_by_another()->at("out").as_string();
        });
        while (!waiting)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        made = chain.run(store, work, "x", "y");
    }
    other.join();
    EXPECT_EQ(seen, made);
    EXPECT_EQ(chain.a, 1);
}

TEST(StoreSteps, AbandonedWorkStartsAnew) {
    const TemporaryFolder folder;
    Store store(folder.path() + "/s", creating());
    Chain chain;
    {
        Work work(store, request("run-1"));
        chain.run(store, work, "x", "y", true);
        work.abandon("the runner does not know an option");
    }
    Work work(store, request("run-2"));
    EXPECT_FALSE(work.resumed());
    EXPECT_EQ(work.id(), "run-2");
}

}  // namespace
}  // namespace requal::store
