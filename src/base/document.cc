#include "base/document.h"

#include "base/text.h"

#if __has_include("base/version_info.h")
#include "base/version_info.h"
#else
// Without the build system's header: a file compiled by hand.
namespace requal {
inline constexpr char version_number[] = "0.0.0";
inline constexpr char version_commit[] = "unstamped";
}  // namespace requal
#endif

namespace requal {

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::pass:
        return "pass";
    case Verdict::fail:
        return "fail";
    case Verdict::undecidable:
        return "undecidable";
    }
    return "undecidable";
}

Verdict parse_verdict(std::string_view word) {
    for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::undecidable}) {
        if (word == name_of(verdict))
            return verdict;
    }
    throw Error(ErrorKind::input, "not a verdict: '" + std::string(word.substr(0, 40)) + "'", {},
                "write pass, fail or undecidable");
}

ExitStatus exit_status_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::pass:
        return ExitStatus::passed;
    case Verdict::fail:
        return ExitStatus::failed;
    case Verdict::undecidable:
        return ExitStatus::undecidable;
    }
    return ExitStatus::undecidable;
}

Verdict combine(Verdict left, Verdict right) {
    if (left == Verdict::fail || right == Verdict::fail)
        return Verdict::fail;
    if (left == Verdict::undecidable || right == Verdict::undecidable)
        return Verdict::undecidable;
    return Verdict::pass;
}

Json new_document(std::string_view schema_name, int major) {
    return Json::object({{"requal", program_version()},
                         {"schema", std::string(schema_name) + "/" + std::to_string(major)}});
}

int require_schema(const Json& document, std::string_view schema_name, int major,
                   std::string_view source) {
    const std::string where(source);
    const std::string wanted = std::string(schema_name) + "/" + std::to_string(major);
    if (!document.is_object())
        throw Error(ErrorKind::input, "not a document: it is no JSON object", where);
    const Json& schema = document.get("schema");
    if (!schema.is_string()) {
        throw Error(ErrorKind::input, "the document does not name its schema", where,
                    "give a document of schema " + wanted);
    }
    const std::string_view text = schema.as_string();
    const std::size_t slash = text.rfind('/');
    const auto refuse = [&](const std::string& next) {
        throw Error(ErrorKind::input,
                    "the document has schema '" + std::string(text.substr(0, 80)) + "', not '" +
                        wanted + "'",
                    where, next);
    };
    if (slash == std::string_view::npos || text.substr(0, slash) != schema_name) {
        refuse("give a document of schema " + wanted);
    }
    const std::optional<std::int64_t> found = parse_integer(text.substr(slash + 1));
    if (!found || *found < 1)
        refuse("give a document of schema " + wanted);
    if (*found > major)
        refuse("read it with a newer Requal");
    if (*found < major - 1)
        refuse("write it again with this Requal");
    return static_cast<int>(*found);
}

Json error_document(const Error& error) {
    Json document = new_document("error", 1);
    document["kind"] = name_of(error.kind());
    document["message"] = error.message();
    document["where"] = error.where();
    document["next"] = error.next();
    return document;
}

std::string_view program_version() {
    return version_number;
}

std::string_view program_version_with_commit() {
    static const std::string text = [] {
        constexpr std::string_view commit = version_commit;
        constexpr std::size_t short_form = 7;
        const std::string_view digits = commit.substr(0, commit.find('+'));
        std::string version = version_number;
        // "unstamped" and "unknown" are no commits.
        if (digits.size() < short_form ||
            digits.find_first_not_of("0123456789abcdef") != std::string_view::npos)
            return version;
        version += "+g";
        version += digits.substr(0, short_form);
        if (digits.size() != commit.size())
            version += ".modified";
        return version;
    }();
    return text;
}

}  // namespace requal
