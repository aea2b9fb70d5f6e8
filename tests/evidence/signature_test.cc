// Keys, envelopes, statements, base64, schemas and trust policies: what is good passes, each kind of wrong is refused by name.
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "evidence/base64.h"
#include "evidence/dsse.h"
#include "evidence/key.h"
#include "evidence/schema_check.h"
#include "evidence/statement.h"
#include "evidence/trust.h"
#include "small_store.h"

namespace requal::evidence {
namespace {

template <typename Work>
std::string error_of(Work work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return "(no error)";
}

#define EXPECT_SAYS(part, ...)                                                                     \
    do {                                                                                           \
        const std::string said = error_of([&] { __VA_ARGS__; });                                   \
        EXPECT_NE(said.find(part), std::string::npos) << said;                                     \
    } while (false)

const std::vector<Subject> one_subject{{"thing", digest_of("thing")}};

TEST(Base64, IsThatOfTheRfc) {
    EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(encode_base64("fooba"), "Zm9vYmE=");
    EXPECT_EQ(encode_base64("foob"), "Zm9vYg==");
    EXPECT_EQ(encode_base64(""), "");
    for (std::size_t size = 0; size < 70; ++size) {
        std::string bytes;
        for (std::size_t i = 0; i < size; ++i)
            bytes += static_cast<char>(i * 37 + size);
        EXPECT_EQ(decode_base64(encode_base64(bytes), "x"), bytes);
    }
}

TEST(Base64, OtherTextsForTheSameBytesAreRefused) {
    for (const char* text : {"Zm9vYg=", "Zm9vYg", "Zm9vYh==", "Zm9vYmF=", "Zm9v\nYg==", " Zm9v",
                             "Zm-_", "Zm=v", "====", "Zg==Zg==", "Z===", "Zm9vYg==\n"})
        EXPECT_SAYS("strict base64", decode_base64(text, "x"));
}

TEST(Keys, BothKindsSignAndOnlyTheirOwnSignaturesHold) {
    for (const char* algorithm : {"ed25519", "ecdsa-p256"}) {
        const PrivateKey key = PrivateKey::make(algorithm);
        const PrivateKey other = PrivateKey::make(algorithm);
        EXPECT_EQ(key.public_key().algorithm(), algorithm);
        std::string signature = key.sign("message");
        EXPECT_TRUE(key.public_key().verifies("message", signature));
        EXPECT_FALSE(key.public_key().verifies("messagf", signature));
        EXPECT_FALSE(key.public_key().verifies("message", ""));
        EXPECT_FALSE(other.public_key().verifies("message", signature));
        for (std::size_t i = 0; i < signature.size(); ++i) {
            signature[i] = static_cast<char>(signature[i] ^ 1);
            EXPECT_FALSE(key.public_key().verifies("message", signature)) << algorithm << i;
            signature[i] = static_cast<char>(signature[i] ^ 1);
        }
        EXPECT_FALSE(key.public_key().verifies("message", signature + std::string(1, '\0')));
        const PrivateKey again = PrivateKey::from_pem(key.pem(), "key");
        EXPECT_EQ(again.public_key().id(), key.public_key().id());
        EXPECT_EQ(PublicKey::from_pem(key.public_key().pem(), "key").id(), key.public_key().id());
        EXPECT_EQ(PublicKey::from_der(key.public_key().der(), "key").id(), key.public_key().id());
    }
}

TEST(Keys, WhatIsNoKeyOfTheTwoKindsIsRefusedByName) {
    const PrivateKey key = PrivateKey::make("ed25519");
    EXPECT_SAYS("a private key where a public key", PublicKey::from_pem(key.pem(), "k"));
    EXPECT_SAYS("a public key where a private key",
                PrivateKey::from_pem(key.public_key().pem(), "k"));
    EXPECT_SAYS("no PEM", PublicKey::from_pem("", "k"));
    EXPECT_SAYS("more than one PEM block",
                PublicKey::from_pem(key.public_key().pem() + key.public_key().pem(), "k"));
    EXPECT_SAYS("'CERTIFICATE'", PublicKey::from_pem("-----BEGIN CERTIFICATE-----\nAA==\n"
                                                     "-----END CERTIFICATE-----\n",
                                                     "k"));
    EXPECT_SAYS("cannot be read", PublicKey::from_pem("-----BEGIN PUBLIC KEY-----\nAAAA\n"
                                                      "-----END PUBLIC KEY-----\n",
                                                      "k"));
    EXPECT_SAYS("not a private key",
                PrivateKey::from_pem("-----BEGIN OPENSSH PRIVATE KEY-----\nAA==\n"
                                     "-----END OPENSSH PRIVATE KEY-----\n",
                                     "k"));
    EXPECT_SAYS("bytes behind", PublicKey::from_der(key.public_key().der() + "x", "k"));
    // `openssl genpkey -algorithm x25519 | openssl pkey -pubout`: a key that cannot sign
    EXPECT_SAYS("a key of X25519",
                PublicKey::from_pem("-----BEGIN PUBLIC KEY-----\n"
                                    "MCowBQYDK2VuAyEACQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
                                    "-----END PUBLIC KEY-----\n",
                                    "k"));
}

TEST(Keys, APkcs11KeyWithoutProviderIsMissingAndSaysSo) {
    try {
        PrivateKey::open("pkcs11:object=nothing");
        GTEST_SKIP() << "this OpenSSL has a provider pkcs11 and a token";
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::input)
            GTEST_SKIP() << "this OpenSSL has a provider pkcs11";
        EXPECT_EQ(error.kind(), ErrorKind::missing);
        EXPECT_NE(std::string(error.what()).find("no provider 'pkcs11'"), std::string::npos);
    }
}

TEST(Envelopes, PaeIsThatOfDsse) {
    EXPECT_EQ(pre_authentication_encoding("http://example.com/HelloWorld", "hello world"),
              "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(Envelopes, GoThereAndBackAndAnyChangedByteIsFound) {
    const PrivateKey key = PrivateKey::make("ed25519");
    const SetClock clock;
    const Envelope envelope = sign_payload(write_statement(approval(one_subject, doe, clock)), key);
    const std::string text = write_envelope(envelope);
    const std::vector<TrustedKey> keys{
        {key.public_key(), "J. Doe", {"validation owner"}, false, false, {}, {}, {}}};
    EXPECT_EQ(judge_signature(text, "evidence", keys).status, "good");
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string changed = text;
        changed[i] = static_cast<char>(changed[i] ^ 0x01);
        const JudgedSignature judged = judge_signature(changed, "evidence", keys);
        // A changed hint at the key changes nothing that is signed; blanks of the layout are no content.
        const bool harmless =
            judged.status == "good" && judged.statement.names(one_subject[0].digest);
        if (harmless) {
            const Envelope read = read_envelope(changed, "x");
            EXPECT_EQ(read.payload, envelope.payload) << i;
            EXPECT_EQ(read.signatures[0].signature, envelope.signatures[0].signature) << i;
        }
    }
}

TEST(Envelopes, WhatIsNotExactlyDsseIsRefused) {
    const std::string payload = encode_base64("{}");
    const auto text = [&](const std::string& body) {
        return "{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"" + payload +
               "\"," + body + "}";
    };
    const std::string good = "\"signatures\":[{\"keyid\":\"a\",\"sig\":\"AAAA\"}]";
    EXPECT_EQ(error_of([&] { read_envelope(text(good), "e"); }), "(no error)");
    EXPECT_SAYS("has no key 'extra'", read_envelope(text(good + ",\"extra\":1"), "e"));
    EXPECT_SAYS("1 to 16 signatures", read_envelope(text("\"signatures\":[]"), "e"));
    EXPECT_SAYS("strict base64",
                read_envelope(text("\"signatures\":[{\"keyid\":\"a\",\"sig\":\"AAAB=\"}]"), "e"));
    EXPECT_SAYS("missing key", read_envelope(text("\"signatures\":[{\"keyid\":\"a\"}]"), "e"));
    EXPECT_SAYS("duplicate key", read_envelope(text(good + "," + good), "e"));
    EXPECT_SAYS(
        "in-toto",
        read_envelope("{\"payloadType\":\"text/plain\",\"payload\":\"\"," + good + "}", "e"));
}

TEST(Statements, SayWhoWhatWhyAndWhen) {
    SetClock clock;
    const Statement statement = approval(one_subject, doe, clock);
    const Statement read = read_statement(write_statement(statement), "s");
    EXPECT_EQ(read.subjects, one_subject);
    EXPECT_EQ(read.predicate.at("signer").at("role"), Json("validation owner"));
    EXPECT_EQ(read.predicate.at("meaning"), Json("approver"));
    EXPECT_EQ(read.predicate.at("time").at("clock"), Json("synced"));
    EXPECT_EQ(read.predicate.at("time").at("source"), Json("system clock"));
    Signer nobody = doe;
    nobody.reason = " ";
    EXPECT_SAYS("needs the signer's reason", approval(one_subject, nobody, clock));
    nobody = doe;
    nobody.name = "\x1b[31m";
    EXPECT_SAYS("control characters", approval(one_subject, nobody, clock));
    nobody = doe;
    nobody.meaning = "admirer";
    EXPECT_SAYS("author, reviewer or approver", approval(one_subject, nobody, clock));
    clock.wall = 86'400'000'000'000;  // 1970-01-02: a board without a battery
    EXPECT_SAYS("clock of this computer is not set", approval(one_subject, doe, clock));
}

TEST(Statements, OtherKeysPredicatesAndDigestsAreRefused) {
    const SetClock clock;
    const std::string good = write_statement(approval(one_subject, doe, clock));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    EXPECT_SAYS("unknown key", read_statement(with("\"_type\"", "\"more\":1,\"_type\""), "s"));
    EXPECT_SAYS("Statement v1", read_statement(with("Statement/v1", "Statement/v2"), "s"));
    EXPECT_SAYS("not known here", read_statement(with("approval:1", "approval:9"), "s"));
    EXPECT_SAYS("unknown key 'sha512'", read_statement(with("\"sha256\"", "\"sha512\""), "s"));
    EXPECT_SAYS("schema", read_statement(with("\"approver\"", "\"admirer\""), "s"));
    EXPECT_SAYS("schema", read_statement(with("\"reason\"", "\"excuse\""), "s"));
}

TEST(Schemas, EveryWordThatTheyUseIsKnown) {
    // A schema with a word that the checker does not know throws on any document that reaches it.
    for (const std::string& name : schema_names()) {
        EXPECT_NO_THROW(schema_problems(Json::object(), name)) << name;
        EXPECT_FALSE(schema_problems(Json(1), name).empty()) << name;
    }
    const SetClock clock;
    Json record = small_record(run_id(1), small_protocol, true, clock);
    EXPECT_EQ(schema_problems(record, "run-1"), std::vector<std::string>{});
    record["verdict"] = "splendid";
    ASSERT_EQ(schema_problems(record, "run-1").size(), 1U);
    EXPECT_NE(schema_problems(record, "run-1")[0].find("/verdict"), std::string::npos);
}

/// A policy with two people and a station, and its keys.
struct Policy {
    PrivateKey doe_key = PrivateKey::make("ed25519");
    PrivateKey roe_key = PrivateKey::make("ecdsa-p256");
    PrivateKey station_key = PrivateKey::make("ed25519");
    SetClock clock;

