// Evidence packages: what is whole verifies, every changed byte is found, hostile archives are refused, all runs show.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "evidence/layout.h"
#include "evidence/tar.h"
#include "evidence/verify.h"
#include "small_store.h"

namespace requal::evidence {
namespace {

/// In the place of qualify's: trusts the record. What that one finds is tested in tests/qualify.
std::vector<RecomputedGate> believing(const Json& record, const FileOfRunReader&) {
    std::vector<RecomputedGate> gates;
    for (const Json& gate : record.at("gates").as_array())
        gates.push_back({gate.at("id").as_string(), "engine", "same", {}});
    return gates;
}

struct Checked {
    SmallStore store;
    PrivateKey doe_key = PrivateKey::make("ed25519");
    std::string doe_pem = store.write("doe.pub.pem", doe_key.public_key().pem());

    VerifyOptions options() const {
        VerifyOptions options;
        options.public_keys = {doe_pem};
        options.recompute = believing;
        return options;
    }
    VerifyResult verify(const std::string& path) const { return verify_evidence(path, options()); }
    std::string signed_package() {
        store.clock.wall += 1'000'000'000;
        return store.exported("p.tar", store.signer(doe_key, doe));
    }
};

std::string all_of(const VerifyResult& result) {
    std::string text;
    for (const auto* list : {&result.failures, &result.undecided, &result.notes}) {
        for (const Finding& finding : *list)
            text += finding.where + ": " + finding.what + "\n";
    }
    return text;
}

bool says(const VerifyResult& result, const std::string& part) {
    return all_of(result).find(part) != std::string::npos;
}

TEST(Package, ASignedOneOfASignedProtocolVerifies) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    const VerifyResult result = checked.verify(checked.signed_package());
    EXPECT_EQ(result.verdict(), Verdict::pass) << all_of(result);
    ASSERT_EQ(result.signatures.size(), 2U);
    EXPECT_EQ(result.runs.as_array()[0].at("protocol_signed"), Json("before"));
}

TEST(Package, UnsignedOnesOfOneStateAreEqualBytes) {
    Checked checked;
    checked.store.run(1, SmallStore::End::passed, {{"predictions-a.json", "[]"}});
    const std::string one = read_file(checked.store.exported("one.tar"));
    checked.store.clock.wall += 5'000'000'000;
    const std::string other = read_file(checked.store.exported("other.tar"));
    EXPECT_TRUE(one == other);
    checked.store.run(2, SmallStore::End::failed);
    EXPECT_FALSE(one == read_file(checked.store.exported("other.tar")));
}

TEST(Package, WithoutKeysWhoMadeItIsNotDecided) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    VerifyOptions options = checked.options();
    options.public_keys.clear();
    const VerifyResult result = verify_evidence(checked.store.exported("u.tar"), options);
    EXPECT_EQ(result.verdict(), Verdict::undecidable) << all_of(result);
    EXPECT_TRUE(says(result, "anybody may have made it"));
    EXPECT_EQ(checked.verify(checked.store.exported("u.tar")).verdict(), Verdict::fail);
}

TEST(Package, FiveRunsOfWhichOnePassesShowAllFive) {
    Checked checked;
    using End = SmallStore::End;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, End::failed);
    checked.store.run(2, End::abandoned);
    checked.store.run(3, End::killed);
    checked.store.run(4, End::failed);
    checked.store.run(5, End::passed);
    const std::string package = checked.signed_package();
    const VerifyResult result = checked.verify(package);
    EXPECT_EQ(result.verdict(), Verdict::pass) << all_of(result);
    ASSERT_EQ(result.runs.size(), 5U);
    std::vector<std::string> states;
    for (const Json& run : result.runs.as_array())
        states.push_back(run.at("state").as_string() + " " +
                         (run.at("verdict").is_string() ? run.at("verdict").as_string() : "-"));
    EXPECT_EQ(states, (std::vector<std::string>{"finished fail", "abandoned -", "abandoned -",
                                                "finished fail", "finished pass"}));
}

TEST(Package, AKilledRunThatNobodyWentOnWithIsShownAsUnfinished) {
    Checked checked;
    checked.store.run(1, SmallStore::End::passed);
    checked.store.run(2, SmallStore::End::killed);
    const VerifyResult result = checked.verify(checked.signed_package());
    ASSERT_EQ(result.runs.size(), 2U);
    EXPECT_EQ(result.runs.as_array()[1].at("state"), Json("unfinished"));
}

