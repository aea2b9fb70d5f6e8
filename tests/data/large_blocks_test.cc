#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "data/large_blocks.h"
#include "data/picture.h"

namespace requal::data {
namespace {

TEST(LargeBlocks, AreAlignedAndWholeWhateverTheirSize) {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{262143}, std::size_t{262145},
          std::size_t{6220800}, std::size_t{40000000}, std::size_t{70000000}}) {
        std::byte* const block = take_block(size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U) << size;
        std::memset(block, 7, size);
        give_block(block, size);
    }
}

TEST(LargeBlocks, NoBlockHasTwoOwners) {
    std::vector<std::shared_ptr<std::byte>> blocks;
    for (int i = 0; i < 9; ++i) {
        blocks.push_back(shared_block(300000));
        std::memset(blocks.back().get(), i, 300000);
    }
    for (int i = 0; i < 9; ++i) {
        EXPECT_EQ(std::to_integer<int>(blocks[static_cast<std::size_t>(i)].get()[299999]), i);
    }
}

TEST(LargeBlocks, ManyThreadsTakeAndGive) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            for (std::size_t i = 0; i < 200; ++i) {
                Pixels pixels(300000 + 50000 * (i % 5));
                std::memset(pixels.data(), t, pixels.size());
                const Pixels copy = pixels;
                ASSERT_EQ(copy.front(), t);
                ASSERT_EQ(copy.back(), t);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace
}  // namespace requal::data