    std::string der(const PrivateKey& key) const { return encode_base64(key.public_key().der()); }
    std::string text(const std::string& doe_more = {}, const std::string& rest = {}) const {
        return "schema: trust/1\npeople:\n  - name: J. Doe\n    roles: [validation owner]\n"
               "    keys:\n      - der: \"" +
               der(doe_key) + "\"\n" + doe_more +
               "  - name: R. Roe\n    roles: [application owner, validation owner]\n    keys:\n"
               "      - der: \"" +
               der(roe_key) + "\"\nmachines:\n  - name: station-7\n    keys:\n      - der: \"" +
               der(station_key) +
               "\"\nrequire:\n  - of: evidence\n    meaning: approver\n"
               "    role: validation owner\n" +
               rest;
    }
    JudgedSignature judged(const Statement& statement, const PrivateKey& key,
                           const std::string& policy) const {
        return judge_signature(write_envelope(sign_payload(write_statement(statement), key)),
                               "evidence", parse_trust_policy(policy, "trust.yaml").keys);
    }
};

TEST(Trust, TheRightPersonInTheRightRoleIsGood) {
    const Policy policy;
    const auto judged =
        policy.judged(approval(one_subject, doe, policy.clock), policy.doe_key, policy.text());
    EXPECT_EQ(judged.status, "good") << judged.why;
    EXPECT_TRUE(unmet(parse_trust_policy(policy.text(), "t"), "evidence", {judged}).empty());
    EXPECT_EQ(unmet(parse_trust_policy(policy.text(), "t"), "evidence", {}).size(), 1U);
}

TEST(Trust, WrongRoleNameMachineAndKeyAreRefused) {
    const Policy policy;
    const auto why = [&](const Statement& statement, const PrivateKey& key) {
        const auto judged = policy.judged(statement, key, policy.text());
        return judged.status + ": " + judged.why;
    };
    Signer wrong = doe;
    wrong.role = "application owner";
    EXPECT_EQ(why(approval(one_subject, wrong, policy.clock), policy.doe_key),
              "refused: 'J. Doe' may not sign as 'application owner'");
    EXPECT_EQ(why(approval(one_subject, roe, policy.clock), policy.doe_key),
              "refused: its key is that of 'J. Doe', the signature says 'R. Roe'");
    EXPECT_EQ(why(approval(one_subject, doe, policy.clock), policy.station_key),
              "refused: the key of a machine can only say 'measured here'");
    EXPECT_EQ(why(measured_here(one_subject, "station-8", policy.clock), policy.station_key),
              "refused: its key is that of station 'station-7', not of 'station-8'");
    EXPECT_EQ(why(measured_here(one_subject, "J. Doe", policy.clock), policy.doe_key),
              "refused: the key of a person says 'measured here', which only a machine can say");
    EXPECT_EQ(why(measured_here(one_subject, "station-7", policy.clock), policy.station_key),
              "good: ");
    EXPECT_EQ(why(approval(one_subject, doe, policy.clock), PrivateKey::make("ed25519")),
              "unknown key: made by a key that was not given here");
}

TEST(Trust, ExpiredAndRevokedKeysAreRefused) {
    const Policy policy;
    const auto why = [&](const std::string& more) {
        const auto judged = policy.judged(approval(one_subject, doe, policy.clock), policy.doe_key,
                                          policy.text(more));
        return judged.status + ": " + judged.why;
    };
    EXPECT_EQ(why("        from: 2027-01-01\n        until: 2028-01-01\n"), "good: ");
    EXPECT_EQ(why("        until: 2027-01-15\n"),
              "refused: signed on 2027-01-15 with an expired key (until 2027-01-15)");
    EXPECT_EQ(why("        from: 2027-01-16\n"),
              "refused: signed on 2027-01-15, before its key was valid (from 2027-01-16)");
    EXPECT_EQ(why("        revoked: the laptop was stolen\n"),
              "refused: its key is revoked: the laptop was stolen");
}

TEST(Trust, TwoDifferentPeopleCanBeDemanded) {
    const Policy policy;
    const std::string text = policy.text({}, "  - of: evidence\n    meaning: reviewer\n"
                                             "different_people: true\n");
    const TrustPolicy trust = parse_trust_policy(text, "t");
    const auto sign = [&](Signer who, const std::string& meaning, const PrivateKey& key) {
        who.meaning = meaning;
        who.role = "validation owner";
        return policy.judged(approval(one_subject, who, policy.clock), key, text);
    };
    const auto doe_approves = sign(doe, "approver", policy.doe_key);
    const auto doe_reviews = sign(doe, "reviewer", policy.doe_key);
    const auto roe_reviews = sign(roe, "reviewer", policy.roe_key);
    EXPECT_TRUE(unmet(trust, "evidence", {doe_approves, roe_reviews}).empty());
    ASSERT_EQ(unmet(trust, "evidence", {doe_approves, doe_reviews}).size(), 1U);
    EXPECT_NE(unmet(trust, "evidence", {doe_approves, doe_reviews})[0].find("different people"),
              std::string::npos);
    const TrustPolicy two = parse_trust_policy(policy.text({}, "    people: 2\n"), "t");
    EXPECT_EQ(unmet(two, "evidence", {doe_approves, doe_approves}).size(), 1U);
    EXPECT_TRUE(
        unmet(two, "evidence", {doe_approves, sign(roe, "approver", policy.roe_key)}).empty());
}

TEST(Trust, BrokenPoliciesAreRefusedByLine) {
    const Policy policy;
    const auto parse = [](const std::string& text) { parse_trust_policy(text, "trust.yaml"); };
    EXPECT_SAYS("trust.yaml:1", parse("schema: trust/9\n"));
    EXPECT_SAYS("trusts nobody",
                parse("schema: trust/1\nrequire: [{of: evidence, meaning: author}]\n"));
    EXPECT_SAYS("also that of 'J. Doe'",
                parse(policy.text({}, "").replace(policy.text().find(policy.der(policy.roe_key)),
                                                  policy.der(policy.roe_key).size(),
                                                  policy.der(policy.doe_key))));
    EXPECT_SAYS("says why", parse(policy.text("        revoked: true\n")));
    EXPECT_SAYS("no date", parse(policy.text("        until: 2027-13-01\n")));
    EXPECT_SAYS("before it begins",
                parse(policy.text("        from: 2028-01-01\n        until: 2027-01-01\n")));
    EXPECT_SAYS("no meaning", parse(policy.text({}, "  - of: evidence\n    meaning: fan\n")));
    EXPECT_SAYS("unknown key", parse(policy.text({}, "colour: red\n")));
}

}  // namespace
}  // namespace requal::evidence