TEST(Package, AProtocolSignedAfterMeasuringOrNeverIsNamed) {
    Checked checked;
    checked.store.run(1, SmallStore::End::passed);
    VerifyResult result = checked.verify(checked.signed_package());
    EXPECT_EQ(result.verdict(), Verdict::undecidable) << all_of(result);
    EXPECT_TRUE(says(result, "never signed in this ledger"));
    VerifyOptions options = checked.options();
    options.allow_unsigned_protocol = true;
    EXPECT_EQ(verify_evidence(checked.signed_package(), options).verdict(), Verdict::pass);
    checked.store.sign_the_protocol(checked.doe_key, doe);
    result = checked.verify(checked.signed_package());
    EXPECT_EQ(result.verdict(), Verdict::fail);
    EXPECT_TRUE(says(result, "after its first measurement")) << all_of(result);
}

TEST(Package, AnotherProtocolOfTheSameNameIsShownAndUnsigned) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::failed);
    checked.store.run(2, SmallStore::End::passed, {}, small_protocol + "title: softer\n");
    const VerifyResult result = checked.verify(checked.signed_package());
    EXPECT_TRUE(says(result, "2 different protocols of this name")) << all_of(result);
    EXPECT_EQ(result.runs.as_array()[0].at("protocol_signed"), Json("before"));
    EXPECT_EQ(result.runs.as_array()[1].at("protocol_signed"), Json("unsigned"));
}

TEST(Package, AnUnknownKindOfGateIsNotDecidedAndNamed) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    VerifyOptions options = checked.options();
    options.recompute = [](const Json&, const FileOfRunReader&) {
        return std::vector<RecomputedGate>{{"smell", "odour", "not recomputed", "not known here"}};
    };
    const VerifyResult result = verify_evidence(checked.signed_package(), options);
    EXPECT_EQ(result.verdict(), Verdict::undecidable);
    EXPECT_TRUE(says(result, "gate smell")) << all_of(result);
}

TEST(Package, TheWrongKeyAndASignatureOfAnotherPackageAreRefused) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    const std::string first = checked.signed_package();
    const PrivateKey other = PrivateKey::make("ed25519");
    VerifyOptions options = checked.options();
    options.public_keys = {checked.store.write("other.pem", other.public_key().pem())};
    EXPECT_EQ(verify_evidence(first, options).verdict(), Verdict::fail);
    // The signature on the first package, moved to a later one.
    const std::string envelope = read_head_of(first).envelopes.front();
    checked.store.run(2, SmallStore::End::failed);
    const std::string later = checked.store.exported("later.tar");
    EXPECT_THROW(attach_envelopes(later, {read_envelope(envelope, "e")},
                                  checked.store.folder.path() + "/x.tar"),
                 Error);
    options = checked.options();
    options.envelopes = {checked.store.write("e.json", envelope)};
    const VerifyResult result = verify_evidence(later, options);
    EXPECT_EQ(result.verdict(), Verdict::fail);
    EXPECT_TRUE(says(result, "signature of something else")) << all_of(result);
}

TEST(Package, ADetachedSignatureIsAttachedAndHolds) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    const std::string plain = checked.store.exported("plain.tar");
    const PackageHead head = read_head_of(plain);
    const std::string digest_file =
        write_json(digest_document(subjects_of(head.contents, head.contents_digest)));
    const Envelope envelope = sign_payload(
        write_statement(approval(read_digest_document(digest_file, "d"), doe, checked.store.clock)),
        checked.doe_key);
    const std::string whole = checked.store.folder.path() + "/whole.tar";
    attach_envelopes(plain, {envelope}, whole);
    EXPECT_EQ(checked.verify(whole).verdict(), Verdict::pass) << all_of(checked.verify(whole));
}

