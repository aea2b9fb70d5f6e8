#include "data/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace requal::data {

namespace {

using Colour3 = std::array<std::uint8_t, 3>;

// Okabe and Ito's colours, which people with any colour vision tell apart
constexpr std::array<Colour3, 7> palette{{{230, 159, 0},
                                          {86, 180, 233},
                                          {0, 158, 115},
                                          {240, 228, 66},
                                          {0, 114, 178},
                                          {213, 94, 0},
                                          {204, 121, 167}}};

// digits of 3 x 5 dots, row by row from the top, the left dot in the highest of three bits
constexpr std::array<std::uint16_t, 10> digits{
    0b111'101'101'101'111, 0b010'110'010'010'111, 0b111'001'111'100'111, 0b111'001'111'001'111,
    0b101'101'111'001'001, 0b111'100'111'001'111, 0b111'100'111'101'111, 0b111'001'010'010'010,
    0b111'101'111'101'111, 0b111'101'111'001'111};

struct Brush {
    Picture& picture;
    Colour3 colour{};

    void dot(std::int64_t x, std::int64_t y) {
        if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) {
            return;
        }
        std::copy(colour.begin(), colour.end(),
                  picture.rgb.begin() + static_cast<std::ptrdiff_t>(3 * (y * picture.width + x)));
    }
    void block(std::int64_t x, std::int64_t y, std::int64_t w, std::int64_t h) {
        const std::int64_t right = std::min(x + w, picture.width);
        const std::int64_t bottom = std::min(y + h, picture.height);
        for (std::int64_t row = std::max<std::int64_t>(y, 0); row < bottom; ++row) {
            for (std::int64_t column = std::max<std::int64_t>(x, 0); column < right; ++column) {
                dot(column, row);
            }
        }
    }
};

void write(Brush& brush, const std::string& text, std::int64_t x, std::int64_t y,
           std::int64_t size) {
    for (const char c : text) {
        if (c >= '0' && c <= '9') {
            const std::uint16_t bits = digits[static_cast<std::size_t>(c - '0')];
            for (int i = 0; i < 15; ++i) {
                if ((bits >> (14 - i) & 1) != 0) {
                    brush.block(x + i % 3 * size, y + i / 3 * size, size, size);
                }
            }
        }
        x += 4 * size;
    }
}

std::int64_t pixel(double value, std::int64_t limit) {
    return static_cast<std::int64_t>(
        std::clamp(std::nearbyint(value), -1.0, static_cast<double>(limit) + 1));
}

}  // namespace

void draw_detections(Picture& picture, std::span<const Detection> detections) {
    const std::int64_t thick = std::max<std::int64_t>(1, picture.width / 400);
    // the best are drawn last, on top of the others
    for (std::size_t i = detections.size(); i-- > 0;) {
        const Detection& found = detections[i];
        const std::int64_t left = pixel(found.x, picture.width);
        const std::int64_t top = pixel(found.y, picture.height);
        const std::int64_t width = pixel(found.x + found.width, picture.width) - left;
        const std::int64_t height = pixel(found.y + found.height, picture.height) - top;
        const auto index = static_cast<std::uint64_t>(found.category_id) % palette.size();
        Brush brush{picture, palette[index]};
        brush.block(left, top, width, thick);
        brush.block(left, top + height - thick, width, thick);
        brush.block(left, top, thick, height);
        brush.block(left + width - thick, top, thick, height);
        const std::string text = std::to_string(found.category_id) + " " +
                                 std::to_string(std::lround(100 * found.score));
        const std::int64_t label_height = 7 * thick;
        const std::int64_t label_top = top >= label_height ? top - label_height : top;
        brush.block(left, label_top, static_cast<std::int64_t>(text.size()) * 4 * thick + thick,
                    label_height);
        brush.colour = {0, 0, 0};
        write(brush, text, left + thick, label_top + thick, thick);
    }
}

}  // namespace requal::data
