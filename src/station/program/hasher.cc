// base's Hasher on zig's SHA-256, in the place of base/digest.cc, which needs OpenSSL.
#include <array>

#include "base/digest.h"
#include "base/error.h"

extern "C" {
std::size_t requal_sha256_state_bytes();
void requal_sha256_init(void* state);
void requal_sha256_update(void* state, const std::uint8_t* data, std::size_t size);
void requal_sha256_finish(void* state, std::uint8_t* out);
}

namespace requal {

struct Hasher::State {
    alignas(16) std::array<std::byte, 256> memory{};
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
    if (requal_sha256_state_bytes() > state_->memory.size())
        throw Error(ErrorKind::internal, "the state of SHA-256 is larger than its place");
    requal_sha256_init(state_->memory.data());
}

Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::span<const std::byte> bytes) {
    if (!bytes.empty())
        requal_sha256_update(state_->memory.data(),
                             reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

void Hasher::update(std::string_view bytes) {
    update(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

Digest Hasher::finish() {
    Digest digest;
    requal_sha256_finish(state_->memory.data(), digest.bytes.data());
    return digest;
}

}  // namespace requal
