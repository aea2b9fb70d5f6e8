// Keys that sign evidence: Ed25519 and ECDSA over P-256, by OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace requal::evidence {

/// A public key of one of the two kinds. Any other kind, a private key or a certificate in its place is Error(input).
class PublicKey {
public:
    /// PEM with exactly one block, "PUBLIC KEY"; `source` names it in messages.
    static PublicKey from_pem(std::string_view pem, const std::string& source);
    static PublicKey from_file(const std::string& path);
    /// DER of SubjectPublicKeyInfo.
    static PublicKey from_der(std::string_view der, const std::string& source);

    std::string id() const;         ///< 64 hex digits: SHA-256 over der()
    std::string algorithm() const;  ///< "ed25519", "ecdsa-p256"
    std::string der() const;        ///< SubjectPublicKeyInfo
    std::string pem() const;
    /// `signature`: 64 bytes for Ed25519, DER of (r, s) over SHA-256 for ECDSA.
    bool verifies(std::string_view message, std::string_view signature) const;

private:
    friend class PrivateKey;
    explicit PublicKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
    std::shared_ptr<evp_pkey_st> key_;
};

class PrivateKey {
public:
    /// A PEM file, or a URI "pkcs11:..." where this OpenSSL has a provider of that name (Error(missing) says so where it has not).
    /// `passphrase_file`: its first line opens an encrypted key; empty: asked for on the terminal.
    static PrivateKey open(const std::string& name, const std::string& passphrase_file = {});
    static PrivateKey from_pem(std::string_view pem, const std::string& source,
                               const std::string& passphrase = {});
    /// A new key of `algorithm` ("ed25519", "ecdsa-p256").
    static PrivateKey make(std::string_view algorithm);

    PublicKey public_key() const;
    std::string pem() const;  ///< PKCS#8, not encrypted
    std::string sign(std::string_view message) const;

private:
    explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
    std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace requal::evidence
