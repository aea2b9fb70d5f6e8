// SHA-256 digests; written "sha256:" and 64 lower-case hex digits in every document.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace requal {

/// A SHA-256 digest.
struct Digest {
    std::array<std::uint8_t, 32> bytes{};

    std::string hex() const;   ///< 64 lower-case hex digits
    std::string text() const;  ///< "sha256:" + hex()

    auto operator<=>(const Digest&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Reads "sha256:HEX" or HEX (lower case, 64 digits); Error(input) otherwise.
Digest parse_digest(std::string_view text);

/// Incremental SHA-256.
class Hasher {
public:
    Hasher();
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;
    void update(std::span<const std::byte> bytes);
    void update(std::string_view bytes);
    Digest finish();  ///< the object may not be used afterwards

private:
    struct State;
    std::unique_ptr<State> state_;
};

Digest digest_of(std::string_view bytes);

/// Digest of a regular file, read once in blocks; Error(input|storage).
Digest digest_of_file(const std::string& path);

}  // namespace requal
