#include "compat/coverage_csv.h"

#include <map>
#include <string_view>

#include "base/text.h"

namespace requal::compat {

namespace {

std::string cell(const std::string& raw) {
    std::string text = printable(raw);
    if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos)
        text.insert(text.begin(), '\'');
    if (text.find_first_of(",\"; ") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string joined(const Json& value) {
    if (value.is_string())
        return value.as_string();
    std::string text;
    if (value.is_array())
        for (const Json& item : value.as_array())
            text += (text.empty() ? "" : "; ") + item.as_string();
    return text;
}

}  // namespace

std::string coverage_csv(const Json& document) {
    std::string csv =
        "target,needs,product,version,gpu,os,arch,l4t,offer,status,rules,artefact,documented_by,"
        "conditions_to_show,price,why,next\n";
    std::map<std::string, const Json*, std::less<>> facts;
    for (const Json& target : document.at("requested").as_array())
        facts[target.at("id").as_string()] = &target.at("facts");
    for (const Json& entry : document.at("targets").as_array()) {
        const Json& of_target = *facts.at(entry.at("id").as_string());
        std::string line =
            cell(entry.at("id").as_string()) + "," + cell(entry.at("needs").as_string());
        for (const char* key : {"product", "version", "gpu", "os", "arch", "l4t"})
            line += "," + cell(joined(of_target.get(key)));
        for (const char* key : {"offer", "status", "rules", "artefact", "documented_by",
                                "conditions_to_show", "price", "why", "next"})
            line += "," + cell(joined(entry.at(key)));
        csv += line + "\n";
    }
    return csv;
}

}  // namespace requal::compat
