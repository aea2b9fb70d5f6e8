#include "cli/stored.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "store/store.h"

namespace requal::cli {

namespace {

constexpr std::string_view prefix = "store:";

bool exists(const std::string& path) {
    std::error_code ignored;
    return path.find('\0') == std::string::npos && std::filesystem::exists(path, ignored);
}

bool can_be_a_name(const std::string& text) {
    try {
        store::check_name(text);
        return true;
    } catch (const Error&) {
        return false;
    }
}

store::StoreOptions reading() {
    store::StoreOptions options;
    options.lowers = store::lowers_from_environment();
    return options;
}

std::string whole_blob(store::Store& here, const store::Reference& reference) {
    std::string path = here.blob_path(reference.digest);
    if (digest_of_file(path) != reference.digest)
        store::damaged("the blob's bytes do not have its digest", path);
    return path;
}

std::string from_store(const std::string& name, const Common& common) {
    store::Store here(common.store, reading());
    return whole_blob(here, here.resolve(name));
}

/// What the store of this call has under a bare name; nothing where there is no store.
std::optional<std::string> named_in_store(const std::string& name, const Common& common,
                                          bool only_look) {
    if (!can_be_a_name(name) || !file_exists(store::Layout{common.store}.format()))
        return std::nullopt;
    store::Store here(common.store, reading());
    store::ReferenceFilter filter;
    filter.name = name;
    if (here.references(filter).empty())
        return std::nullopt;
    return only_look ? name : whole_blob(here, here.resolve(name));
}

std::string path_of(const std::string& artefact, bool in_store, const Common& common) {
    if (in_store) {
        if (exists(std::string(prefix) + artefact))
            throw Error(
                ErrorKind::usage, "a file has this name, too", std::string(prefix) + artefact,
                "write ./" + std::string(prefix) + artefact + " for the file, or rename it");
        return from_store(artefact, common);
    }
    if (exists(artefact)) {
        if (named_in_store(artefact, common, true))
            throw Error(ErrorKind::usage, "both a file and a name in the store", artefact,
                        "write ./" + artefact + " or store:" + artefact);
        return artefact;
    }
    return named_in_store(artefact, common, false).value_or(artefact);
}

/// Every byte but letters and digits escaped, and at least one, so that a number or `true` stays text.
std::string escaped(const std::string& text) {
    constexpr char digits[] = "0123456789ABCDEF";
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (plain && !result.empty()) {
            result += c;
        } else {
            result += '%';
            result += digits[byte >> 4];
            result += digits[byte & 15];
        }
    }
    return result;
}

}  // namespace

std::string stored_path(const std::string& text, const Common& common) {
    const bool in_store = text.starts_with(prefix);
    return path_of(in_store ? text.substr(prefix.size()) : text, in_store, common);
}

toolchain::RunnableSpec stored_runnable(const std::string& argument, const Common& common) {
    toolchain::RunnableSpec spec = toolchain::parse_runnable(argument);
    spec.artefact = path_of(spec.artefact, spec.in_store, common);
    spec.in_store = false;
    return spec;
}

std::string runnable_text(const toolchain::RunnableSpec& spec) {
    std::string text = (spec.in_store ? std::string(prefix) : std::string()) + spec.artefact;
    if (!spec.toolchain.empty())
        text += "@" + spec.toolchain;
    char before = '?';
    for (const auto& [name, value] : spec.options.as_object()) {
        text += before;
        text += name + "=" +
                (value.is_string() ? escaped(value.as_string()) : write_json_compact(value));
        before = '&';
    }
    return text;
}

}  // namespace requal::cli
