// The document inspect/1 and its text.
#include "artifact/recognise.h"
#include "base/digest.h"
#include "base/document.h"
#include "base/error.h"
#include "base/text.h"

namespace requal::artifact {

namespace {

Json strings(const std::vector<std::string>& items) {
    Json array = Json::array();
    for (const std::string& item : items)
        array.push_back(item);
    return array;
}

std::string scalar_text(const Json& value) {
    if (value.is_string())
        return printable(value.as_string());
    std::string text = write_json_compact(value);
    return text;
}

bool is_scalar(const Json& value) {
    return !value.is_object() && !value.is_array();
}

// A list of scalars, or a tensor's port, on one line.
std::string line_text(const Json& value) {
    std::string text;
    if (value.is_array())
        for (const Json& item : value.as_array())
            text += (text.empty() ? "" : ", ") + line_text(item);
    else if (value.is_object())
        for (const auto& [key, item] : value.as_object())
            text += (text.empty() ? "" : ", ") + printable(key) + " " + line_text(item);
    else
        return scalar_text(value);
    return value.is_array() ? "[" + text + "]" : text;
}

void add_members(std::string& text, const Json& object, const std::string& indent) {
    for (const auto& [key, value] : object.as_object()) {
        if (value.size() == 0 && !is_scalar(value))
            continue;
        text += indent + printable(key) + ":";
        if (is_scalar(value) || (value.is_array() && is_scalar(value.as_array().front()))) {
            text += " " + line_text(value) + "\n";
        } else if (value.is_array()) {
            text += "\n";
            for (const Json& item : value.as_array())
                text += indent + "  " + line_text(item) + "\n";
        } else {
            text += "\n";
            add_members(text, value, indent + "  ");
        }
    }
}

}  // namespace

Json inspect_document(const std::string& path, bool with_digest) {
    const ByteSource source = ByteSource::open(path);
    if (source.size() == 0)
        throw Error(ErrorKind::input, "the file is empty", path, "give the artefact itself");
    const Recognised found = recognise(source);
    Json document = new_document("inspect", 1);
    document["path"] = path;
    document["kind"] = found.kind;
    document["size_bytes"] = source.size();
    document["digest"] = with_digest ? Json(digest_of_file(path).text()) : Json();
    document["recorded"] = found.recorded;
    document["unknown"] = strings(found.unknown);
    document["problems"] = strings(found.problems);
    document["wrapper"] = found.wrapper;
    return document;
}

std::string inspect_text(const Json& document) {
    const std::int64_t size = document.at("size_bytes").as_integer();
    std::string text = "path: " + printable(document.at("path").as_string()) + "\n";
    text += "kind: " + document.at("kind").as_string() + "\n";
    text += "size: " + std::to_string(size) + " bytes\n";
    if (document.at("digest").is_string())
        text += "digest: " + document.at("digest").as_string() + "\n";
    for (const Json& problem : document.at("problems").as_array())
        text += "problem: " + printable(problem.as_string()) + "\n";
    if (document.at("wrapper").is_object()) {
        text += "wrapper:\n";
        add_members(text, document.at("wrapper"), "  ");
    }
    if (document.at("recorded").size() > 0) {
        text += "recorded:\n";
        add_members(text, document.at("recorded"), "  ");
    }
    if (document.at("unknown").size() > 0) {
        text += "not recorded: ";
        std::string list;
        for (const Json& item : document.at("unknown").as_array())
            list += (list.empty() ? "" : ", ") + item.as_string();
        text += list + "\n";
    }
    return text;
}

}  // namespace requal::artifact