TEST(Package, ACheckpointFindsALedgerThatWasCutOrMadeAnew) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    const store::Head head = checked.store.here->index().head(checked.store.here->ledger_id());
    const auto checkpoint = [&](std::uint64_t seq, const std::string& digest) {
        Json json = new_document("ledger-checkpoint", 1);
        json["ledger"] = checked.store.here->ledger_id();
        json["seq"] = seq;
        json["digest"] = digest;
        return checked.store.write("c.json", write_json(json));
    };
    const std::string package = checked.signed_package();
    VerifyOptions options = checked.options();
    options.checkpoints = {checkpoint(head.seq - 1, head.digest.text())};
    EXPECT_EQ(verify_evidence(package, options).verdict(), Verdict::pass);
    options.checkpoints = {checkpoint(head.seq + 5, head.digest.text())};
    EXPECT_TRUE(says(verify_evidence(package, options), "records were left out"));
    options.checkpoints = {checkpoint(head.seq - 1, digest_of("other").text())};
    EXPECT_TRUE(says(verify_evidence(package, options), "not the one of this checkpoint"));
}

TEST(Package, EveryByteOfASmallOneFlippedInTurnIsFound) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    const std::string package = checked.signed_package();
    ASSERT_EQ(checked.verify(package).verdict(), Verdict::pass);
    const std::string good = read_file(package);
    const std::string path = checked.store.write("flipped.tar", good);
    // Without keys, which would cost half of the time: every byte must be found by what it is, not by who signed it.
    VerifyOptions options = checked.options();
    options.public_keys.clear();
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    for (std::size_t i = 0; i < good.size(); ++i) {
        const char changed = static_cast<char>(~good[i]);
        ASSERT_EQ(::pwrite(fd, &changed, 1, static_cast<off_t>(i)), 1);
        ASSERT_EQ(verify_evidence(path, options).verdict(), Verdict::fail) << "byte " << i;
        ASSERT_EQ(::pwrite(fd, &good[i], 1, static_cast<off_t>(i)), 1);
    }
    ::close(fd);
    EXPECT_EQ(checked.verify(path).verdict(), Verdict::pass);
}

TEST(Package, RandomBitsOfALargeOneAreFoundAndTheirFileIsNamed) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    std::mt19937_64 random(7);
    std::string noise(std::size_t{6} << 20, '\0');
    for (char& c : noise)
        c = static_cast<char>(random());
    checked.store.run(1, SmallStore::End::passed, {{"predictions-all.json", noise}});
    const std::string package = checked.signed_package();
    ASSERT_EQ(checked.verify(package).verdict(), Verdict::pass);
    const std::string good = read_file(package);
    const int fd = ::open(package.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    const int bits = std::getenv("CI_FULL") != nullptr ? 10'000 : 300;
    for (int k = 0; k < bits; ++k) {
        const std::size_t i = random() % good.size();
        const char changed = static_cast<char>(good[i] ^ (1 << random() % 8));
        ASSERT_EQ(::pwrite(fd, &changed, 1, static_cast<off_t>(i)), 1);
        const VerifyResult result = checked.verify(package);
        ASSERT_EQ(result.verdict(), Verdict::fail) << "byte " << i;
        ASSERT_FALSE(result.failures.front().where.empty());
        ASSERT_EQ(::pwrite(fd, &good[i], 1, static_cast<off_t>(i)), 1);
    }
    ::close(fd);
}

/// The files of a package by name, in order, to be written again by a forger.
std::vector<std::pair<std::string, std::string>> files_of(const std::string& path) {
    std::vector<std::pair<std::string, std::string>> files;
    TarReader tar(path);
    TarEntry entry;
    while (tar.next(entry))
        files.emplace_back(entry.name, tar.content(entry, 1 << 30));
    return files;
}

std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
    std::string bytes;
    for (const auto& [name, content] : files)
        bytes += tar_header(name, content.size()) + content +
                 std::string(tar_padding(content.size()), '\0');
    return bytes + std::string(1024, '\0');
}

