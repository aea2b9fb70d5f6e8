// The report: made from the record only, the same bytes each time, and names that cannot act.
#include <string>

#include <gtest/gtest.h>

#include "base/document.h"
#include "base/error.h"
#include "evidence/html.h"
#include "evidence/plot.h"
#include "evidence/report.h"

namespace requal::evidence {
namespace {

Json gate(const std::string& id, const char* verdict, const std::string& reason) {
    return Json::object(
        {{"id", id},
         {"kind", "parity"},
         {"criterion", Json::object({{"kind", "parity"}, {"text", "criterion of " + id}})},
         {"value", Json::object()},
         {"verdict", verdict},
         {"reason", reason}});
}

Json record() {
    Json json = new_document("run", 1);
    json["run"] = "20261130T181136Z-1a2b3c4d";
    json["verdict"] = "pass";
    json["command_line"] = "requal qualify p.yaml";
    json["started"] = Json::object({{"wall", "2026-11-30T18:11:36Z"}, {"clock", "synced"}});
    json["ended"] = Json::object({{"wall", "2026-11-30T18:12:36Z"}, {"clock", "synced"}});
    json["protocol"] =
        Json::object({{"name", "small"}, {"title", "A small protocol"}, {"digest", "sha256:aa"}});
    json["gates"] = Json::array({gate("parity", "pass", "all inside")});
    json["outputs"] = Json::array({Json::object(
        {{"name", "y"},
         {"max_abs", 2.5e-6},
         {"elements", 4096},
         {"exact", 1000},
         {"atol", 1e-3},
         {"histogram", Json::array({Json::object({{"decade", -7}, {"count", 3000}}),
                                    Json::object({{"decade", -6}, {"count", 96}})})}})});
    Json latency = Json::object({{"p50_ms", 1.5},
                                 {"p50_ci_low_ms", 1.4},
                                 {"p50_ci_high_ms", 1.6},
                                 {"p99_ms", 2.5},
                                 {"samples", 400},
                                 {"boundary_text", "one call"}});
    latency["histogram"] = Json::object({{"low_ms", 1.0},
                                         {"width_ms", 0.1},
                                         {"counts", Json::array({10, 200, 180, 8})},
                                         {"above", 2}});
    json["latency"] = latency;
    json["files"] = Json::array({Json::object(
        {{"role", "engine"}, {"name", "e"}, {"size_bytes", 5}, {"digest", "sha256:bb"}})});
    json["steps"] = Json::array(
        {Json::object({{"name", "build"}, {"state", "done"}, {"seconds", 1.0}, {"message", ""}})});
    json["not_shown"] = Json::array({"Hop 1 was not checked."});
    json["unknown"] = Json::array({"power mode: not on this machine"});
    return json;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos;
         at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

TEST(Report, ShowsWhatTheRecordHolds) {
    const std::string html = render_report(record());
    for (const char* part :
         {"A small protocol", "criterion of parity", "all inside", "sha256:aa", "sha256:bb",
          "Hop 1 was not checked.", "power mode: not on this machine", "2.5e-06", "1e-7 to 1e-6",
          "3000", "20261130T181136Z-1a2b3c4d", "What this does not show"}) {
        EXPECT_NE(html.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(count_of(html, "<svg "), 2U);
    // Each plot has an accessible name and description, and a table beside it.
    EXPECT_EQ(count_of(html, "role=\"img\""), 2U);
    EXPECT_EQ(count_of(html, "<desc id="), 2U);
    EXPECT_EQ(count_of(html, "<div class=\"figure\">"), 2U);
}

TEST(Report, IsOneFileWithoutScriptOrOutsideResource) {
    const std::string html = render_report(record());
    for (const char* part : {"<script", "javascript:", "http://", "https://", "src=", "@import",
                             "url(", "onload", "onclick"}) {
        EXPECT_EQ(html.find(part), std::string::npos) << part;
    }
    EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
    EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_NE(html.find("@media print"), std::string::npos);
}

TEST(Report, EqualRecordsGiveEqualBytes) {
    const Json one = record();
    const Json again = parse_json(write_json(one), "record.json");
    EXPECT_EQ(render_report(one), render_report(again));
}

TEST(Report, HostileNamesCannotAct) {
    const std::string evil = "</title></style><script>alert(1)</script><img src=x "
                             "onerror=alert(2)>\"'&\x1b[31m\xe2\x80\xae"
                             "live\xff";
    Json json = record();
    json["protocol"]["title"] = evil;
    json["protocol"]["name"] = evil;
    json["protocol"]["digest"] = evil;
    json["run"] = evil;
    json["command_line"] = evil;
    json["requal"] = evil;
    json["gates"] = Json::array({gate(evil, "fail", evil)});
    json["gates"].as_array()[0]["criterion"]["text"] = evil;
    json["outputs"].as_array()[0]["name"] = evil;
    json["outputs"].as_array()[0]["nonfinite"] = Json::object({{"max_rel", evil}});
    json["outputs"].as_array()[0]["max_rel"] = Json();
    json["latency"]["boundary_text"] = evil;
    json["not_shown"] = Json::array({evil});
    json["unknown"] = Json::array({evil});
    json["steps"].as_array()[0]["message"] = evil;
    json["steps"].as_array()[0]["name"] = evil;
    json["model"] = Json::object({{"file", evil}, {"opsets", Json::object({{evil, 1}})}});
    json["engine_manifest"] =
        Json::object({{"engine", Json::object({{"name", evil}, {"digest", evil}})},
                      {"options", Json::object({{"requested", Json::object({{evil, evil}})}})},
                      {"libraries", Json::array({Json::object({{"path", evil}})})}});
    json["conditions"] = Json::object({{evil, evil}});
    json["host"] = Json::object({{evil, Json::object({{evil, evil}})}});
    json["files"].as_array()[0]["name"] = evil;
    const std::string html = render_report(json);
    EXPECT_EQ(count_of(html, "<script"), 0U);
    EXPECT_EQ(count_of(html, "<img"), 0U);
    EXPECT_EQ(count_of(html, "</style>"), 1U);
    EXPECT_EQ(count_of(html, "</title></style>"), 0U);
    EXPECT_EQ(html.find('\x1b'), std::string::npos);
    EXPECT_EQ(html.find('\xff'), std::string::npos);
    EXPECT_EQ(html.find("\xe2\x80\xae"), std::string::npos);
    EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
}

TEST(Report, RunsThatMeasuredLittleStillHaveOne) {
    Json json = record();
    json["verdict"] = "fail";
    json["gates"] = Json::array({gate("engine", "fail", "the build was refused"),
                                 gate("parity", "undecidable", "not measured")});
    json["outputs"] = Json::array();
    json["latency"] = Json();
    json["files"] = Json::array();
    json["engine_manifest"] = Json();
    const std::string html = render_report(json);
    EXPECT_NE(html.find("the build was refused"), std::string::npos);
    EXPECT_NE(html.find("No latency was measured"), std::string::npos);
    EXPECT_NE(html.find("Nothing was compared"), std::string::npos);
    EXPECT_NE(html.find("not recorded"), std::string::npos);
}

TEST(Report, RecordsThatAreNoneAreRefused) {
    const auto refused = [](const Json& json) {
        try {
            (void)render_report(json);
            return false;
        } catch (const Error& error) {
            return error.kind() == ErrorKind::input;
        }
    };
    EXPECT_TRUE(refused(Json()));
    EXPECT_TRUE(refused(Json::object()));
    EXPECT_TRUE(refused(new_document("compare", 1)));
    EXPECT_TRUE(refused(new_document("run", 1)));
    Json json = record();
    json["verdict"] = "perhaps";
    EXPECT_TRUE(refused(json));
    json = record();
    json["gates"] = "none";
    EXPECT_TRUE(refused(json));
    json = record();
    json["outputs"].as_array()[0]["histogram"] =
        Json::array({Json::object({{"decade", 4000000000}, {"count", 1}})});
    EXPECT_TRUE(refused(json));
    json = record();
    json["latency"] = Json::object();
    EXPECT_TRUE(refused(json));
}

TEST(HtmlText, Escapes) {
    EXPECT_EQ(html_text("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
    EXPECT_EQ(html_text("\xc3\xa4"), "\xc3\xa4");
    EXPECT_EQ(html_text("\xe2\x80\xae"), "\\xe2\\x80\\xae");
    EXPECT_EQ(html_text("\xe2\x80\x93"), "\xe2\x80\x93");  // a dash of the same block stays
}

TEST(Plot, ExtremesStayInsideTheFrame) {
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 60}) {
        DecadePlot plot;
        plot.id = "p";
        plot.title = "t";
        plot.zeros = count;
        plot.decades = {{-20, count}, {300, count}};
        plot.markers = {{1e-3, "atol", "limit"}, {1e300, "far", "limit"}, {0, "none", "limit"}};
        const std::string svg = svg_of(plot);
        EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
        EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
        EXPECT_EQ(svg.find("height=\"-"), std::string::npos) << svg;
    }
    HistogramPlot flat;
    flat.id = "h";
    flat.low = 5;
    flat.counts = {400};
    flat.markers = {{5, "p50", "marker"}, {1e9, "limit", "limit"}, {-1, "left", "limit"}};
    const std::string svg = svg_of(flat);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_NE(svg.find("limit \xe2\x86\x92"), std::string::npos);
    HistogramPlot empty;
    empty.id = "e";
    EXPECT_NE(svg_of(empty).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace requal::evidence
