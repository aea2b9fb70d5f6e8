// Reading of runnable arguments: [store:]ARTEFACT[@TOOLCHAIN[?key=value&…]], or a YAML file that says the same.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "toolchain/client.h"

namespace requal::toolchain {

namespace {

constexpr std::string_view store_prefix = "store:";
constexpr std::array<std::string_view, 5> known_runners{"onnxruntime", "openvino", "tensorrt",
                                                        "tensorrt-rtx", "scripted"};

bool is_lower_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_word(std::string_view text) {
    return !text.empty() && text.size() <= 64 && text.front() >= 'a' && text.front() <= 'z' &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
}

/// NAME or NAME:DEVICE.
bool is_toolchain(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return is_word(text);
    }
    return is_word(text.substr(0, colon)) && is_word(text.substr(colon + 1));
}

bool is_known_toolchain(std::string_view text) {
    const std::string_view name = text.substr(0, text.find(':'));
    return std::find(known_runners.begin(), known_runners.end(), name) != known_runners.end() ||
           find_runner_program(std::string(name)).has_value();
}

bool path_exists(const std::string& path) {
    std::error_code ignored;
    return path.find('\0') == std::string::npos && std::filesystem::exists(path, ignored);
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text, const std::string& option) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded.push_back(text[i]);
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            throw Error(ErrorKind::usage, "% must be followed by two hexadecimal digits",
                        "option " + option, "write %25 for a percent sign");
        }
        decoded.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    if (decoded.find('\0') != std::string::npos || !is_utf8(decoded)) {
        throw Error(ErrorKind::usage, "its value is no UTF-8 text", "option " + option);
    }
    return decoded;
}

/// true, false, integers and decimal numbers become such, everything else is text. A value with a percent escape is always
/// text, so that `version=1%2E10` can say "1.10".
Json typed_value(std::string_view text, const std::string& option) {
    if (text.find('%') != std::string_view::npos) {
        return Json(percent_decoded(text, option));
    }
    if (text == "true" || text == "false") {
        return Json(text == "true");
    }
    const char* const end = text.data() + text.size();
    const std::size_t digits = text.starts_with('-') ? 1 : 0;
    if (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
        // 007 is a name, not seven
        const bool padded = text.size() > digits + 1 && text[digits] == '0' &&
                            text[digits + 1] != '.' && text[digits + 1] != 'e' &&
                            text[digits + 1] != 'E';
        std::int64_t integer = 0;
        if (const auto [at, error] = std::from_chars(text.data(), end, integer);
            !padded && at == end && error == std::errc{}) {
            return Json(integer);
        }
        double number = 0;
        if (const auto [at, error] = std::from_chars(text.data(), end, number);
            !padded && at == end && error == std::errc{}) {
            return Json(number);
        }
    }
    return Json(percent_decoded(text, option));
}

Json parse_options(std::string_view text) {
    Json options = Json::object();
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('&'), text.size());
        const std::string_view item = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t equals = item.find('=');
        const std::string key(item.substr(0, equals));
        if (equals == std::string_view::npos || key.empty() || key.size() > 128 ||
            !std::all_of(key.begin(), key.end(), [](char c) {
                return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') ||
                       std::string_view("._-:").find(c) != std::string_view::npos;
            })) {
            throw Error(ErrorKind::usage, "\"" + std::string(item) + "\" is no option", {},
                        "write key=value, several joined by &");
        }
        if (options.has(key)) {
            throw Error(ErrorKind::usage, "it is given twice", "option " + key);
        }
        options[key] = typed_value(item.substr(equals + 1), key);
    }
    return options;
}

