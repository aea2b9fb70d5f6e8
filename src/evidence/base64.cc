#include "evidence/base64.h"

#include <array>
#include <cstdint>

#include "base/error.h"

namespace requal::evidence {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> values_of_letters() {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
    return values;
}

constexpr std::array<std::int8_t, 256> letter_values = values_of_letters();

[[noreturn]] void refuse(const char* what, std::string_view where) {
    throw Error(ErrorKind::input, std::string("not strict base64: ") + what, std::string(where));
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            text += k <= count ? alphabet[group >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

std::string decode_base64(std::string_view text, std::string_view where) {
    if (text.size() % 4 != 0)
        refuse("the length is no multiple of 4", where);
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        std::size_t padding = 0;
        if (i + 4 == text.size())
            padding = text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            if (k >= 4 - padding) {
                group <<= 6;
                continue;
            }
            const auto value = letter_values[static_cast<unsigned char>(text[i + k])];
            if (value < 0)
                refuse("a character outside of the alphabet", where);
            group = group << 6 | static_cast<unsigned char>(value);
        }
        if ((group & ((1U << (8 * padding)) - 1)) != 0)
            refuse("unused bits that are not zero", where);
        for (std::size_t k = 0; k < 3 - padding; ++k)
            bytes += static_cast<char>(group >> (16 - 8 * k) & 0xff);
    }
    return bytes;
}

}  // namespace requal::evidence