TEST(Package, EditedAndHashedAgainWithoutTheKeyIsRefused) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::failed);
    const std::string package = checked.signed_package();
    // Another ledger, with the same protocol, in which the run passed: everything fits together but the signature.
    SmallStore forger;
    forger.run(1, SmallStore::End::passed);
    const std::string forged = forger.exported("forged.tar");
    const auto envelopes = read_head_of(package).envelopes;
    auto files = files_of(forged);
    const PackageHead head = read_head_of(forged);
    const std::string contents = files[3].second;
    const std::string manifest = oci_manifest_text(
        {head.contents_digest, contents.size()}, {{digest_of(envelopes[0]), envelopes[0].size()}},
        contents_from(head.contents.at("contents"), "c"));
    files[1].second = oci_index_text(manifest, "small");
    files[2] = {blob_name(digest_of(manifest)), manifest};
    files.insert(files.begin() + 4, {blob_name(digest_of(envelopes[0])), envelopes[0]});
    const std::string path = checked.store.write("forged.tar", tar_of(files));
    const VerifyResult result = checked.verify(path);
    EXPECT_EQ(result.verdict(), Verdict::fail);
    EXPECT_TRUE(says(result, "signature of something else")) << all_of(result);
    EXPECT_FALSE(says(result, "it was changed"));
}

TEST(Package, HostileArchivesAreRefused) {
    Checked checked;
    checked.store.run(1, SmallStore::End::passed);
    const std::string package = checked.store.exported("p.tar");
    const std::string good = read_file(package);
    const auto files = files_of(package);
    const auto refused = [&](const std::string& bytes, const std::string& part) {
        const VerifyResult result = checked.verify(checked.store.write("h.tar", bytes));
        EXPECT_EQ(result.verdict(), Verdict::fail) << part;
        EXPECT_TRUE(says(result, part)) << part << "\n" << all_of(result);
    };
    const auto with = [&](const std::string& name, const std::string& content) {
        auto more = files;
        more.emplace_back(name, content);
        return tar_of(more);
    };
    /// A header of the first file with a field changed and its sum right again.
    const auto header = [&](std::size_t offset, const std::string& bytes) {
        std::string changed = good;
        changed.replace(offset, bytes.size(), bytes);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < 512; ++i)
            sum += i >= 148 && i < 156 ? static_cast<unsigned char>(' ')
                                       : static_cast<unsigned char>(changed[i]);
        char text[8];
        std::snprintf(text, sizeof text, "%06o", static_cast<unsigned>(sum));
        changed.replace(148, 8, std::string(text, 6) + std::string("\0 ", 2));
        return changed;
    };
    refused(with("../../etc/passwd", "x"), "a file that such a package does not have");
    refused(with("/etc/passwd", "x"), "a file that such a package does not have");
    refused(with("blobs/sha256/../../../../../etc/cron.d/" + std::string(45, 'a'), "x"),
            "a file that such a package does not have");
    refused(with(blob_name(digest_of("extra")), "extra"), "nothing names it");
    refused(with(files.back().first, files.back().second), "stands twice");
    refused(header(156, "2"), "a link");
    refused(header(156, "1"), "a link");
    refused(header(156, "5"), "a folder");
    refused(header(156, "6"), "no regular file");
    refused(header(156, "x"), "extended header");
    refused(header(156, "L"), "extended header");
    refused(header(156, "S"), "extended header");
    refused(header(100, "0004755"), "not the one that such a file has");
    refused(header(136, "00000000001"), "not the one that such a file has");
    // A bomb: a few bytes that claim to be 8 GiB.
    refused(header(124, "77777777777"), "are left");
    refused(header(124, std::string("\x80\0\0\0\0\0\0\0\xff\xff\xff\xff", 12)), "not the one");
    refused(good + std::string(512, '\0'), "bytes behind the end");
    refused(good + std::string(512, 'x'), "bytes behind the end");
    refused(good.substr(0, good.size() - 512), "the last block is missing");
    refused(good.substr(0, good.size() - 1024), "without the two blocks");
    refused(good.substr(0, good.size() - 1000), "multiple of 512");
    refused("", "multiple of 512");
    refused(std::string(4096, 'x'), "no ustar header");
    refused(std::string("\x1f\x8b\x08") + std::string(2045, 'z'), "no ustar header");
    refused(std::string(1024, '\0'), "missing");
    auto reordered = files;
    std::swap(reordered[4], reordered[5]);
    refused(tar_of(reordered), "order");
    reordered = files;
    std::swap(reordered[0], reordered[1]);
    refused(tar_of(reordered), "in place of");
    reordered = files;
    reordered.pop_back();
    refused(tar_of(reordered), "is missing");
    // Documents that would take all memory: refused by their size or count of values before they are built.
    reordered = files;
    reordered[1].second = std::string(100'000, '[');
    refused(tar_of(reordered), "at most 65536");
    std::string many = "[0";
    for (int i = 0; i < 1'000'000; ++i)
        many += ",0";
    many += "]";
    reordered = files;
    reordered[2] = {blob_name(digest_of(many)), many};
    reordered[1].second = oci_index_text(many, "small");
    refused(tar_of(reordered), "values");
}

TEST(Package, AManyFilesBombStaysWithinBoundedMemory) {
    Checked checked;
    std::string bytes =
        tar_header("oci-layout", oci_layout_text.size()) + std::string(oci_layout_text);
    bytes += std::string(tar_padding(oci_layout_text.size()), '\0') + tar_header("index.json", 0);
    for (int i = 0; i < 60'000; ++i)
        bytes += tar_header(blob_name(digest_of(std::to_string(i))), 0);
    bytes += std::string(1024, '\0');
    const std::string path = checked.store.write("many.tar", bytes);
    bytes.clear();
    bytes.shrink_to_fit();
    const auto peak_kib = [] {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss;
    };
    const long before = peak_kib();
    const VerifyResult result = checked.verify(path);
    EXPECT_EQ(result.verdict(), Verdict::fail);
    EXPECT_LE(result.failures.size(), 1000U);
    EXPECT_LT(peak_kib() - before, 100 << 10);
}

TEST(Package, ARemovedBlobIsNamedWithTheRecordThatRemovedIt) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed, {{"predictions-a.json", "[1]"}});
    const std::string blob = checked.store.here->blob_path(digest_of("[1]"));
    ASSERT_EQ(::unlink(blob.c_str()), 0);
    const VerifyResult result = checked.verify(checked.signed_package());
    EXPECT_EQ(result.verdict(), Verdict::undecidable) << all_of(result);
    EXPECT_TRUE(says(result, "predictions-a.json: its bytes are not in the package"))
        << all_of(result);
}

