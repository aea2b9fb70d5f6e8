#include "evidence/key.h"

#include <cstring>
#include <vector>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#include <openssl/x509.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"

namespace requal::evidence {

namespace {

constexpr std::uint64_t key_file_limit = 64 << 10;

using KeyPointer = std::shared_ptr<evp_pkey_st>;

KeyPointer owned(EVP_PKEY* key) {
    return {key, EVP_PKEY_free};
}

std::string openssl_reason() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return reason == nullptr ? "no reason given" : reason;
}

[[noreturn]] void refuse(const std::string& what, const std::string& source,
                         const std::string& next = {}) {
    ERR_clear_error();
    throw Error(ErrorKind::input, what, source, next);
}

struct Bio {
    explicit Bio(std::string_view text)
        : pointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))) {}
    Bio() : pointer(BIO_new(BIO_s_mem())) {}
    ~Bio() { BIO_free(pointer); }
    Bio(const Bio&) = delete;
    Bio& operator=(const Bio&) = delete;
    std::string text() const {
        char* data = nullptr;
        const long size = BIO_get_mem_data(pointer, &data);
        return {data, static_cast<std::size_t>(size)};
    }
    BIO* pointer;
};

/// "ed25519", "ecdsa-p256", or empty.
std::string algorithm_of(const EVP_PKEY* key) {
    if (EVP_PKEY_is_a(key, "ED25519") == 1)
        return "ed25519";
    char group[64] = {};
    std::size_t size = 0;
    if (EVP_PKEY_is_a(key, "EC") == 1 &&
        EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 &&
        std::strcmp(group, "prime256v1") == 0)
        return "ecdsa-p256";
    return {};
}

/// Refuses other kinds of keys, and points that are not on the curve.
KeyPointer checked(KeyPointer key, const std::string& source) {
    if (algorithm_of(key.get()).empty()) {
        const char* name = EVP_PKEY_get0_type_name(key.get());
        char group[64] = {};
        std::size_t size = 0;
        std::string kind = name == nullptr ? "another kind" : name;
        if (EVP_PKEY_get_group_name(key.get(), group, sizeof group, &size) == 1)
            kind += std::string(" over ") + group;
        refuse("a key of " + kind + "; evidence is signed with Ed25519 or ECDSA P-256", source,
               "make one with: openssl genpkey -algorithm ed25519 -out key.pem");
    }
    if (EVP_PKEY_is_a(key.get(), "EC") == 1) {
        EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr);
        const bool good = context != nullptr && EVP_PKEY_public_check(context) == 1;
        EVP_PKEY_CTX_free(context);
        if (!good)
            refuse("the point of this key is not on the curve", source);
    }
    return key;
}

/// The label of the only PEM block of `pem`.
std::string pem_label(std::string_view pem, const std::string& source) {
    constexpr std::string_view begin = "-----BEGIN ";
    const std::size_t first = pem.find(begin);
    if (first == std::string_view::npos)
        refuse("no PEM: there is no line -----BEGIN", source);
    std::size_t label = first + begin.size();
    std::size_t end = pem.find("-----", label);
    if (end == std::string_view::npos)
        refuse("no PEM: its first line has no end", source);
    std::string name(pem.substr(label, end - label));
    // openssl ecparam writes the curve in a block of its own in front of the key
    std::size_t next = pem.find(begin, end);
    if (name == "EC PARAMETERS" && next != std::string_view::npos) {
        label = next + begin.size();
        end = pem.find("-----", label);
        if (end == std::string_view::npos)
            refuse("no PEM: its first line has no end", source);
        name = std::string(pem.substr(label, end - label));
        next = pem.find(begin, end);
    }
    if (next != std::string_view::npos)
        refuse("more than one PEM block", source, "give one key in one file");
    return name;
}

