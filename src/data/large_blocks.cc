#include "data/large_blocks.h"

#include <bit>
#include <mutex>
#include <new>
#include <vector>

namespace requal::data {

namespace {

constexpr std::align_val_t alignment{64};
constexpr std::size_t least_kept = std::size_t{256} << 10;
constexpr std::size_t most_kept_together = std::size_t{64} << 20;

// under AddressSanitizer every block is an allocation of its own, so that it sees what is used too long or too far
#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeping = false;
#elif defined(__has_feature)
constexpr bool keeping = !__has_feature(address_sanitizer);
#else
constexpr bool keeping = true;
#endif

/// Blocks come in eight sizes an octave, so that pictures of nearly one size share them.
std::size_t rounded_size(std::size_t size) {
    if (!keeping || size < least_kept) {
        return size;
    }
    const std::size_t step = std::bit_ceil(size) / 16;
    return (size + step - 1) / step * step;
}

struct Block {
    std::byte* data = nullptr;
    std::size_t size = 0;
};

class Kept {
public:
    Kept() { blocks_.reserve(most_kept_together / least_kept); }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    std::byte* take(std::size_t size) {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = blocks_.size(); i-- > 0;) {
            if (blocks_[i].size == size) {
                std::byte* const data = blocks_[i].data;
                blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
                together_ -= size;
                return data;
            }
        }
        return nullptr;
    }
    void give(std::byte* data, std::size_t size) noexcept {
        std::vector<Block>::size_type oldest = 0;
        const std::scoped_lock lock(mutex_);
        // the oldest make room: sizes that no picture has any more
        while (oldest < blocks_.size() && together_ + size > most_kept_together) {
            together_ -= blocks_[oldest].size;
            ::operator delete(blocks_[oldest].data, alignment);
            ++oldest;
        }
        blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(oldest));
        blocks_.push_back({data, size});
        together_ += size;
    }

private:
    std::mutex mutex_;
    std::vector<Block> blocks_;  // oldest first; never more than was reserved
    std::size_t together_ = 0;
};

/// Never taken apart: blocks may come back while the program ends.
Kept& kept() {
    static Kept* const blocks = new Kept;
    return *blocks;
}

bool is_kept(std::size_t size) {
    return keeping && size >= least_kept && size <= most_kept_together / 2;
}

}  // namespace

std::byte* take_block(std::size_t size_bytes) {
    const std::size_t size = rounded_size(size_bytes);
    if (is_kept(size)) {
        if (std::byte* const data = kept().take(size)) {
            return data;
        }
    }
    return static_cast<std::byte*>(::operator new(size, alignment));
}

void give_block(std::byte* block, std::size_t size_bytes) noexcept {
    const std::size_t size = rounded_size(size_bytes);
    if (is_kept(size)) {
        kept().give(block, size);
    } else {
        ::operator delete(block, alignment);
    }
}

std::shared_ptr<std::byte> shared_block(std::size_t size_bytes) {
    return {take_block(size_bytes),
            [size_bytes](std::byte* block) { give_block(block, size_bytes); }};
}

}  // namespace requal::data
