#include "evidence/dsse.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "evidence/base64.h"

namespace requal::evidence {

namespace {

constexpr std::size_t most_signatures = 16;

void only(const Json& object, std::initializer_list<std::string_view> keys,
          const std::string& source) {
    if (!object.is_object())
        throw Error(ErrorKind::input, "no object of an envelope", source);
    for (const auto& [key, value] : object.as_object()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end())
            throw Error(ErrorKind::input, "a DSSE envelope has no key '" + key + "'", source);
    }
}

}  // namespace

std::string pre_authentication_encoding(std::string_view payload_type, std::string_view payload) {
    std::string text = "DSSEv1 " + std::to_string(payload_type.size()) + " ";
    text += payload_type;
    text += " " + std::to_string(payload.size()) + " ";
    text += payload;
    return text;
}

Envelope sign_payload(std::string payload, const PrivateKey& key) {
    Envelope envelope;
    envelope.payload = std::move(payload);
    envelope.signatures.push_back(
        {key.public_key().id(),
         key.sign(pre_authentication_encoding(envelope.payload_type, envelope.payload))});
    return envelope;
}

bool signed_by(const Envelope& envelope, const PublicKey& key) {
    const std::string message =
        pre_authentication_encoding(envelope.payload_type, envelope.payload);
    return std::any_of(envelope.signatures.begin(), envelope.signatures.end(),
                       [&](const EnvelopeSignature& signature) {
                           return key.verifies(message, signature.signature);
                       });
}

std::string write_envelope(const Envelope& envelope) {
    Json signatures = Json::array();
    for (const EnvelopeSignature& signature : envelope.signatures)
        signatures.push_back(Json::object(
            {{"keyid", signature.key_id}, {"sig", encode_base64(signature.signature)}}));
    return write_json(Json::object({{"payloadType", envelope.payload_type},
                                    {"payload", encode_base64(envelope.payload)},
                                    {"signatures", signatures}}));
}

Envelope read_envelope(std::string_view text, const std::string& source) {
    JsonLimits limits;
    limits.size_bytes = envelope_limit_bytes;
    limits.depth = 5;
    limits.values = 1000;
    const Json json = parse_json(text, source, limits);
    only(json, {"payloadType", "payload", "signatures"}, source);
    Envelope envelope;
    envelope.payload_type = json.at("payloadType").as_string();
    if (envelope.payload_type != in_toto_payload)
        throw Error(ErrorKind::input,
                    "the payload is no in-toto statement: its type is " +
                        printable(envelope.payload_type),
                    source);
    envelope.payload = decode_base64(json.at("payload").as_string(), source + ": payload");
    const Json& signatures = json.at("signatures");
    if (signatures.as_array().empty() || signatures.size() > most_signatures)
        throw Error(ErrorKind::input, "an envelope has 1 to 16 signatures", source);
    for (const Json& entry : signatures.as_array()) {
        only(entry, {"keyid", "sig"}, source);
        EnvelopeSignature signature;
        if (entry.has("keyid"))
            signature.key_id = entry.at("keyid").as_string();
        signature.signature = decode_base64(entry.at("sig").as_string(), source + ": sig");
        envelope.signatures.push_back(std::move(signature));
    }
    return envelope;
}

}  // namespace requal::evidence
