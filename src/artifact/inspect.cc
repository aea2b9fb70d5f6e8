// The document inspect/1 and its text.
#include "artifact/recognise.h"
#include "base/digest.h"
#include "base/document.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace requal::artifact {

namespace {

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

constexpr std::size_t files_shown = 100;

// Size and digest of the files that belong to the artefact. A name that leaves its folder is not followed.
Json describe_files(const std::string& path, Recognised& found, bool with_digest) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    Json files = Json::array();
    for (const NamedFile& file : found.files) {
        if (files.size() == files_shown) {
            found.oddities.push_back("only the first " + std::to_string(files_shown) +
                                     " of its files were looked at");
            break;
        }
        Json entry = Json::object(
            {{"name", file.name}, {"what", file.what}, {"size_bytes", Json()}, {"digest", Json()}});
        try {
            const std::string full = path_inside(folder, file.name);
            entry["size_bytes"] = file_size(full);
            if (with_digest)
                entry["digest"] = digest_of_file(full).text();
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::input)
                throw;
            found.oddities.push_back("its file '" + printable(file.name) +
                                     "' cannot be looked at: " + error.message());
        }
        files.push_back(std::move(entry));
    }
    return files;
}

// OpenVINO finds the weights by the name of the XML file: nothing in it names them.
void add_weights_of_ir(const std::string& path, Recognised& found) {
    const std::size_t slash = path.rfind('/');
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (found.kind != "openvino-ir" || name.size() < 5 || name.substr(name.size() - 4) != ".xml")
        return;
    if (found.recorded.at("weight_bytes_needed").as_integer() > 0)
        found.files.push_back({name.substr(0, name.size() - 4) + ".bin", "weights"});
}

void check_weights_of_ir(const Json& files, Recognised& found) {
    if (found.kind != "openvino-ir" || files.size() != 1)
        return;
    const Json& size = files.as_array().front().at("size_bytes");
    const Json& needed = found.recorded.at("weight_bytes_needed");
    if (!size.is_null() && size.as_integer() < needed.as_integer())
        found.damage.push_back("its weights have " + std::to_string(size.as_integer()) +
                               " bytes, " + std::to_string(needed.as_integer()) + " are needed");
}

}  // namespace

Json inspect_document(const std::string& path, bool with_digest) {
    const ByteSource source = ByteSource::open(path);
    if (source.size() == 0)
        throw Error(ErrorKind::input, "the file is empty", path, "give the artefact itself");
    Recognised found = recognise(source);
    add_weights_of_ir(path, found);
    if (with_digest)
        verify_checksum(source, found);
    Json document = new_document("inspect", 1);
    document["path"] = path;
    document["kind"] = found.kind;
    document["size_bytes"] = source.size();
    document["digest"] = with_digest ? Json(digest_of_file(path).text()) : Json();
    document["checksum"] = found.checksum.empty() ? Json() : Json(found.checksum);
    document["recorded"] = found.recorded;
    document["unknown"] = text_array(found.unknown);
    const std::string_view role = role_of_kind(found.kind);
    document["role"] = role.empty() ? Json() : Json(role);
    document["files"] = describe_files(path, found, with_digest);
    check_weights_of_ir(document["files"], found);
    document["asked"] = Json::array();
    document["damage"] = text_array(found.damage);
    document["oddities"] = text_array(found.oddities);
    document["contradictions"] = Json::array();  // of what others say: ask_programs()
    document["problems"] = text_array(found.problems());
    document["wrapper"] = found.wrapper;
    return document;
}

std::string inspect_text(const Json& document) {
    const std::int64_t size = document.at("size_bytes").as_integer();
    std::string text = "path: " + printable(document.at("path").as_string()) + "\n";
    text += "kind: " + document.at("kind").as_string();
    if (document.get("role").is_string())
        text += " (" + document.at("role").as_string() + ")";
    text += "\n";
    text += "size: " + std::to_string(size) + " bytes\n";
    if (document.at("digest").is_string())
        text += "digest: " + document.at("digest").as_string() + "\n";
    if (document.get("checksum").is_string())
        text += "its own checksum: " + document.at("checksum").as_string() + "\n";
    for (const auto& [key, label] : {std::pair{"damage", "damaged: "},
                                     {"contradictions", "contradiction: "},
                                     {"oddities", "note: "}})
        for (const Json& item : document.at(key).as_array())
            text += label + printable(item.as_string()) + "\n";
    if (document.at("wrapper").is_object()) {
        text += "wrapper:\n";
        add_members(text, document.at("wrapper"), "  ");
    }
    if (document.at("recorded").size() > 0) {
        text += "recorded:\n";
        add_members(text, document.at("recorded"), "  ");
    }
    if (document.get("files").size() > 0) {
        text += "its files:\n";
        for (const Json& file : document.at("files").as_array())
            text += "  " + printable(file.at("name").as_string()) + ": " +
                    file.at("what").as_string() + ", " +
                    (file.at("size_bytes").is_null()
                         ? "not there"
                         : std::to_string(file.at("size_bytes").as_integer()) + " bytes") +
                    (file.at("digest").is_null() ? "" : ", " + file.at("digest").as_string()) +
                    "\n";
    }
    if (document.get("asked").size() > 0) {
        text += "asked:\n";
        for (const Json& answer : document.at("asked").as_array()) {
            text += "  " + printable(answer.at("program").as_string()) + " " +
                    answer.at("question").as_string() + ": ";
            if (answer.at("answer").is_object())
                for (const auto& [key, value] : answer.at("answer").as_object())
                    text += key + " " + line_text(value);
            else
                text += "no answer: " + printable(answer.at("why_not").as_string());
            text += "\n";
        }
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