/// Where "@TOOLCHAIN[?…]" begins; npos when there is none. The last '@' that is followed by a known toolchain, else the last
/// that is followed by something that looks like one.
std::size_t toolchain_at(std::string_view text) {
    std::size_t looks_like = std::string_view::npos;
    for (std::size_t at = text.rfind('@'); at != std::string_view::npos && at > 0;
         at = text.rfind('@', at - 1)) {
        const std::string_view rest = text.substr(at + 1);
        const std::string_view name = rest.substr(0, rest.find('?'));
        if (!is_toolchain(name)) {
            continue;
        }
        if (is_known_toolchain(name)) {
            return at;
        }
        if (looks_like == std::string_view::npos) {
            looks_like = at;
        }
    }
    return looks_like;
}

void set_artefact(RunnableSpec& spec, std::string_view text) {
    spec.in_store = text.starts_with(store_prefix);
    if (spec.in_store) {
        text.remove_prefix(store_prefix.size());
    }
    if (text.empty()) {
        throw Error(ErrorKind::usage, "it names no artefact", spec.text,
                    "write [store:]ARTEFACT[@TOOLCHAIN[?key=value&…]]");
    }
    spec.artefact = text;
}

RunnableSpec from_yaml(const std::string& path) {
    RunnableSpec spec;
    spec.text = path;
    const Yaml document = parse_yaml(read_file(path, std::uint64_t{16} << 20), path);
    if (document.kind() != Yaml::Kind::map) {
        document.fail("a runnable is a map of artefact, toolchain and options");
    }
    document.allow_keys({"artefact", "toolchain", "options"});
    const std::string artefact = document.at("artefact").text();
    if (artefact.find('\0') != std::string::npos) {
        document.at("artefact").fail("a path holds no NUL");
    }
    set_artefact(spec, artefact);
    if (!spec.in_store && std::filesystem::path(spec.artefact).is_relative()) {
        // Like every path in a file: beside that file, wherever the command is run.
        spec.artefact =
            (std::filesystem::path(path).parent_path() / spec.artefact).lexically_normal().string();
    }
    spec.toolchain = document.text_or("toolchain", "");
    if (!spec.toolchain.empty() && !is_toolchain(spec.toolchain)) {
        document.at("toolchain").fail("it is no toolchain name", "write NAME or NAME:DEVICE");
    }
    if (const Yaml* options = document.find("options")) {
        if (options->kind() != Yaml::Kind::map) {
            options->fail("options are a map of names to values");
        }
        for (const auto& [name, value] : options->members()) {
            if (value.kind() != Yaml::Kind::scalar) {
                value.fail("the value of an option is a boolean, a number or text");
            }
            spec.options[name] = value.to_json();
        }
    }
    return spec;
}

}  // namespace

RunnableSpec parse_runnable(const std::string& argument) {
    if (argument.empty() || argument.find('\0') != std::string::npos) {
        throw Error(ErrorKind::usage, "an empty runnable", {},
                    "write [store:]ARTEFACT[@TOOLCHAIN[?key=value&…]]");
    }
    RunnableSpec spec;
    spec.text = argument;
    const std::size_t at = toolchain_at(argument);
    const bool whole_exists = path_exists(argument);
    if (at == std::string::npos || whole_exists) {
        if (at != std::string::npos && path_exists(argument.substr(0, at))) {
            throw Error(ErrorKind::usage, "both it and " + argument.substr(0, at) + " exist",
                        argument, "add @TOOLCHAIN at its end, or rename one");
        }
        if ((argument.ends_with(".yaml") || argument.ends_with(".yml")) && file_exists(argument)) {
            return from_yaml(argument);
        }
        set_artefact(spec, argument);
        return spec;
    }
    set_artefact(spec, std::string_view(argument).substr(0, at));
    const std::string_view rest = std::string_view(argument).substr(at + 1);
    const std::size_t question = rest.find('?');
    spec.toolchain = rest.substr(0, question);
    if (question != std::string_view::npos) {
        spec.options = parse_options(rest.substr(question + 1));
    }
    return spec;
}

Json parse_runnable_options(std::string_view text) {
    return parse_options(text);
}

}  // namespace requal::toolchain
