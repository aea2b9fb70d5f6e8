#include "data/near_duplicate.h"

#include <algorithm>
#include <bit>

namespace requal::data {

PictureHash hash_of_picture(const Picture& picture) {
    constexpr std::int64_t columns = 17;
    constexpr std::int64_t rows = 16;
    std::array<std::uint64_t, columns * rows> sums{};
    std::array<std::uint64_t, columns * rows> counts{};
    for (std::int64_t y = 0; y < picture.height; ++y) {
        const std::int64_t row = y * rows / picture.height;
        const std::uint8_t* pixel =
            picture.rgb.data() + static_cast<std::size_t>(3 * y * picture.width);
        for (std::int64_t x = 0; x < picture.width; ++x, pixel += 3) {
            const auto cell = static_cast<std::size_t>(row * columns + x * columns / picture.width);
            sums[cell] += 2U * pixel[0] + 5U * pixel[1] + pixel[2];
            ++counts[cell];
        }
    }
    const auto mean = [&](std::int64_t row, std::int64_t column) {
        const auto cell = static_cast<std::size_t>(row * columns + column);
        return sums[cell] / std::max<std::uint64_t>(counts[cell], 1);
    };
    PictureHash hash{};
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column + 1 < columns; ++column) {
            const auto bit = static_cast<std::size_t>(row * 16 + column);
            if (mean(row, column) < mean(row, column + 1)) {
                hash[bit / 64] |= std::uint64_t{1} << (bit % 64);
            }
        }
    }
    return hash;
}

int distance(const PictureHash& a, const PictureHash& b) {
    int bits = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        bits += std::popcount(a[i] ^ b[i]);
    }
    return bits;
}

}  // namespace requal::data
