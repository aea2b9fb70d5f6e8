#include <cstdlib>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "cli/help.h"
#include "cli/parse.h"

namespace requal::cli {
namespace {

Result nothing(const Arguments&, const Common&) {
    return {};
}

std::vector<Verb> sample_verbs() {
    Verb compare;
    compare.name = "compare";
    compare.summary = "compares";
    compare.positionals = {{.name = "REF", .kind = ValueKind::path, .required = true},
                           {.name = "CAND", .kind = ValueKind::path, .required = true}};
    compare.options = {{.name = "--atol", .kind = ValueKind::number, .fallback = "0.5"},
                       {.name = "--seed", .kind = ValueKind::integer, .fallback = "7"},
                       {.name = "--layers", .kind = ValueKind::flag},
                       {.name = "--shape", .repeated = true},
                       {.name = "--rule", .fallback = "sum", .choices = {"sum", "either"}},
                       {.name = "--save", .kind = ValueKind::path}};
    compare.run = nothing;
    Verb put;
    put.group = "store";
    put.name = "put";
    put.summary = "puts";
    put.positionals = {
        {.name = "FILE", .kind = ValueKind::path, .required = true, .repeated = true}};
    put.run = nothing;
    Verb get = put;
    get.name = "get";
    Verb build;
    build.name = "build";
    build.summary = "builds";
    build.options = {{.name = "--toolchain", .required = true}};
    build.run = nothing;
    return {compare, put, get, build};
}

const std::vector<Verb>& verbs() {
    static const std::vector<Verb> all = sample_verbs();
    return all;
}

Invocation parsed(std::vector<std::string> words) {
    return parse_command_line(verbs(), words);
}

std::string failure(std::vector<std::string> words) {
    try {
        parse_command_line(verbs(), words);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        return error.what();
    }
    return "no error";
}

TEST(Parse, values_and_fallbacks) {
    Invocation invocation = parsed({"compare", "a.onnx", "b.onnx", "--atol", "1e-3"});
    ASSERT_NE(invocation.verb, nullptr);
    const Arguments& arguments = invocation.arguments;
    EXPECT_EQ(arguments.text("REF"), "a.onnx");
    EXPECT_EQ(arguments.text("CAND"), "b.onnx");
    EXPECT_EQ(arguments.number("--atol"), 1e-3);
    EXPECT_TRUE(arguments.given("--atol"));
    EXPECT_EQ(arguments.integer("--seed"), 7);
    EXPECT_FALSE(arguments.given("--seed"));
    EXPECT_FALSE(arguments.flag("--layers"));
    EXPECT_TRUE(arguments.all("--shape").empty());
    EXPECT_EQ(arguments.text("--rule"), "sum");
    EXPECT_EQ(arguments.optional_text("--save"), std::nullopt);
    EXPECT_EQ(arguments.text("--save"), "");
}

TEST(Parse, an_argument_that_the_table_lacks_is_a_bug) {
    Invocation invocation = parsed({"compare", "a", "b"});
    EXPECT_THROW(invocation.arguments.text("--tabel"), Error);
    EXPECT_THROW(invocation.arguments.integer("--save"), Error);
}

TEST(Parse, common_options_stand_anywhere) {
    for (std::vector<std::string> words :
         {std::vector<std::string>{"--json", "--store", "s", "compare", "a", "b", "--jobs=3"},
          std::vector<std::string>{"compare", "--jobs", "3", "a", "--json", "b", "--store=s"}}) {
        Invocation invocation = parsed(words);
        EXPECT_TRUE(invocation.common.json);
        EXPECT_EQ(invocation.common.store, "s");
        EXPECT_EQ(invocation.common.jobs, 3);
        EXPECT_EQ(invocation.arguments.text("CAND"), "b");
        EXPECT_FALSE(invocation.arguments.values.contains("--json"));
    }
}

TEST(Parse, files_may_be_named_like_verbs_options_and_numbers) {
    EXPECT_EQ(parsed({"compare", "build", "store"}).arguments.text("CAND"), "store");
    EXPECT_EQ(parsed({"compare", "a", "--", "--json"}).arguments.text("CAND"), "--json");
    EXPECT_FALSE(parsed({"compare", "a", "--", "--json"}).common.json);
    EXPECT_EQ(parsed({"compare", "a", "-"}).arguments.text("CAND"), "-");
    EXPECT_EQ(parsed({"store", "put", "[a,b]"}).arguments.all("FILE"),
              (std::vector<std::string>{"[a,b]"}));
    EXPECT_EQ(parsed({"compare", "a", "b", "--seed", "-4"}).arguments.integer("--seed"), -4);
}

TEST(Parse, repeated_options_take_one_value_each) {
    Invocation invocation = parsed({"compare", "--shape", "x:1x3", "a", "--shape=y:2", "b"});
    EXPECT_EQ(invocation.arguments.all("--shape"), (std::vector<std::string>{"x:1x3", "y:2"}));
    EXPECT_EQ(invocation.arguments.text("REF"), "a");
}

TEST(Parse, two_word_verbs) {
    Invocation invocation = parsed({"store", "put", "a", "b", "c"});
    EXPECT_EQ(full_name(*invocation.verb), "store put");
    EXPECT_EQ(invocation.arguments.all("FILE").size(), 3U);
    EXPECT_EQ(failure({"store"}), "store: needs a second word; one of: put, get");
    EXPECT_EQ(failure({"store", "putt", "a"}),
              "store putt: unknown verb; did you mean 'store put'?");
    EXPECT_EQ(failure({"store", "put"}), "store put: FILE is missing; see 'requal help store put'");
    Invocation help = parsed({"store", "--help"});
    EXPECT_TRUE(help.help);
    EXPECT_EQ(help.group, "store");
}

TEST(Parse, wrong_values_are_said_with_the_option) {
    EXPECT_EQ(failure({"compare", "a", "b", "--seed", "1.5"}),
              "--seed: not an integer: '1.5'; give a number such as 4");
    EXPECT_EQ(failure({"compare", "a", "b", "--seed", "99999999999999999999"}),
              "--seed: integer out of range: '99999999999999999999'; give a smaller one");
    EXPECT_EQ(failure({"compare", "a", "b", "--atol", "nan"}),
              "--atol: not a finite number: 'nan'; give a number such as 0.5 or 1e-3");
    EXPECT_EQ(failure({"compare", "a", "b", "--rule", "eiter"}),
              "--rule: 'eiter' is not one of sum, either; did you mean 'either'?");
    EXPECT_EQ(failure({"compare", "a", "b", "--save", ""}),
              "--save: the path is empty; name a file or folder");
    EXPECT_EQ(failure({"compare", "a", "b", "--save"}),
              "--save: needs a value; see 'requal help compare'");
    EXPECT_EQ(failure({"compare", "a", "b", "--save", "--layers"}),
              "--save: needs a value; see 'requal help compare'");
    EXPECT_EQ(failure({"compare", "a", "b", "--layers=1"}),
              "--layers: takes no value; see 'requal help compare'");
    EXPECT_EQ(failure({"build"}), "--toolchain: is required; see 'requal help build'");
    EXPECT_EQ(failure({"compare", "a", "b", "c"}),
              "compare: unexpected argument 'c'; see 'requal help compare'");
    EXPECT_EQ(failure({"compare", "a", "b", "--aatol", "1"}),
              "--aatol: unknown option; did you mean '--atol'? see 'requal help compare'");
    EXPECT_EQ(failure({"compare", "a", "b", "-x"}),
              "-x: unknown option; see 'requal help compare'");
}

TEST(Parse, the_store_comes_from_the_environment) {
    ::setenv("REQUAL_STORE", "/somewhere", 1);
    EXPECT_EQ(parsed({"compare", "a", "b"}).common.store, "/somewhere");
    EXPECT_EQ(parsed({"compare", "a", "b", "--store", "x"}).common.store, "x");
    ::unsetenv("REQUAL_STORE");
    EXPECT_EQ(parsed({"compare", "a", "b"}).common.store, ".requal");
}

TEST(Parse, the_command_line_reads_back_in_a_shell) {
    std::vector<std::string> words = {"compare", "a b.onnx", "it's", "", "x=1"};
    EXPECT_EQ(command_line_text(words), "requal compare 'a b.onnx' 'it'\\''s' '' x=1");
}

TEST(Help, wraps_at_spaces_and_keeps_line_breaks) {
    EXPECT_EQ(wrapped("aa bb cc", 0, 2, 5), "aa bb\n  cc");
    EXPECT_EQ(wrapped("aa\nbb", 4, 4, 80), "aa\n    bb");
    EXPECT_EQ(wrapped("verylongword", 0, 0, 4), "verylongword");
    EXPECT_EQ(wrapped("", 0, 0, 4), "");
}

TEST(Man, no_line_of_text_is_taken_for_a_request) {
    std::vector<Verb> all = sample_verbs();
    all[0].description = ".so /etc/passwd\n'x back\\slash";
    std::string page = man_page(all);
    EXPECT_NE(page.find("\n\\&.so /etc/passwd\n\\&'x back\\eslash\n"), std::string::npos);
}

// Every verb of the program, whoever wrote it.
TEST(Tables, are_well_formed) {
    std::set<std::string> names;
    for (const Verb& verb : all_verbs()) {
        SCOPED_TRACE(full_name(verb));
        EXPECT_TRUE(names.insert(full_name(verb)).second) << "two verbs of one name";
        EXPECT_NE(verb.run, nullptr);
        EXPECT_FALSE(verb.summary.empty());
        EXPECT_EQ(verb.summary.find('\n'), std::string_view::npos);
        std::set<std::string_view> arguments;
        for (const Argument& option : common_options())
            arguments.insert(option.name);
        auto check = [&](const Argument& argument) {
            SCOPED_TRACE(std::string(argument.name));
            EXPECT_TRUE(arguments.insert(argument.name).second)
                << "given twice, or a common option";
            EXPECT_FALSE(argument.help.empty());
            if (argument.kind == ValueKind::flag) {
                EXPECT_TRUE(argument.fallback.empty());
                EXPECT_FALSE(argument.required);
            }
            Arguments values;
            values.fallbacks[std::string(argument.name)] = {std::string(argument.fallback)};
            if (!argument.fallback.empty() && argument.kind == ValueKind::integer) {
                EXPECT_NO_THROW(values.integer(argument.name));
            }
            if (!argument.fallback.empty() && argument.kind == ValueKind::number) {
                EXPECT_NO_THROW(values.number(argument.name));
            }
        };
        for (std::size_t at = 0; at < verb.positionals.size(); ++at) {
            const Argument& positional = verb.positionals[at];
            check(positional);
            EXPECT_NE(positional.name.substr(0, 1), "-");
            EXPECT_NE(positional.kind, ValueKind::flag);
            EXPECT_TRUE(!positional.repeated || at + 1 == verb.positionals.size());
            EXPECT_TRUE(at == 0 || !positional.required || verb.positionals[at - 1].required);
        }
        for (const Argument& option : verb.options) {
            check(option);
            const bool is_long = option.name.substr(0, 2) == "--" && option.name.size() > 3;
            const bool is_short = option.name.size() == 2 && option.name[0] == '-';
            EXPECT_TRUE(is_long || is_short) << "write --word or -x";
        }
    }
}

}  // namespace
}  // namespace requal::cli
