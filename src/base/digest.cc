// The hashing itself, by OpenSSL. Nothing else of digest.h is here, so that a
// build without OpenSSL can put another file in the place of this one.
#include "base/digest.h"

#include <openssl/evp.h>

#include "base/error.h"

namespace requal {

struct Hasher::State {
    EVP_MD_CTX* context = nullptr;
    State() : context(EVP_MD_CTX_new()) {}
    ~State() { EVP_MD_CTX_free(context); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
    if (state_->context == nullptr ||
        EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
        throw Error(ErrorKind::internal, "SHA-256 is not available in this OpenSSL");
    }
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::span<const std::byte> bytes) {
    if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) {
        throw Error(ErrorKind::internal, "SHA-256 failed");
    }
}

void Hasher::update(std::string_view bytes) {
    update(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

Digest Hasher::finish() {
    Digest digest;
    if (EVP_DigestFinal_ex(state_->context, digest.bytes.data(), nullptr) != 1) {
        throw Error(ErrorKind::internal, "SHA-256 failed");
    }
    return digest;
}

}  // namespace requal