TEST(Package, EnginesComeByDigestUnlessAskedFor) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed, {{"small.engine", "ENGINE"}});
    const auto has = [&](const std::string& path) {
        const auto files = files_of(path);
        return std::any_of(files.begin(), files.end(),
                           [](const auto& file) { return file.second == "ENGINE"; });
    };
    EXPECT_FALSE(has(checked.store.exported("a.tar")));
    EXPECT_TRUE(has(checked.store.exported("b.tar", {}, true)));
    EXPECT_EQ(checked.verify(checked.signed_package()).verdict(), Verdict::pass);
}

TEST(Package, ATrustPolicyDecidesWhatWasDemanded) {
    Checked checked;
    checked.store.sign_the_protocol(checked.doe_key, doe);
    checked.store.run(1, SmallStore::End::passed);
    const std::string package = checked.signed_package();
    VerifyOptions options = checked.options();
    options.public_keys.clear();
    const auto policy = [&](const std::string& require) {
        options.trust = checked.store.write(
            "trust.yaml",
            "schema: trust/1\npeople:\n  - name: J. Doe\n    roles: [validation owner]\n"
            "    keys:\n      - file: doe.pub.pem\nrequire:\n" +
                require);
        return verify_evidence(package, options);
    };
    const std::string approved = "  - {of: evidence, meaning: approver, role: validation owner}\n";
    EXPECT_EQ(policy(approved).verdict(), Verdict::pass) << all_of(policy(approved));
    const VerifyResult result = policy(approved + "  - {of: evidence, meaning: reviewer}\n");
    EXPECT_EQ(result.verdict(), Verdict::fail);
    EXPECT_TRUE(says(result, "a signature as reviewer on the evidence is missing"));
}

TEST(Package, WhatWasNeverRunAndWhatIsNoFileAreBadInput) {
    Checked checked;
    checked.store.run(1, SmallStore::End::passed);
    ExportRequest request;
    request.name = "nothing";
    request.output = checked.store.folder.path() + "/n.tar";
    EXPECT_THROW(export_evidence(*checked.store.here, request), Error);
    EXPECT_FALSE(file_exists(request.output));
    EXPECT_THROW(checked.verify(request.output), Error);
    request.name = run_id(1);
    EXPECT_EQ(export_evidence(*checked.store.here, request).protocol, "small");
}

}  // namespace
}  // namespace requal::evidence
