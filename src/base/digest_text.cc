// Digests as text, and of whole strings and files; the hashing itself is in
// digest.cc.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"

namespace requal {

std::string Digest::hex() const {
    constexpr char digits[] = "0123456789abcdef";
    std::string text(2 * bytes.size(), '0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    return text;
}

std::string Digest::text() const {
    return "sha256:" + hex();
}

Digest parse_digest(std::string_view text) {
    std::string_view hex = text;
    if (hex.starts_with("sha256:"))
        hex.remove_prefix(7);
    const auto value = [](char c) {
        if (c >= '0' && c <= '9')
            return c - '0';
        if (c >= 'a' && c <= 'f')
            return c - 'a' + 10;
        return -1;
    };
    Digest digest;
    bool good = hex.size() == 2 * digest.bytes.size();
    for (std::size_t i = 0; good && i < digest.bytes.size(); ++i) {
        const int high = value(hex[2 * i]);
        const int low = value(hex[2 * i + 1]);
        good = high >= 0 && low >= 0;
        digest.bytes[i] = static_cast<std::uint8_t>(16 * high + low);
    }
    if (!good) {
        throw Error(ErrorKind::input,
                    "not a SHA-256 digest: '" + std::string(text.substr(0, 80)) + "'", {},
                    "write sha256: and 64 lower-case hex digits");
    }
    return digest;
}

Digest digest_of(std::string_view bytes) {
    Hasher hasher;
    hasher.update(bytes);
    return hasher.finish();
}

Digest digest_of_file(const std::string& path) {
    const FileDescriptor file = open_regular_file(path);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
        throw_errno(errno, "look at", path);
    // Small files are many: no MiB of zeros for each.
    std::vector<std::byte> block(static_cast<std::size_t>(
        std::clamp<std::int64_t>(status.st_size, std::int64_t{4} << 10, std::int64_t{1} << 20)));
    Hasher hasher;
    while (true) {
        const ssize_t count = ::read(file.get(), block.data(), block.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            throw_errno(errno, "read", path);
        if (count == 0)
            return hasher.finish();
        hasher.update(std::span(block).first(static_cast<std::size_t>(count)));
    }
}

}  // namespace requal
