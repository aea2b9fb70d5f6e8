// Errors, text, digests, documents, clocks.
#include <cerrno>
#include <cmath>
#include <limits>

#include "base/clock.h"
#include "base/digest.h"
#include "base/document.h"
#include "base/text.h"
#include "error_of.h"

namespace requal {
namespace {

TEST(ErrorTest, OneLineOfWhereMessageNext) {
    EXPECT_STREQ(Error(ErrorKind::input, "bad", "a.yaml:3", "mend it").what(),
                 "a.yaml:3: bad; mend it");
    EXPECT_STREQ(Error(ErrorKind::input, "bad").what(), "bad");
    const Error hostile(ErrorKind::input, "name '\x1b[2J\n'", "dir/\x07\xff");
    EXPECT_STREQ(hostile.what(), "dir/\\x07\\xff: name '\\x1b[2J\\x0a'");
    EXPECT_EQ(hostile.where(), "dir/\x07\xff");
}

TEST(ErrorTest, KindsDecideTheExitStatus) {
    EXPECT_EQ(exit_status_of(ErrorKind::usage), ExitStatus::bad_input);
    EXPECT_EQ(exit_status_of(ErrorKind::input), ExitStatus::bad_input);
    EXPECT_EQ(exit_status_of(ErrorKind::missing), ExitStatus::missing);
    EXPECT_EQ(exit_status_of(ErrorKind::storage), ExitStatus::storage);
    EXPECT_EQ(exit_status_of(ErrorKind::toolchain), ExitStatus::failed);
    EXPECT_EQ(exit_status_of(ErrorKind::interrupted), ExitStatus::interrupted);
    EXPECT_EQ(exit_status_of(ErrorKind::undecidable), ExitStatus::undecidable);
    EXPECT_EQ(exit_status_of(ErrorKind::internal), ExitStatus::storage);
}

TEST(ErrorTest, ErrnoDecidesTheKind) {
    EXPECT_EQ(error_of([] { throw_errno(ENOENT, "open", "x"); }).kind(), ErrorKind::input);
    const Error full = error_of([] { throw_errno(ENOSPC, "write", "x"); });
    EXPECT_EQ(full.kind(), ErrorKind::storage);
    EXPECT_STREQ(full.what(),
                 "x: cannot write: No space left on device; free some space and run it again");
}

TEST(TextTest, PrintableCannotDriveATerminal) {
    EXPECT_EQ(printable("plain é 日本"), "plain é 日本");
    EXPECT_EQ(printable("\x1b]0;t\x07"), "\\x1b]0;t\\x07");
    EXPECT_EQ(printable("\x7f"), "\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // C1: CSI
    EXPECT_EQ(printable("a\xe2\x80\xae"
                        "b"),
              "a\\xe2\\x80\\xaeb");                           // right-to-left override
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(TextTest, Utf8) {
    EXPECT_TRUE(is_utf8("\xf4\x8f\xbf\xbf"));
    EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
    EXPECT_FALSE(is_utf8("\xe2\x82"));
    EXPECT_FALSE(is_utf8("\x80"));
    EXPECT_FALSE(is_utf8("\xe0\x80\x80"));
    EXPECT_FALSE(is_utf8("\xf0\x8f\xbf\xbf"));
}

TEST(TextTest, Nearest) {
    constexpr std::string_view words[] = {"compare", "convert", "coverage"};
    EXPECT_EQ(nearest("comapre", words), "compare");
    EXPECT_EQ(nearest("cover", words), "convert");
    EXPECT_EQ(nearest("xyz", words), "");
    EXPECT_EQ(nearest("", words), "");
    EXPECT_EQ(nearest(std::string(100000, 'c'), words), "");
}

TEST(TextTest, ReadsNumbers) {
    EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(parse_integer("+7"), 7);
    for (const char* wrong : {"", "+", "-", "+-1", "9223372036854775808", "1 ", " 1", "1.0", "0x1"})
        EXPECT_EQ(parse_integer(wrong), std::nullopt) << wrong;
    EXPECT_EQ(parse_real("1e-3"), 0.001);
    EXPECT_EQ(parse_real("+.5"), 0.5);
    EXPECT_EQ(parse_real("5."), 5.0);
    EXPECT_EQ(parse_real("1e-999"), 0.0);
    for (const char* wrong :
         {"", ".", "e1", "1e", "1e+", "nan", "inf", "0x1p3", "1e999", "1,5", "1 ", "--1"})
        EXPECT_EQ(parse_real(wrong), std::nullopt) << wrong;
}

TEST(TextTest, WritesNumbers) {
    EXPECT_EQ(shortest(0.1), "0.1");
    EXPECT_EQ(shortest(std::nan("")), "nan");
    EXPECT_EQ(shortest(-HUGE_VAL), "-inf");
    EXPECT_EQ(readable(123456.789), "123457");
    EXPECT_EQ(readable(0.00012346), "0.0001235");
    EXPECT_EQ(readable(1.25e-7), "1.25e-07");
    EXPECT_EQ(readable(0), "0");
    EXPECT_EQ(readable_bytes(999), "999 B");
    EXPECT_EQ(readable_bytes(999'999), "1 MB");
    EXPECT_EQ(readable_bytes(12'300'000), "12.3 MB");
    EXPECT_EQ(readable_seconds(0.00123), "1.23 ms");
    EXPECT_EQ(readable_seconds(4.5), "4.5 s");
    EXPECT_EQ(readable_seconds(59.99), "1 min");
    EXPECT_EQ(readable_seconds(123), "2 min 3 s");
    EXPECT_EQ(readable_seconds(90'000), "1 d 1 h");
}

TEST(DigestTest, KnownAnswers) {
    EXPECT_EQ(digest_of("").hex(),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(digest_of("abc").text(),
              "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    Hasher hasher;
    hasher.update("a");
    hasher.update("bc");
    EXPECT_EQ(hasher.finish(), digest_of("abc"));
}

TEST(DigestTest, Reads) {
    const Digest digest = digest_of("abc");
    EXPECT_EQ(parse_digest(digest.text()), digest);
    EXPECT_EQ(parse_digest(digest.hex()), digest);
    std::string upper = digest.hex();
    upper[0] = 'B';
    for (const std::string& wrong :
         {std::string(), std::string("sha256:"), upper, digest.hex() + "0", digest.hex().substr(1),
          "sha512:" + digest.hex()})
        EXPECT_EQ(error_of([&] { parse_digest(wrong); }).kind(), ErrorKind::input) << wrong;
}

TEST(VerdictTest, ThreeOutcomesStayThree) {
    EXPECT_EQ(combine(Verdict::pass, Verdict::pass), Verdict::pass);
    EXPECT_EQ(combine(Verdict::pass, Verdict::undecidable), Verdict::undecidable);
    EXPECT_EQ(combine(Verdict::fail, Verdict::undecidable), Verdict::fail);
    EXPECT_EQ(combine(Verdict::undecidable, Verdict::fail), Verdict::fail);
    EXPECT_EQ(exit_status_of(Verdict::undecidable), ExitStatus::undecidable);
    EXPECT_EQ(parse_verdict("fail"), Verdict::fail);
    EXPECT_EQ(error_of([] { parse_verdict("Pass"); }).kind(), ErrorKind::input);
}

TEST(DocumentTest, SchemaIsChecked) {
    EXPECT_EQ(require_schema(new_document("compare", 2), "compare", 2, "f"), 2);
    EXPECT_EQ(require_schema(new_document("compare", 1), "compare", 2, "f"), 1);
    for (const Json& wrong :
         {new_document("compare", 3), new_document("other", 2), Json::object(), Json(1),
          Json::object({{"schema", 1}}), Json::object({{"schema", "compare"}}),
          Json::object({{"schema", "compare/"}}), Json::object({{"schema", "compare/2x"}}),
          Json::object({{"schema", "compare/0"}})}) {
        const Error error = error_of([&] { require_schema(wrong, "compare", 2, "run.json"); });
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_EQ(error.where(), "run.json");
    }
    EXPECT_EQ(error_of([] { require_schema(new_document("a", 1), "a", 3, "f"); }).next(),
              "write it again with this Requal");
    // The oldest major is 1: a reader of major 1 takes no major 0.
    EXPECT_EQ(error_of([] { require_schema(new_document("a", 0), "a", 1, "f"); }).kind(),
              ErrorKind::input);
}

TEST(DocumentTest, ErrorDocument) {
    const Json document = error_document(Error(ErrorKind::missing, "m", "w", "n"));
    EXPECT_EQ(document.at("schema").as_string(), "error/1");
    EXPECT_EQ(document.at("kind").as_string(), "missing");
    EXPECT_EQ(document.at("message").as_string(), "m");
    EXPECT_EQ(document.at("where").as_string(), "w");
    EXPECT_EQ(document.at("next").as_string(), "n");
    EXPECT_EQ(document.at("requal").as_string(), program_version());
}

class FixedClock final : public Clock {
public:
    std::int64_t wall_ns() const override { return 1'796'061'600'123'456'789; }
    std::int64_t monotonic_ns() const override { return std::int64_t{1} << 53; }
    bool synchronised() const override { return true; }
    std::string boot_id() const override { return "boot"; }
};

TEST(ClockTest, IsoTime) {
    EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(iso_time(-1), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(iso_time(1'709'164'799'999'999'999), "2024-02-28T23:59:59.999999Z");
    EXPECT_EQ(iso_time(1'709'164'800'000'000'000), "2024-02-29T00:00:00.000000Z");
}

TEST(ClockTest, TimeStamp) {
    EXPECT_EQ(write_json_compact(time_stamp(FixedClock())),
              R"({"boot_id":"boot","clock":"synced","monotonic_ns":"9007199254740992","wall":")" +
                  iso_time(FixedClock().wall_ns()) + "\"}");
    EXPECT_GT(system_clock().wall_ns(), 1'600'000'000'000'000'000);
    const std::int64_t before = system_clock().monotonic_ns();
    EXPECT_GE(system_clock().monotonic_ns(), before);
}

TEST(TextLines, EndsCarriageReturnsAndNumbers) {
    const auto all = [](std::string_view text) {
        std::string seen;
        TextLines lines(text);
        for (std::string_view line; lines.next(line);) {
            seen += std::to_string(lines.number()) + "=" + std::string(line) + ";";
        }
        return seen;
    };
    EXPECT_EQ(all(""), "");
    EXPECT_EQ(all("a"), "1=a;");
    EXPECT_EQ(all("a\r\n\nb\n"), "1=a;2=;3=b;");
    EXPECT_EQ(all("\n\r"), "1=;2=;");
    EXPECT_EQ(all("a\rb\r\r\n"), "1=a\rb\r;");
}

}  // namespace
}  // namespace requal
