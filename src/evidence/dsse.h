// DSSE v1 envelopes (https://github.com/secure-systems-lab/dsse): a statement's bytes with signatures over their PAE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evidence/key.h"

namespace requal::evidence {

inline constexpr std::string_view in_toto_payload = "application/vnd.in-toto+json";

struct EnvelopeSignature {
    std::string key_id;     ///< a hint: PublicKey::id(), or what other tools wrote
    std::string signature;  ///< bytes
};

struct Envelope {
    std::string payload_type = std::string(in_toto_payload);
    std::string payload;  ///< bytes
    std::vector<EnvelopeSignature> signatures;
};

/// "DSSEv1 SP LEN(type) SP type SP LEN(payload) SP payload": the bytes that are signed.
std::string pre_authentication_encoding(std::string_view payload_type, std::string_view payload);

Envelope sign_payload(std::string payload, const PrivateKey& key);
/// True when a signature of the envelope is this key's.
bool signed_by(const Envelope& envelope, const PublicKey& key);

std::string write_envelope(const Envelope& envelope);
/// Strictly: exactly the keys of DSSE, in-toto's payload type, strict base64, 1 to 16 signatures. Error(input).
Envelope read_envelope(std::string_view text, const std::string& source);

/// Largest text of an envelope in bytes.
inline constexpr std::size_t envelope_limit_bytes = std::size_t{4} << 20;

}  // namespace requal::evidence