int give_passphrase(char* buffer, int size, int, void* user) {
    const auto& passphrase = *static_cast<const std::string*>(user);
    if (!passphrase.empty()) {
        if (passphrase.size() > static_cast<std::size_t>(size))
            return -1;
        std::memcpy(buffer, passphrase.data(), passphrase.size());
        return static_cast<int>(passphrase.size());
    }
    if (EVP_read_pw_string(buffer, size, "Passphrase of the key: ", 0) != 0)
        return -1;
    return static_cast<int>(std::strlen(buffer));
}

KeyPointer from_provider(const std::string& uri) {
    OSSL_PROVIDER* provider = OSSL_PROVIDER_load(nullptr, "pkcs11");
    if (provider == nullptr) {
        const std::string why = openssl_reason();
        throw Error(
            ErrorKind::missing,
            "this OpenSSL has no provider 'pkcs11' (" + why + "), so keys in tokens cannot be used",
            uri, "install pkcs11-provider for OpenSSL 3, or sign the digest file elsewhere");
    }
    OSSL_PROVIDER* standard = OSSL_PROVIDER_load(nullptr, "default");
    KeyPointer key;
    OSSL_STORE_CTX* store = OSSL_STORE_open_ex(uri.c_str(), nullptr, "?provider=pkcs11",
                                               UI_OpenSSL(), nullptr, nullptr, nullptr, nullptr);
    while (store != nullptr && !key && OSSL_STORE_eof(store) == 0) {
        OSSL_STORE_INFO* info = OSSL_STORE_load(store);
        if (info == nullptr)
            break;
        if (OSSL_STORE_INFO_get_type(info) == OSSL_STORE_INFO_PKEY)
            key = owned(OSSL_STORE_INFO_get1_PKEY(info));
        OSSL_STORE_INFO_free(info);
    }
    OSSL_STORE_close(store);
    if (!key) {
        const std::string why = openssl_reason();
        refuse("the token gives no private key of this name (" + why + ")", uri);
    }
    // The providers stay loaded as long as the process: the key needs them.
    static_cast<void>(standard);
    return key;
}

}  // namespace

PublicKey PublicKey::from_pem(std::string_view pem, const std::string& source) {
    const std::string label = pem_label(pem, source);
    if (label.find("PRIVATE KEY") != std::string::npos)
        refuse("a private key where a public key is asked for", source,
               "write the public key with: openssl pkey -in KEY.pem -pubout");
    if (label != "PUBLIC KEY")
        refuse("a PEM block '" + label + "', not 'PUBLIC KEY'", source,
               "of a certificate take: openssl x509 -pubkey -noout");
    const Bio bio(pem);
    EVP_PKEY* key = PEM_read_bio_PUBKEY(bio.pointer, nullptr, nullptr, nullptr);
    if (key == nullptr)
        refuse("this public key cannot be read: " + openssl_reason(), source);
    return PublicKey(checked(owned(key), source));
}

PublicKey PublicKey::from_file(const std::string& path) {
    return from_pem(read_file(path, key_file_limit), path);
}

PublicKey PublicKey::from_der(std::string_view der, const std::string& source) {
    const auto* data = reinterpret_cast<const unsigned char*>(der.data());
    const unsigned char* end = data;
    EVP_PKEY* key = d2i_PUBKEY(nullptr, &end, static_cast<long>(der.size()));
    if (key == nullptr)
        refuse("no SubjectPublicKeyInfo: " + openssl_reason(), source);
    const KeyPointer pointer = owned(key);
    if (end != data + der.size())
        refuse("bytes behind the end of the public key", source);
    return PublicKey(checked(pointer, source));
}

