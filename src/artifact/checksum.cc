#include "artifact/checksum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

namespace requal::artifact {

namespace {

std::uint64_t little(std::string_view bytes, std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;)
        value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

std::array<std::uint32_t, 256> crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit)
            value = (value & 1U) != 0 ? value >> 1U ^ 0xEDB88320U : value >> 1U;
        table[i] = value;
    }
    return table;
}

struct Md5 {
    std::array<std::uint32_t, 4> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

    void add_block(std::string_view block) {
        static const std::array<std::uint32_t, 64> sines = [] {
            std::array<std::uint32_t, 64> table{};
            for (std::size_t i = 0; i < table.size(); ++i)
                table[i] = static_cast<std::uint32_t>(
                    std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
            return table;
        }();
        static constexpr int turns[4][4] = {
            {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
        auto [a, b, c, d] = state;
        for (std::size_t i = 0; i < 64; ++i) {
            std::uint32_t mixed = 0;
            std::size_t word = 0;
            if (i < 16) {
                mixed = (b & c) | (~b & d);
                word = i;
            } else if (i < 32) {
                mixed = (d & b) | (~d & c);
                word = (5 * i + 1) % 16;
            } else if (i < 48) {
                mixed = b ^ c ^ d;
                word = (3 * i + 5) % 16;
            } else {
                mixed = c ^ (b | ~d);
                word = 7 * i % 16;
            }
            mixed += a + sines[i] + static_cast<std::uint32_t>(little(block, word * 4, 4));
            a = d;
            d = c;
            c = b;
            b += std::rotl(mixed, turns[i / 16][i % 4]);
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
    }
};

// the reference's names of these constants stand behind them
constexpr std::uint64_t prime32_1 = 0x9E3779B1, prime32_2 = 0x85EBCA77, prime32_3 = 0xC2B2AE3D;
constexpr std::uint64_t prime64_1 = 0x9E3779B185EBCA87, prime64_2 = 0xC2B2AE3D27D4EB4F,
                        prime64_3 = 0x165667B19E3779F9, prime64_4 = 0x85EBCA77C2B2AE63,
                        prime64_5 = 0x27D4EB2F165667C5, prime_mx1 = 0x165667919E3779F9;
constexpr std::size_t stripe_bytes = 64, block_bytes = 1024, secret_bytes = 192;

// the default secret, in 24 little-endian words
constexpr unsigned char secret_table[secret_bytes] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

std::uint64_t secret_at(std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;)
        value = value << 8U | secret_table[at + i];
    return value;
}

struct Xxh3 {
    std::array<std::uint64_t, 8> lanes{prime32_3, prime64_1, prime64_2, prime64_3,
                                       prime64_4, prime32_2, prime64_5, prime32_1};

    void add_stripe(std::string_view stripe, std::size_t secret) {
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const std::uint64_t value = little(stripe, i * 8, 8);
            const std::uint64_t keyed = value ^ secret_at(secret + i * 8);
            lanes[i ^ 1U] += value;
            lanes[i] += (keyed & 0xFFFFFFFFU) * (keyed >> 32U);
        }
    }
    void end_block() {
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            const std::uint64_t key = secret_at(secret_bytes - stripe_bytes + i * 8);
            lanes[i] = (lanes[i] ^ lanes[i] >> 47U ^ key) * prime32_1;
        }
    }
    std::uint64_t end(std::uint64_t size) const {
        __extension__ using Wide = unsigned __int128;
        std::uint64_t result = size * prime64_1;
        for (std::size_t i = 0; i < lanes.size(); i += 2) {
            const Wide product = static_cast<Wide>(lanes[i] ^ secret_at(11 + i * 8)) *
                                 (lanes[i + 1] ^ secret_at(19 + i * 8));
            result +=
                static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
        }
        result = (result ^ result >> 37U) * prime_mx1;
        return result ^ result >> 32U;
    }
};

}  // namespace

std::uint32_t crc32_of(const ByteSource& bytes) {
    static const std::array<std::uint32_t, 256> table = crc_table();
    std::uint32_t crc = 0xFFFFFFFF;
    for (std::uint64_t at = 0; at < bytes.size();) {
        const std::string_view block = bytes.view(at, ByteSource::window_bytes);
        for (const char c : block)
            crc = crc >> 8U ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFFU];
        at += block.size();
    }
    return ~crc;
}

std::string md5_of(const ByteSource& bytes) {
    Md5 md5;
    std::uint64_t at = 0;
    for (; bytes.size() - at >= 64; at += 64)
        md5.add_block(bytes.view(at, 64));
    std::string rest(bytes.view(at, 64));
    rest += '\x80';
    rest.resize(rest.size() <= 56 ? 56 : 120, '\0');
    for (unsigned shift = 0; shift < 64; shift += 8)
        rest += static_cast<char>(bytes.size() * 8 >> shift & 0xFFU);
    for (std::size_t i = 0; i < rest.size(); i += 64)
        md5.add_block(std::string_view(rest).substr(i, 64));
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint32_t word : md5.state)
        for (unsigned shift = 0; shift < 32; shift += 8) {
            text += digits[word >> (shift + 4U) & 15U];
            text += digits[word >> shift & 15U];
        }
    return text;
}

std::optional<std::uint64_t> xxh3_64_of(const ByteSource& bytes) {
    if (bytes.size() <= 240)
        return std::nullopt;
    Xxh3 hash;
    const std::uint64_t blocks = (bytes.size() - 1) / block_bytes;
    for (std::uint64_t i = 0; i < blocks; ++i) {
        const std::string_view block = bytes.view(i * block_bytes, block_bytes);
        for (std::size_t at = 0; at < block_bytes; at += stripe_bytes)
            hash.add_stripe(block.substr(at, stripe_bytes), at / 8);
        hash.end_block();
    }
    const std::uint64_t left = bytes.size() - 1 - blocks * block_bytes;
    for (std::uint64_t at = 0; at + stripe_bytes <= left; at += stripe_bytes)
        hash.add_stripe(bytes.view(blocks * block_bytes + at, stripe_bytes),
                        static_cast<std::size_t>(at / 8));
    // the last stripe ends where the bytes end, and may overlap the one before
    hash.add_stripe(bytes.view(bytes.size() - stripe_bytes, stripe_bytes),
                    secret_bytes - stripe_bytes - 7);
    return hash.end(bytes.size());
}

}  // namespace requal::artifact
