#include "machine/python_packages.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace requal::machine {

namespace {

bool matters_to_engines(std::string_view name) {
    static constexpr std::string_view beginnings[] = {
        "tensorrt", "onnx",       "openvino", "nvidia",      "torch", "cuda", "pycuda", "numpy",
        "opencv",   "polygraphy", "pyds",     "ultralytics", "hailo", "qai",  "jetson"};
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](std::string_view begin) { return name.starts_with(begin); });
}

std::string normal_name(std::string_view name) {
    std::string result;
    for (const char c : name)
        result += c == '-' || c == '.'
                      ? '_'
                      : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return printable(result);
}

}  // namespace

std::vector<std::string> site_folders(const Root& root) {
    std::vector<std::string> bases = {"/usr/lib", "/usr/local/lib"};
    for (const char* parent : {"/opt", "/srv", "/venv", "/app"}) {
        bases.push_back(std::string(parent) + "/lib");
        for (const std::string& name : root.folder(parent).names)
            bases.push_back(std::string(parent) + "/" + name + "/lib");
    }
    std::vector<std::string> found;
    for (const std::string& base : bases)
        for (const std::string& name : root.folder(base).names)
            if (name.starts_with("python3"))
                for (const char* kind : {"/dist-packages", "/site-packages"})
                    if (const std::string path = base + "/" + name + kind; root.folder(path))
                        found.push_back(path);
    return found;
}

Json python_packages(const Root& root, const std::string& site, Unknown& unknown) {
    Json list = Json::array();
    const RootFolder folder = root.folder(site);
    unknown.note(folder, "python[" + printable(site) + "]");
    for (const std::string& name : folder.names) {
        const std::size_t end =
            std::max(name.rfind(".dist-info") == std::string::npos ? 0 : name.rfind(".dist-info"),
                     name.rfind(".egg-info") == std::string::npos ? 0 : name.rfind(".egg-info"));
        if (end == 0)
            continue;
        const std::string package = normal_name(name.substr(0, name.find('-')));
        if (!matters_to_engines(package))
            continue;
        const std::string path = site + "/" + name;
        RootText text = root.text(path + "/METADATA");
        if (text.presence == Presence::absent)
            text = root.text(path + "/PKG-INFO");
        if (text.presence == Presence::absent)
            text = root.text(path);  // an egg-info may be a single file
        Json version;
        if (unknown.note(text, "python[" + printable(path) + "]"))
            for (const std::string_view line : lines_of(text.bytes)) {
                if (line.empty())
                    break;
                if (line.starts_with("Version:"))
                    version = printable(trimmed(line.substr(8)));
            }
        if (version.is_null())
            unknown.add("python[" + printable(path) + "].version",
                        "its description does not tell it");
        list.push_back(Json::object(
            {{"name", package}, {"version", std::move(version)}, {"path", printable(path)}}));
    }
    return list;
}

bool holds_runtime(std::string_view name) {
    return name.find(".dist-info") == std::string_view::npos &&
           (name.starts_with("tensorrt") || name.starts_with("nvidia") ||
            name.starts_with("onnxruntime") || name.starts_with("openvino") || name == "torch");
}

std::string first_numbers(std::string_view version, int count) {
    std::size_t end = 0;
    for (int seen = 0; end < version.size(); ++end) {
        const char c = version[end];
        if (c == '.' && ++seen == count)
            break;
        if (c != '.' && !(c >= '0' && c <= '9'))
            break;
    }
    return std::string(version.substr(0, end));
}

Json joined(Json left, Json right) {
    for (Json& item : right.as_array())
        left.push_back(std::move(item));
    return left;
}

}  // namespace requal::machine