std::string PublicKey::der() const {
    unsigned char* data = nullptr;
    const int size = i2d_PUBKEY(key_.get(), &data);
    if (size <= 0)
        throw Error(ErrorKind::internal, "the public key cannot be written: " + openssl_reason());
    std::string bytes(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(data);
    return bytes;
}

std::string PublicKey::id() const {
    return digest_of(der()).hex();
}

std::string PublicKey::algorithm() const {
    return algorithm_of(key_.get());
}

std::string PublicKey::pem() const {
    const Bio bio;
    if (PEM_write_bio_PUBKEY(bio.pointer, key_.get()) != 1)
        throw Error(ErrorKind::internal, "the public key cannot be written: " + openssl_reason());
    return bio.text();
}

bool PublicKey::verifies(std::string_view message, std::string_view signature) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    const EVP_MD* digest = algorithm() == "ed25519" ? nullptr : EVP_sha256();
    const bool good =
        context != nullptr &&
        EVP_DigestVerifyInit(context, nullptr, digest, nullptr, key_.get()) == 1 &&
        EVP_DigestVerify(context, reinterpret_cast<const unsigned char*>(signature.data()),
                         signature.size(), reinterpret_cast<const unsigned char*>(message.data()),
                         message.size()) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return good;
}

PrivateKey PrivateKey::open(const std::string& name, const std::string& passphrase_file) {
    if (name.starts_with("pkcs11:"))
        return PrivateKey(checked(from_provider(name), name));
    std::string passphrase;
    if (!passphrase_file.empty()) {
        passphrase = read_file(passphrase_file, 4096);
        passphrase = passphrase.substr(0, passphrase.find_first_of("\r\n"));
    }
    return from_pem(read_file(name, key_file_limit), name, passphrase);
}

PrivateKey PrivateKey::from_pem(std::string_view pem, const std::string& source,
                                const std::string& passphrase) {
    const std::string label = pem_label(pem, source);
    if (label == "PUBLIC KEY")
        refuse("a public key where a private key is asked for", source);
    if (label.find("PRIVATE KEY") == std::string::npos || label.starts_with("OPENSSH"))
        refuse("a PEM block '" + label + "', not a private key that OpenSSL reads", source,
               "make one with: openssl genpkey -algorithm ed25519 -out key.pem");
    const Bio bio(pem);
    std::string given = passphrase;
    EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.pointer, nullptr, give_passphrase, &given);
    if (key == nullptr)
        refuse("this private key cannot be read: " + openssl_reason(), source,
               "an encrypted key needs --passphrase-file FILE where there is no terminal");
    return PrivateKey(checked(owned(key), source));
}

PrivateKey PrivateKey::make(std::string_view algorithm) {
    EVP_PKEY* key = algorithm == "ecdsa-p256" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                                              : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
    if (key == nullptr)
        throw Error(ErrorKind::internal, "no key could be made: " + openssl_reason());
    return PrivateKey(owned(key));
}

PublicKey PrivateKey::public_key() const {
    unsigned char* data = nullptr;
    const int size = i2d_PUBKEY(key_.get(), &data);
    if (size <= 0)
        throw Error(ErrorKind::missing,
                    "the public half of this key cannot be read: " + openssl_reason());
    const std::string der(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    OPENSSL_free(data);
    return PublicKey::from_der(der, "the key");
}

std::string PrivateKey::pem() const {
    const Bio bio;
    if (PEM_write_bio_PKCS8PrivateKey(bio.pointer, key_.get(), nullptr, nullptr, 0, nullptr,
                                      nullptr) != 1)
        throw Error(ErrorKind::internal, "the key cannot be written: " + openssl_reason());
    return bio.text();
}

std::string PrivateKey::sign(std::string_view message) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    const EVP_MD* digest = algorithm_of(key_.get()) == "ed25519" ? nullptr : EVP_sha256();
    const auto* data = reinterpret_cast<const unsigned char*>(message.data());
    std::size_t size = 0;
    std::vector<unsigned char> signature;
    bool good = context != nullptr &&
                EVP_DigestSignInit(context, nullptr, digest, nullptr, key_.get()) == 1 &&
                EVP_DigestSign(context, nullptr, &size, data, message.size()) == 1;
    if (good) {
        signature.resize(size);
        good = EVP_DigestSign(context, signature.data(), &size, data, message.size()) == 1;
    }
    EVP_MD_CTX_free(context);
    if (!good)
        throw Error(ErrorKind::missing, "signing failed: " + openssl_reason());
    return {reinterpret_cast<const char*>(signature.data()), size};
}

}  // namespace requal::evidence
